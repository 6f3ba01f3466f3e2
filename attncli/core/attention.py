"""Attention from the first projection to the output, in the order of the paper."""

from __future__ import annotations

import math
from dataclasses import replace

from attncli.core import masks
from attncli.core.bounds import is_finite
from attncli.core.heads import (
    all_keys,
    all_values,
    concat,
    keys,
    keys_by_head,
    queries,
    queries_by_head,
    serve_query_heads,
    values,
    values_by_head,
)
from attncli.core.inputs import Inputs
from attncli.core.logits import biased, masked, scaled, softcapped
from attncli.core.mixing import head_output, output, projected_output
from attncli.core.positions import position_added, rotated_keys, rotated_queries, spread
from attncli.core.similarity import (
    additive_scores,
    cosine_scores,
    general_scores,
    normed_keys,
    normed_queries,
    scores,
)
from attncli.core.softmax import (
    dropped,
    masked_softmax,
    masked_weights,
    renormalized,
    unnormalized,
    weights,
    weights_by_sum,
    weights_with_sink,
)
from attncli.trace import Caller, Stage, Trace, Value

__all__ = [
    "ORDER",
    "attend",
    "bias_of",
    "finish",
    "logits",
    "mixed",
    "vectors",
]

ORDER: dict[str, tuple[str, ...]] = {
    "qk": (
        "X_pos",
        *("Q", "K", "V", "Q_heads", "K_heads", "V_heads"),
        *("Q_norm", "K_norm", "Q_rot", "K_rot", "K_all", "V_all"),
        *("scores", "scaled", "softcapped", "biased", "masked"),
    ),
    "softmax": ("weights", "masked_weights", "dropped"),
    "pv": ("head_output", "concat", "output"),
}
"""The stages in the order of the computation, by the part of it whose precision they share."""

_SIMILARITIES: dict[str, Stage[...]] = {
    "dot": scores,
    "cosine": cosine_scores,
    "general": general_scores,
    "additive": additive_scores,
}


def attend(p: Inputs, trace: Trace, *, looks: bool = False) -> Value:
    """Compute softmax(Q·Kᵀ ÷ √d_k)·V, through every stage that the inputs call for.

    Args:
        p: What to compute.
        trace: Calls the stages.
        looks: Whether looking at values is cheap, so that what they make needless can be left out.

    Returns:
        The last stage: the output, or the weights when there are no values.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
    """
    q, k, v = vectors(p, trace)
    if v is None:
        m, keep = logits(p, q, k, trace)
        return _weigh(p, m, keep, trace)
    return finish(p, mixed(p, q, k, v, trace, looks=looks), trace)


def mixed(
    p: Inputs, q: Value | None, k: Value | None, v: Value, trace: Caller, *, looks: bool = False
) -> Value:
    """Go from queries, keys and values to what each query mixes of the values; `attend` has the arguments."""
    m, keep = logits(p, q, k, trace)
    a = _weigh(p, m, keep, trace)
    if looks and is_finite(v.array):  # so that nothing masked could get into the output
        p = replace(p, exclude=False)
    return _mix(p, a, v, keep, trace)


Vectors = tuple[Value | None, Value | None, Value | None]


def vectors(p: Inputs, trace: Caller) -> Vectors:
    """Make the queries, keys and values that are compared and mixed, one of each for every query head."""
    q, k, v = _project(p, trace)
    q, k = _position(p, q, k, trace)
    k, v = _remember(p, k, v, trace)
    return q, k, v


def logits(p: Inputs, q: Value | None, k: Value | None, trace: Caller) -> tuple[Value, Value | None]:
    """Go from queries and keys to what softmax is taken of, and find what is kept: all where it is None."""
    s = p.scores if q is None else _compare(p, q, k, trace)
    z = p.scaled if s is None else _scale(p, s, trace)
    return _mask(p, z and _bend(p, z, trace), trace)


def _project(p: Inputs, trace: Caller) -> Vectors:
    """Make queries, keys and values of tokens' vectors, and share them among the heads."""
    q, k, v = p.q, p.k, p.v
    if p.x is not None:
        x = p.x if p.encoding is None else trace(position_added, p.x, p.encoding)
        q = trace(queries, x, p.w_q, p.b_q)
        k = trace(keys, p.x_k or x, p.w_k, p.b_k)
        v = trace(values, p.x_v or x, p.w_v, p.b_v)
    if p.heads and not p.by_head:
        q = q and trace(queries_by_head, q, p.num_heads)
        k = k and trace(keys_by_head, k, p.num_kv_heads)
        v = v and trace(values_by_head, v, p.num_kv_heads)
    return q, k, v


