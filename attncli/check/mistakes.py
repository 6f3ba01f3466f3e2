"""Stages as they come out by mistakes that no key of the problem file asks for.

Each takes the name of a stage and its result, and returns what the mistake makes of it.
"""

from __future__ import annotations

import numpy as np

from attncli.check.printed import Numbers
from attncli.compute import Recast
from attncli.trace import Array

__all__ = ["OverQueries", "leaking", "transposed_scores", "unmoved", "viewed"]


class OverQueries:
    """Softmax down the columns: every key shares itself among the queries."""

    def __init__(self) -> None:
        self._logits: Numbers | None = None

    def __call__(self, stage: str, array: Array) -> Array:
        """Remember the scores, and make the weights of them."""
        if stage in {"scaled", "softcapped", "biased", "masked"}:
            self._logits = array
        if stage != "weights" or self._logits is None:
            return array
        highest = self._logits.max(axis=-2, keepdims=True)
        e = np.exp(self._logits - np.where(np.isfinite(highest), highest, 0.0))
        total = e.sum(axis=-2, keepdims=True)
        return e / np.where(total == 0, 1.0, total)


def viewed(stage: str, array: Array) -> Array:
    """Cut heads as ``x.view(heads, seq, dim)`` does, across tokens."""
    if stage not in {"Q_heads", "K_heads", "V_heads"}:
        return array
    return np.moveaxis(array, -3, -2).reshape(array.shape)


def unmoved(heads: int) -> Recast:
    """Lay heads side by side as ``heads.reshape(seq, dim)`` does, without moving their axis."""

    def recast(stage: str, array: Array) -> Array:
        if stage != "concat":
            return array
        by_head = array.reshape(*array.shape[:-1], heads, -1)
        return np.moveaxis(by_head, -2, -3).reshape(array.shape)

    return recast


def transposed_scores(stage: str, array: Array) -> Array:
    """Multiply K·Qᵀ, where there are as many queries as keys."""
    square = stage == "scores" and array.shape[-1] == array.shape[-2]
    return np.swapaxes(array, -1, -2) if square else array


def leaking(cap: float) -> Recast:
    """Cap masked scores as well: −∞ becomes −cap, and what is masked gets weight."""
    return lambda stage, array: np.maximum(array, -cap) if stage == "masked" else array
