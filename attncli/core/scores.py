"""From queries and keys to scores, from scores to weights, from weights to the output.

Shapes leave out the batch and head axes, which may stand before all others.
"""

from __future__ import annotations

import math

from attncli.core.heads import project
from attncli.core.namespace import namespace
from attncli.trace import Array, Scalar, stage

__all__ = ["head_output", "masked", "mixture", "output", "scaled", "scores", "weights"]

PAPER = "Vaswani et al. 2017, eq. 1"


@stage(
    "scores", symbol="S", axes="batch head query key", formula="{q}·{k}ᵀ", latex=r"{q}{k}^\top", source=PAPER
)
def scores(q: Array, k: Array) -> Array:
    """Compare every query with every key: the larger the product, the better they match."""
    return q @ namespace(k).matrix_transpose(k)


@stage(
    "scaled",
    symbol="Z",
    axes="batch head query key",
    formula="{scores}[ × {multiplier}][ ÷ {divisor}][ ÷ {temperature}]",
    latex=r"{scores}[ \cdot {multiplier}][ / {divisor}][ / {temperature}]",
    source=PAPER,
)
def scaled(
    scores: Array,
    multiplier: Scalar | None = None,
    divisor: Scalar | None = None,
    temperature: Scalar | None = None,
) -> Array:
    """Shrink the scores, so that wide vectors do not push softmax into its flat ends."""
    if multiplier is not None:
        scores = scores * multiplier
    for each in (divisor, temperature):
        scores = scores if each is None else scores / each
    return scores


@stage(
    "masked",
    symbol="M",
    axes="batch head query key",
    formula="{z}[ + {additive}][ where {keep}, else {fill}]",
    latex=r"{z}[ + {additive}][ \;\text{{where}}\; {keep} \;\text{{else}}\; {fill}]",
    source="Vaswani et al. 2017, section 3.2.3",
)
def masked(
    z: Array,
    keep: Array | None = None,
    additive: Array | None = None,
    fill: Scalar = -math.inf,
    *,
    exclude: bool = True,
) -> Array:
    """Take the keys that a query must not see out of the running.

    Args:
        z: Scaled scores ``(seq_q, seq_k)``.
        keep: True where a query sees a key.
        additive: Added to the scores; −∞ hides a key.
        fill: Added to the scores of the keys that are not kept. A finite one, such as −1e9, leaves
            a difference between them that float64 keeps and float32 rounds away.
        exclude: Whether a masked score that is no finite number counts as 0 before it is masked;
            IEEE arithmetic makes NaN + −∞ = NaN of it.
    """
    xp = namespace(z)
    m = z if additive is None else z + additive
    if exclude and additive is not None:
        m = xp.where(additive == -math.inf, -math.inf, m)
    if keep is None:
        return m
    hidden = xp.where(xp.isfinite(m), m, 0.0) if exclude else m
    return xp.where(keep, m, hidden + fill)


def _row_max(scores: Array) -> Array:
    return namespace(scores).max(scores, axis=-1, keepdims=True)


def _exp(scores: Array) -> Array:
    """Take exp(score − row maximum), which never overflows."""
    xp = namespace(scores)
    m = _row_max(scores)
    # −∞ − −∞ is NaN: a row without any visible key is shifted by 0 and stays at exp(−∞) = 0.
    return xp.exp(scores - xp.where(m == -math.inf, 0.0, m))


def _total(x: Array) -> Array:
    return namespace(x).sum(x, axis=-1, keepdims=True)


@stage(
    "weights",
    symbol="A",
    axes="batch head query key",
    formula="softmax({scores})",
    latex=r"\operatorname{{softmax}}({scores})",
    source=PAPER,
)
def weights(scores: Array, *, empty: float = 0.0) -> Array:
    """Turn each query's scores into weights over the keys: positive, and 1 in sum.

    Args:
        scores: ``(seq_q, seq_k)``; −∞ where a key is masked.
        empty: The weights of a query that sees no key: 0, or NaN.
    """
    xp = namespace(scores)
    e = _exp(scores)
    total = _total(e)
    return xp.where(total == 0, empty, e / xp.where(total == 0, 1.0, total))


