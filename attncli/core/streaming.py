"""The same output in tiles: exact, in memory that grows with queries + keys and not with their product.

A tile is a few hundred queries by a few hundred keys; `attncli.core.strips` works them off.

Source:
    Rabe and Staats 2021, "Self-attention Does Not Need O(n²) Memory"; Dao et al. 2022,
    "FlashAttention".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from itertools import product

from attncli.core import masks
from attncli.core.attention import finish, mixed, vectors
from attncli.core.bounds import lengths_of, stay_finite
from attncli.core.engine import Engine, Strip
from attncli.core.heads import split_heads
from attncli.core.inputs import Inputs
from attncli.core.logits import scaled
from attncli.core.namespace import namespace, put
from attncli.core.strips import Job, job_of
from attncli.core.tiles import ALL, Tile, rows_of, spans, tile_inputs
from attncli.trace import STAGES, Array, Trace, Value, untraced

__all__ = ["BY_PAIR", "attend_streamed"]

BY_PAIR = frozenset(name for name, stage in STAGES.items() if stage.axes[-2:] == ("query", "key"))
"""Stages with a number for each query and key, which are never whole here."""


def attend_streamed(p: Inputs, trace: Trace, engine: Engine) -> bool:
    """Compute what `attncli.core.attention.attend` does, holding no stage of queries × keys.

    Args:
        p: What to compute; there must be values.
        trace: Is told of every stage; none of queries × keys is kept.
        engine: How tiles are worked off.

    Returns:
        Whether the library's own kernel took the place of the tiles, where it computes the same.
    """
    q, k, v = vectors(p, trace)
    assert v is not None
    shape = _sample(p, q, k, v, trace)
    job = job_of(p, q, k, v, engine)
    fused = engine.fused is not None and _is_plain(job)
    output, details = _fuse(job) if fused else _tile(job, shape[:-2])
    trace.restate("weights", shape, details=details)
    trace.restate(p.mixed, tuple(output.shape), output)
    finish(p, Value(output, STAGES[p.mixed].symbol), trace)
    return fused


def _is_plain(job: Job) -> bool:
    """Tell whether this is attention as every library has it, so that a kernel gives the same.

    Kernels differ in what they make of a NaN or infinity: torch's leaves 0 in a row of NaN.
    """
    p, q, v = job.p, job.q, job.v
    unusual = (p.biased, p.additive, p.softcap, p.sink, p.dropout, p.real_queries)
    if any(unusual) or not (q and job.scales) or q.array.shape[-1] != v.array.shape[-1]:
        return False
    hides = p.mask_when == "before_softmax" and p.fill == -math.inf
    plain = p.mask is None or (hides and _is_causal_only(p.mask))
    return plain and p.normalize == "softmax" and stay_finite(lengths_of(v.array))


def _is_causal_only(mask: masks.Rules) -> bool:
    more = mask.windows or mask.arrays or mask.lengths is not None
    return mask.causal and not more and isinstance(mask.offset, int) and mask.offset == 0


def _fuse(job: Job) -> tuple[Array, dict[str, Array]]:
    assert job.engine.fused is not None
    assert job.q is not None
    assert job.k is not None
    q = untraced(scaled, job.q, *job.scales)
    return job.engine.fused(q.array, job.k.array, job.v.array, job.p.mask is not None), {}


def _tile(job: Job, lead: tuple[int, ...]) -> tuple[Array, dict[str, Array]]:
    """Work all strips off, and put what each comes to in its place."""
    p, engine = job.p, job.engine
    todo = sorted(_strips(p, lead, engine), key=lambda strip: -job.size(strip))  # longest first
    whole: dict[str, Array] = {}
    with closing(engine.run(job.mix, todo)) as made:
        for strip, mixed in zip(todo, made, strict=True):
            for name, part in {"": mixed.output, **mixed.details}.items():
                if name not in whole:
                    whole[name] = _room(p, part, (*lead, p.seq_q))
                whole[name] = put(whole[name], (*strip.lead, strip.queries, ...), part)
    return whole.pop(""), whole


def _room(p: Inputs, part: Array, rows: tuple[int, ...]) -> Array:
    """Make room for what strips come to: a number for each row, or a vector."""
    xp, vector = namespace(part), part.shape[len(rows) :]

    def empty(*shape: int) -> Array:
        return xp.empty(shape, dtype=part.dtype, device=part.device)

    if not (p.heads and vector):
        return empty(*rows, *vector)
    *batch, heads, seq = rows
    return split_heads(empty(*batch, seq, heads * vector[0]), heads)  # so that merging them moves nothing


def _strips(p: Inputs, lead: tuple[int, ...], engine: Engine) -> Iterator[Strip]:
    choices = [spans(length, 1) if engine.apart else [ALL] for length in lead]
    for some, queries in product(product(*choices), spans(p.seq_q, engine.queries)):
        yield Strip(some, queries, tile_inputs(p, Tile(lead=some, queries=queries, keys=slice(0, p.seq_k))))


def _sample(p: Inputs, q: Value | None, k: Value | None, v: Value, trace: Trace) -> tuple[int, ...]:
    """Trace one query and one key, which records how every stage is computed; return the scores' shape."""
    given = q or p.scores or p.scaled or p.masked
    assert given is not None
    lead = tuple(given.array.shape[:-2])
    first = slice(0, 1)
    part = tile_inputs(p, Tile(lead=(ALL,) * len(lead), queries=first, keys=first))
    value = rows_of(v, first)
    assert value is not None
    mixed(part, rows_of(q, first), rows_of(k, first), value, trace)
    shape = (*lead, p.seq_q, p.seq_k)
    for name in BY_PAIR & trace.records.keys():
        trace.restate(name, shape)
    return shape
