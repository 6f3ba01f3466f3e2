"""How well a query and a key match: the scores, in the ways that have been published.

Shapes leave out the batch and head axes, which may stand before all others.
"""

from __future__ import annotations

from attncli.core.namespace import namespace
from attncli.trace import Array, stage

__all__ = ["additive_scores", "cosine_scores", "general_scores", "normed_keys", "normed_queries", "scores"]

_RMS = r"\frac{{{x}}}{{\operatorname{{rms}}({x})}}[ \odot {weight}]"


def _rms_norm(x: Array, eps: float, weight: Array | None = None) -> Array:
    xp = namespace(x)
    y = x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + eps)
    return y if weight is None else y * weight


@stage(
    "Q_norm",
    symbol="Q_n",
    axes="batch head query dim",
    formula="{x} ÷ rms({x})[ × {weight}]",
    latex=_RMS,
    source="Henry et al. 2020, with the RMSNorm of Zhang and Sennrich 2019",
)
def normed_queries(x: Array, eps: float, weight: Array | None = None) -> Array:
    """Bring every query to one length, so that scores cannot grow without bound."""
    return _rms_norm(x, eps, weight)


@stage(
    "K_norm",
    symbol="K_n",
    axes="batch head key dim",
    formula="{x} ÷ rms({x})[ × {weight}]",
    latex=_RMS,
    source="Henry et al. 2020, with the RMSNorm of Zhang and Sennrich 2019",
)
def normed_keys(x: Array, eps: float, weight: Array | None = None) -> Array:
    """Bring every key to one length, so that scores cannot grow without bound."""
    return _rms_norm(x, eps, weight)


@stage(
    "scores",
    symbol="S",
    axes="batch head query key",
    formula="{q}·{k}ᵀ",
    latex=r"{q}{k}^\top",
    source="Vaswani et al. 2017, eq. 1",
    sums=True,
)
def scores(q: Array, k: Array) -> Array:
    """Compare every query with every key: the larger the product, the better they match."""
    return q @ namespace(k).matrix_transpose(k)


@scores.variant(
    formula="cos({q}, {k})",
    latex=r"\cos({q}, {k})",
    source="Graves et al. 2014, section 3.3.1",
)
def cosine_scores(q: Array, k: Array) -> Array:
    """Compare directions only: 1 for the same one, −1 for opposite ones, 0 for a vector of zeros."""
    return _unit(q) @ namespace(k).matrix_transpose(_unit(k))


def _unit(x: Array) -> Array:
    xp = namespace(x)
    length = xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True))
    return x / xp.where(length == 0, 1.0, length)


@scores.variant(
    formula="{q}·{weight}·{k}ᵀ",
    latex=r"{q}{weight}{k}^\top",
    source="Luong et al. 2015, section 3.1, general",
)
def general_scores(q: Array, k: Array, weight: Array) -> Array:
    """Compare every query with every key through a weight between them.

    Args:
        q: ``(seq_q, dim_q)``.
        k: ``(seq_k, dim_k)``.
        weight: ``(dim_q, dim_k)``.
    """
    return q @ weight @ namespace(k).matrix_transpose(k)


@scores.variant(
    formula="tanh({q}[·{w_q}] + {k}[·{w_k}])[·{v}]",
    latex=r"\tanh({q}[{w_q}] + {k}[{w_k}])[{v}]",
    source="Bahdanau et al. 2014, appendix A.1.2",
)
def additive_scores(
    q: Array, k: Array, w_q: Array | None = None, w_k: Array | None = None, v: Array | None = None
) -> Array:
    """Compare through a small network: the sum of query and key, bent by tanh and weighed by v.

    Args:
        q: ``(seq_q, dim_q)``.
        k: ``(seq_k, dim_k)``.
        w_q: ``(dim_q, hidden)``; None is the identity.
        w_k: ``(dim_k, hidden)``; None is the identity.
        v: ``(hidden,)``; None is a sum.
    """
    xp = namespace(q)
    a = q if w_q is None else q @ w_q
    b = k if w_k is None else k @ w_k
    hidden = xp.tanh(a[..., :, None, :] + b[..., None, :, :])
    return xp.sum(hidden if v is None else hidden * v, axis=-1)
