"""Matrices as tables of finished texts and colours, for formats that set them in their own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from attncli.frozen import Frozen
from attncli.render.block import setting_of
from attncli.render.colors import FAINTEST, RGB, eased, signed_color, weight_color
from attncli.render.columns import Setting, row_maxima, side_form
from attncli.render.digits import BLANK
from attncli.render.elide import hidden_cells, shown_columns, shown_rows
from attncli.render.labels import names
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Matrix, Sheet

__all__ = ["Cell", "Chart", "Row", "chart_of", "charts", "document_terminal"]

_LONGEST = 40  # cells of a label


class Cell(NamedTuple):
    """A number as it is written.

    Args:
        text: Its digits, ``·`` or ``−∞`` where it is masked, ``⋯`` where others are left out.
        color: Its background; None for the paper's own.
        best: Whether it is the largest weight of its row.
        faint: Whether it is masked, left out, or beside the matrix.
    """

    text: str
    color: RGB | None = None
    best: bool = False
    faint: bool = False


class Row(Frozen):
    """A row of a chart.

    Args:
        name: Its name.
        cells: From left to right.
        places: Where each cell stands in the matrix; None for those that are not of it.
    """

    name: str
    cells: tuple[Cell, ...]
    places: tuple[tuple[int, int] | None, ...]


class Chart(Frozen):
    """A matrix, ready to be set.

    Args:
        caption: Its symbol, and the head or batch item that it is of.
        columns: Names of the columns, those beside the matrix among them.
        rows: From top to bottom.
        hidden: How many cells are left out.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    hidden: int


def document_terminal(terminal: Terminal) -> Terminal:
    """Return what a document is set for: every character, no folding, all colours."""
    return replace(terminal, width=10**6, color="truecolor", unicode=True, interactive=True)


def charts(block: Block, sheet: Sheet, terminal: Terminal) -> Iterator[Chart]:
    """Make a chart of each matrix of a block.

    Args:
        block: The block.
        sheet: The sheet that it belongs to.
        terminal: From `document_terminal`.
    """
    setting = setting_of(block, sheet, terminal, terminal.width)
    for matrix in block.matrices:
        yield chart_of(matrix, setting)


def chart_of(matrix: Matrix, setting: Setting) -> Chart:
    """Make the chart of one matrix."""
    rows = shown_rows(matrix, full=setting.full)
    columns = shown_columns(matrix, full=setting.full)
    row_names = _names(matrix.rows, matrix.array.shape[0], matrix.first_row, setting)
    column_names = _names(matrix.columns, matrix.array.shape[1], matrix.first_column, setting)
    sides = [(side, side_form(matrix, [side.values], setting, setting.decimals)) for side in matrix.sides]
    best = row_maxima(matrix)
    form = setting.forms[matrix.name]
    unit = "in %" if form.percent and not form.sign else ""
    beside_all = (None,) * (len(columns) + len(sides))

    def row(i: int | None) -> Row:
        if i is None:
            return Row("⋯", (Cell("⋯", faint=True),) * (len(columns) + len(sides)), beside_all)
        cells = [
            Cell("⋯", faint=True) if j is None else _cell(matrix, i, j, best[i], setting) for j in columns
        ]
        beside = [Cell(form(float(side.values[i])), faint=True) for side, form in sides]
        places = (*(None if j is None else (i, j) for j in columns), *(None for _ in sides))
        return Row(row_names[i], (*cells, *beside), places)

    return Chart(
        caption=" ".join(filter(None, (matrix.symbol, matrix.part, "given" * matrix.given, unit))),
        columns=(*("⋯" if j is None else column_names[j] for j in columns), *(s.label for s, _ in sides)),
        rows=tuple(row(i) for i in rows),
        hidden=hidden_cells(matrix, full=setting.full),
    )


def _names(labels: Sequence[str], count: int, start: int, setting: Setting) -> list[str]:
    named = names(labels, count, setting.terminal, _LONGEST, start)
    if not named.numbered:
        return list(named.texts)
    return [f"{position} {text}" for position, text in zip(named.positions, named.texts, strict=True)]


def _cell(matrix: Matrix, i: int, j: int, best: float, setting: Setting) -> Cell:
    number = float(matrix.array[i, j])
    if matrix.hidden is not None and matrix.hidden[i, j]:
        return Cell("−∞" if number else "·", faint=True)
    if matrix.blank:
        return Cell(BLANK)
    terminal = setting.terminal
    scale = terminal.scale or "linear"
    text = setting.forms[matrix.name](number)
    if matrix.filled is not None and matrix.filled[i, j]:
        return Cell(text, faint=True)
    if matrix.kind is Kind.WEIGHTS:
        color = weight_color(number, terminal.theme, terminal.palette, scale=scale)
        return Cell(text, color, best=number == best, faint=eased(number, scale) < FAINTEST)
    return Cell(text, signed_color(number, setting.limits[matrix.name], terminal.theme, scale=scale))
