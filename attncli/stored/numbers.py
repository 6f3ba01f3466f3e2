"""The numbers of a stored stage: lists of a document, or an array beside it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attncli.errors import InputError, Path, cell_name
from attncli.readers.nested import floats
from attncli.trace import Stage

__all__ = ["holding", "numbers", "say", "seen"]

_AXES = 5
"""As many as the largest detail has: batch, head, query, key and dim."""


def holding(precision: str) -> str:
    """Name the dtype of the arrays that hold the numbers of a precision."""
    return "float64" if precision == "float64" else "float32"


def numbers(value: object, path: tuple[str, ...], kind: str) -> np.ndarray:
    """Read the numbers of a stage or a detail.

    Args:
        value: Nested lists, or an array.
        path: Where it stands.
        kind: The dtype that it has in memory.

    Raises:
        InputError: They are no numbers, or not of that dtype.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f" or not np.can_cast(value.dtype, kind):
            raise InputError(
                f"{cell_name(path)} holds {value.dtype}, where a result of this precision has {kind}",
                path=path,
                fix="compute it again",
            )
        return value.astype(kind, copy=False)
    if not isinstance(value, list):
        raise InputError(
            f"{cell_name(path)} is no array of numbers", path=path, fix="write it as nested lists"
        )
    wide = floats(value, path, most=_AXES)
    with np.errstate(over="ignore"):
        array = wide.astype(kind)
    if (lost := np.isinf(array) & np.isfinite(wide)).any():
        where: Path = (*path, *map(int, np.argwhere(lost)[0]))
        raise InputError(f"{cell_name(where)} is too large for {kind}", path=where, fix="compute it again")
    return array


def say(shape: tuple[int, ...]) -> str:
    """Spell a shape: ``3×2``."""
    return "×".join(map(str, shape)) or "a single number"


def seen(stage: Stage[...], array: np.ndarray, details: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Add the details that can be seen from the numbers of a stage alone, where they were not kept."""
    missing = [each for each in stage.details.values() if not each.large and each.name not in details]
    with np.errstate(all="ignore"):
        made = {each.name: each({"result": array}) for each in missing}
    return {**details, **{name: found for name, found in made.items() if found is not None}}
