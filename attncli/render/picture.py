"""A matrix as a picture: a cell for each pair of query and key, or for the largest of a square of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attncli.frozen import Frozen
from attncli.render.box import Box
from attncli.render.colors import BROKEN, RGB, SCALES, eased, share_color, signed_color
from attncli.render.ink import Line, Place, Span, cells, pad
from attncli.render.terminal import Terminal
from attncli.sheet import Matrix, Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OF_WEIGHTS", "Picture", "pooled", "scale_said"]

OF_WEIGHTS = "sqrt"
"""The scale of weights, which are small where there are many: by their roots they are still told apart."""

_TICK = 8  # squares from one position that is written to the next
_SHADES = {True: " ░▒▓█", False: " .:+#"}  # by whether there is more than ASCII
_NO_SHADE = "!"  # what is not finite
_LEGEND = 12  # cells


class Picture(Frozen):
    """Numbers that are drawn rather than written.

    Args:
        matrix: What it is a picture of.
        numbers: The largest of each square, or of signed ones the one that is furthest from 0; where
            any is not finite, NaN or infinity; NaN where all of it is masked.
        blank: Where all of it is masked.
        side: Queries, and keys, in a square.
        limit: The end of the scale on both sides of 0; None where the numbers are shares of 1.
    """

    matrix: Matrix
    numbers: Numbers
    blank: NDArray[np.bool_]
    side: int
    limit: float | None = None

    @property
    def start(self) -> tuple[int, int]:
        """Position of the first query and of the first key."""
        return self.matrix.first_row, self.matrix.first_column

    @property
    def margin(self) -> int:
        """Cells that the positions at the left take."""
        last = (len(self.numbers) - 1) // _TICK * _TICK
        return len(str(self.start[0] + last * self.side)) + 1

    def color(self, number: float, terminal: Terminal) -> RGB | None:
        """Color a number by its place on the scale, and one that has none there so that it is seen."""
        stepped, scale = terminal.color == "256", self._scale(terminal)
        if not math.isfinite(number):
            return BROKEN[terminal.theme]
        if self.limit is not None:
            return signed_color(number, self.limit or 1.0, terminal.theme, scale=scale, stepped=stepped)
        return share_color(eased(number, scale), terminal.theme, terminal.palette, stepped=stepped)

    def _scale(self, terminal: Terminal) -> str:
        return terminal.scale or (OF_WEIGHTS if self.limit is None else "linear")

    def squares(self) -> str:
        """Say what a square stands for; nothing where it is one number."""
        what = "max" if self.limit is None else "furthest from 0"
        return f"{what} of each {self.side}×{self.side}" if self.side > 1 else ""

    def scale_said(self, terminal: Terminal) -> str:
        """Say how the size of a number became its colour, or shade."""
        return scale_said(self._scale(terminal), terminal, "weight" if self.limit is None else "|x|")

    def broken_said(self, terminal: Terminal) -> str:
        """Say how squares are drawn that hold what is not finite; nothing where there are none."""
        broken = ~np.isfinite(self.numbers) & ~self.blank
        return f"{'red' if terminal.shaded else _NO_SHADE} is NaN or ∞" if broken.any() else ""

    def legend(self, terminal: Terminal) -> Line:
        """Show the colours, or shades, from one end of the scale to the other."""
        if not terminal.shaded:
            return (Span(_SHADES[terminal.unicode]),)
        plain = replace(terminal, scale="linear")
        low, high = (0.0, 1.0) if self.limit is None else (-self.limit, self.limit)
        evenly = np.linspace(low, high, _LEGEND)
        return tuple(Span(" ", heat=self.color(float(number), plain)) for number in evenly)

    def box(self, terminal: Terminal, *, wide: int = 1, tall: bool = False, ticks: bool = True) -> Box:
        """Draw the picture.

        Args:
            terminal: Where it is shown. With colours, a line holds two rows, as half blocks; without,
                one row in four shades.
            wide: Columns of the terminal for each square.
            tall: Whether a line holds one row also with colours.
            ticks: Whether positions are written at the edges.
        """
        draw = self._shaded if not terminal.shaded else self._whole if tall else self._halves
        body = list(draw(terminal, wide))
        if not ticks:
            return Box(tuple(body))
        rows = 2 if terminal.shaded and not tall else 1
        margin = (self._tick(0, i * rows, step=_TICK) for i in range(len(body)))
        lines = (
            (Span(f"{mark:>{self.margin - 1}} ", "faint"), *line)
            for mark, line in zip(margin, body, strict=True)
        )
        return Box(((Span(" " * self.margin), *self._top(wide)), *lines))

    def _tick(self, axis: int, i: int, *, step: int) -> str:
        return str(self.start[axis] + i * self.side) if i % step == 0 else ""

    def _top(self, wide: int) -> Line:
        columns = self.numbers.shape[1]
        longest = len(str(self.start[1] + columns * self.side))
        step = _TICK * math.ceil((longest + 1) / (_TICK * wide))
        line: Line = ()
        for j in range(0, columns, step):
            mark = Span(self._tick(1, j, step=step), "faint")
            if j * wide + cells((mark,)) <= columns * wide:
                line = (*pad(line, j * wide), mark)
        return line

    def _halves(self, terminal: Terminal, wide: int) -> Iterator[Line]:
        rows, columns = self.numbers.shape
        for i in range(0, rows, 2):
            pairs = ((self.place(i, j), self.place(i + 1, j)) for j in range(columns))
            yield tuple(self._half(pair, terminal, wide) for pair in pairs)

    def _whole(self, terminal: Terminal, wide: int) -> Iterator[Line]:
        rows, columns = self.numbers.shape
        for i in range(rows):
            places = (self.place(i, j) for j in range(columns))
            yield tuple(
                Span(" " * wide, heat=place and self.color(place.number, terminal), of=(place,))
                for place in places
            )

    def place(self, i: int, j: int) -> Place | None:
        """Say what a square stands for; None where all of it is masked, and below the last one."""
        if i >= len(self.numbers) or self.blank[i, j]:
            return None
        return Place(self.matrix, i * self.side, j * self.side, float(self.numbers[i, j]), self.side)

    def _half(self, pair: tuple[Place | None, Place | None], terminal: Terminal, wide: int) -> Span:
        upper, lower = (place and self.color(place.number, terminal) for place in pair)
        if upper is None:
            return Span("▄" * wide, front=lower, of=pair) if lower else Span(" " * wide)
        return Span("▀" * wide, front=upper, heat=lower, of=pair)

    def _shaded(self, terminal: Terminal, wide: int) -> Iterator[Line]:
        shades, scale = _SHADES[terminal.unicode], self._scale(terminal)

        def shade(number: float, *, blank: bool) -> str:
            if not blank and not math.isfinite(number):
                return _NO_SHADE
            share = 0.0 if blank else min(max(number, 0.0), 1.0)
            return shades[math.ceil(eased(share, scale) * (len(shades) - 1))]

        for numbers, blanks in zip(self.numbers.tolist(), self.blank.tolist(), strict=True):
            signs = (shade(number, blank=blank) for number, blank in zip(numbers, blanks, strict=True))
            yield (Span("".join(sign * wide for sign in signs)),)


def scale_said(scale: str, terminal: Terminal, what: str = "|x|") -> str:
    """Say how the size of a number becomes its colour, or shade; nothing where it simply does."""
    said = SCALES[scale].format(what)
    return said and f"{'colour' if terminal.shaded else 'shade'} {said}"


def pooled(matrix: Matrix, most: int, limit: float | None = None) -> Picture:
    """Shrink a matrix to at most so many rows and columns.

    Args:
        matrix: What to shrink.
        most: Squares along the longer side.
        limit: The end of the scale of signed numbers; None takes them for shares of 1.
    """
    masks = [mask for mask in (matrix.hidden, matrix.filled) if mask is not None]
    hidden = np.logical_or.reduce([np.zeros(matrix.array.shape, dtype=bool), *masks])
    side = math.ceil(max(hidden.shape) / most)
    spare = [(0, -size % side) for size in hidden.shape]
    rows, columns = (math.ceil(size / side) for size in hidden.shape)
    squares = np.pad(matrix.array, spare).reshape(rows, side, columns, side)
    masked = np.pad(hidden, spare, constant_values=True).reshape(squares.shape)
    finite = np.isfinite(squares)
    known = finite & ~masked
    shown = high = np.where(known, squares, -np.inf).max(axis=(1, 3))
    if limit is not None:
        low = np.where(known, squares, np.inf).min(axis=(1, 3))
        shown = np.where(high >= -low, high, low)
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        broken = np.where(finite | masked, 0, squares).sum(axis=(1, 3))
    blank = np.asarray(masked.all(axis=(1, 3)))
    numbers = np.where(np.isfinite(broken), shown, broken)
    return Picture(matrix, np.where(blank, np.nan, numbers), blank, side, limit)
