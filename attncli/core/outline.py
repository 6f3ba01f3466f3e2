"""The stages of a problem without their numbers: names, formulas, axes and shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attncli.core.attention import attend
from attncli.core.inputs import Inputs, Rotation
from attncli.core.tiles import ALL, Tile, tile_inputs
from attncli.trace import Record, Trace, Value

__all__ = ["outline"]

_BY_ROW = ("x", "x_k", "x_v", "encoding", "q", "k", "v", "past_k", "past_v")
"""Inputs with a vector for each query or key."""


def outline(p: Inputs) -> dict[str, Record]:
    """Find what `attend` would record, by attending from one query to one key.

    Args:
        p: What would be computed.

    Returns:
        Records without numbers, by name, in the order of the computation.
    """
    trace = Trace(p.axes, keep=())
    attend(_corner(p), trace)
    past = 0 if p.past_k is None else int(p.past_k.array.shape[-2])
    new = {"query": p.seq_q, "key": p.seq_k - past}

    def whole(record: Record) -> Record:
        sizes = [new.get(axis, size) for axis, size in zip(record.axes, record.shape, strict=True)]
        if past and "key" in record.axes and record.shape[record.axes.index("key")] > 1:
            sizes[record.axes.index("key")] = p.seq_k  # those of the cache are among them
        return replace(record, shape=tuple(sizes))

    return {name: whole(record) for name, record in trace.records.items()}


def _corner(p: Inputs) -> Inputs:
    """Leave one query and one new key, and one of a cache where there is one."""
    keys = 1 if p.past_k is None else 2
    first = tile_inputs(p, Tile(lead=(ALL,) * len(p.axes), queries=slice(0, 1), keys=slice(0, keys)))
    given = {name: getattr(p, name) for name in _BY_ROW}
    rows: dict[str, Any] = {name: _first_row(value) for name, value in given.items() if value}
    return replace(first, **rows, rotation=p.rotation and _turned(p.rotation))


def _turned(turn: Rotation) -> Rotation:
    return replace(
        turn,
        cos_q=_first_row(turn.cos_q),
        sin_q=_first_row(turn.sin_q),
        cos_k=_first_row(turn.cos_k),
        sin_k=_first_row(turn.sin_k),
    )


def _first_row(value: Value) -> Value:
    return Value(value.array[..., :1, :], value.symbol)
