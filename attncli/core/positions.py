"""Where a token stands: encodings added to X, rotations of queries and keys, biases of scores."""

from __future__ import annotations

import math

from attncli.core.namespace import namespace
from attncli.trace import Array, stage

__all__ = [
    "ALIBI_FORMS",
    "alibi",
    "alibi_slopes",
    "position_added",
    "rotate",
    "rotated_keys",
    "rotated_queries",
    "rotation_angles",
    "rotation_frequencies",
    "sinusoidal",
    "spread",
    "t5_bias",
    "t5_bucket",
]

_ROTATION = r"R(\mathrm{{pos}}\,\theta)\,{x}"


@stage(
    "X_pos",
    symbol="X′",
    axes="batch query dim",
    formula="{x} + {encoding}",
    latex="{x} + {encoding}",
    source="Vaswani et al. 2017, section 3.5",
)
def position_added(x: Array, encoding: Array) -> Array:
    """Tell every token where it stands, by adding its position's encoding."""
    return x + encoding


def sinusoidal(positions: Array, dim: int, base: float = 10000.0, *, interleaved: bool = True) -> Array:
    """Encode positions as sines and cosines of falling frequency.

    Args:
        positions: ``(seq,)``.
        dim: Width of the encoding; an odd one ends on a sine.
        base: Ratio of the slowest wave to the fastest.
        interleaved: Sine and cosine take turns; otherwise all sines come first.

    Returns:
        ``(seq, dim)``.

    Source:
        Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos ÷ base^(2i ÷ dim)).
    """
    xp = namespace(positions)
    pairs = (dim + 1) // 2
    rate = base ** (-2.0 * xp.astype(xp.arange(pairs), positions.dtype) / dim)
    angles = positions[:, None] * rate
    sines, cosines = xp.sin(angles), xp.cos(angles)
    if not interleaved:
        return xp.concat([sines, cosines], axis=-1)[:, :dim]
    return xp.reshape(xp.stack([sines, cosines], axis=-1), (positions.shape[0], 2 * pairs))[:, :dim]


