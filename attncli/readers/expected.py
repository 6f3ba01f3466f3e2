"""Printed numbers, kept as text: 0.50 says more than 0.5."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from attncli.errors import InputError, Path, cell_name
from attncli.problem import Expected
from attncli.readers.arrays import cells
from attncli.readers.nested import floats
from attncli.readers.numbers import ascii_signs
from attncli.readers.scalars import found, real
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["expected"]

# A stage, or a part of one: weights, output[0], head_output[:,3].
_STAGE = re.compile(r"[A-Za-z]\w*(\[[^\[\]]+\])?")


def expected(value: Tree, path: Path, folder: pathlib.Path) -> dict[str, Expected]:
    """Read printed numbers by stage, and keep the digits of each.

    Args:
        value: A mapping of ``weights``, ``output[0]`` and so on to a number, lists or a printout.
        path: The key that it stands under.
        folder: What file names are relative to.

    Raises:
        InputError: If a name cannot be a stage, or a value is no number.
    """
    if not isinstance(value, dict):
        raise InputError(
            f"{cell_name(path)} is {found(value)}, where stages and their numbers were expected",
            path=path,
            fix="write expected: {weights: [[…]], output: [[…]]}",
        )
    for name in value:
        if not _STAGE.fullmatch(name):
            raise InputError(
                f"{cell_name(path)} has the key {quote(name)}, which is no stage and no part of one",
                path=(*path, name),
                fix="write a name such as weights, output[0] or weights[1,2]",
            )
    return {name: _digits(item, (*path, name), folder) for name, item in value.items()}


def _digits(value: Tree, path: Path, folder: pathlib.Path) -> Expected:
    """Keep the numbers of one stage as text, when each of them is a number."""
    if isinstance(value, list) or (isinstance(value, str) and ("\n" in value or "[" in value)):
        value = cells(value, path, folder)
        floats(value, path)
    else:
        _check_number(value, path)
    return Expected(_as_text(value))


def _check_number(value: Tree, path: Path) -> None:
    """Check that a single printed value is a number, NaN included."""
    if not (isinstance(value, str) and value.strip().lower().lstrip("+-.") == "nan"):
        real(value, path)


def _as_text(value: Tree) -> Any:
    return [_as_text(item) for item in value] if isinstance(value, list) else ascii_signs(str(value))
