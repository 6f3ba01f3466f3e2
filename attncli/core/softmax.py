"""From scores to weights: softmax and what stands in for it, masks and dropout after it.

Shapes leave out the batch and head axes, which may stand before all others.
"""

from __future__ import annotations

import math

from attncli.core.inputs import Drawn
from attncli.core.namespace import namespace
from attncli.trace import Array, Scalar, stage

__all__ = [
    "dropped",
    "masked_softmax",
    "masked_weights",
    "renormalized",
    "share",
    "unnormalized",
    "weights",
    "weights_by_sum",
    "weights_with_sink",
]

PAPER = "Vaswani et al. 2017, eq. 1"


def _row_max(scores: Array, sink: Array | None = None) -> Array:
    xp = namespace(scores)
    m = xp.max(scores, axis=-1, keepdims=True)
    return m if sink is None else xp.where(m > sink, m, sink + xp.zeros_like(m))


def _shift(scores: Array, sink: Array | None = None) -> Array:
    # −∞ − −∞ is NaN: a row without any visible key is shifted by 0 and stays at exp(−∞) = 0.
    m = _row_max(scores, sink)
    return namespace(scores).where(m == -math.inf, 0.0, m)


def _exp(scores: Array, sink: Array | None = None) -> Array:
    """Take exp(score − row maximum), which never overflows."""
    return namespace(scores).exp(scores - _shift(scores, sink))


def _total(x: Array) -> Array:
    return namespace(x).sum(x, axis=-1, keepdims=True)


def share(parts: Array, total: Array) -> Array:
    """Divide parts by their total; a total of 0 leaves 0."""
    xp = namespace(parts)
    return xp.where(total == 0, 0.0, parts / xp.where(total == 0, 1.0, total))


@stage(
    "weights",
    symbol="A",
    axes="batch head query key",
    formula="softmax({scores})",
    latex=r"\operatorname{{softmax}}({scores})",
    source=PAPER,
    by_row=True,
)
def weights(scores: Array, *, empty: float = 0.0) -> Array:
    """Turn each query's scores into weights over the keys: positive, and 1 in sum.

    Args:
        scores: ``(seq_q, seq_k)``; −∞ where a key is masked.
        empty: The weights of a query that sees no key: 0, or NaN.
    """
    e = _exp(scores)
    total = _total(e)
    # A total of 0 is one of zeros alone: by 1 they stay 0, by NaN they become NaN. Choosing among the
    # shares afterwards would take as much memory again.
    return e / namespace(e).where(total == 0, empty or 1.0, total)


@weights.variant(
    formula="exp({scores}) ÷ (Σ exp({scores}) + exp({sink}))",
    latex=r"\frac{{\exp({scores})}}{{\sum\exp({scores}) + \exp({sink})}}",
    source='OpenAI 2025, gpt-oss; Miller 2023, "Attention Is Off By One", for a sink of 0',
)
def weights_with_sink(scores: Array, sink: Array, *, empty: float = 0.0) -> Array:
    """Turn scores into weights, of which a sink that holds no value takes its share.

    Args:
        scores: ``(seq_q, seq_k)``; −∞ where a key is masked.
        sink: An extra score, one for each head: ``(heads, 1, 1)``, or a number.
        empty: As in `weights`, for a sink of −∞, which takes nothing.
    """
    total = _total_with_sink(scores, sink)
    return _exp(scores, sink) / namespace(total).where(total == 0, empty or 1.0, total)


def _total_with_sink(scores: Array, sink: Array) -> Array:
    xp = namespace(scores)
    return _total(_exp(scores, sink)) + xp.exp(sink - _shift(scores, sink))


@weights.variant(
    formula="{numbers} ÷ Σ {numbers}",
    latex=r"{numbers} / \textstyle\sum {numbers}",
    source="the textbook's first attempt at weights",
)
def weights_by_sum(numbers: Array) -> Array:
    """Divide each score by its row's sum: weights only while no score is negative."""
    seen = _seen(numbers)
    return share(seen, _total(seen))


@weights.variant(formula="{numbers}", latex="{numbers}", source="linear attention without a kernel")
def unnormalized(numbers: Array) -> Array:
    """Take the scores themselves as weights."""
    return _seen(numbers)


def _seen(numbers: Array) -> Array:
    return namespace(numbers).where(numbers == -math.inf, 0.0, numbers)


@stage(
    "masked_weights",
    symbol="A_m",
    axes="batch head query key",
    formula="{weights} where {keep}, else 0",
    latex=r"{weights} \;\text{{where}}\; {keep}",
    source="a mask applied after softmax, as some tutorials have it",
    by_row=True,
)
def masked_weights(weights: Array, keep: Array) -> Array:
    """Take masked keys out of the weights, which then no longer sum to 1."""
    return namespace(weights).where(keep, weights, 0.0)


