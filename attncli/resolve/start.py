"""Which key the data of a problem starts with."""

from __future__ import annotations

from collections.abc import Mapping

from attncli.errors import InputError
from attncli.problem import STARTS, Problem

__all__ = ["start"]

_WEIGHTS = ("W_Q", "W_K", "W_V")


def start(problem: Problem) -> str:
    """Find the key that the data starts with: X, Q, scores, scaled or masked.

    Raises:
        InputError: There is none, there are two, or a key of another start was given.
    """
    given = [name for name in STARTS if getattr(problem, name) is not None]
    if not given:
        first = next((name for name in ("K", "V", *_WEIGHTS) if getattr(problem, name) is not None), None)
        raise InputError(
            f"{first} is given, but nothing for it to work on" if first else "there is nothing to compute",
            path=(first,) if first else (),
            context="a problem starts with X, with Q and K, or with scores, scaled or masked",
            fix="add X: one row of numbers per token"
            if first in (None, *_WEIGHTS)
            else "add Q, one row per query",
        )
    begin, *others = given
    if others:
        raise InputError(
            f"{begin} and {others[0]} are both given, and each starts the computation",
            path=(others[0],),
            fix=f"remove {others[0]}, or {begin} and what belongs to it",
        )
    foreign = {name for names in STARTS.values() for name in names} - set(STARTS[begin])
    for name in sorted(foreign):
        if getattr(problem, name) is not None:
            raise InputError(
                f"{name} has no part in a problem that starts with {begin}",
                path=(name,),
                context=f"with {begin} go {', '.join(STARTS[begin])}",
                fix=f"remove {name}",
            )
    _no_idle_layout(problem)
    return begin


def _no_idle_layout(problem: Problem) -> None:
    """Refuse the layout of a weight that is not there, which would be meant for another."""
    stated = problem.weight_layout
    for name in stated if isinstance(stated, Mapping) else ():
        if getattr(problem, name, None) is None:
            raise InputError(
                f"weight_layout names {name}, which is not given",
                path=("weight_layout", name),
                fix=f"remove it, or add {name}",
            )
