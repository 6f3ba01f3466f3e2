"""An array given plainly as ``mask``: true keeps, and numbers are not guessed at."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.errors import InputError, Path, cell_name
from attncli.problem import Mask, keys
from attncli.readers.arrays import boolean_array, cells, number_array
from attncli.readers.block import is_block
from attncli.readers.files import is_reference
from attncli.readers.scalars import found, nearest
from attncli.readers.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["plain_mask"]


def plain_mask(value: Tree, path: Path, folder: pathlib.Path) -> NDArray[np.bool_]:
    """Read an array of true and false.

    Args:
        value: Lists, a block of text or a file's name.
        path: The key that it stands under.
        folder: What file names are relative to.

    Raises:
        InputError: If it is a word, or holds numbers; shows the ways to say what they mean.
    """
    try:
        array = cells(value, path, folder)
    except InputError as error:
        raise (error if _is_array(value) else _no_mask(value, path)) from None
    if not _holds_truth(array):
        raise _numeric(number_array(value, path, folder), path)
    return boolean_array(value, path, folder)


def _is_array(value: Tree) -> bool:
    """Tell whether a value that could not be read was at least meant as an array."""
    return isinstance(value, str) and (is_reference(value) or is_block(value))


def _no_mask(value: Tree, path: Path) -> InputError:
    near = nearest(value, ("causal", "none")) if isinstance(value, str) else None
    return InputError(
        f"{cell_name(path)} is {found(value)}, which is no mask",
        path=path,
        context="causal, an array of true and false, or a mapping of\n"
        + ", ".join(key.name for key in keys(Mask)),
        fix=f"did you mean {near}?" if near else "write mask: causal",
    )


def _holds_truth(value: Any) -> bool:
    """Tell whether the first cell is true or false, rather than a number."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype == np.bool_)
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in {"true", "false"})


def _numeric(array: NDArray[Any], path: Path) -> InputError:
    """Make the error for numbers where true and false were expected: libraries differ in what 1 means."""
    name = cell_name(path)
    if np.isin(array, (0, 1)).all():
        return InputError(
            f"{name} holds 1 and 0, and libraries differ in what 1 means",
            path=path,
            context="mask: {keep: …} if 1 marks what a query may see\n"
            "mask: {drop: …} if 1 marks what it may not see",
            fix="write one of the two",
        )
    return InputError(
        f"{name} holds numbers where true and false were expected",
        path=path,
        fix="write mask: {additive: …} if they are added to the scores",
    )