@weights.detail("row_max", symbol="m", formula="max {scores}", axes="batch head query")
def row_max(scores: Array) -> Array:
    """Find the largest score of each query, which softmax subtracts first."""
    return _row_max(scores)[..., 0]


@weights.detail("exp", symbol="e", formula="exp({scores} − m)", axes="batch head query key")
def exp(scores: Array) -> Array:
    """Take the exponential of each score, less the row's maximum."""
    return _exp(scores)


@weights.detail("exp_sum", symbol="Σe", formula="Σ exp({scores} − m)", axes="batch head query")
def exp_sum(scores: Array) -> Array:
    """Add up the exponentials of each row."""
    return _total(_exp(scores))[..., 0]


@weights.detail("row_sum", symbol="ΣA", formula="Σ {result}", axes="batch head query")
def row_sum(result: Array) -> Array:
    """Add up the weights of each row."""
    return _total(result)[..., 0]


@weights.detail("lse", symbol="LSE", formula="ln Σ exp({scores})", axes="batch head query")
def lse(scores: Array) -> Array:
    """Take the natural log of the row's sum of exponentials; −∞ for a row without a visible key."""
    xp = namespace(scores)
    total = _total(_exp(scores))
    visible = total > 0
    log = _row_max(scores) + xp.log(xp.where(visible, total, 1.0))
    return xp.where(visible | xp.isnan(total), log, -math.inf)[..., 0]


@weights.detail("entropy", symbol="H", formula="−Σ {result}·log₂ {result}", axes="batch head query")
def entropy(result: Array) -> Array:
    """Measure in bits how far each query spreads its attention: 0 looks at one key only."""
    xp = namespace(result)
    return 0.0 - _total(result * xp.log2(xp.where(result == 0, 1.0, result)))[..., 0]


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
        mixed = xp.where(meets(seen & (weights > 0), values == infinity), mixed + infinity, mixed)
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
    formula="[{weights}·{values}][{heads}][·{w_o}][ + {b_o}][ where {rows}, else 0]",
    latex=r"[{weights}{values}][{heads}][{w_o}][ + {b_o}]",
    source=PAPER,
)
def output(
    *,
    weights: Array | None = None,
    values: Array | None = None,
    keep: Array | None = None,
    rows: Array | None = None,
    heads: Array | None = None,
    w_o: Array | None = None,
    b_o: Array | None = None,
) -> Array:
    """Hand every query its mixture of the values, or the mixtures of all heads through W_O.

    Args:
        weights: ``(seq_q, seq_k)``, with ``values``, when there is one head and no W_O.
        values: ``(seq_k, value_dim)``.
        keep: As in `mixture`.
        rows: True where a query is real; the other rows are zero.
        heads: ``(seq_q, heads · value_dim)``, the outputs of the heads, instead of weights.
        w_o: ``(heads · value_dim, dim_out)``.
        b_o: ``(dim_out,)``.
    """
    mixed = mixture(weights, values, keep) if heads is None else project(heads, w_o, b_o)
    return _only(rows, mixed)


@head_output.detail("weighted_values", symbol="A·v", formula="{weights}·v", axes="batch head query key dim")
@output.detail("weighted_values", symbol="A·v", formula="{weights}·v", axes="batch query key dim")
def weighted_values(
    weights: Array | None, values: Array | None, keep: Array | None, rows: Array | None
) -> Array | None:
    """Take each key's value times its weight: the addends of the output."""
    if weights is None or values is None:
        return None
    addends = weights[..., None] * values[..., None, :, :]
    if keep is not None:
        xp = namespace(addends)
        counts = keep[..., None] | xp.isfinite(values)[..., None, :, :]
        addends = xp.where(counts, addends, 0.0)
    return _only(None if rows is None else rows[..., None], addends)
