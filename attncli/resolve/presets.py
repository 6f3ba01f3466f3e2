"""``like``: the keys that a library's way stands for, filled in where the problem says nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attncli.presets import PRESETS
from attncli.problem import Problem, keys

__all__ = ["expanded"]

_WEIGHTS = ("W_Q", "W_K", "W_V", "W_QKV", "W_O")


def expanded(p: Problem) -> tuple[Problem, list[str]]:
    """Fill in what ``like`` stands for.

    Returns:
        The problem, and a note that says what was filled in.
    """
    if p.like is None:
        return p, []
    set_now = {}
    for dotted, value in PRESETS[p.like].items():
        outer, _, inner = dotted.partition(".")
        holder = getattr(p, outer) if inner else p
        name = inner or outer
        if holder is None or not _matters(p, dotted) or getattr(holder, name) != _default(holder, name):
            continue
        set_now[dotted] = value
        filled = replace(getattr(p, outer), **{inner: value}) if inner else value
        p = replace(p, **{outer: filled})
    said = ", ".join(
        f"{key}: {value:g}" if isinstance(value, float) else f"{key}: {value}"
        for key, value in set_now.items()
    )
    return p, [f"like: {p.like} stands for {said or 'nothing here'}"]


def _default(holder: Any, name: str) -> Any:
    assert name in {key.name for key in keys(type(holder))}
    return getattr(type(holder), name)


def _matters(p: Problem, dotted: str) -> bool:
    """Tell whether a key has something to work on."""
    if dotted == "weight_layout":
        return any(getattr(p, name) is not None for name in _WEIGHTS)
    if dotted == "mask.align":
        return (
            p.mask is not None
            and p.mask.offset is None
            and bool(p.mask.causal or p.mask.window or p.mask.sliding_window)
        )
    needs = {"fused": p.W_QKV, "fully_masked": p.mask, "mask_fill": p.mask}
    return dotted not in needs or needs[dotted] is not None
