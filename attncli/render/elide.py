"""Which rows and columns of a large table are shown."""

from __future__ import annotations

from typing import TypeAlias

from attncli.sheet import Kind, Matrix

__all__ = ["Shown", "hidden_cells", "shown_columns", "shown_rows"]

Shown: TypeAlias = tuple[int | None, ...]
"""Indices of rows or columns, with None where some are left out."""

_LONGEST = 16
_WIDEST = {Kind.VECTORS: 8, Kind.SCORES: 16, Kind.WEIGHTS: 16}
_ENDS = {Kind.VECTORS: 3, Kind.SCORES: 4, Kind.WEIGHTS: 4}


def shown_rows(matrix: Matrix, *, full: bool) -> Shown:
    """Choose the rows that are shown: all, or the first and last few."""
    return _shown(matrix.array.shape[0], _LONGEST, matrix.kind, full=full)


def shown_columns(matrix: Matrix, *, full: bool) -> Shown:
    """Choose the columns that are shown."""
    return _shown(matrix.array.shape[1], _WIDEST[matrix.kind], matrix.kind, full=full)


def hidden_cells(matrix: Matrix, *, full: bool) -> int:
    """Count the cells that are left out."""
    rows, columns = shown_rows(matrix, full=full), shown_columns(matrix, full=full)
    visible = sum(i is not None for i in rows) * sum(i is not None for i in columns)
    return matrix.array.size - visible


def _shown(count: int, most: int, kind: Kind, *, full: bool) -> Shown:
    if full or count <= most:
        return tuple(range(count))
    ends = _ENDS[kind]
    return (*range(ends), None, *range(count - ends, count))
