"""Every form in which a key's array may be written."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.draw import DISTRIBUTIONS, draw
from attncli.errors import InputError, Path, cell_name
from attncli.readers import block, nested
from attncli.readers.files import FORMATS, is_reference, read_reference
from attncli.readers.numbers import NotANumber, number, odd_characters
from attncli.readers.scalars import check_names, choice, integer, integers
from attncli.readers.signs import wide_sign
from attncli.readers.tree import Tree
from attncli.text import quote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["boolean_array", "cells", "number_array"]

_MAX_DRAWN = 2**28  # numbers, or 2 GiB of float64
_RANDOM = ("shape", "seed", "distribution")

_FORMS = (
    "an array is written as rows in brackets, [[1, 2], [3, 4]], as a block of text after |, "
    f"or as the name of a file ({', '.join(FORMATS)})"
)

_CALLS = (
    (r"\brandn\w*\(|\bnormal\(", "{random: {shape: [3, 4], seed: 0, distribution: normal}}"),
    (r"\brand\w*\(|\buniform\(", "{random: {shape: [3, 4], seed: 0}}"),
    (r"\b(eye|identity)\(", "identity"),
    (r"\bzeros\w*\(", "zeros"),
    (r"\bones\w*\(", "ones"),
)
"""What NumPy and torch would be called for, and the form that says it here."""


def number_array(value: Tree, path: Path, folder: pathlib.Path) -> NDArray[Any]:
    """Read an array of numbers, in whichever form it is written.

    Args:
        value: Nested lists, a block of text, a file's name or a mapping that says how to draw it.
        path: The key, and where in it.
        folder: What file names are relative to.

    Returns:
        float64, or float32 and bool as a file holds them, with 1 to 4 axes.

    Raises:
        InputError: If it is none of these, or not an array of numbers.
    """
    if isinstance(value, dict):
        return _drawn(value, path)
    array = _converted(value, path, folder, nested.floats)
    return array.astype(np.float64) if array.dtype == np.bool_ else array


def boolean_array(value: Tree, path: Path, folder: pathlib.Path) -> NDArray[np.bool_]:
    """Read an array of true and false, or of 1 and 0, in whichever form it is written.

    Raises:
        InputError: As `number_array` does, and if a cell is neither.
    """
    array = _converted(value, path, folder, nested.booleans)
    if array.dtype != np.bool_:
        odd = np.argwhere((array != 0) & (array != 1))
        if len(odd):
            where = path + tuple(map(int, odd[0]))
            raise InputError(
                f"{cell_name(where)} is {array[tuple(odd[0])]}, neither true nor false", path=where,
                fix="write true or false, or 1 or 0",
            )  # fmt: skip
    return array.astype(np.bool_, copy=False)


def cells(value: Tree, path: Path, folder: pathlib.Path) -> Tree:
    """Return the nested lists of a value that may be written as a block or a file, unread as yet.

    Returns:
        Nested lists of text or values; an array where a binary file holds one.
    """
    if isinstance(value, list | np.ndarray):
        return value
    if isinstance(value, str) and is_reference(value):
        return read_reference(value, path, folder)
    if isinstance(value, str) and block.is_block(value):
        return block.rows(value, path)
    raise _no_array(value, path)


def _converted(
    value: Tree, path: Path, folder: pathlib.Path, convert: Callable[[list[Tree], Path], NDArray[Any]]
) -> NDArray[Any]:
    found = cells(value, path, folder)
    if isinstance(found, np.ndarray):
        _check_axes(found, value, path)
        return found
    try:
        array = convert(found, path)
    except InputError as error:
        if isinstance(value, str) and is_reference(value):
            error.context = f"in {quote(value, limit=80, marks='')}"
        raise
    return _as_bias(array, path) if isinstance(value, str) else array


def _as_bias(array: NDArray[Any], path: Path) -> NDArray[Any]:
    """Give a bias one axis: text has rows and no way to say that there is only one."""
    is_bias = len(path) == 1 and str(path[0]).startswith("b_")
    return array.reshape(-1) if is_bias and max(array.shape) == array.size else array


def _check_axes(array: NDArray[Any], value: Tree, path: Path) -> None:
    file = quote(value, limit=80, marks="") if isinstance(value, str) else "its file"
    if not 1 <= array.ndim <= nested.MAX_NDIM:
        raise InputError(
            f"{cell_name(path)}: {file} holds a {array.ndim}-D array of shape {array.shape}",
            path=path,
            context=f"1 to {nested.MAX_NDIM} dimensions were expected",
            fix="reshape it before saving",
        )
    if array.size == 0:
        raise InputError(
            f"{cell_name(path)}: {file} holds no numbers; its shape is {array.shape}",
            path=path,
            fix="save an array with numbers in it, or leave the key out",
        )


def _drawn(value: Mapping[str, Tree], path: Path) -> NDArray[np.float64]:
    """Draw what ``{random: {shape: …, seed: …, distribution: …}}`` asks for."""
    if any(map(_is_number, value)):
        raise InputError(
            f"{cell_name(path)} is in braces, which hold keys, where rows of numbers were expected",
            path=path,
            fix=f"write {cell_name(path)}: [[1, 2], [3, 4]]",
        )
    check_names(value, ("random",), path)
    path = (*path, "random")
    how = value.get("random")
    if not isinstance(how, dict) or "shape" not in how:
        raise InputError(
            f"{cell_name(path)} needs a shape", path=path, fix="write {random: {shape: [3, 4], seed: 0}}"
        )
    check_names(how, _RANDOM, path)
    shape = integers(how["shape"], (*path, "shape"), minimum=1)
    if not 1 <= len(shape) <= nested.MAX_NDIM or math.prod(shape) > _MAX_DRAWN:
        raise InputError(
            f"{cell_name((*path, 'shape'))} is {list(shape)}",
            path=(*path, "shape"),
            context=f"1 to {nested.MAX_NDIM} axes and at most {_MAX_DRAWN:,} numbers were expected",
            fix="make it smaller",
        )
    seed = integer(how.get("seed", 0), (*path, "seed"), minimum=0)
    name = choice(how.get("distribution", "uniform"), (*path, "distribution"), tuple(DISTRIBUTIONS))
    return draw(shape, seed, name)


def _no_array(value: Tree, path: Path) -> InputError:
    """Make the error for a value in which no array can be seen."""
    name, text = cell_name(path), str(value)
    context, fix = _FORMS, f"write {name}: [[1, 2], [3, 4]]"
    if value == "":
        what = f"{name} is empty"
    elif value is None:
        what = f"{name} is null"
    elif not isinstance(value, bool) and _is_number(value):
        what = f"{name} is the single number {quote(text, marks='')}, where a matrix, a list of rows, was expected"
    elif isinstance(value, str) and (sign := wide_sign(text)):
        what, context, fix = f"{name} is {quote(text)}: {sign.what}", "", sign.fix
    else:
        kind = "text" if isinstance(value, str) else "a truth value"
        odd = f" ({odd})" if (odd := odd_characters(text)) else ""
        what = f"{name} is {kind}, {quote(text)}{odd}, where rows of numbers were expected"
        call = next((form for pattern, form in _CALLS if re.search(pattern, text)), None)
        context, fix = ("", f"write {name}: {call}") if call else (context, fix)
    return InputError(what, path=path, context=context, fix=fix)


def _is_number(value: Tree) -> bool:
    try:
        number(value)
    except NotANumber:
        return False
    return True
