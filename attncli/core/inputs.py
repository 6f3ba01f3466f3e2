"""What `attend` needs: arrays in one layout, and settings without any choice left open."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from attncli.core import masks
from attncli.frozen import Frozen
from attncli.trace import Array, Value

__all__ = ["LATE_INPUTS", "Drawn", "Dropout", "Inputs", "Norm", "Rotation", "Similarity"]

LATE_INPUTS = {"sink": "softmax", "w_o": "pv", "b_o": "pv"}
"""The inputs that come in after the part qk, and the part that they come in at."""


class Norm(Frozen, kw_only=True):
    """RMS norm of queries and keys, per head.

    Args:
        eps: Added to the mean square.
        weight_q: ``(head_dim,)``.
        weight_k: ``(head_dim,)``.
    """

    eps: float
    weight_q: Value | None = None
    weight_k: Value | None = None


class Rotation(Frozen, kw_only=True):
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


class Similarity(Frozen, kw_only=True):
    """How scores are made of queries and keys.

    Args:
        kind: ``dot``, ``cosine``, ``general`` or ``additive``.
        weights: The arrays that the kind takes after queries and keys, in its order.
    """

    kind: str = "dot"
    weights: tuple[Value | None, ...] = ()


class Drawn(Frozen, kw_only=True):
    """An array that is made where somebody looks, and is the same whatever part that is.

    Args:
        draw: Makes a part, given which indices it takes on each axis.
        part: The part that this is.
        convert: Takes it to the array library in use.
    """

    draw: Callable[[tuple[range, ...]], Array]
    part: tuple[range, ...]
    convert: Callable[[Array], Array] = lambda array: array

    @property
    def shape(self) -> tuple[int, ...]:
        """How long each axis is."""
        return tuple(map(len, self.part))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.part)

    def __getitem__(self, index: tuple[slice, ...]) -> Drawn:
        return replace(self, part=tuple(axis[some] for axis, some in zip(self.part, index, strict=True)))

    def now(self) -> Array:
        """Make it."""
        return self.convert(self.draw(self.part))


class Dropout(Frozen, kw_only=True):
    """Which weights stay, and by what the rest is made up for.

    Args:
        drawn: True where a weight stays, an array or a `Drawn`; broadcasts to
            ``(batch, head, seq_q, seq_k)``.
        keep_rate: 1 − p; None leaves the sizes as they are.
    """

    drawn: Value
    keep_rate: Value | None = None


class Inputs(Frozen, kw_only=True):
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
    if isinstance(part, Drawn):
        return replace(part, convert=lambda array: convert(part.convert(array), symbol))
    if isinstance(part, Value):
        return Value(_converted(part.array, convert, part.symbol), part.symbol)
    if isinstance(part, tuple):
        return tuple(_converted(each, convert, symbol) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        changes = {f.name: _converted(getattr(part, f.name), convert, symbol) for f in fields(part)}
        return replace(part, **changes)
    return part
