"""Which numbers a worksheet leaves out: those of the stages that a reader is to find, and what repeats them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from attncli.exhibits import LOGITS, Exhibit
from attncli.trace import STAGES

__all__ = ["blanks"]

_REPEATS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Q_heads": ("Q",),
        "K_heads": ("K",),
        "V_heads": ("V",),
        "K_all": ("K", "K_heads", "K_norm", "K_rot"),
        "V_all": ("V", "V_heads"),
        "masked": ("scaled", "softcapped", "biased"),
        "masked_weights": ("weights",),
        "weights": ("masked_weights",),  # whose rows are divided by their sums: by 1 where all was kept
        "dropped": ("weights", "masked_weights"),
        "concat": ("head_output",),
    }
)
"""Stages that hold numbers again, in other places or all but some; of several stages, those of the last before it."""


_SUMS = ("lse", "lse2", "lse_with_sink")
"""Details that tell the scores, to those who have the weights."""


def blanks(shown: Sequence[Exhibit], wanted: Collection[str]) -> frozenset[str]:
    """Find all that must be blank where some stages are: their details too, and later stages that repeat them.

    What is computed from them with other numbers stays, so that an answer can be held against it.

    Args:
        shown: What there is to see, in the order of the computation.
        wanted: Names of the stages that the reader is to find.
    """
    found = {*wanted, *(detail for name in wanted if name in STAGES for detail in STAGES[name].details)}
    if found & {*LOGITS}:
        found |= {*_SUMS}  # a weight's logarithm and its row's make the score again
    for i, exhibit in enumerate(shown):
        if _repeats(exhibit, shown[:i], found):
            found.add(exhibit.name)
    return frozenset(found)


def _repeats(exhibit: Exhibit, before: Sequence[Exhibit], blank: Collection[str]) -> bool:
    """Tell whether an array holds the numbers of a blank one as they are."""
    same = [each for each in before if exhibit.formula == f"{exhibit.symbol} = {each.symbol}"]
    moved = [each for each in before if each.name in _REPEATS.get(exhibit.name, ())]
    return any(each.name in blank for each in (*same, *moved[-1:]))
