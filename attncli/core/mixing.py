"""From weights and values to the output.

Shapes leave out the batch and head axes, which may stand before all others.
"""

from __future__ import annotations

import math

from attncli.core.heads import project
from attncli.core.namespace import namespace
from attncli.trace import Array, stage

__all__ = ["head_output", "mixture", "output", "projected_output"]

PAPER = "Vaswani et al. 2017, section 3.2"


def mixture(weights: Array, values: Array, keep: Array | None = None) -> Array:
    """Mix the values by the weights.

    Args:
        weights: ``(seq_q, seq_k)``.
        values: ``(seq_k, value_dim)``.
        keep: True where a query sees a key. Given, a NaN or infinity in the value of a masked
            key adds nothing, where IEEE arithmetic would make 0 · NaN = NaN of it.

    Returns:
        ``(seq_q, value_dim)``.
    """
    if keep is None:
        return weights @ values
    xp = namespace(weights)
    seen = xp.broadcast_to(keep, weights.shape)
    zero = xp.zeros_like(values)

    def meets(pairs: Array, which: Array) -> Array:
        return xp.astype(pairs, weights.dtype) @ xp.where(which, 1.0, zero) > 0

    mixed = weights @ xp.where(xp.isfinite(values), values, 0.0)
    for infinity in (math.inf, -math.inf):
        same, turned = meets(seen & (weights > 0), values == infinity), values == -infinity
        mixed = xp.where(same | meets(seen & (weights < 0), turned), mixed + infinity, mixed)
    lost = meets(seen, xp.isnan(values)) | meets(seen & (weights == 0), xp.isinf(values))
    return xp.where(lost, math.nan, mixed)


def _only(rows: Array | None, mixed: Array) -> Array:
    return mixed if rows is None else namespace(mixed).where(rows, mixed, 0.0)


@stage(
    "head_output",
    symbol="O_h",
    axes="batch head query dim",
    formula="{weights}·{values}[ where {rows}, else 0]",
    latex=r"{weights}{values}",
    source=PAPER,
    sums=True,
)
def head_output(weights: Array, values: Array, keep: Array | None = None, rows: Array | None = None) -> Array:
    """Mix the values of each head by its weights.

    Args:
        weights: ``(heads, seq_q, seq_k)``.
        values: ``(heads, seq_k, value_dim)``.
        keep: As in `mixture`.
        rows: True where a query is real; the other rows are zero.
    """
    return _only(rows, mixture(weights, values, keep))


@stage(
    "output",
    symbol="O",
    axes="batch query dim",
    formula="{weights}·{values}[ where {rows}, else 0]",
    latex=r"{weights}{values}",
    source=PAPER,
    sums=True,
)
def output(weights: Array, values: Array, keep: Array | None = None, rows: Array | None = None) -> Array:
    """Hand every query its mixture of the values.

    Args:
        weights: ``(seq_q, seq_k)``.
        values: ``(seq_k, value_dim)``.
        keep: As in `mixture`.
        rows: True where a query is real; the other rows are zero.
    """
    return _only(rows, mixture(weights, values, keep))


@output.variant(
    formula="{heads}[·{w_o}][ + {b_o}][ where {rows}, else 0]",
    latex=r"{heads}[{w_o}][ + {b_o}]",
    source=PAPER,
)
def projected_output(
    heads: Array, w_o: Array | None = None, b_o: Array | None = None, rows: Array | None = None
) -> Array:
    """Hand every query the mixtures of all heads, through W_O.

    Args:
        heads: ``(seq_q, heads · value_dim)``.
        w_o: ``(heads · value_dim, dim_out)``; None is the identity.
        b_o: ``(dim_out,)``.
        rows: True where a query is real; the other rows are zero.
    """
    return _only(rows, project(heads, w_o, b_o))


@head_output.detail("weighted_values", symbol="A·v", formula="{weights}·v", axes="batch head query key dim")
@output.detail("weighted_values", symbol="A·v", formula="{weights}·v", axes="batch query key dim")
def weighted_values(
    weights: Array, values: Array, keep: Array | None = None, rows: Array | None = None
) -> Array:
    """Take each key's value times its weight: the addends of the output."""
    addends = weights[..., None] * values[..., None, :, :]
    if keep is not None:
        xp = namespace(addends)
        counts = keep[..., None] | xp.isfinite(values)[..., None, :, :]
        addends = xp.where(counts, addends, 0.0)
    return _only(None if rows is None else rows[..., None], addends)
