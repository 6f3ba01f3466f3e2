"""Projections into queries, keys and values, and the heads that share their work.

Shapes leave out the batch axis, which may stand before all others.
"""

from __future__ import annotations

from attncli.core.namespace import namespace
from attncli.trace import Array, stage

__all__ = [
    "all_keys",
    "all_values",
    "concat",
    "keys",
    "keys_by_head",
    "merge_heads",
    "project",
    "queries",
    "queries_by_head",
    "serve_query_heads",
    "split_heads",
    "values",
    "values_by_head",
]

PAPER = "Vaswani et al. 2017, section 3.2.2"
_PROJECTION = r"{x}[{weight}][ + {bias}]"
_SPLIT = r"\operatorname{{split}}({x})"


def project(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    """Map every token's vector by a weight and a bias, where there are any.

    Args:
        x: ``(seq, dim_in)``.
        weight: ``(dim_in, dim_out)``; None is the identity.
        bias: ``(dim_out,)``.

    Returns:
        ``(seq, dim_out)``.
    """
    y = x if weight is None else x @ weight
    return y if bias is None else y + bias


@stage(
    "Q",
    symbol="Q",
    axes="batch query dim",
    formula="{x}[·{weight}][ + {bias}]",
    latex=_PROJECTION,
    source=PAPER,
    sums=True,
)
def queries(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    """Ask, for every token, what it looks for."""
    return project(x, weight, bias)


@stage(
    "K",
    symbol="K",
    axes="batch key dim",
    formula="{x}[·{weight}][ + {bias}]",
    latex=_PROJECTION,
    source=PAPER,
    sums=True,
)
def keys(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    """State, for every token, what it can be found by."""
    return project(x, weight, bias)


@stage(
    "V",
    symbol="V",
    axes="batch key dim",
    formula="{x}[·{weight}][ + {bias}]",
    latex=_PROJECTION,
    source=PAPER,
    sums=True,
)
def values(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    """Prepare, for every token, what it hands over when it is looked at."""
    return project(x, weight, bias)


def split_heads(x: Array, heads: int) -> Array:
    """Cut the last axis into heads: ``(seq, heads · head_dim)`` to ``(heads, seq, head_dim)``."""
    xp = namespace(x)
    *batch, seq, dim = x.shape
    return xp.moveaxis(xp.reshape(x, (*batch, seq, heads, dim // heads)), -2, -3)


def merge_heads(x: Array) -> Array:
    """Lay the heads side by side: ``(heads, seq, head_dim)`` to ``(seq, heads · head_dim)``."""
    xp = namespace(x)
    *batch, heads, seq, dim = x.shape
    return xp.reshape(xp.moveaxis(x, -3, -2), (*batch, seq, heads * dim))


@stage("Q_heads", symbol="Q_h", axes="batch head query dim", formula="split({x})", latex=_SPLIT, source=PAPER)
def queries_by_head(x: Array, heads: int) -> Array:
    """Give each head its own columns of the queries."""
    return split_heads(x, heads)


@stage("K_heads", symbol="K_h", axes="batch head key dim", formula="split({x})", latex=_SPLIT, source=PAPER)
def keys_by_head(x: Array, heads: int) -> Array:
    """Give each key-value head its own columns of the keys."""
    return split_heads(x, heads)


@stage("V_heads", symbol="V_h", axes="batch head key dim", formula="split({x})", latex=_SPLIT, source=PAPER)
def values_by_head(x: Array, heads: int) -> Array:
    """Give each key-value head its own columns of the values."""
    return split_heads(x, heads)


@stage(
    "K_all",
    symbol="K_a",
    axes="batch head key dim",
    formula="{past} ; {new}",
    latex=r"[{past} ; {new}]",
    source="the key-value cache of autoregressive decoding",
)
def all_keys(past: Array, new: Array) -> Array:
    """Put the keys of earlier tokens before the new ones."""
    return namespace(new).concat([past, new], axis=-2)


@stage(
    "V_all",
    symbol="V_a",
    axes="batch head key dim",
    formula="{past} ; {new}",
    latex=r"[{past} ; {new}]",
    source="the key-value cache of autoregressive decoding",
)
def all_values(past: Array, new: Array) -> Array:
    """Put the values of earlier tokens before the new ones."""
    return namespace(new).concat([past, new], axis=-2)


def serve_query_heads(x: Array, num_heads: int, order: str = "repeat") -> Array:
    """Hand every query head the key-value head that serves it.

    Args:
        x: ``(num_kv_heads, seq, head_dim)``.
        num_heads: Number of query heads, a multiple of ``num_kv_heads``.
        order: ``repeat`` serves query head h by h // group (Ainslie et al. 2023), ``tile`` by
            h mod num_kv_heads.

    Returns:
        ``(num_heads, seq, head_dim)``.
    """
    xp = namespace(x)
    group = num_heads // x.shape[-3]
    if group == 1:
        return x
    if order == "repeat":
        return xp.repeat(x, group, axis=-3)
    return xp.tile(x, (*(1,) * (x.ndim - 3), group, 1, 1))


@stage(
    "concat",
    symbol="concat",
    axes="batch query dim",
    formula="concat({heads})",
    latex=r"\operatorname{{Concat}}({heads})",
    source=PAPER,
)
def concat(heads: Array) -> Array:
    """Lay the outputs of the heads side by side."""
    return merge_heads(heads)
