"""Weights as a picture: a cell for each pair of query and key, or for the largest of a square of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attncli.frozen import Frozen
from attncli.render.box import Box
from attncli.render.colors import RGB, share_color
from attncli.render.ink import Line, Span, cells, pad
from attncli.render.terminal import Terminal
from attncli.sheet import Matrix, Numbers

__all__ = ["Picture", "legend", "pooled"]

_TICK = 8  # squares from one position that is written to the next
_SHADES = {True: " ░▒▓█", False: " .:+#"}  # by whether there is more than ASCII


class Picture(Frozen):
    """Weights that are drawn rather than written.

    Args:
        shares: The largest weight of each square; NaN where all of it is masked.
        side: Queries, and keys, in a square.
        start: Position of the first query and of the first key.
    """

    shares: Numbers
    side: int
    start: tuple[int, int] = (0, 0)

    def box(self, terminal: Terminal, *, wide: int = 1, ticks: bool = True) -> Box:
        """Draw the picture.

        Args:
            terminal: Where it is shown. With colours, a line holds two rows, as half blocks; without,
                one row in four shades.
            wide: Columns of the terminal for each square.
            ticks: Whether positions are written at the edges.
        """
        body = list(self._halves(terminal, wide) if terminal.shaded else self._shaded(terminal, wide))
        if not ticks:
            return Box(tuple(body))
        rows = 2 if terminal.shaded else 1
        margin = [self._tick(0, i * rows, step=_TICK) for i in range(len(body))]
        widest = max(map(len, margin))
        lines = (
            (Span(f"{mark:>{widest}} ", "faint"), *line) for mark, line in zip(margin, body, strict=True)
        )
        return Box(((Span(" " * (widest + 1)), *self._top(wide)), *lines))

    def _tick(self, axis: int, i: int, *, step: int) -> str:
        return str(self.start[axis] + i * self.side) if i % step == 0 else ""

    def _top(self, wide: int) -> Line:
        columns = self.shares.shape[1]
        longest = len(str(self.start[1] + columns * self.side))
        step = _TICK * math.ceil((longest + 1) / (_TICK * wide))
        line: Line = ()
        for j in range(0, columns, step):
            mark = Span(self._tick(1, j, step=step), "faint")
            if j * wide + cells((mark,)) <= columns * wide:
                line = (*pad(line, j * wide), mark)
        return line

    def _halves(self, terminal: Terminal, wide: int) -> Iterator[Line]:
        for i in range(0, len(self.shares), 2):
            below = self.shares[i + 1] if i + 1 < len(self.shares) else np.full(self.shares.shape[1], np.nan)
            yield tuple(
                _half(_color(float(a), terminal), _color(float(b), terminal), wide)
                for a, b in zip(self.shares[i], below, strict=True)
            )

    def _shaded(self, terminal: Terminal, wide: int) -> Iterator[Line]:
        shades = _SHADES[terminal.unicode]
        steps = np.ceil(np.sqrt(np.nan_to_num(self.shares)) * (len(shades) - 1))
        for row in np.clip(steps, 0, len(shades) - 1).astype(int):
            yield (Span("".join(shades[step] * wide for step in row)),)


def _half(upper: RGB | None, lower: RGB | None, wide: int) -> Span:
    if upper is None:
        return Span("▄" * wide, front=lower) if lower else Span(" " * wide)
    return Span("▀" * wide, front=upper, heat=lower)


def _color(share: float, terminal: Terminal) -> RGB | None:
    """Color a weight by its square root, by which small ones are still told apart."""
    if math.isnan(share):
        return None
    stepped = terminal.color == "256"
    return share_color(math.sqrt(max(share, 0.0)), terminal.theme, terminal.palette, stepped=stepped)


def pooled(matrix: Matrix, most: int) -> Picture:
    """Shrink a matrix to at most so many rows and columns, each square to the largest weight in it."""
    shares = np.where(np.isfinite(matrix.array), matrix.array, np.nan)
    if matrix.hidden is not None:
        shares = np.where(matrix.hidden, np.nan, shares)
    side = math.ceil(max(shares.shape) / most)
    spare = [(0, -size % side) for size in shares.shape]
    rows, columns = (math.ceil(size / side) for size in shares.shape)
    squares = np.pad(shares, spare, constant_values=np.nan).reshape(rows, side, columns, side)
    filled = np.where(np.isnan(squares), -np.inf, squares).max(axis=(1, 3))
    return Picture(np.where(filled == -np.inf, np.nan, filled), side, (matrix.first_row, matrix.first_column))


def legend(terminal: Terminal) -> Line:
    """Show which colours, or shades, stand for how much."""
    if terminal.shaded:
        scale = tuple(Span(" ", heat=_color((i / 11) ** 2, terminal)) for i in range(12))
    else:
        scale = (Span(_SHADES[terminal.unicode]),)
    return (Span("0 ", "faint"), *scale, Span(" 1", "faint"))
