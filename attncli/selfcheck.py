"""What a result says about itself: do rows sum to 1, is every number finite, who sees whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attncli.compute import Result
from attncli.observe import kept_pairs
from attncli.sheet import Checks
from attncli.trace import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_nan", "self_check"]

_STEP = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next number of a precision."""


def self_check(result: Result) -> Checks | None:
    """Check a result by its own weights; None when they were not kept."""
    weights = next((each for each in result.records if each.stage.name == "weights"), None)
    if weights is None or weights.array is None:
        return None
    kept = kept_pairs(result.inputs, weights.shape)
    seeing: NDArray[np.bool_] = np.logical_or.reduce(kept, axis=-1)
    return Checks(
        row_sum_error=_largest_error(result, weights, seeing),
        sink=result.inputs.sink is not None,
        allowed=max(result.inputs.seq_k, 2) * _STEP[result.precision["softmax"]],
        nan=count_nan(result),
        infinite=sum(_infinite(record, kept) for record in result.records),
        kept=int(kept.sum()),
        pairs=kept.size,
        blind_rows=int((~seeing).sum()),
        entropies=weights.details["entropy"].ravel(),
    )


def _largest_error(result: Result, weights: Record, seeing: NDArray[np.bool_]) -> float | None:
    """Measure how far the weights of a row, with the sink's, are from a sum of 1."""
    if result.inputs.normalize == "none":
        return None
    sums = weights.details["row_sum"] + weights.details.get("sink_mass", 0.0)
    finite = sums[np.isfinite(sums) & seeing]  # NaN is counted by itself
    return float(np.abs(finite - 1).max()) if finite.size else None


def count_nan(result: Result) -> int:
    """Count the NaN in the stages that were kept."""
    arrays = (record.array for record in result.records if record.array is not None)
    return sum(int(np.isnan(array).sum()) for array in arrays)


def _infinite(record: Record, kept: NDArray[np.bool_]) -> int:
    """Count infinities; the −∞ of a masked score is meant to be there."""
    if record.array is None:
        return 0
    infinite = np.isinf(record.array)
    return int((infinite & kept if record.shape == kept.shape else infinite).sum())