def rotation_frequencies(like: Array, dim: int, base: float = 10000.0) -> Array:
    """Return the frequency of each pair, in radians per position: base^(−2i ÷ dim).

    Args:
        like: An array of the namespace and dtype to use.
        dim: How many numbers of a head are rotated; even.
        base: Called θ's base; 10000 in the paper.

    Returns:
        ``(dim ÷ 2,)``.

    Source:
        Su et al. 2021, "RoFormer", section 3.2.2.
    """
    xp = namespace(like)
    return base ** (-2.0 * xp.astype(xp.arange(dim // 2), like.dtype) / dim)


def rotation_angles(positions: Array, frequencies: Array) -> Array:
    """Return the angle of each pair at each position in radians, ``(seq, dim ÷ 2)``."""
    return positions[:, None] * frequencies[None, :]


def rotate(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Rotate pairs of numbers by the angle of their position.

    Args:
        x: ``(seq, head_dim)``, perhaps with axes before.
        cos: ``(seq, pairs)``, cosines of the angles.
        sin: ``(seq, pairs)``, sines of the angles.
        pairing: ``half`` pairs number i with i + pairs, as Llama does in Hugging Face's
            transformers; ``interleaved`` pairs 2i with 2i + 1, as the paper does.

    Returns:
        As ``x``; numbers beyond the pairs stay as they are.
    """
    xp = namespace(x)
    pairs = cos.shape[-1]
    turned, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if pairing == "half":
        a, b = turned[..., :pairs], turned[..., pairs:]
        parts = [a * cos - b * sin, b * cos + a * sin]
        return xp.concat([*parts, rest], axis=-1)
    a, b = turned[..., 0::2], turned[..., 1::2]
    both = xp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1)
    return xp.concat([xp.reshape(both, turned.shape), rest], axis=-1)


@stage(
    "Q_rot",
    symbol="Q_r",
    axes="batch head query dim",
    formula="R(pos·θ)·{x}",
    latex=_ROTATION,
    source="Su et al. 2021, eq. 34",
)
def rotated_queries(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Rotate each query by its position, so that scores depend on distances."""
    return rotate(x, cos, sin, pairing)


@stage(
    "K_rot",
    symbol="K_r",
    axes="batch head key dim",
    formula="R(pos·θ)·{x}",
    latex=_ROTATION,
    source="Su et al. 2021, eq. 34",
)
def rotated_keys(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Rotate each key by its position, so that scores depend on distances."""
    return rotate(x, cos, sin, pairing)


def alibi_slopes(heads: int, rule: str = "author") -> list[float]:
    """Return one slope for each head.

    Args:
        heads: Number of heads.
        rule: ``author`` is 2^(−8i ÷ n) for powers of two and, for other counts, those of the next
            lower power followed by every other one of the next higher, as the authors' code has
            it; ``geometric`` keeps 2^(−8i ÷ n) for every count.

    Source:
        Press et al. 2022, "Train Short, Test Long", section 3, and its published code.
    """
    exact = 2 ** (heads.bit_length() - 1)
    if rule == "geometric" or exact == heads:
        return [2.0 ** (-8.0 * (i + 1) / heads) for i in range(heads)]
    return alibi_slopes(exact) + alibi_slopes(2 * exact)[0::2][: heads - exact]


ALIBI_FORMS = ("-m*|i-j|", "-m*(i-j)", "m*(i-j)", "m*j")
"""What is added to the score of query i and key j, for a slope m."""


def alibi(slopes: Array, query: Array, key: Array, form: str = ALIBI_FORMS[0]) -> Array:
    """Bias scores by distance.

    Args:
        slopes: ``(heads,)``.
        query: Positions of the queries, ``(seq_q,)``.
        key: Positions of the keys, ``(seq_k,)``.
        form: One of `ALIBI_FORMS`.

    Returns:
        ``(heads, seq_q, seq_k)``.
    """
    xp = namespace(slopes)
    i, j, m = query[:, None], key[None, :], slopes[:, None, None]
    distance = {
        "-m*|i-j|": -xp.abs(i - j),
        "-m*(i-j)": j - i,
        "m*(i-j)": i - j,
        "m*j": j + 0 * i,
    }[form]
    return m * xp.astype(distance, slopes.dtype)


def spread(by_distance: Array, seq_q: int, seq_k: int) -> Array:
    """Spread numbers by distance over the pairs of queries and keys.

    Args:
        by_distance: ``(…, seq_q + seq_k − 1)``: a number for each distance from query to key, from
            that of the last query and the first key to that of the first query and the last key.
        seq_q: Number of queries.
        seq_k: Number of keys.

    Returns:
        ``(…, seq_q, seq_k)``.
    """
    xp = namespace(by_distance)
    query = xp.arange(seq_q, device=by_distance.device)
    key = xp.arange(seq_k, device=by_distance.device)
    place = xp.reshape(key[None, :] - query[:, None] + (seq_q - 1), (-1,))
    return xp.reshape(xp.take(by_distance, place, axis=-1), (*by_distance.shape[:-1], seq_q, seq_k))


def t5_bucket(
    relative: Array, *, bidirectional: bool = True, buckets: int = 32, max_distance: int = 128
) -> Array:
    """Sort distances into buckets: one each when near, ever wider when far.

    Args:
        relative: Key position less query position, integers of any shape.
        bidirectional: Keys after the query get half of the buckets; otherwise they count as 0 away.
        buckets: Number of buckets.
        max_distance: From here on everything shares the last bucket.

    Returns:
        Integers from 0 to ``buckets − 1``.

    Source:
        Raffel et al. 2020, section 2.1, and its published code.
    """
    xp = namespace(relative)
    side = buckets // 2 if bidirectional else buckets
    offset = side * xp.astype(relative > 0, relative.dtype) if bidirectional else 0
    far = xp.abs(relative) if bidirectional else xp.where(relative < 0, -relative, 0)
    exact = side // 2
    near = xp.astype(xp.where(far < 1, 1, far), xp.float64)
    widened = xp.log(near / exact) / math.log(max_distance / exact) * (side - exact)
    # A power that falls on a bucket's edge belongs to that bucket, whatever log's last bit says.
    coarse = exact + xp.astype(xp.floor(widened + 1e-9), relative.dtype)
    return offset + xp.where(far < exact, far, xp.where(coarse < side - 1, coarse, side - 1))


def t5_bias(table: Array, query: Array, key: Array, **rule: int | bool) -> Array:
    """Look up a learned bias for each distance.

    Args:
        table: ``(buckets, heads)``.
        query: Positions of the queries, ``(seq_q,)``.
        key: Positions of the keys, ``(seq_k,)``.
        **rule: As in `t5_bucket`.

    Returns:
        ``(heads, seq_q, seq_k)``.
    """
    xp = namespace(table)
    bucket = t5_bucket(key[None, :] - query[:, None], buckets=table.shape[0], **rule)  # type: ignore[arg-type]
    flat = xp.take(table, xp.reshape(bucket, (-1,)), axis=0)
    return xp.moveaxis(xp.reshape(flat, (*bucket.shape, table.shape[1])), -1, 0)
