"""One step of the computation: its number, title and formula, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from attncli.render.box import Box, beside, indent, packed, stacked, wrapped
from attncli.render.columns import Setting
from attncli.render.digits import FEW, Form, percentages, suited
from attncli.render.elide import hidden_cells, shown_columns
from attncli.render.glyphs import spell
from attncli.render.grid import grid
from attncli.render.heads import LARGE, OUT, heads, is_drawn, pictures
from attncli.render.ink import Line, Role, Span
from attncli.render.mixture import mixtures
from attncli.render.strongest import habits, strongest
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Matrix, Sheet

__all__ = ["CELLS", "block_box", "setting_of"]

CELLS = "--rows 0:16 --cols 0:16 or --full"
"""What shows the numbers of cells that are hidden or drawn."""

_INDENT = 3
_GAP = 3
_LEAST = 36  # cells of the title of a picture that is still smaller
_ROOM = 93  # cells of a table that has words beside its numbers
_WIDE = 9  # columns of scores from which on one decimal must do
_WIDEST_SUM = 8  # columns of an output that is still written in one line with its mixture


def block_box(block: Block, number: int, sheet: Sheet, terminal: Terminal, width: int) -> Box:
    """Set a block.

    Args:
        block: What to set.
        number: Its place in the computation, from 1.
        sheet: The sheet that it belongs to.
        terminal: Where it is shown.
        width: Cells that a line may take.
    """
    setting = setting_of(block, sheet, terminal, width - _INDENT)
    body = stacked(_body(block, setting, sheet))
    drawn = all(is_drawn(matrix, terminal, full=sheet.full) for matrix in block.matrices)
    # Pictures of scores are narrow, and stand side by side where their titles are so, too.
    room = min(width, max(body.width, _LEAST)) if drawn and not setting.heads_view else width
    title = _title(block, number, setting, room)
    return Box((*title.lines, *body.lines), head=len(title.lines))


def _body(block: Block, setting: Setting, sheet: Sheet) -> Iterator[Box]:
    """Set the matrices as numbers or as pictures, and say what they do not show."""
    if setting.heads_view:
        yield indent(heads(block.heads, setting), _INDENT)
        return
    drawn: list[Matrix] = []
    written: list[Matrix] = []
    for matrix in block.matrices:
        (drawn if is_drawn(matrix, setting.terminal, full=sheet.full) else written).append(matrix)
    if written:
        yield indent(_tables(written, setting), _INDENT)
    if drawn:
        yield indent(_explained(pictures(drawn, setting), block, written, setting), _INDENT - OUT)
    else:
        yield indent(stacked(_words(block, written, setting)), _INDENT)
    if block.heads and setting.terminal.shaded:
        yield indent(stacked([Box(((),)), heads(block.heads, setting)]), _INDENT)


def _explained(picture: Box, block: Block, written: Sequence[Matrix], setting: Setting) -> Box:
    """Set what is to be said of a picture beside it where there is room, and else below."""
    room = setting.width + OUT - picture.width - _GAP
    if room >= _LEAST:
        narrow = stacked(_words(block, written, replace(setting, width=room)))
        if narrow.lines and narrow.width <= room:
            return beside([picture, narrow], gap=_GAP)
    words = indent(stacked(_words(block, written, setting)), OUT)
    return stacked([picture, words], apart=1) if words.lines else picture


def _words(block: Block, written: Sequence[Matrix], setting: Setting) -> Iterator[Box]:
    """Say what is large among weights that are not all written, and how many cells a table hides."""
    weights = [m for m in block.matrices if m.kind is Kind.WEIGHTS and not m.blank]
    cut = [matrix for matrix in weights if hidden_cells(matrix, full=setting.full)]
    if cut:
        yield packed([_in_words(matrix, setting) for matrix in cut], setting.width, gap=_GAP)
    hidden = sum(hidden_cells(matrix, full=setting.full) for matrix in written)
    if hidden:
        whole = sum(matrix.array.size for matrix in written)
        options = CELLS if written[0].kind is not Kind.VECTORS else "--full"
        text = f"{hidden:,} of {whole:,} cells hidden: {options} shows them"
        yield wrapped([(Span(text, "faint"),)], setting.width)


def _in_words(matrix: Matrix, setting: Setting) -> Box:
    """Say the strongest pairs, and of a matrix of which squares are drawn also what rows are like."""
    said = [strongest(matrix, setting)]
    return stacked([*said, habits(matrix, setting)] if max(matrix.array.shape) > LARGE else said)


def setting_of(block: Block, sheet: Sheet, terminal: Terminal, width: int) -> Setting:
    """Choose how the matrices of a block are written.

    Args:
        block: The block.
        sheet: The sheet that it belongs to.
        terminal: Where it is shown.
        width: Cells that a table may take.
    """
    same: dict[str, list[Matrix]] = {}
    for matrix in block.matrices:
        same.setdefault(matrix.name, []).append(matrix)
    return Setting(
        terminal=terminal,
        width=width,
        full=sheet.full,
        forms={name: _form(some, block.decimals, sheet) for name, some in same.items()},
        limits={name: _largest(some) for name, some in same.items()},
        decimals=block.decimals,
        precision=sheet.precision,
        heads_view=sheet.heads_view and bool(block.heads),
        looks=len(block.matrices) == 1 and width >= _ROOM,
    )


def _form(parts: list[Matrix], decimals: int, sheet: Sheet) -> Form:
    """Choose how the parts of one stage are written: all alike, and shorter where they are wide."""
    matrix = parts[0]
    if matrix.kind is Kind.WEIGHTS:
        if sheet.percent:
            return percentages(matrix.array.shape[1], sheet.precision)
        return Form(2 if sheet.precision is None else sheet.precision)
    arrays = [part.array for part in parts]
    wide = matrix.kind is Kind.SCORES and len(shown_columns(matrix, full=sheet.full)) > _WIDE
    if wide:
        return suited(arrays, 1, sheet.precision, significant=2)
    return suited(arrays, decimals, sheet.precision)


def _largest(parts: list[Matrix]) -> float:
    """Find the largest size of a finite number that is no mask's."""

    def counts(part: Matrix) -> np.ndarray:
        finite = np.isfinite(part.array)
        return finite if part.filled is None else finite & ~part.filled

    return max(float(np.max(np.abs(part.array), initial=0, where=counts(part))) for part in parts)