def _position(
    p: Inputs, q: Value | None, k: Value | None, trace: Caller
) -> tuple[Value | None, Value | None]:
    """Norm queries and keys, and rotate them to their positions."""
    if p.norm and q and k:
        q = trace(normed_queries, q, p.norm.eps, p.norm.weight_q)
        k = trace(normed_keys, k, p.norm.eps, p.norm.weight_k)
    if p.rotation and q and k:
        turn = p.rotation
        q = trace(rotated_queries, q, turn.cos_q, turn.sin_q, turn.pairing)
        k = trace(rotated_keys, k, turn.cos_k, turn.sin_k, turn.pairing)
    return q, k


def _remember(
    p: Inputs, k: Value | None, v: Value | None, trace: Caller
) -> tuple[Value | None, Value | None]:
    """Put the cache before the new keys and values, and hand each query head those that serve it."""
    if p.past_k is not None:
        k = trace(all_keys, p.past_k, k)
    if p.past_v is not None:
        v = trace(all_values, p.past_v, v)
    return _serve(p, k), _serve(p, v)


def _serve(p: Inputs, shared: Value | None) -> Value | None:
    if shared is None or p.num_kv_heads == p.num_heads:
        return shared
    return Value(serve_query_heads(shared.array, p.num_heads, p.kv_head_map), shared.symbol)


def _compare(p: Inputs, q: Value, k: Value | None, trace: Caller) -> Value:
    return trace(_SIMILARITIES[p.similarity.kind], q, k, *p.similarity.weights)


def _scale(p: Inputs, s: Value, trace: Caller) -> Value:
    return trace(scaled, _add_bias(p, "before_scale", s, trace), p.multiplier, p.divisor, p.temperature)


def _bend(p: Inputs, z: Value, trace: Caller) -> Value:
    """Cap and bias the scaled scores, in the order that the problem states."""
    z = _add_bias(p, "before_softcap", z, trace)
    z = trace(softcapped, z, p.softcap) if p.softcap else z
    return _add_bias(p, "after_softcap", z, trace)


def _add_bias(p: Inputs, position: str, z: Value, trace: Caller) -> Value:
    return trace(biased, z, bias_of(p)) if p.biased and p.bias_position == position else z


def bias_of(p: Inputs) -> Value | None:
    """Add up what is added to the scores; None where nothing is."""
    if p.by_distance is None:
        return p.bias
    total = spread(p.by_distance.array, p.seq_q, p.seq_k)
    return Value(total if p.bias is None else p.bias.array + total, p.by_distance.symbol)


def _mask(p: Inputs, z: Value | None, trace: Caller) -> tuple[Value, Value | None]:
    if z is None:
        assert p.masked is not None
        return p.masked, Value(p.masked.array != -math.inf, "kept")
    keep = masks.keep(p.mask, p.seq_q, p.seq_k, z.array) if p.mask else None
    if p.mask_when != "before_softmax" or (keep is None and p.additive is None):
        return z, keep
    fill = Value(p.fill, "−∞" if p.fill == -math.inf else f"{z.symbol} {_added(p.fill)}")
    m = trace(masked, z, keep, p.additive, fill, exclude=p.exclude)
    if p.additive is not None:
        hidden = p.additive.array == -math.inf
        keep = Value(~hidden if keep is None else keep.array & ~hidden, "kept")
    return m, keep


def _added(number: float) -> str:
    """Say a number as it is added: ``− 1e9``."""
    return f"{'−' if number < 0 else '+'} {abs(number):g}".replace("e+0", "e").replace("e+", "e")


def _weigh(p: Inputs, m: Value, keep: Value | None, trace: Caller) -> Value:
    """Turn scores into weights, and mask and drop weights where that comes after."""
    if p.mask_when == "after_softmax_renormalized" and keep:
        a = trace(renormalized, trace(masked_softmax, m, keep))
    else:
        a = _normalize(p, m, trace)
        if p.mask_when == "after_softmax" and keep:
            a = trace(masked_weights, a, keep)
    return trace(dropped, a, p.dropout.drawn, p.dropout.keep_rate) if p.dropout else a


def _normalize(p: Inputs, m: Value, trace: Caller) -> Value:
    if p.normalize == "sum":
        return trace(weights_by_sum, m)
    if p.normalize == "none":
        return trace(unnormalized, m)
    if p.sink is not None:
        return trace(weights_with_sink, m, p.sink, empty=p.empty)
    return trace(weights, m, empty=p.empty)


def _mix(p: Inputs, a: Value, v: Value, keep: Value | None, trace: Caller) -> Value:
    """Mix the values by the weights."""
    seen = keep if p.exclude else None
    return trace(output if p.mixed == "output" else head_output, a, v, seen, p.real_queries)


def finish(p: Inputs, mixed: Value, trace: Caller) -> Value:
    """Put the heads together, and project what they say."""
    if p.mixed == "output":
        return mixed
    if not p.heads:
        return trace(projected_output, mixed, p.w_o, p.b_o, p.real_queries)
    real = p.real_queries and Value(p.real_queries.array[..., 0, :, :], p.real_queries.symbol)
    return trace(projected_output, trace(concat, mixed), p.w_o, p.b_o, real)
