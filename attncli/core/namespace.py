"""The array namespace of a value: the one door through which the mathematics meets a backend."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

from attncli.trace import Array

__all__ = ["namespace", "put"]


def namespace(*arrays: Array) -> Any:
    """Return the Array API namespace of the arrays.

    NumPy, JAX and CuPy name their own; only for the others is array_api_compat imported, since
    that costs as much time as NumPy itself.
    """
    first = arrays[0]
    if hasattr(first, "__array_namespace__"):
        return first.__array_namespace__()
    import array_api_compat  # noqa: PLC0415

    return array_api_compat.array_namespace(*arrays)


def put(whole: Array, place: tuple[slice | EllipsisType, ...], part: Array) -> Array:
    """Write a part into its place, and return the whole: another one where arrays are never written to."""
    if hasattr(whole, "at"):  # JAX
        return whole.at[place].set(part)
    whole[place] = part
    return whole
