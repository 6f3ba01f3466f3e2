"""Between scores and weights: scale, softcap, bias and mask.

Shapes leave out the batch and head axes, which may stand before all others.
"""

from __future__ import annotations

import math

from attncli.core.namespace import namespace
from attncli.trace import Array, Scalar, stage

__all__ = ["biased", "masked", "scaled", "softcapped"]


@stage(
    "scaled",
    symbol="Z",
    axes="batch head query key",
    formula="{scores}[ × {multiplier}][ ÷ {divisor}][ ÷ {temperature}]",
    latex=r"{scores}[ \cdot {multiplier}][ / {divisor}][ / {temperature}]",
    source="Vaswani et al. 2017, eq. 1",
    by_row=True,
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
    "softcapped",
    symbol="Z_c",
    axes="batch head query key",
    formula="{cap}·tanh({z} ÷ {cap})",
    latex=r"{cap}\tanh({z} / {cap})",
    source="Bello et al. 2016, section 5; Gemma 2, 2024",
    by_row=True,
)
def softcapped(z: Array, cap: Scalar) -> Array:
    """Bend the scores so that none goes beyond the cap, in either direction."""
    return cap * namespace(z).tanh(z / cap)


@stage(
    "biased",
    symbol="Z_b",
    axes="batch head query key",
    formula="{z} + {bias}",
    latex="{z} + {bias}",
    source="Shaw et al. 2018; Raffel et al. 2020; Press et al. 2022",
    by_row=True,
)
def biased(z: Array, bias: Array) -> Array:
    """Favour some keys over others by where they stand, whatever they hold."""
    return z + bias


@stage(
    "masked",
    symbol="M",
    axes="batch head query key",
    formula="{z}[ + {additive}][ where {keep}, else {fill}]",
    latex=r"{z}[ + {additive}][ \;\text{{where}}\; {keep} \;\text{{else}}\; {fill}]",
    source="Vaswani et al. 2017, section 3.2.3",
    by_row=True,
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