def _tables(matrices: Sequence[Matrix], setting: Setting) -> Box:
    """Set matrices, those with the same rows in one table, but the heads of each stage by themselves."""

    def alike(matrix: Matrix) -> tuple[object, ...]:
        return matrix.rows, matrix.kind, len(matrix.array), matrix.name if matrix.part else ""

    captioned = len(matrices) > 1 or bool(matrices[0].part) or matrices[0].given
    tables = (_table(list(group), setting, captioned=captioned) for _, group in groupby(matrices, alike))
    return packed(tables, setting.width, gap=_GAP)


def _table(matrices: list[Matrix], setting: Setting, *, captioned: bool) -> Box:
    sums = [mixtures(m, m.mixture, setting) for m in matrices if m.mixture is not None]
    widest = max(matrix.array.shape[1] for matrix in matrices)
    if sums and widest <= _WIDEST_SUM and all(each.width <= setting.width for each in sums):
        return packed(sums, setting.width, gap=_GAP)
    return grid(matrices, setting, captioned=captioned)


def _title(block: Block, number: int, setting: Setting, width: int) -> Box:
    def item(text: str, role: Role, *, bold: bool = False) -> Line:
        return (Span(spell(text, setting.terminal), role, bold=bold),)

    items = [
        (Span(f" {number} ", "badge"), Span(" "), *item(block.title, "plain", bold=True)),
        *(item(formula, "formula") for formula in block.formulas),
        *(item(text, "faint") for text in (block.shape, *block.remarks, *_scales(block, setting)) if text),
    ]
    return wrapped(items, width, hang=_INDENT + 1)


def _scales(block: Block, setting: Setting) -> Iterator[str]:
    """Say what the colours or the short numbers stand for, where several tables share them."""
    matrix = block.matrices[0]
    if setting.heads_view:
        return
    if is_drawn(matrix, setting.terminal, full=setting.full):
        return
    if setting.forms[matrix.name].percent and matrix.array.shape[1] > FEW:
        yield "in %"
    compared = len(block.matrices) > 1 or matrix.array.shape[1] > FEW
    if matrix.kind is Kind.SCORES and setting.terminal.shaded and compared and not matrix.blank:
        yield f"±{setting.forms[matrix.name](setting.limits[matrix.name])}"
