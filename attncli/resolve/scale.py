"""What the scores are multiplied or divided by."""

from __future__ import annotations

import math

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve.draft import Draft
from attncli.trace import Value

__all__ = ["scale"]


def scale(draft: Draft, begin: str) -> None:
    """Make a multiplier, a divisor and a temperature of what the problem says about the scale.

    Raises:
        InputError: Two keys say it, or the start is past it.
    """
    p = draft.problem
    if p.scale is not None and p.divide_by is not None:
        raise InputError("scale and divide_by are both given", path=("divide_by",), fix="keep one of the two")
    _same_width(draft)
    if begin in {"scaled", "masked"}:
        _refuse_late(p, begin)
        return
    if p.temperature != 1:
        draft.values["temperature"] = Value(p.temperature, f"{p.temperature:g}")
    if p.divide_by == 0:
        raise InputError(
            "divide_by is 0", path=("divide_by",), fix="divide_by: 1 leaves the scores as they are"
        )
    if p.divide_by is not None:
        draft.values["divisor"] = Value(p.divide_by, f"{p.divide_by:g}")
    elif isinstance(p.scale, int | float):
        draft.values["multiplier"] = Value(p.scale, f"{p.scale:g}")
    elif p.scale != "none":
        _by_width(draft)


def _same_width(draft: Draft) -> None:
    stated, width = draft.problem.d_k, draft.sizes["head_dim"]
    if stated and width and stated != width:
        raise InputError(
            f"d_k is {stated}, but each key is {width} wide",
            path=("d_k",),
            fix="remove d_k; for another scale say divide_by",
        )


def _by_width(draft: Draft) -> None:
    """Divide by the root of a width: the key's, or the model's when that is asked for."""
    p = draft.problem
    width = draft.sizes.get("d_model") if p.scale == "d_model" else draft.sizes["head_dim"] or p.d_k
    if width is not None:
        draft.values["divisor"] = Value(math.sqrt(width), f"√{width}")
    elif p.scale == "d_model":
        raise InputError(
            "scale is d_model, but there are no vectors whose width it could be",
            path=("scale",),
            fix="divide_by: the root, as a number",
        )
    else:
        draft.notes.append("scores are taken as they are: no d_k, scale or divide_by says how to scale them")


def _refuse_late(p: Problem, begin: str) -> None:
    given = {
        "scale": p.scale not in (None, "none"),
        "divide_by": p.divide_by is not None,
        "temperature": p.temperature != 1,
    }
    for key, late in given.items():
        if late:
            raise InputError(
                f"{key} comes before {begin}, which is where this problem starts",
                path=(key,),
                fix=f"remove {key}, or call the numbers scores",
            )
