"""What a result says about itself: do rows sum to 1, is every number finite, who sees whom."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from attncli.compute import Result
from attncli.core import masks
from attncli.sheet import Checks
from attncli.trace import Record

__all__ = ["kept_pairs", "self_check"]

_STEP = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next number of a precision."""


def kept_pairs(result: Result, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Find the pairs of query and key that see each other, whatever the fill of the others is.

    Args:
        result: The result.
        shape: ``(…, query, key)``, as the result's scores have it.
    """
    inputs = result.inputs
    kept = np.ones(shape, dtype=bool)
    if inputs.mask is not None:
        kept &= masks.keep(inputs.mask, inputs.seq_q, inputs.seq_k, np.empty(0)).array
    for blocked in (inputs.additive, inputs.masked):
        if blocked is not None:
            kept &= blocked.array != -math.inf
    return kept


def self_check(result: Result) -> Checks | None:
    """Check a result by its own weights; None when they were not kept."""
    weights = next((each for each in result.records if each.stage.name == "weights"), None)
    if weights is None or weights.array is None:
        return None
    kept = kept_pairs(result, weights.shape)
    seeing = kept.any(axis=-1)
    return Checks(
        row_sum_error=_largest_error(weights.details["row_sum"][seeing]),
        allowed=max(result.inputs.seq_k, 2) * _STEP[result.dtype],
        nan=sum(_count(np.isnan, record) for record in result.records),
        infinite=sum(_infinite(record, kept) for record in result.records),
        kept=int(kept.sum()),
        pairs=kept.size,
        blind_rows=int((~seeing).sum()),
        entropies=weights.details["entropy"].ravel(),
    )


def _largest_error(sums: NDArray[np.floating]) -> float | None:
    finite = sums[np.isfinite(sums)]  # NaN is counted by itself
    return float(np.abs(finite - 1).max()) if finite.size else None


def _count(what: np.ufunc, record: Record) -> int:
    return 0 if record.array is None else int(what(record.array).sum())


def _infinite(record: Record, kept: NDArray[np.bool_]) -> int:
    """Count infinities; the −∞ of a masked score is meant to be there."""
    if record.array is None:
        return 0
    infinite = np.isinf(record.array)
    return int((infinite & kept if record.shape == kept.shape else infinite).sum())
