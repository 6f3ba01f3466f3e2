"""Inputs in the making, and the small things that every step of resolving needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.trace import Value

__all__ = ["Draft", "Numbers", "counted", "needs_vectors", "real", "word"]

Numbers: TypeAlias = np.ndarray


@dataclass
class Draft:
    """Inputs in the making.

    Args:
        problem: The problem as it was written.
        axes: The axes before queries and keys, of ``batch`` and ``head``.
        values: Fields of `attncli.core.inputs.Inputs` found so far.
        sizes: Lengths of axes by name; also ``d_model``, ``head_dim``, ``past`` (cached keys,
            which ``key`` counts as well), ``compared`` (numbers that a query and a key are compared
            by) and ``mixed`` (columns of the heads' outputs side by side).
        notes: Readings that were not the only ones.
    """

    problem: Problem
    axes: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def put(self, name: str, array: Numbers, symbol: str) -> None:
        """Set a field to an array under a symbol."""
        self.values[name] = Value(real(array), symbol)


def real(array: Numbers) -> Numbers:
    """Turn whole numbers into real ones, which is what division and exp take."""
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def word(name: str, word: str, rows: int | None, columns: int | None) -> Numbers:
    """Make the array that a word stands for."""
    if rows is None or columns is None:
        raise InputError(
            f"{name}: {word} needs a shape, and none follows from the other arrays",
            path=(name,),
            fix=f"write the numbers of {name} out",
        )
    if word == "identity":
        return np.eye(rows, columns)
    return np.full((rows, columns), 1.0 if word == "ones" else 0.0)


def counted(number: int, one: str, many: str = "") -> str:
    """Say a number of things: ``1 row``, ``2 rows``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def needs_vectors(key: str, begin: str) -> None:
    """Refuse a key that works on queries and keys where there are only scores."""
    if begin not in {"X", "Q"}:
        raise InputError(
            f"{key} works on queries and keys, but the problem starts with {begin}",
            path=(key,),
            fix=f"remove {key}, or give Q and K",
        )
