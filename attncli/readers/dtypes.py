"""Which dtypes of a file are taken, and what becomes of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attncli.errors import InputError, Path, cell_name
from attncli.text import quote

__all__ = ["refuse_dtype", "small_float", "widened"]


@cache
def small_float(name: str) -> np.dtype[Any]:
    """Return a dtype that NumPy lacks, such as bfloat16."""
    import ml_dtypes  # noqa: PLC0415  (rarely needed)

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


_KEPT = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_))

_REFUSED = {
    "c": ("complex numbers", "attention is computed with real numbers: save the real part"),
    "U": ("text", "save an array of numbers"),
    "S": ("text", "save an array of numbers"),
    "T": ("text", "save an array of numbers"),
    "M": ("dates", "save an array of numbers"),
    "m": ("time spans", "save an array of numbers"),
    "O": ("Python objects, which are not loaded", "save it with a numeric dtype, such as float64"),
    "V": ("records or raw bytes", "save a plain array with a numeric dtype"),
    "f": ("numbers wider than float64", "save it as float64"),
}


def refuse_dtype(dtype: np.dtype[np.generic], file: str, path: Path) -> None:
    """Refuse what is no real number of at most 64 bits.

    Args:
        dtype: As the file declares it.
        file: The file's name, for the message.
        path: The key that names the file.

    Raises:
        InputError: Names the dtype and what it is.
    """
    if (
        dtype.name == "bfloat16"
        or dtype.kind in "biu"
        or (dtype.kind == "f" and dtype.itemsize <= np.dtype(np.float64).itemsize)
    ):
        return
    what, fix = _REFUSED.get(dtype.kind, ("no numbers", "save an array of numbers"))
    raise InputError(
        f"{cell_name(path)}: {quote(file, marks='')} holds {what} (dtype {quote(str(dtype), marks='')})",
        path=path,
        fix=fix,
    )


def widened(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return float32, float64 and bool arrays in native order as they are, and all others as float64."""
    if array.dtype in _KEPT and array.flags.aligned:
        return array
    if array.dtype.newbyteorder("=") in _KEPT:
        return array.astype(array.dtype.newbyteorder("="))
    return array.astype(np.float64)
