"""The columns of a matrix: numbers as spans, with the colour, the weight and the marks that they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from attncli.frozen import Frozen
from attncli.render.colors import FAINTEST, RGB, eased, signed_color, weight_color
from attncli.render.digits import BLANK, FEW, Form, suited
from attncli.render.elide import shown_columns, shown_rows
from attncli.render.glyphs import spell
from attncli.render.ink import Place, Role, Span, cells, widest
from attncli.render.labels import names
from attncli.render.terminal import Terminal
from attncli.sheet import Kind, Matrix, Numbers

__all__ = ["Column", "Setting", "columns", "row_maxima", "side_form"]

_READ = 16  # so many keys have words beside their numbers
_POSITION, _SUM, _SHARES = 3, 8, 14  # cells of what stands before a name, and of what is beside a row
_APART = 7  # cells between two tables of different steps
_LONGEST_NAME = 12  # cells of a column's name, where numbers are set wide


class Setting(Frozen, kw_only=True):
    """How the matrices of a block are set.

    Args:
        terminal: Where they are shown.
        width: Cells that a table may take.
        full: Whether nothing may be left out.
        forms: How to write the numbers, by name of the matrix.
        limits: The end of the scale of colours, by name of the matrix.
        decimals: Digits after the point of numbers beside the rows.
        precision: Digits after the point that the reader asked for.
        looks: Whether there is room to say in words what each query looks at.
        heads_view: Whether all heads are drawn in place of numbers.
    """

    terminal: Terminal
    width: int
    full: bool
    forms: Mapping[str, Form]
    limits: Mapping[str, float]
    decimals: int
    precision: int | None
    looks: bool = False
    heads_view: bool = False

    @property
    def name_width(self) -> int:
        """Cells that the name of a row may take."""
        return min(20, self.width // 4) if self.terminal.interactive else min(40, self.width // 2)


class Column(Frozen):
    """One column of a table, not yet padded.

    Args:
        head: Its name: one line, or a position and a line.
        cells: From top to bottom.
        gap: Cells between it and its neighbour to the left.
        role: What its head is there for.
        least: Cells that it takes at least, without the gap, to be as wide as its neighbours.
        spare: Whether it may go where there is no room for it.
    """

    head: tuple[str, ...]
    cells: tuple[Span, ...]
    gap: int
    role: Role = "plain"
    least: int = 0
    spare: bool = False

    @cached_property
    def width(self) -> int:
        """Cells with the gap."""
        return self.gap + max(self.least, widest([*self.head, *(span.text for span in self.cells)]))


class _Body(Frozen):
    """The cells of a matrix as they are written, by column."""

    matrix: Matrix
    columns: Mapping[int, tuple[Span, ...]]
    starred: bool

    @cached_property
    def width(self) -> int:
        """Cells of its widest number."""
        return max((widest([span.text for span in column]) for column in self.columns.values()), default=1)

    def touches(self, width: int) -> bool:
        """Tell whether a star would stand against the next number, were there no space between columns."""
        return any(
            one.text.endswith("*") and cells(other.text) == width
            for left, right in pairwise(self.columns.values())
            for one, other in zip(left, right, strict=True)
        )


def columns(matrices: Sequence[Matrix], setting: Setting) -> Iterator[tuple[Column, ...]]:
    """Make the columns of each matrix, and of the numbers beside its rows.

    All parts of one stage have columns of one width, so that they can be compared.
    """
    bodies = [_body(matrix, setting) for matrix in matrices]
    for body in bodies:
        alike = [each for each in bodies if each.matrix.name == body.matrix.name]
        width = max(each.width for each in alike)
        touch = any(each.touches(width) for each in alike)
        beside: dict[str, list[Numbers]] = {}
        for side in (side for each in alike for side in each.matrix.sides):
            beside.setdefault(side.label, []).append(side.values)
        yield (*_columns(body, width, setting, touch=touch), *_sides(body.matrix, beside, setting))


def _body(matrix: Matrix, setting: Setting) -> _Body:
    rows = shown_rows(matrix, full=setting.full)
    write = _Cells(matrix, setting)
    chosen = [j for j in shown_columns(matrix, full=setting.full) if j is not None]
    written = [write(i, chosen) for i in rows]
    return _Body(matrix, dict(zip(chosen, zip(*written, strict=True), strict=True)), write.starred)


def _columns(body: _Body, least: int, setting: Setting, *, touch: bool) -> Iterator[Column]:
    matrix, star = body.matrix, " " * body.starred
    rows = shown_rows(matrix, full=setting.full)
    count = matrix.array.shape[1]
    width = min(_name_width(matrix, setting, least), setting.width // 3)
    head = names(matrix.columns, count, setting.terminal, width, matrix.first_column)
    airy = count <= FEW or (matrix.kind is Kind.VECTORS and not setting.terminal.paper)
    gap = max((2 if airy else 1) - body.starred, int(touch))
    for j in shown_columns(matrix, full=setting.full):
        if j is None:
            mark = spell("⋯", setting.terminal) + star
            yield Column((mark,), tuple(Span(mark, "faint") for _ in rows), 2, "faint")
            continue
        named = (head.positions[j], head.texts[j]) if head.numbered else (head.texts[j],)
        yield Column(tuple(text + star for text in named), body.columns[j], gap, least=least)


def _has_words(matrix: Matrix, setting: Setting) -> bool:
    whole = matrix.peaks is None and not matrix.blank
    readable = FEW < matrix.array.shape[1] <= _READ
    return setting.looks and whole and matrix.kind is Kind.WEIGHTS and readable


def _looks(matrix: Matrix, setting: Setting) -> Column:
    """Say in words which two keys a query looks at most."""
    said, whole = [], Form(0, percent=True, sign="%")
    named = names(matrix.columns, matrix.array.shape[1], setting.terminal, _LONGEST_NAME, matrix.first_column)
    for row in np.nan_to_num(matrix.array):
        best = [int(j) for j in np.argsort(-row, kind="stable")[:2] if row[j] >= FAINTEST]
        said.append(", ".join(f"{named.texts[j]} {whole(float(row[j]))}" for j in best))
    width = widest(["looks at", *said])
    left = [text + " " * (width - cells(text)) for text in ("looks at", *said)]
    return Column((left[0],), tuple(Span(text) for text in left[1:]), 3, "faint")


def _name_width(matrix: Matrix, setting: Setting, numbers: int) -> int:
    """Choose how wide the name of a column may be.

    Where there are many, as wide as the numbers, or as leaves the table whole and beside its neighbours.
    """
    count: int = matrix.array.shape[1]
    if not setting.terminal.interactive:
        return 2 * _LONGEST_NAME
    if count <= FEW:
        return _LONGEST_NAME
    least, page, beside = max(numbers, 3), setting.width + _APART, _beside(matrix, setting) + _APART
    abreast = max(page // (count * (least + 1) + beside), 1)
    room = (page // abreast - beside) // count - 1
    return max(min(room, _LONGEST_NAME), least)


def _beside(matrix: Matrix, setting: Setting) -> int:
    """Count the cells that names, sums and words take at most beside the columns of a table."""
    longest = widest([*matrix.rows, *matrix.columns])
    words = 2 * min(longest, _LONGEST_NAME) + _SHARES if _has_words(matrix, setting) else 0
    return min(longest, setting.name_width) + _POSITION + _SUM * len(matrix.sides) + words


def side_form(matrix: Matrix, values: Sequence[Numbers], setting: Setting, decimals: int) -> Form:
    """Choose how numbers beside matrices of a stage are written: those beside scores are maxima, and are as they are."""
    if matrix.kind is Kind.SCORES:
        return setting.forms[matrix.name]
    return suited(values, decimals, setting.precision)


def _sides(matrix: Matrix, beside: Mapping[str, Sequence[Numbers]], setting: Setting) -> Iterator[Column]:
    """Make the columns of what stands beside a matrix, written as beside the others of its stage."""
    rows, few = shown_rows(matrix, full=setting.full), matrix.array.shape[1] <= FEW
    decimals = setting.decimals if few else min(setting.decimals, 2)
    for side in matrix.sides:
        form = side_form(matrix, beside[side.label], setting, decimals)
        texts = ("⋯" if i is None else form(side.values[i]) for i in rows)
        written = tuple(Span(spell(text, setting.terminal), "faint") for text in texts)
        spare = side.spare and not setting.full
        yield Column((spell(side.label, setting.terminal),), written, 3 if few else 2, "faint", spare=spare)
    if _has_words(matrix, setting):
        yield _looks(matrix, setting)


def row_maxima(matrix: Matrix) -> np.ndarray:
    """Find the largest weight of each row, shown or not; NaN where there is none."""
    best = np.max(matrix.array, axis=-1) if matrix.peaks is None else matrix.peaks
    return np.where((best > 0) & (matrix.kind is Kind.WEIGHTS), best, np.nan)


class _Cells:
    """Writes the cells of a matrix."""

    def __init__(self, matrix: Matrix, setting: Setting) -> None:
        self._matrix = matrix
        self._setting = setting
        self._form = setting.forms[matrix.name]
        self._scale = setting.terminal.scale or "linear"
        self.starred = matrix.kind is Kind.WEIGHTS and setting.terminal.color is None
        self._star = " " * self.starred
        self._best = row_maxima(matrix).tolist() if matrix.kind is Kind.WEIGHTS else None

    def __call__(self, i: int | None, chosen: Sequence[int]) -> list[Span]:
        """Write the cells of a row in some columns."""
        matrix, terminal = self._matrix, self._setting.terminal
        if i is None:
            return [Span(spell("⋯", terminal) + self._star, "faint")] * len(chosen)
        hidden, filled = (
            None if mask is None else mask[i].tolist() for mask in (matrix.hidden, matrix.filled)
        )
        row = matrix.array[i] if hidden is None else np.where(hidden, 0, matrix.array[i])
        texts = spell(self._form.line(row), terminal).split(" ")
        numbers = matrix.array[i].tolist()  # in a quarter of the time that one by one takes
        best = self._best and self._best[i]

        def cell(j: int) -> Span:
            number = numbers[j]
            of = (Place(matrix, i, j, number),) if terminal.paper else ()
            if hidden and hidden[j]:
                return Span(spell("−∞" if number else "·", terminal) + self._star, "faint", of=of)
            if matrix.blank:
                return Span(BLANK + self._star)
            if filled and filled[j]:
                return Span(texts[j], "faint", of=of)
            text = texts[j] + ("*" if self.starred and number == best else self._star)
            if terminal.color is None:
                return Span(text)
            return Span(text, self._role(number), number == best, self._heat(number), of=of)

        return [cell(j) for j in chosen]

    def _role(self, number: float) -> Role:
        return "faint" if self._best is not None and eased(number, self._scale) < FAINTEST else "plain"

    def _heat(self, number: float) -> RGB | None:
        terminal = self._setting.terminal
        if not terminal.shaded:
            return None
        stepped = terminal.color == "256"
        if self._best is not None:
            return weight_color(number, terminal.theme, terminal.palette, scale=self._scale, stepped=stepped)
        limit = self._setting.limits[self._matrix.name]
        return signed_color(number, limit, terminal.theme, scale=self._scale, stepped=stepped)
