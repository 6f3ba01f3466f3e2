"""Attention from the first projection to the output, in the order of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from attncli.core import masks
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
from attncli.trace import Array, Caller, Stage, Trace, Value

__all__ = [
    "LATE_INPUTS",
    "ORDER",
    "Dropout",
    "Inputs",
    "Norm",
    "Rotation",
    "Similarity",
    "attend",
    "bias_of",
    "finish",
    "logits",
    "mix",
    "vectors",
    "weigh",
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

LATE_INPUTS = {"sink": "softmax", "w_o": "pv", "b_o": "pv"}
"""The inputs that come in after the part qk, and the part that they come in at."""


@dataclass(frozen=True, kw_only=True)
class Norm:
    """RMS norm of queries and keys, per head.

    Args:
        eps: Added to the mean square.
        weight_q: ``(head_dim,)``.
        weight_k: ``(head_dim,)``.
    """

    eps: float
    weight_q: Value | None = None
    weight_k: Value | None = None


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """Cosines and sines for each position, ``(seq, pairs)``.

    Args:
        pairing: ``half`` or ``interleaved``.
        cos_q: For queries.
        sin_q: For queries.
        cos_k: For keys, those of a cache not among them.
        sin_k: For keys.
    """

    pairing: str
    cos_q: Value
    sin_q: Value
    cos_k: Value
    sin_k: Value


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How scores are made of queries and keys.

    Args:
        kind: ``dot``, ``cosine``, ``general`` or ``additive``.
        weights: The arrays that the kind takes after queries and keys, in its order.
    """

    kind: str = "dot"
    weights: tuple[Value | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """Which weights stay, and by what the rest is made up for.

    Args:
        drawn: True where a weight stays; broadcasts to ``(batch, head, seq_q, seq_k)``.
        keep_rate: 1 − p; None leaves the sizes as they are.
    """

    drawn: Value
    keep_rate: Value | None = None


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What `attend` needs: arrays in one layout, and settings without any choice left open.

    The start is the first of ``x``, ``q``, ``scores``, ``scaled`` and ``masked`` that is there.
    Shapes, in which a batch axis may stand before all others:

    Args:
        x: ``(seq_q, d_model)``; queries come from it.
        x_k: ``(seq_k, d_context)``; keys come from it; None is x.
        x_v: ``(seq_k, d_context)``; values come from it; None is x.
        encoding: ``(seq_q, d_model)``, added to x.
        w_q: ``(d_model, num_heads · head_dim)``; None is the identity.
        w_k: ``(d_context, num_kv_heads · head_dim)``.
        w_v: ``(d_context, num_kv_heads · value_dim)``.
        b_q: ``(num_heads · head_dim,)``.
        b_k: ``(num_kv_heads · head_dim,)``.
        b_v: ``(num_kv_heads · value_dim,)``.
        w_o: ``(num_heads · value_dim, dim_out)``.
        b_o: ``(dim_out,)``.
        q: ``(seq_q, num_heads · head_dim)``, or ``(num_heads, seq_q, head_dim)`` when ``by_head``.
        k: ``(seq_k, num_kv_heads · head_dim)``, or by head.
        v: ``(seq_k, num_kv_heads · value_dim)``, or by head; None stops at the weights.
        scores: ``(num_heads, seq_q, seq_k)``; the head axis is there when ``by_head``.
        scaled: As scores.
        masked: As scores.
        past_k: ``(num_kv_heads, past, head_dim)``, or without the head axis: keys of a cache.
        past_v: ``(num_kv_heads, past, value_dim)``: its values.
        norm: Norm of queries and keys.
        rotation: Rotation of queries and keys by their positions.
        similarity: How scores are made of queries and keys.
        batch: Whether there is a batch axis.
        by_head: Whether given Q, K, V or scores have a head axis of their own.
        num_heads: Number of query heads.
        num_kv_heads: Number of key-value heads.
        kv_head_map: Which key-value head serves a query head: ``repeat`` or ``tile``.
        seq_q: Number of queries.
        seq_k: Number of keys, those of a cache among them.
        multiplier: Number that the scores are multiplied by.
        divisor: Number that the scores are divided by.
        temperature: Number that the scaled scores are divided by.
        softcap: Largest size that a score is bent to.
        bias: Added to the scores; broadcasts to ``(batch, head, seq_q, seq_k)``.
        by_distance: Added to the scores as well: one number for each distance, or as many for each
            head, ``(num_heads, seq_q + seq_k − 1)``; a key less a query, −(seq_q − 1) first.
        bias_position: ``after_softcap``, ``before_softcap`` or ``before_scale``.
        mask: What a query may see; None is everything.
        additive: Added to the scaled scores; broadcasts to ``(batch, head, seq_q, seq_k)``.
        real_queries: True where a query is real; broadcasts to ``(batch, head, seq_q, 1)``.
        fill: Added to a masked score.
        empty: The weights of a query that sees no key.
        mask_when: ``before_softmax``, ``after_softmax`` or ``after_softmax_renormalized``.
        normalize: ``softmax``, ``sum`` or ``none``.
        sink: Extra score, ``(num_heads, 1, 1)`` or one for all.
        dropout: Which weights stay.
        exclude: Whether a NaN or infinity at a masked position stays out of the result.
    """

    x: Value | None = None
    x_k: Value | None = None
    x_v: Value | None = None
    w_q: Value | None = None
    w_k: Value | None = None
    w_v: Value | None = None
    encoding: Value | None = None
    b_q: Value | None = None
    b_k: Value | None = None
    b_v: Value | None = None
    w_o: Value | None = None
    b_o: Value | None = None
    q: Value | None = None
    k: Value | None = None
    v: Value | None = None
    scores: Value | None = None
    scaled: Value | None = None
    masked: Value | None = None
    past_k: Value | None = None
    past_v: Value | None = None
    norm: Norm | None = None
    rotation: Rotation | None = None
    similarity: Similarity = Similarity()
    batch: bool = False
    by_head: bool = False
    num_heads: int = 1
    num_kv_heads: int = 1
    kv_head_map: str = "repeat"
    seq_q: int
    seq_k: int
    multiplier: Value | None = None
    divisor: Value | None = None
    temperature: Value | None = None
    softcap: Value | None = None
    bias: Value | None = None
    by_distance: Value | None = None
    bias_position: str = "after_softcap"
    mask: masks.Rules | None = None
    additive: Value | None = None
    real_queries: Value | None = None
    fill: float = -math.inf
    empty: float = 0.0
    mask_when: str = "before_softmax"
    normalize: str = "softmax"
    sink: Value | None = None
    dropout: Dropout | None = None
    exclude: bool = True

    @property
    def heads(self) -> bool:
        """Whether the stages have a head axis."""
        return self.by_head or self.num_heads > 1

    @property
    def biased(self) -> bool:
        """Whether anything is added to the scores, masks aside."""
        return self.bias is not None or self.by_distance is not None

    @property
    def mixed(self) -> str:
        """Name of the stage that mixes the values: the output, unless something follows it."""
        return "head_output" if self.heads or self.w_o or self.b_o else "output"

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes before queries and keys."""
        return ("batch",) * self.batch + ("head",) * self.heads

    def map(self, convert: Callable[[Array], Array]) -> Inputs:
        """Return the same inputs with every array converted; numbers stay numbers."""
        return self.map_parts(lambda _part: convert)

    def map_parts(self, converter: Callable[[str], Callable[[Array], Array]]) -> Inputs:
        """Return the same inputs with every array converted, as the part that it comes in at wants it."""
        return self.map_named(lambda array, _symbol, part: converter(part)(array))

    def map_named(self, convert: Callable[[Array, str, str], Array]) -> Inputs:
        """Do the same with a function of an array, its symbol (empty where it has none) and its part."""

        def of(name: str) -> Any:
            part = LATE_INPUTS.get(name, "qk")
            return _converted(getattr(self, name), lambda array, symbol: convert(array, symbol, part), "")

        return replace(self, **{each.name: of(each.name) for each in fields(self)})


def _converted(part: Any, convert: Callable[[Array, str], Array], symbol: str) -> Any:
    if hasattr(part, "dtype"):
        return convert(part, symbol)
    if isinstance(part, tuple):
        return tuple(_converted(each, convert, symbol) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        symbol = part.symbol if isinstance(part, Value) else symbol
        changes = {f.name: _converted(getattr(part, f.name), convert, symbol) for f in fields(part)}
        return replace(part, **changes)
    return part


def attend(p: Inputs, trace: Trace) -> Value:
    """Compute softmax(Q·Kᵀ ÷ √d_k)·V, through every stage that the inputs call for.

    Returns:
        The last stage: the output, or the weights when there are no values.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
    """
    q, k, v = vectors(p, trace)
    m, keep = logits(p, q, k, trace)
    a = weigh(p, m, keep, trace)
    return a if v is None else finish(p, mix(p, a, v, keep, trace), trace)


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
    ways: dict[str, Stage[...]] = {
        "dot": scores,
        "cosine": cosine_scores,
        "general": general_scores,
        "additive": additive_scores,
    }
    return trace(ways[p.similarity.kind], q, k, *p.similarity.weights)


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


def weigh(p: Inputs, m: Value, keep: Value | None, trace: Caller) -> Value:
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
        return trace(weights_with_sink, m, p.sink)
    return trace(weights, m, empty=p.empty)


def mix(p: Inputs, a: Value, v: Value, keep: Value | None, trace: Caller) -> Value:
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
