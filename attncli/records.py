"""Keys of the problem file that have keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.frozen import Frozen
from attncli.keys import Array, Kind, key

__all__ = ["T5", "AdditiveScore", "Alibi", "Dropout", "Mask", "Rms", "Rope", "Sinusoidal", "Variant"]


class Mask(Frozen, kw_only=True):
    """Which query may attend to which key. What is given together is combined with *and*."""

    causal: bool = key(Kind.FLAG, "Each query sees the keys up to its own position.", value=False)
    keep: Array | None = key(Kind.BOOLEANS, "True where a query may see a key.")
    drop: Array | None = key(Kind.BOOLEANS, "True where a query may not see a key.")
    additive: Array | None = key(Kind.ARRAY, "Numbers added to the scores; -inf hides a key.")
    key_padding: Array | None = key(
        Kind.BOOLEANS, "True where a key is real, per item of the batch: (batch, keys) or (keys)."
    )
    query_padding: Array | None = key(
        Kind.BOOLEANS, "True where a query is real; the output of the other rows is zero."
    )
    lengths: tuple[int, ...] | None = key(
        Kind.INTEGERS, "How many keys are real, for each item of the batch.", minimum=0
    )
    window: Mapping[str, int] | None = key(
        Kind.WINDOW, "How many keys to the left and right are in sight; the query's own is not counted."
    )
    sliding_window: int | None = key(
        Kind.INTEGER,
        "How many keys are in sight, up to and with the query's own; also to the right when not causal.",
        minimum=1,
    )
    keep_first: int | None = key(
        Kind.INTEGER, "How many keys at the start stay in sight of every window.", minimum=0
    )
    align: str | None = key(
        Kind.CHOICE,
        "Which corner the diagonal of causal and windows runs through when queries and keys differ in number.",
        choices=("top_left", "bottom_right"),
    )
    offset: int | None = key(Kind.INTEGER, "Position of the first query among the keys, instead of align.")


class Variant(Frozen):
    """A choice that has settings of its own.

    Args:
        name: The choice.
        value: Its record, or its array.
    """

    name: str
    value: Any


class Sinusoidal(Frozen, kw_only=True):
    """Sines and cosines of the position, as in the paper."""

    base: float = key(Kind.NUMBER, "Ratio of the slowest wave to the fastest.", value=10000.0, above=0)
    layout: str = key(
        Kind.CHOICE,
        "interleaved: sine and cosine take turns; half: all sines first.",
        value="interleaved",
        choices=("interleaved", "half"),
    )
    offset: int = key(Kind.INTEGER, "Position of the first token.", value=0)


class Rope(Frozen, kw_only=True):
    """Rotation of queries and keys by their positions. The angles come from base, or as they are given."""

    pairing: str | None = key(
        Kind.CHOICE,
        "half pairs number i with i + dim/2 (Llama in Hugging Face), interleaved 2i with 2i + 1 (the paper, Meta's Llama).",
        default="must be said",
        choices=("half", "interleaved"),
    )
    base: float | None = key(
        Kind.NUMBER, "The base of the frequencies base^(-2i/dim).", default="10000", above=0
    )
    dim: int | None = key(
        Kind.INTEGER, "How many numbers of a head are rotated; even.", default="head_dim", minimum=2
    )
    offset: int | None = key(Kind.INTEGER, "Position of the first query.", default="0, or the length of past")
    positions: tuple[int, ...] | None = key(
        Kind.INTEGERS, "Positions of the queries; those of the keys too where there are as many."
    )
    inv_freq: tuple[float, ...] | None = key(
        Kind.NUMBERS, "Frequency of each pair in radians per position, instead of base."
    )
    angles: Array | None = key(Kind.ARRAY, "Angle of each pair for each position, (seq, pairs).")
    unit: str = key(Kind.CHOICE, "What angles are in.", value="radians", choices=("radians", "degrees"))
    cos: Array | None = key(Kind.ARRAY, "Cosines, (seq, pairs) or (seq, dim), with sin.")
    sin: Array | None = key(Kind.ARRAY, "Sines, (seq, pairs) or (seq, dim), with cos.")


class Rms(Frozen, kw_only=True):
    """RMS norm over the numbers of a head."""

    eps: float = key(Kind.NUMBER, "Added to the mean square.", value=1e-6, minimum=0)
    weight_Q: Array | None = key(Kind.ARRAY, "Multiplies the normed queries, (head_dim).")
    weight_K: Array | None = key(Kind.ARRAY, "Multiplies the normed keys, (head_dim).")


class AdditiveScore(Frozen, kw_only=True):
    """The small network of Bahdanau et al. 2014."""

    W_q: Array | None = key(Kind.ARRAY, "Weight of the queries, (dim, hidden).", default="identity")
    W_k: Array | None = key(Kind.ARRAY, "Weight of the keys, (dim, hidden).", default="identity")
    v: Array | None = key(Kind.ARRAY, "Weight of the hidden numbers, (hidden).", default="ones")


class Alibi(Frozen, kw_only=True):
    """A penalty that grows with the distance, steeper for some heads than for others."""

    slopes: str | tuple[float, ...] = key(
        Kind.NUMBERS,
        "author: as in the published code, for any number of heads; geometric: 2^(-8i/n); or a list.",
        value="author",
        choices=("author", "geometric"),
    )
    form: str = key(
        Kind.CHOICE,
        "What is added to the score of query i and key j.",
        value="-m*|i-j|",
        choices=("-m*|i-j|", "-m*(i-j)", "m*(i-j)", "m*j"),
    )


class T5(Frozen, kw_only=True):
    """A learned bias for each bucket of distances."""

    table: Array | None = key(Kind.ARRAY, "One row per bucket, one column per head.", default="must be given")
    bidirectional: bool = key(
        Kind.FLAG, "Keys after the query have buckets of their own (the encoder).", value=True
    )
    buckets: int | None = key(Kind.INTEGER, "Number of buckets.", default="rows of table", minimum=2)
    max_distance: int = key(Kind.INTEGER, "From here on all distances share a bucket.", value=128, minimum=1)


class Dropout(Frozen, kw_only=True):
    """Weights that are dropped, by a seed or by a given array."""

    p: float = key(Kind.NUMBER, "Share of the weights that is dropped.", value=0.0, minimum=0)
    seed: int | None = key(Kind.INTEGER, "Seed of the draw.", default="0", minimum=0)
    keep: Array | None = key(Kind.BOOLEANS, "True where a weight stays, instead of a draw.")
