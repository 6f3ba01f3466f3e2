"""How large scores can get, told by the lengths of vectors, without computing any score.

By Cauchy and Schwarz, a score is at most as large as the lengths of its query and its key multiplied.
"""

from __future__ import annotations

import math

from attncli.core.namespace import namespace
from attncli.trace import Array, Scalar

__all__ = ["is_finite", "is_ordinary", "keep_digits", "lengths_of", "reach", "stay_finite"]

_MARGIN = 8
"""What a bound is held away from the ends of the range, as a power of e: for what rounding adds up to."""

_ORDINARY = 2**16
"""How large a factor may be, and one over it how small."""


def lengths_of(vectors: Array) -> Array:
    """Return the length of each vector, which is not finite if any number of it isn't."""
    xp = namespace(vectors)
    return xp.sqrt(xp.vecdot(vectors, vectors))


def reach(sizes: Array, keys: int) -> float:
    """Return how far from 0 scores may be for their exponentials to be taken with no score taken off first.

    Values that are multiplied by them, and the sums of that, then neither overflow nor lose digits.

    Args:
        sizes: Of the values, without their signs.
        keys: How many values are added up.
    """
    xp = namespace(sizes)
    ends = xp.finfo(sizes.dtype)
    largest = float(xp.max(sizes))
    smallest = _smallest(sizes)
    highest = math.log(float(ends.max) / keys / max(1.0, largest))
    lowest = math.log(min(1.0, smallest) / float(ends.smallest_normal))
    return min(highest, lowest) - _MARGIN


def _smallest(sizes: Array) -> float:
    xp = namespace(sizes)
    return float(xp.min(sizes)) or float(xp.min(xp.where(sizes == 0, 1.0, sizes)))


def keep_digits(numbers: Array) -> bool:
    """Tell whether numbers are large enough to keep their digits when they go through an ordinary factor."""
    xp = namespace(numbers)
    return _smallest(xp.abs(numbers)) >= _ORDINARY * float(xp.finfo(numbers.dtype).smallest_normal)


def stay_finite(*lengths: Array) -> bool:
    """Tell by the lengths of vectors whether all numbers are finite, and all products of any two vectors."""
    xp = namespace(lengths[0])
    room = math.sqrt(float(xp.finfo(lengths[0].dtype).max)) / _ORDINARY
    return all(bool(xp.max(each) < room) for each in lengths)


def is_finite(numbers: Array) -> bool:
    """Tell whether there is neither NaN nor infinity."""
    xp = namespace(numbers)
    return bool(xp.all(xp.isfinite(numbers)))


def is_ordinary(factor: Scalar) -> bool:
    """Tell whether numbers that stay finite still do so when they are divided by a factor, or multiplied."""
    return bool(1 / _ORDINARY <= abs(factor) <= _ORDINARY)