@masked_weights.variant(
    formula="softmax({scores}) where {keep}, else 0",
    latex=r"\operatorname{{softmax}}({scores}) \;\text{{where}}\; {keep}",
    source="a mask applied after softmax, as some tutorials have it",
)
def masked_softmax(scores: Array, keep: Array) -> Array:
    """Take the softmax over all keys, and then out of it those that are masked."""
    e = _exp(scores)
    return namespace(scores).where(keep, share(e, _total(e)), 0.0)


@weights.variant(
    formula="{parts} ÷ Σ {parts}",
    latex=r"{parts} / \textstyle\sum {parts}",
    source="a mask applied after softmax, as some tutorials have it",
)
def renormalized(parts: Array) -> Array:
    """Divide what the mask left of each row by its sum."""
    return share(parts, _total(parts))


@stage(
    "dropped",
    symbol="A_d",
    axes="batch head query key",
    formula="{weights}[ ÷ {keep_rate}] where drawn, else 0",
    latex=r"{weights}[ / {keep_rate}] \;\text{{where drawn}}",
    source="Srivastava et al. 2014, in its inverted form",
    by_row=True,
)
def dropped(weights: Array, drawn: Array | Drawn, keep_rate: Scalar | None = None) -> Array:
    """Drop weights at random and enlarge the rest, as training does."""
    stays = drawn.now() if isinstance(drawn, Drawn) else drawn
    kept = namespace(weights).where(stays, weights, 0.0)
    return kept if keep_rate is None else kept / keep_rate


# -- details ------------------------------------------------------------------------------------


@weights.detail("row_max", symbol="m", formula="max {scores}", axes="batch head query")
def row_max(scores: Array, sink: Array | None = None) -> Array:
    """Find the largest score of each query, its sink among them, which softmax subtracts first."""
    return _row_max(scores, sink)[..., 0]


@weights.detail("exp", symbol="e", formula="exp({scores} − m)", axes="batch head query key")
def exp(scores: Array, sink: Array | None = None) -> Array:
    """Take the exponential of each score, less the row's maximum."""
    return _exp(scores, sink)


@weights.detail("exp_sum", symbol="Σe", formula="Σ exp({scores} − m)", axes="batch head query")
def exp_sum(scores: Array, sink: Array | None = None) -> Array:
    """Add up the exponentials of each row, with the sink's where there is one."""
    return (_total(_exp(scores)) if sink is None else _total_with_sink(scores, sink))[..., 0]


@weights.detail("row_sum", symbol="ΣA", formula="Σ {result}", axes="batch head query")
def row_sum(result: Array) -> Array:
    """Add up the weights of each row."""
    return _total(result)[..., 0]


@weights.detail("lse", symbol="LSE", formula="ln Σ exp({scores})", axes="batch head query")
def lse(scores: Array, row_max: Array, exp_sum: Array, sink: Array | None = None) -> Array:
    """Take the natural log of the row's sum of exponentials; −∞ for a row without a visible key."""
    if sink is not None:  # which is no part of it
        row_max, exp_sum = _row_max(scores)[..., 0], _total(_exp(scores))[..., 0]
    xp = namespace(scores)
    return xp.where(exp_sum == 0, -math.inf, row_max + xp.log(xp.where(exp_sum == 0, 1.0, exp_sum)))


@weights.detail("lse2", symbol="LSE₂", formula="log₂ Σ exp({scores})", axes="batch head query")
def lse2(lse: Array) -> Array:
    """Take the log in base 2 instead, as FlashInfer keeps it."""
    return lse / math.log(2)


@weights.detail(
    "lse_with_sink", symbol="LSE_s", formula="ln(Σ exp({scores}) + exp({sink}))", axes="batch head query"
)
def lse_with_sink(scores: Array, sink: Array) -> Array:
    """Take the natural log of the sum of exponentials, the sink's among them."""
    xp = namespace(scores)
    return (_shift(scores, sink) + xp.log(_total_with_sink(scores, sink)))[..., 0]


@weights.detail("sink_mass", symbol="A_s", formula="1 − Σ {result}", axes="batch head query")
def sink_mass(scores: Array, sink: Array) -> Array:
    """Measure the share of attention that the sink takes."""
    xp = namespace(scores)
    return share(xp.exp(sink - _shift(scores, sink)), _total_with_sink(scores, sink))[..., 0]


@weights.detail("entropy", symbol="H", formula="−Σ {result}·log₂ {result}", axes="batch head query")
def entropy(result: Array) -> Array:
    """Measure in bits how far each query spreads its attention: 0 looks at one key only."""
    xp = namespace(result)
    return 0.0 - _total(result * xp.log2(xp.where(result == 0, 1.0, result)))[..., 0]
