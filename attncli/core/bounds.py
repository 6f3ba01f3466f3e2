"""How large scores can get, told by the lengths of vectors, without computing any score.

By Cauchy and Schwarz, a score is at most as large as the lengths of its query and its key multiplied.
"""

from __future__ import annotations

import math

from attncli.core.namespace import namespace
from attncli.trace import Array

__all__ = ["fit_unshifted", "lengths_of", "stay_finite"]

UNSHIFTED = {"float32": 64, "float64": 500}
"""Up to which score exponentials, and sums of billions of them, neither overflow nor vanish."""


def lengths_of(vectors: Array) -> Array:
    """Return the length of each vector, which is not finite if any number of it isn't."""
    xp = namespace(vectors)
    return xp.sqrt(xp.vecdot(vectors, vectors))


def fit_unshifted(query: Array, key: Array) -> bool:
    """Tell whether exponentials of all scores stay in range as they are, with no score taken off first.

    Args:
        query: Lengths of queries, ``(…, queries)``.
        key: Length of the longest key, ``(…, 1)``.
    """
    xp = namespace(query)
    most = UNSHIFTED["float32" if query.dtype == xp.float32 else "float64"]
    return bool(xp.max(query * key) <= most)


def stay_finite(*lengths: Array) -> bool:
    """Tell by the lengths of vectors whether all numbers are finite, and all products of any two vectors."""
    xp = namespace(lengths[0])
    room = math.sqrt(float(xp.finfo(lengths[0].dtype).max)) / 2**16
    return all(bool(xp.max(each) < room) for each in lengths)
