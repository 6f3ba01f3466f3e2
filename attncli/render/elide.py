"""Which rows and columns of a large table are shown."""

from __future__ import annotations

from typing import TypeAlias

from attncli.sheet import Kind, Matrix

__all__ = ["LONGEST", "Shown", "hidden_cells", "is_small", "shown_columns", "shown_rows"]

Shown: TypeAlias = tuple[int | None, ...]
"""Indices of rows or columns, with None where some are left out."""

LONGEST = 16
"""So many rows or columns are written."""

_SMALL = 128  # numbers for pairs that are written however long their rows are: half of what 16 rows hold
_WIDEST = {Kind.VECTORS: 8, Kind.SCORES: 16, Kind.WEIGHTS: 16}
_ENDS = {Kind.VECTORS: 3, Kind.SCORES: 4, Kind.WEIGHTS: 4}


def is_small(matrix: Matrix) -> bool:
    """Tell whether so few pairs are written whatever their longer side is, a few queries and many keys."""
    return matrix.kind is not Kind.VECTORS and matrix.array.size <= _SMALL


def shown_rows(matrix: Matrix, *, full: bool) -> Shown:
    """Choose the rows that are shown: all, or the first and last few."""
    return _shown(matrix.array.shape[0], LONGEST, matrix.kind, full=full or is_small(matrix))


def shown_columns(matrix: Matrix, *, full: bool) -> Shown:
    """Choose the columns that are shown."""
    return _shown(matrix.array.shape[1], _WIDEST[matrix.kind], matrix.kind, full=full or is_small(matrix))


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
