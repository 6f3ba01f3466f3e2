"""A part of a problem: some items of the batch, some heads, some queries, some keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attncli.core import masks
from attncli.core.inputs import Inputs
from attncli.frozen import Frozen
from attncli.trace import Array, Value

__all__ = ["ALL", "Tile", "cut", "rows_of", "spans", "tile_inputs"]

ALL = slice(None)


class Tile(Frozen, kw_only=True):
    """Where a tile stands among the pairs of queries and keys.

    Args:
        lead: Which of the batch and head axes, as far as the problem has them.
        queries: Which queries, from a start to a stop.
        keys: Which keys, likewise.
    """

    lead: tuple[slice, ...]
    queries: slice
    keys: slice


def spans(length: int, size: int) -> Iterator[slice]:
    """Cut a length into pieces of at most a size."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def cut(array: Array, *parts: slice) -> Array:
    """Cut a part out of an array; an axis of length 1, which serves all, stays as it is.

    Args:
        array: Its axes are the last of those that the parts are for.
        parts: One for each axis.
    """
    own = parts[len(parts) - array.ndim :]
    return array[tuple(ALL if length == 1 else part for length, part in zip(array.shape, own, strict=True))]


def rows_of(vectors: Value | None, rows: slice, lead: tuple[slice, ...] = ()) -> Value | None:
    """Cut vectors down to some rows, of some heads; None, which stands for none, stays."""
    if vectors is None:
        return None
    lead = lead or (ALL,) * (vectors.array.ndim - 2)
    return Value(cut(vectors.array, *lead, rows, ALL), vectors.symbol)


def tile_inputs(p: Inputs, tile: Tile) -> Inputs:
    """Return the inputs with everything that has a number for each pair cut down to a tile.

    Vectors, of which there is one for each query or key, stay as they are.
    """

    def pairs(value: Value) -> Value:
        return Value(cut(value.array, *tile.lead, tile.queries, tile.keys), value.symbol)

    return replace(
        p,
        seq_q=tile.queries.stop - tile.queries.start,
        seq_k=tile.keys.stop - tile.keys.start,
        scores=p.scores and pairs(p.scores),
        scaled=p.scaled and pairs(p.scaled),
        masked=p.masked and pairs(p.masked),
        bias=p.bias and pairs(p.bias),
        by_distance=_distances(p, tile),
        mask=p.mask and _rules(p.mask, tile),
        additive=p.additive and pairs(p.additive),
        real_queries=p.real_queries
        and Value(cut(p.real_queries.array, *tile.lead, tile.queries, ALL), p.real_queries.symbol),
        sink=p.sink and Value(cut(p.sink.array, *tile.lead, ALL, ALL), p.sink.symbol),
        dropout=p.dropout and replace(p.dropout, drawn=pairs(p.dropout.drawn)),
    )


def _distances(p: Inputs, tile: Tile) -> Value | None:
    if p.by_distance is None:
        return None
    nearest = tile.keys.start - tile.queries.stop + p.seq_q
    part = slice(nearest, tile.keys.stop - tile.queries.start + p.seq_q - 1)
    lead = (*tile.lead, part)[-p.by_distance.array.ndim :]
    return Value(p.by_distance.array[lead], p.by_distance.symbol)


def _rules(rules: masks.Rules, tile: Tile) -> masks.Rules:
    def each(array: Array) -> Array:
        return cut(array, *tile.lead, tile.queries, tile.keys)

    return replace(
        rules.map(each),
        first_query=rules.first_query + tile.queries.start,
        first_key=rules.first_key + tile.keys.start,
    )
