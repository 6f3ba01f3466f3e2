"""What a result says about itself: do rows sum to 1, is every number finite, who sees whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from attncli.compute import Result
from attncli.observe import is_finite, kept_pairs
from attncli.pieces import pieces
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
        pairs=kept.size if result.start or result.inputs.additive else 0,
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
    odd = (part for record in result.records for _, part in _odd_pieces(record))
    return sum(int(np.isnan(part).sum()) for part in odd)


def _infinite(record: Record, kept: NDArray[np.bool_]) -> int:
    """Count infinities; the −∞ of a masked score is meant to be there."""
    by_pair = record.shape == kept.shape
    return sum(
        int((np.isinf(part) & kept[piece] if by_pair else np.isinf(part)).sum())
        for piece, part in _odd_pieces(record)
    )


def _odd_pieces(record: Record) -> Iterator[tuple[tuple[slice, ...], np.ndarray]]:
    """Yield the pieces of a stage that hold numbers that are not finite."""
    if record.array is not None:
        parts = ((piece, record.array[piece]) for piece in pieces(record.shape))
        yield from ((piece, part) for piece, part in parts if not is_finite(part))
