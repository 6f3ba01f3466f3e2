"""Nested lists to arrays: fast for what is well formed, exact about what is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.errors import InputError, Path, cell_name
from attncli.readers.numbers import NotANumber, number, odd_characters
from attncli.readers.tree import Folded, Plain, Tree
from attncli.text import quote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_NDIM", "booleans", "floats", "truth"]

MAX_NDIM = 4
_TRUTH = {"true": True, "false": False}
_CONVERTED = {int, float, Plain, str, Folded}


def floats(tree: list[Tree], path: Path, *, most: int = MAX_NDIM) -> NDArray[np.float64]:
    """Turn nested lists of numbers into an array.

    Args:
        tree: Lists in lists, all rows equally long.
        path: Key, and indices, of the list.
        most: How many axes there may be.

    Raises:
        InputError: If a cell is not a number, or the lists do not form an array; names the cell.
    """
    leaves, shape = _flatten(tree, path, number, most)
    array = _quickly(leaves)
    if array is None:
        array = np.array([_cell(number, leaf, i, shape, path) for i, leaf in enumerate(leaves)], np.float64)
    return array.reshape(shape)


def booleans(tree: list[Tree], path: Path) -> NDArray[np.bool_]:
    """Turn nested lists of true and false, or 1 and 0, into an array.

    Raises:
        InputError: As `floats` does.
    """
    leaves, shape = _flatten(tree, path, truth, MAX_NDIM)
    if not set(map(type, leaves)) <= {bool}:
        leaves = [_cell(truth, leaf, i, shape, path) for i, leaf in enumerate(leaves)]
    return np.array(leaves, np.bool_).reshape(shape)


def truth(value: Tree) -> bool:
    """Read one value as true or false; 1 and 0 mean the same.

    Raises:
        NotANumber: If it is neither.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUTH:
        return _TRUTH[value.strip().lower()]
    try:
        as_number = number(value)
    except NotANumber:
        as_number = math.nan
    if as_number not in {0, 1}:
        shown = f" but {quote(str(value))}" if isinstance(value, str | int | float) else ""
        raise NotANumber(f"is neither true nor false{shown}", "write true or false, or 1 or 0")
    return as_number == 1


def _quickly(leaves: list[Any]) -> NDArray[np.float64] | None:
    """Convert all cells at once where that cannot go wrong, or return None.

    float() takes no text that `number` would refuse, but it rounds 1e400 to infinity; so each
    spelling that became infinite or NaN is held against `number`.
    """
    kinds = set(map(type, leaves))
    try:
        if kinds <= {int, float}:
            array = np.array(leaves, np.float64)
        elif kinds <= _CONVERTED:
            array = np.fromiter(map(float, leaves), np.float64, count=len(leaves))
        else:
            return None
        for spelling in {leaves[i] for i in np.flatnonzero(~np.isfinite(array))}:
            number(spelling)
    except (ValueError, OverflowError):
        return None
    return array


def _cell(read: Callable[[Tree], Any], leaf: Tree, flat: int, shape: tuple[int, ...], path: Path) -> Any:
    try:
        return read(leaf)
    except NotANumber as fault:
        where = path + _indices(flat, shape)
        raise InputError(f"{cell_name(where)} {fault.what}", path=where, fix=fault.fix_in_array) from None


def _indices(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def _flatten(
    tree: list[Tree], path: Path, read: Callable[[Tree], Any], most: int
) -> tuple[list[Any], tuple[int, ...]]:
    """Return the cells in order, and the shape; check that the lists form an array."""
    level: list[Any] = [tree]
    shape: tuple[int, ...] = ()
    while True:
        kinds = set(map(type, level))
        if list not in kinds:
            return level, shape
        if len(kinds) > 1:
            raise _mixed(level, shape, path)
        if len(shape) == most:
            raise _deep(path, most)
        lengths = set(map(len, level))
        if len(lengths) > 1:
            for row in (0, _odd(level)):
                _check_cells(level[row], path + _indices(row, shape), read, _ndim(level[row]))
            raise _ragged(level, shape, path)
        shape = (*shape, lengths.pop())
        if shape[-1] == 0:
            raise _empty(shape, path)
        level = list(chain.from_iterable(level))


def _ndim(tree: Tree) -> int:
    """Return how many lists stand around the first cell."""
    ndim = 0
    while isinstance(tree, list) and tree and ndim <= MAX_NDIM:
        tree, ndim = tree[0], ndim + 1
    return ndim


def _check_cells(tree: Tree, path: Path, read: Callable[[Tree], Any], ndim: int) -> None:
    """Raise for the first bad cell: a row is often short because two of its cells ran into one."""
    if isinstance(tree, list) and ndim:
        for index, item in enumerate(tree):
            _check_cells(item, (*path, index), read, ndim - 1)
    elif not isinstance(tree, list):
        _cell(read, tree, 0, (), path)


def _mixed(level: list[Any], shape: tuple[int, ...], path: Path) -> InputError:
    wants_list = type(level[0]) is list
    odd = next(i for i, item in enumerate(level) if (type(item) is list) != wants_list)
    where = path + _indices(odd, shape)
    if not wants_list:
        message = f"{cell_name(where)} is a list where a number was expected"
        return InputError(
            message, path=where, fix="write one number here; all rows must be nested equally deep"
        )
    item = level[odd]
    found = quote(item) if isinstance(item, str) else "one value"
    hint = f" ({odd_characters(item)})" if isinstance(item, str) and odd_characters(item) else ""
    return InputError(
        f"{cell_name(where, ndim=len(shape) + 1)} is {found}{hint} where a list was expected",
        path=where,
        fix="put the row in brackets, with commas between its numbers: [1, 2]",
    )


def _odd(level: list[Any]) -> int:
    """Find the first row that is not as long as the one at the top."""
    return next(i for i, row in enumerate(level) if len(row) != len(level[0]))


def _ragged(level: list[Any], shape: tuple[int, ...], path: Path) -> InputError:
    odd = _odd(level)
    where = path + _indices(odd, shape)
    ndim = len(shape) + _ndim(level[0])
    name, first = cell_name(where, ndim=ndim), cell_name(path + _indices(0, shape), ndim=ndim)
    unit = "column" if ndim == len(shape) + 1 else "part"
    length = len(level[odd])
    return InputError(
        f"{name} has {length} {unit}{'' if length == 1 else 's'}, but {first} has {len(level[0])}",
        path=where,
        fix="make all rows equally long; look for a missing comma or number",
    )


def _deep(path: Path, most: int) -> InputError:
    return InputError(
        f"{cell_name(path)} has more than {most} dimensions: its lists are nested too deep",
        path=path,
        fix="write a matrix as a list of rows: [[1, 2], [3, 4]]",
    )


def _empty(shape: tuple[int, ...], path: Path) -> InputError:
    where = path + (0,) * (len(shape) - 1)
    return InputError(
        f"{cell_name(where, ndim=max(2, len(shape)))} is an empty list",
        path=where,
        fix="write numbers, or leave the key out",
    )
