"""One step of the computation: its number, title and formula, and its tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from attncli.render.box import Box, indent, packed, stacked, wrapped
from attncli.render.columns import Setting
from attncli.render.digits import FEW, Form, percentages, suited
from attncli.render.elide import hidden_cells, shown_columns
from attncli.render.glyphs import spell
from attncli.render.grid import grid
from attncli.render.heads import LARGE, heads, is_drawn, pictures
from attncli.render.ink import Line, Role, Span
from attncli.render.mixture import mixtures
from attncli.render.strongest import habits, strongest
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Matrix, Sheet

__all__ = ["block_box", "setting_of"]

_INDENT = 3
_GAP = 3
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
    body = [*_body(block, setting, sheet)]
    return stacked([_title(block, number, setting, width), indent(stacked(body), _INDENT)])


def _body(block: Block, setting: Setting, sheet: Sheet) -> Iterator[Box]:
    """Set the matrices as numbers or as pictures, and say what they do not show."""
    if setting.heads_view:
        yield heads(block.heads, setting)
        return
    if any(is_drawn(matrix, setting) for matrix in block.matrices):
        yield pictures(block.matrices, setting)
    else:
        yield _tables(block, setting)
    weights = [m for m in block.matrices if m.kind is Kind.WEIGHTS and not m.blank]
    cut = [matrix for matrix in weights if hidden_cells(matrix, full=sheet.full)]
    if cut:
        yield packed([_in_words(matrix, setting) for matrix in cut], setting.width, gap=_GAP)
    hidden = sum(hidden_cells(matrix, full=sheet.full) for matrix in block.matrices)
    if hidden:
        yield _more(block, hidden, setting)
    if block.heads and setting.terminal.shaded:
        yield stacked([Box(((),)), heads(block.heads, setting)])


def _in_words(matrix: Matrix, setting: Setting) -> Box:
    """Say the strongest pairs, and of a matrix of which squares are drawn also what rows are like."""
    said = [strongest(matrix, setting)]
    return stacked([*said, habits(matrix, setting)] if max(matrix.array.shape) > LARGE else said)


def _more(block: Block, hidden: int, setting: Setting) -> Box:
    """Count the cells that no number is shown of, and name the options that show them."""
    whole = sum(matrix.array.size for matrix in block.matrices)
    drawn = any(is_drawn(matrix, setting) for matrix in block.matrices)
    text = f"{whole if drawn else hidden:,} of {whole:,} cells {'without numbers' if drawn else 'hidden'}"
    by_pair = block.matrices[0].kind is not Kind.VECTORS
    options = "--rows 0:16 --cols 0:16 or --full" if by_pair else "--full"
    return wrapped([(Span(f"{text}: {options} shows them", "faint"),)], setting.width)


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
    """Find the largest size of a finite number."""
    return max(float(np.max(np.abs(part.array), initial=0, where=np.isfinite(part.array))) for part in parts)


def _tables(block: Block, setting: Setting) -> Box:
    """Set the matrices, those with the same rows in one table."""
    kinds = groupby(block.matrices, key=lambda matrix: (matrix.rows, matrix.kind, len(matrix.array)))
    first = block.matrices[0]
    captioned = len(block.matrices) > 1 or bool(first.part) or first.given
    tables = (_table(list(group), setting, captioned=captioned) for _, group in kinds)
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
    if setting.forms[matrix.name].percent and matrix.array.shape[1] > FEW and not is_drawn(matrix, setting):
        yield "in %"
    compared = len(block.matrices) > 1 or matrix.array.shape[1] > FEW
    if matrix.kind is Kind.SCORES and setting.terminal.shaded and compared and not matrix.blank:
        yield f"±{setting.forms[matrix.name](setting.limits[matrix.name])}"
