"""What the numbers of a result say about themselves: checks, and what a reader should be told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from attncli.core import masks
from attncli.core.attention import Inputs
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.text import quote
from attncli.trace import Record, Value

__all__ = ["Checks", "check", "observe"]

_SHOWN = 5
"""How many rows a note names before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What a result can check by itself.

    Args:
        row_sum_error: The largest distance of a row of weights from a sum of 1; rows that see no
            key have no such sum. None when the weights were not kept.
        nan: How many NaN the stages hold.
        kept: How many pairs of query and key have a weight above 0 or could have; None as above.
        pairs: How many pairs there are.
        entropy: Entropy in bits of each query's weights, all batches and heads in a row.
    """

    row_sum_error: float | None
    nan: int
    kept: int | None
    pairs: int
    entropy: tuple[float, ...]


def check(inputs: Inputs, records: Sequence[Record]) -> Checks:
    """Check what was computed."""
    found = {record.stage.name: record for record in records if record.array is not None}
    nan = sum(int(np.isnan(record.array).sum()) for record in found.values() if record.array is not None)
    weights = found.get("weights")
    if weights is None:
        return Checks(None, nan, None, 0, ())
    sums = weights.details["row_sum"]
    seen = weights.details["exp_sum"] > 0
    error = float(np.max(np.abs(sums[seen] - 1.0), initial=0.0))
    assert weights.array is not None
    scores = _final_scores(inputs, found)
    kept = weights.array.size if scores is None else int((scores != -math.inf).sum())
    entropy = tuple(float(bits) for bits in np.ravel(weights.details["entropy"]))
    return Checks(error, nan, kept, weights.array.size, entropy)


def _final_scores(inputs: Inputs, found: dict[str, Record]) -> np.ndarray | None:
    masked = found.get("masked")
    given = inputs.masked
    return masked.array if masked else None if given is None else given.array


def observe(
    problem: Problem, inputs: Inputs, records: Sequence[Record], query_labels: Sequence[str]
) -> tuple[str, ...]:
    """Say what a reader should know about a result before trusting it.

    Raises:
        InputError: A query sees no key, and the problem calls that an error.
    """
    return tuple(
        note
        for note in (
            _unfinished(inputs, records),
            _empty_rows(problem, records, query_labels),
            _filled_rows(inputs, query_labels),
        )
        if note
    )


def _unfinished(inputs: Inputs, records: Sequence[Record]) -> str:
    """Name the first cell that is no finite number, in the order of the computation."""
    for name, axes, array in _in_order(inputs, records):
        # −∞ is how a mask says no; only where a mask can stand is it not worth a word.
        odd = ~np.isfinite(array) & ~((array == -math.inf) & (name == "masked"))
        if odd.any():
            index = tuple(int(i) for i in np.argwhere(odd)[0])
            value = array[index]
            kind = "NaN" if np.isnan(value) else "infinity" if value > 0 else "minus infinity"
            more = int(odd.sum()) - 1
            others = f", and {more} more cells are not finite" if more else ""
            return f"{name} holds {kind} at {_where(name, axes, index)}{others}"
    return ""


def _in_order(inputs: Inputs, records: Sequence[Record]) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    for each in fields(inputs):
        value = getattr(inputs, each.name)
        if isinstance(value, Value) and isinstance(value.array, np.ndarray) and value.array.dtype.kind == "f":
            name = each.name if each.name == "masked" else value.symbol
            if each.name != "additive":
                yield name, (), value.array
    for record in records:
        if record.array is not None:
            yield record.stage.name, record.axes, record.array


def _where(name: str, axes: Sequence[str], index: tuple[int, ...]) -> str:
    leading = axes[:-2] or ("batch", "head")[: len(index) - 2]
    words = (*leading, "row", "column")[-len(index) :]
    spoken = ", ".join(f"{word} {i + 1}" for word, i in zip(words, index, strict=True))
    return f"{spoken} ({name}{''.join(f'[{i}]' for i in index)})"


def _empty_rows(problem: Problem, records: Sequence[Record], labels: Sequence[str]) -> str:
    weights = next((record for record in records if record.stage.name == "weights"), None)
    if weights is None or weights.array is None:
        return ""
    empty = weights.details["exp_sum"] == 0
    if not empty.any():
        return ""
    rows = _rows(empty, weights.axes, labels)
    if problem.fully_masked == "error":
        raise InputError(
            f"{rows} no key that the mask keeps",
            path=("mask",),
            fix="let every query see a key, or say fully_masked: zeros",
        )
    filled = "0" if problem.fully_masked == "zeros" else "NaN"
    return f"{rows} no key: the weights there are {filled} (fully_masked: {problem.fully_masked})"


def _filled_rows(inputs: Inputs, labels: Sequence[str]) -> str:
    """Tell which rows a finite fill leaves to a softmax over masked keys."""
    if inputs.mask is None or inputs.fill == -math.inf:
        return ""
    like = np.zeros(())
    kept = masks.keep(inputs.mask, inputs.seq_q, inputs.seq_k, like).array
    empty = ~kept.any(axis=-1)
    if not empty.any():
        return ""
    axes = (*inputs.axes[-(empty.ndim - 1) :],) if empty.ndim > 1 else ()
    return (
        f"{_rows(empty, (*axes, 'query'), labels)} no key: every score there got the fill {inputs.fill:g}, "
        "and the weights are a softmax over masked keys"
    )


def _rows(which: np.ndarray, axes: Sequence[str], labels: Sequence[str]) -> str:
    """Name rows: ``query 3 (pad) of batch 1 sees``."""
    found = [tuple(int(i) for i in index) for index in np.argwhere(which)]
    names = []
    for *leading, row in found[:_SHOWN]:
        of = ", ".join(f"{axis} {i + 1}" for axis, i in zip(axes, leading, strict=False))
        label = "" if labels[row] == str(row) else f" {quote(labels[row])}"
        names.append(f"row {row + 1}{label}" + (f" of {of}" if of else ""))
    rest = len(found) - len(names)
    more = f" and {rest} more" if rest else ""
    return f"{', '.join(names)}{more} {'sees' if len(found) == 1 else 'see'}"
