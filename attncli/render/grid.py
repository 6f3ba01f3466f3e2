"""Matrices with the same rows as one table, which is folded rather than cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from attncli.frozen import Frozen
from attncli.render.box import Box, stacked
from attncli.render.columns import Column, Setting, columns
from attncli.render.elide import shown_rows
from attncli.render.glyphs import spell
from attncli.render.ink import Line, Span, cells, pad
from attncli.render.labels import names
from attncli.sheet import Kind, Matrix

__all__ = ["grid"]

_GROUP_GAP = 2

T = TypeVar("T")


class _Group(Frozen):
    """Columns of one matrix, or as many of them as fit, under a caption."""

    caption: Line
    columns: tuple[Column, ...]

    @cached_property
    def width(self) -> int:
        return max(sum(self.widths), cells(self.caption))

    @cached_property
    def widths(self) -> list[int]:
        return [column.width for column in self.columns]

    @cached_property
    def rows(self) -> list[tuple[Span, ...]]:
        return list(zip(*(column.cells for column in self.columns), strict=True))


def grid(matrices: Sequence[Matrix], setting: Setting, *, captioned: bool) -> Box:
    """Set matrices with the same rows side by side.

    Args:
        matrices: What to set.
        setting: How.
        captioned: Whether the name of each stands above it.
    """
    groups = [
        _Group(_caption(matrix, setting) if captioned else (), made)
        for matrix, made in zip(matrices, columns(matrices, setting), strict=True)
    ]
    margin = _margin(matrices[0], setting)
    width = max(map(cells, margin))
    return stacked((_table(margin, fold) for fold in _folds(groups, setting.width - width)), apart=1)


def _caption(matrix: Matrix, setting: Setting) -> Line:
    what = f"{matrix.symbol} " + (f"{matrix.part} " if matrix.part else "") + ("given" * matrix.given)
    symbol, _, rest = what.partition(" ")
    return (Span("  " + spell(symbol, setting.terminal), bold=True), Span(f" {rest}".rstrip(), "faint"))


def _margin(matrix: Matrix, setting: Setting) -> list[Line]:
    """Make the names of the rows, under the corner that says what rows and columns are."""
    terminal = setting.terminal
    count = matrix.array.shape[0]
    named = names(matrix.rows, count, terminal, setting.name_width, matrix.first_row)
    corner = "" if matrix.kind is Kind.VECTORS else "q╲k"
    apart = int(matrix.kind is Kind.WEIGHTS and terminal.color is None)  # the star takes the gap's place
    lines: list[Line] = [(Span(spell(corner, terminal), "faint"),)]
    for i in shown_rows(matrix, full=setting.full):
        if i is None:
            lines.append((Span(spell("⋯", terminal), "faint"),))
        else:
            position = (Span(f"{named.positions[i]} ", "faint"),) if named.numbered else ()
            lines.append((*position, Span(named.texts[i], bold=True)))
    widest = max(map(cells, lines))
    return [(Span(" " * (widest - cells(line))), *line, Span(" " * apart)) for line in lines]


def _folds(groups: Sequence[_Group], width: int) -> list[list[_Group]]:
    """Break groups into as few tables as the width allows, within a group only when it must be."""
    parts = [part for group in groups for part in _split(_without_spares(group, width), width)]
    return _evenly(parts, [part.width + _GROUP_GAP for part in parts], width + _GROUP_GAP)


def _without_spares(group: _Group, width: int) -> _Group:
    """Leave out what may go, when a table would have to be folded for it."""
    if group.width <= width:
        return group
    return replace(group, columns=tuple(column for column in group.columns if not column.spare))


def _split(group: _Group, width: int) -> list[_Group]:
    runs = _evenly(group.columns, [column.width for column in group.columns], width)
    return [replace(group, columns=tuple(run)) for run in runs]


def _evenly(items: Sequence[T], widths: Sequence[int], room: int) -> list[list[T]]:
    """Break items into as few runs as fit into the room, and those about as wide as each other.

    So nothing stands in a table of its own because it alone found no room.
    """
    runs = _runs(items, widths, room)
    for narrower in range(-(-sum(widths) // len(runs)), room):
        if len(evener := _runs(items, widths, narrower)) == len(runs):
            return evener
    return runs


def _runs(items: Sequence[T], widths: Sequence[int], room: int) -> list[list[T]]:
    """Break items into runs, each as long as fits; one that is too wide by itself stays whole."""
    runs: list[list[T]] = [[]]
    taken = 0
    for item, width in zip(items, widths, strict=True):
        if runs[-1] and taken + width > room:
            runs.append([])
            taken = 0
        runs[-1].append(item)
        taken += width
    return runs


def _table(margin: Sequence[Line], groups: Sequence[_Group]) -> Box:
    corner, *row_names = margin
    width = max(map(cells, margin))
    lines: list[Line] = []
    if any(group.caption for group in groups):
        lines.append(_across((Span(" " * width),), [(group.caption, group.width) for group in groups]))
    deepest = max(len(column.head) for group in groups for column in group.columns)
    for level in reversed(range(deepest)):
        start = (Span(" " * width),) if level else corner
        lines.append(_across(start, [(_heads(group, level), group.width) for group in groups]))
    for i, name in enumerate(row_names):
        lines.append(_across(name, [(_row(group, i), group.width) for group in groups]))
    return Box(tuple(lines))


def _across(start: Line, parts: Sequence[tuple[Line, int]]) -> Line:
    line = start
    for i, (part, width) in enumerate(parts):
        gap = (Span(" " * _GROUP_GAP),) if i else ()
        line = (*line, *gap, *pad(part, width))
    return line


def _heads(group: _Group, level: int) -> Line:
    """Write the heads of columns, their last lines level: 0 is the last."""

    def one(column: Column) -> Span:
        text = column.head[-1 - level] if level < len(column.head) else ""
        return Span(_right(text, column.width), column.role, bold=column.role == "plain")

    return tuple(one(column) for column in group.columns)


def _row(group: _Group, i: int) -> Line:
    row = zip(group.rows[i], group.widths, strict=True)
    return tuple([Span(_right(cell.text, width), *cell[1:]) for cell, width in row])


def _right(text: str, width: int) -> str:
    return text.rjust(width if text.isascii() else width - cells(text) + len(text))
