"""Numbers as they were printed: what part of a stage they are, and how exact they claim to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attncli.errors import InputError, Path
from attncli.frozen import Frozen
from attncli.problem import Problem
from attncli.readers.numbers import number
from attncli.text import quote

__all__ = ["Numbers", "Printed", "Truth", "Verdict", "index_of", "needs_large", "printed"]

Numbers: TypeAlias = NDArray[np.floating[Any]]
Truth: TypeAlias = NDArray[np.bool_]

_FLOAT = 1e-11
"""Share of a number that is nobody's fault: float64 itself, in another order of additions."""

_PERCENT = 100.0
_FRACTION_DECIMALS = 12
"""A fraction such as 1/3 is exact; so many decimals of it are."""


class Verdict(IntEnum):
    """What a printed number is, held against the right one."""

    OK = 0
    LAST_DIGIT = 1
    WRONG = 2


_FINEST = 300  # decimals; beyond, a unit would be no number


class Printed(Frozen, kw_only=True):
    """A block of numbers that somebody printed.

    Args:
        key: The block's name as it was written: ``weights[1,2]``.
        name: The stage or the detail that it is, or is a part of.
        index: Where the part is in it.
        text: The numbers as text; an array of any number of axes.
        numbers: The same as numbers, in the unit of the stage.
        units: One unit in the last printed place of each, in the unit of the stage.
        tolerance: What else a right number may be off by.
        forgiving: Whether a whole unit in the last place is a slip of rounding, which it is not
            among whole numbers, where there is no last decimal.
        factor: What a number of the stage is multiplied by to be printed: 100 for percentages.
    """

    key: str
    name: str
    index: tuple[int | slice, ...]
    text: NDArray[np.object_]
    numbers: Numbers
    units: Numbers
    tolerance: float
    forgiving: Truth
    factor: float = 1.0

    def part(self, array: Numbers) -> Numbers:
        """Cut the part that was printed out of its stage.

        Raises:
            InputError: The stage has no such part, or the part another shape.
        """
        path: Path = ("expected", self.key)
        try:
            part = np.asarray(array[self.index])
        except IndexError:
            raise InputError(
                f"expected has {quote(self.key)}, but {self.name} is {_shape(array.shape)}", path=path
            ) from None
        if part.shape != self.numbers.shape:
            raise InputError(
                f"expected.{self.key} is {_shape(self.numbers.shape)}, but {self.key} is {_shape(part.shape)}",
                path=path,
                fix=f"print the whole of it, or name a part such as {self.name}[0]",
            )
        return part

    def put(self, array: Numbers, cells: Truth) -> Numbers:
        """Return a stage in which the printed numbers stand, as far as they are among some cells."""
        changed = np.array(array)
        changed[self.index] = np.where(cells, self.numbers, changed[self.index])
        return changed

    def verdicts(self, right: Numbers) -> NDArray[np.int8]:
        """Give each printed number its `Verdict`.

        Args:
            right: The part of the stage that was printed, as it should be.
        """
        with np.errstate(invalid="ignore"):  # −∞ − −∞, which is compared as it stands
            off = np.abs(right - self.numbers)
        same = (off == 0) | (right == self.numbers) | (np.isnan(right) & np.isnan(self.numbers))
        spare = self.tolerance + _FLOAT * np.maximum(np.abs(np.nan_to_num(right)), 1)
        rounds = same | (off <= self.units / 2 + spare)
        slips = self.forgiving & (off <= self.units + spare)
        return np.where(rounds, Verdict.OK, np.where(slips, Verdict.LAST_DIGIT, Verdict.WRONG)).astype(
            np.int8
        )

    def bits(self, right: Numbers) -> Numbers:
        """Measure how unlikely it is to meet each number by chance, given how far the numbers spread."""
        known = np.concatenate([self.numbers.ravel(), right.ravel()])
        finite = known[np.isfinite(known)]
        spread = float(np.ptp(finite)) if finite.size else 0.0
        bits: Numbers = np.log2(np.maximum(spread / (2 * self.units), 1))
        return bits


