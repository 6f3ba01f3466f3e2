"""Attention from the first projection to the output, in the order of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from attncli.core import masks
from attncli.core.heads import (
    concat,
    keys,
    keys_by_head,
    queries,
    queries_by_head,
    serve_query_heads,
    values,
    values_by_head,
)
from attncli.core.scores import head_output, masked, output, scaled, scores, weights
from attncli.trace import Array, Trace, Value

__all__ = ["Inputs", "attend"]


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What `attend` needs: arrays in one layout, and settings without any choice left open.

    The start is the first of ``x``, ``q``, ``scores``, ``scaled`` and ``masked`` that is there.
    Shapes, in which a batch axis may stand before all others:

    Args:
        x: ``(seq_q, d_model)``; queries come from it.
        x_k: ``(seq_k, d_context)``; keys come from it.
        x_v: ``(seq_k, d_context)``; values come from it.
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
        batch: Whether there is a batch axis.
        by_head: Whether given Q, K, V or scores have a head axis of their own.
        num_heads: Number of query heads.
        num_kv_heads: Number of key-value heads.
        kv_head_map: Which key-value head serves a query head: ``repeat`` or ``tile``.
        seq_q: Number of queries.
        seq_k: Number of keys.
        multiplier: Number that the scores are multiplied by.
        divisor: Number that the scores are divided by.
        temperature: Number that the scaled scores are divided by.
        mask: What a query may see; None is everything.
        additive: Added to the scaled scores; broadcasts to ``(batch, head, seq_q, seq_k)``.
        real_queries: True where a query is real; broadcasts to ``(batch, head, seq_q, 1)``.
        fill: Added to a masked score.
        empty: The weights of a query that sees no key.
        exclude: Whether a NaN or infinity at a masked position stays out of the result.
    """

    x: Value | None = None
    x_k: Value | None = None
    x_v: Value | None = None
    w_q: Value | None = None
    w_k: Value | None = None
    w_v: Value | None = None
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
    mask: masks.Rules | None = None
    additive: Value | None = None
    real_queries: Value | None = None
    fill: float = -math.inf
    empty: float = 0.0
    exclude: bool = True

    @property
    def heads(self) -> bool:
        """Whether the stages have a head axis."""
        return self.by_head or self.num_heads > 1

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes before queries and keys."""
        return ("batch",) * self.batch + ("head",) * self.heads

    def map(self, convert: Callable[[Array], Array]) -> Inputs:
        """Return the same inputs with every array converted; numbers stay numbers."""
        changed: dict[str, Value | masks.Rules] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Value) and not isinstance(value.array, int | float):
                changed[each.name] = Value(convert(value.array), value.symbol)
            elif isinstance(value, masks.Rules):
                changed[each.name] = value.map(convert)
        return replace(self, **changed)  # type: ignore[arg-type]  # the loop keeps each field's type


def attend(p: Inputs, trace: Trace) -> Value:
    """Compute softmax(Q·Kᵀ ÷ √d_k)·V, through every stage that the inputs call for.

    Returns:
        The last stage: the output, or the weights when there are no values.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
    """
    q, k, v = _vectors(p, trace)
    s = p.scores
    if q is not None and k is not None:
        s = trace(scores, q, k)
    z = p.scaled
    if s is not None:
        z = trace(scaled, s, p.multiplier, p.divisor, p.temperature)
    m, keep = _visible(p, z, trace)
    a = trace(weights, m, empty=p.empty)
    if v is None:
        return a
    if not p.heads and p.w_o is None and p.b_o is None:
        return trace(output, weights=a, values=v, keep=keep, rows=p.real_queries)
    mixed = trace(head_output, a, v, keep, p.real_queries)
    if not p.heads:
        return trace(output, heads=mixed, w_o=p.w_o, b_o=p.b_o, rows=p.real_queries)
    real = p.real_queries and Value(p.real_queries.array[..., 0, :, :], p.real_queries.symbol)
    return trace(output, heads=trace(concat, mixed), w_o=p.w_o, b_o=p.b_o, rows=real)


def _vectors(p: Inputs, trace: Trace) -> tuple[Value | None, Value | None, Value | None]:
    """Bring queries, keys and values to the heads, as far as they exist."""
    q, k, v = p.q, p.k, p.v
    if p.x is not None:
        q = trace(queries, p.x, p.w_q, p.b_q)
        k = trace(keys, p.x_k, p.w_k, p.b_k)
        v = trace(values, p.x_v, p.w_v, p.b_v)
    if p.heads and not p.by_head:
        q = q and trace(queries_by_head, q, p.num_heads)
        k = k and trace(keys_by_head, k, p.num_kv_heads)
        v = v and trace(values_by_head, v, p.num_kv_heads)
    return q, _serve(p, k), _serve(p, v)


def _serve(p: Inputs, shared: Value | None) -> Value | None:
    if shared is None or p.num_kv_heads == p.num_heads:
        return shared
    return Value(serve_query_heads(shared.array, p.num_heads, p.kv_head_map), shared.symbol)


def _visible(p: Inputs, z: Value | None, trace: Trace) -> tuple[Value, Value | None]:
    """Mask the scores; also return what is kept, where masked values are to stay out of the output."""
    if z is None:
        assert p.masked is not None
        seen = Value(p.masked.array != -math.inf, "kept")
        return p.masked, seen if p.exclude else None
    if p.mask is None and p.additive is None:
        return z, None
    keep = masks.keep(p.mask, p.seq_q, p.seq_k, z.array) if p.mask else None
    fill = Value(p.fill, "−∞" if p.fill == -math.inf else f"{z.symbol} + ({p.fill:g})")
    m = trace(masked, z, keep, p.additive, fill, exclude=p.exclude)
    if not p.exclude:
        return m, None
    if p.additive is not None:
        hidden = p.additive.array == -math.inf
        keep = Value(~hidden if keep is None else keep.array & ~hidden, "kept")
    return m, keep
