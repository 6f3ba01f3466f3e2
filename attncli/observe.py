"""What a reader should be told about the numbers of a result before trusting them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from attncli.core import masks
from attncli.core.inputs import Inputs
from attncli.core.tiles import ALL, Tile, spans, tile_inputs
from attncli.errors import InputError
from attncli.pieces import pieces
from attncli.problem import Problem
from attncli.text import quote
from attncli.trace import Record, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["empty_row", "is_finite", "kept_pairs", "observe"]

_BLOCK = 1024
"""Queries and keys in a tile."""

_SHOWN = 5
"""How many rows a note names before it counts the rest."""


def kept_pairs(inputs: Inputs, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Find the pairs of query and key that see each other, whatever the fill of the others is.

    Args:
        inputs: What was computed.
        shape: ``(…, query, key)``, as the scores have it.
    """
    parts = [each.array != -math.inf for each in (inputs.additive, inputs.masked) if each is not None]
    if inputs.mask is not None:
        parts.append(masks.keep(inputs.mask, inputs.seq_q, inputs.seq_k, np.empty(0)).array)
    return np.broadcast_to(reduce(np.logical_and, parts, np.True_), shape)


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
            _empty_rows(problem, inputs, records, query_labels),
        )
        if note
    )


def _unfinished(inputs: Inputs, records: Sequence[Record]) -> str:
    """Name the first cell that is no finite number, in the order of the computation."""
    for name, axes, array in _in_order(inputs, records):
        odd = _odd(array, hides=name == "masked")
        if odd:
            index, more = odd[0][0], sum(count for _, count in odd) - 1
            value = array[index]
            kind = "NaN" if np.isnan(value) else "infinity" if value > 0 else "minus infinity"
            others = f", and {more} more cells are not finite" if more else ""
            return f"{name} holds {kind} at {_where(name, axes, index)}{others}"
    return ""


def _odd(array: np.ndarray, *, hides: bool) -> list[tuple[tuple[int, ...], int]]:
    """Find what is no finite number: for each piece that holds some, the first cell and how many there are.

    Args:
        array: Any numbers.
        hides: Whether −∞ is how a mask says no, and not worth a word.
    """
    found = []
    for piece in pieces(array.shape):
        part = array[piece]
        if is_finite(part):
            continue
        odd = ~np.isfinite(part) & (part != -math.inf) if hides else ~np.isfinite(part)
        if odd.any():
            first = np.unravel_index(int(odd.argmax()), odd.shape)
            starts = (*(each.start for each in piece), 0)
            index = tuple(int(i) + start for i, start in zip(first, starts, strict=False))
            found.append((index, int(odd.sum())))
    return found


def is_finite(array: np.ndarray) -> bool:
    """Tell quickly that all is well: a sum of squares with a NaN or infinity in it is not finite."""
    numbers = array.ravel(order="K")  # which copies nothing, unless there are gaps between the numbers
    with np.errstate(all="ignore"):
        return math.isfinite(np.vdot(numbers, numbers))


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


def _empty_rows(problem: Problem, inputs: Inputs, records: Sequence[Record], labels: Sequence[str]) -> str:
    """Tell which queries see no key, and what became of their weights."""
    weights = next((record for record in records if record.stage.name == "weights"), None)
    if weights is None or (inputs.mask is None and inputs.additive is None and inputs.masked is None):
        return ""
    empty = _blind(inputs, weights.shape)
    if not empty.any():
        return ""
    rows = _rows(empty, weights.axes, labels)
    if inputs.fill == -math.inf and problem.fully_masked == "error":
        raise InputError(
            f"{rows} no key that the mask keeps",
            path=("mask",),
            fix="let every query see a key, or say fully_masked: zeros",
        )
    return f"{rows} no key: {empty_row(inputs)}"


def empty_row(inputs: Inputs) -> str:
    """Say what becomes of the weights of a query that sees no key."""
    if inputs.fill != -math.inf:
        return (
            f"every score there got the fill {inputs.fill:g}, and the weights are a softmax over masked keys"
        )
    by_key = inputs.normalize == "softmax" and inputs.sink is None and inputs.mask_when == "before_softmax"
    if not by_key:  # nothing divides by zero there, so there is no choice to make
        return "the weights there are 0"
    filled, said = ("NaN", "nan") if math.isnan(inputs.empty) else ("0", "zeros")
    return f"the weights there are {filled} (fully_masked: {said})"


def _blind(inputs: Inputs, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Find the queries that see no key, in tiles, so that a long problem needs no more memory for it."""
    lead = (ALL,) * (len(shape) - 2)
    seeing = np.zeros(shape[:-1], dtype=bool)
    for queries in spans(inputs.seq_q, _BLOCK):
        rows = seeing[..., queries]
        for keys in spans(inputs.seq_k, _BLOCK):
            part = tile_inputs(inputs, Tile(lead=lead, queries=queries, keys=keys))
            rows |= np.any(kept_pairs(part, (*shape[:-2], part.seq_q, part.seq_k)), axis=-1)
            if rows.all():
                break
    return ~seeing


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