def printed(problem: Problem) -> list[Printed]:
    """List the numbers that a problem expects.

    Raises:
        InputError: There are none, or a name or a shape cannot be.
    """
    if not problem.expected:
        raise InputError(
            "there is nothing to check: the problem has no expected values",
            path=(),
            fix="add expected: {weights: [[…]]}, or name a result: attn check FILE RESULT",
        )
    return [_block(problem, key, each.digits) for key, each in problem.expected.items()]


def needs_large(blocks: Iterable[Printed]) -> bool:
    """Tell whether blocks ask for details that have a number for each query and key."""
    return any(block.name in {"exp", "exp_sum", "weighted_values"} for block in blocks)


def _block(problem: Problem, key: str, digits: Any) -> Printed:
    name, index = index_of(key)
    text = _as_array(key, digits)
    numbers = np.vectorize(number, otypes=[np.float64])(text)
    percent = name == "percent" or _said(problem.expected_in, key, name) == "percent"
    stated = _said(problem.expected_decimals, key, name)
    decimals = np.asarray(_decimals(text) if stated is None else np.full(text.shape, stated))
    factor = _PERCENT if percent else 1.0
    return Printed(
        key=key,
        name="weights" if name == "percent" else name,
        index=index,
        text=text,
        numbers=numbers / factor,
        units=10.0 ** -np.minimum(decimals, _FINEST) / factor,
        tolerance=(problem.expected_tolerance or 0.0) / factor,
        forgiving=(decimals > 0) | percent,
        factor=factor,
    )


def index_of(key: str) -> tuple[str, tuple[int | slice, ...]]:
    """Split ``weights[1,2]`` into a name and an index.

    Raises:
        InputError: The index is not made of numbers and colons.
    """
    name, bracket, inside = key.partition("[")
    if not bracket:
        return name, ()
    parts = [part.strip() for part in inside.removesuffix("]").split(",")]
    if not all(re.fullmatch(r":|[0-9]{1,9}", part) for part in parts):
        raise InputError(
            f"{quote(key)} is no part of a stage",
            path=("expected", key),
            fix=f"write {name}[1], {name}[1,2] or {name}[:,2], counted from 0",
        )
    return name, tuple(slice(None) if part == ":" else int(part) for part in parts)


def _as_array(key: str, digits: Any) -> NDArray[np.object_]:
    shape: list[int] = []
    level = digits
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else ""
    flat = list(_leaves(digits))
    if len(flat) != int(np.prod(shape)) or not flat:
        raise InputError(f"expected.{key} is empty, or its rows differ in length", path=("expected", key))
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(shape)


def _leaves(digits: Any) -> Iterator[str]:
    if not isinstance(digits, list):
        yield str(digits)
        return
    for each in digits:
        yield from _leaves(each)


def _said(stated: Any, key: str, name: str) -> Any:
    """Look up what is said about a block: for all, for it, or for its stage."""
    return stated.get(key, stated.get(name)) if isinstance(stated, Mapping) else stated


def _decimals(text: NDArray[np.object_]) -> NDArray[np.int64]:
    """Count decimals: those of the number that has most, since a 0 among 0.333 is short for 0.000.

    A number with a power of ten says by itself how exact it is.
    """
    own = np.vectorize(_places, otypes=[np.int64])(text)
    by_power = np.vectorize(lambda each: "e" in each.lower(), otypes=[np.bool_])(text)
    most = int(np.max(own, where=~by_power, initial=0))
    return np.where(by_power, own, most)


def _places(text: str) -> int:
    mantissa, _, power = text.lower().partition("e")
    if "/" in text or "sqrt" in text:
        return _FRACTION_DECIMALS
    if not re.fullmatch(r"[+-]?\d+", power or "0"):  # inf and nan have an e, or none, and no decimals
        return 0
    return max(len(mantissa.partition(".")[2].replace("_", "")) - int(power or 0), 0)


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a single number"
