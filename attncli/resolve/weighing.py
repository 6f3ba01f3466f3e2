"""What makes weights of scores: softcap, softmax or its stand-ins, sinks, dropout."""

from __future__ import annotations

import math

import numpy as np

from attncli.core.inputs import Drawn, Dropout
from attncli.errors import InputError
from attncli.resolve.broadcast import fit_scores
from attncli.resolve.draft import Draft, counted
from attncli.resolve.drawing import drawn_to_stay
from attncli.resolve.masks import truth
from attncli.trace import Value

__all__ = ["weighing"]


def weighing(draft: Draft, begin: str) -> None:
    """Take what softmax, or what stands in for it, is to do."""
    p = draft.problem
    if p.softcap is not None:
        if begin == "masked":
            raise InputError(
                "softcap comes before masked, which is where this problem starts", path=("softcap",)
            )
        draft.values["softcap"] = Value(p.softcap, f"{p.softcap:g}")
    if p.mask_when != "before_softmax" and (p.mask is None or p.mask.additive is not None):
        raise InputError(
            f"mask_when is {p.mask_when}, but "
            + (
                "there is no mask"
                if p.mask is None
                else "an additive mask is added to scores, before softmax"
            ),
            path=("mask_when",),
        )
    if p.mask_when != "before_softmax" and p.mask_fill != -math.inf:
        raise InputError(
            f"mask_fill is added to scores, but mask_when is {p.mask_when}",
            path=("mask_fill",),
            fix="remove mask_fill",
        )
    if p.normalize != "softmax" and p.mask_when == "after_softmax_renormalized":
        raise InputError(f"mask_when is {p.mask_when}, but normalize is {p.normalize}", path=("mask_when",))
    draft.values |= {
        "mask_when": p.mask_when,
        "normalize": p.normalize,
        "bias_position": p.bias_position,
    }
    _sink(draft)
    _dropout(draft)


def _sink(draft: Draft) -> None:
    p, heads = draft.problem, draft.values["num_heads"]
    if p.sink is None:
        return
    if p.normalize != "softmax" or p.mask_when == "after_softmax_renormalized":
        raise InputError("sink takes part in softmax, which this problem does not use", path=("sink",))
    sinks = p.sink if isinstance(p.sink, tuple) else (p.sink,) * heads
    if len(sinks) != heads:
        raise InputError(
            f"sink has {counted(len(sinks), 'number')} for {counted(heads, 'head')}",
            path=("sink",),
            fix="give one number, or one per query head",
        )
    shape = (heads, 1, 1) if "head" in draft.axes else (1, 1)
    draft.put("sink", np.asarray(sinks, dtype=np.float64).reshape(shape), "sink")


def _dropout(draft: Draft) -> None:
    rule = draft.problem.dropout
    if rule is None:
        return
    if rule.p >= 1:
        raise InputError(f"dropout.p is {rule.p:g}, and must be less than 1", path=("dropout", "p"))
    if rule.keep is not None:
        if rule.seed is not None:
            raise InputError("dropout takes keep or seed, not both", path=("dropout", "seed"))
        drawn: np.ndarray | Drawn = truth(fit_scores(("dropout", "keep"), rule.keep, draft))
    else:
        shape = tuple(draft.sizes[axis] for axis in (*draft.axes, "query", "key"))
        drawn = drawn_to_stay(rule.seed or 0, rule.p, shape)
    rate = Value(1 - rule.p, f"{1 - rule.p:g}") if rule.p else None
    draft.values["dropout"] = Dropout(drawn=Value(drawn, "drawn"), keep_rate=rate)
