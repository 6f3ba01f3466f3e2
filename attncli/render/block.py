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
from attncli.render.ink import Line, Role, Span
from attncli.render.mixture import mixtures
from attncli.render.strongest import strongest
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Matrix, Sheet

__all__ = ["block_box"]

_INDENT = 3
_GAP = 3
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
    setting = _setting(block, sheet, terminal, width - _INDENT)
    body = [_tables(block, setting)]
    body += [strongest(matrix, setting) for matrix in block.matrices if _is_cut(matrix, full=sheet.full)]
    hidden = sum(hidden_cells(matrix, full=sheet.full) for matrix in block.matrices)
    if hidden:
        whole = sum(matrix.array.size for matrix in block.matrices)
        text = f"{hidden:,} of {whole:,} cells hidden: --full shows them"
        body.append(wrapped([(Span(text, "faint"),)], setting.width))
    return stacked([_title(block, number, setting, width), indent(stacked(body), _INDENT)])


def _is_cut(matrix: Matrix, *, full: bool) -> bool:
    return matrix.kind is Kind.WEIGHTS and hidden_cells(matrix, full=full) > 0


def _setting(block: Block, sheet: Sheet, terminal: Terminal, width: int) -> Setting:
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
    )


def _form(parts: list[Matrix], decimals: int, sheet: Sheet) -> Form:
    """Choose how the parts of one stage are written: all alike, and shorter where they are wide."""
    matrix = parts[0]
    if matrix.kind is Kind.WEIGHTS:
        return percentages(matrix.array.shape[1], sheet.precision)
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
    if matrix.kind is Kind.WEIGHTS and matrix.array.shape[1] > FEW:
        yield "in %"
    compared = len(block.matrices) > 1 or matrix.array.shape[1] > FEW
    if matrix.kind is Kind.SCORES and setting.terminal.color in {"256", "truecolor"} and compared:
        yield f"±{setting.forms[matrix.name](setting.limits[matrix.name])}"
