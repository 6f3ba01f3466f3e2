"""``like``: the keys that a library's way stands for, filled in where the problem says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attncli.presets import BY_CACHE, PRESETS
from attncli.problem import Mask, Problem

__all__ = ["expanded", "is_said"]

_WEIGHTS = ("W_Q", "W_K", "W_V", "W_QKV", "W_O")


def expanded(p: Problem) -> tuple[Problem, list[str]]:
    """Fill in what ``like`` stands for.

    Returns:
        The problem, and a note that says what was filled in.
    """
    if p.like is None:
        return p, []
    set_now = []
    for dotted, value in _settings(p, PRESETS[p.like]):
        outer, _, inner = dotted.partition(".")
        filled = replace(getattr(p, outer), **{inner: value}) if inner else value
        p = replace(p, **{outer: filled})
        set_now.append(f"{dotted}: {_spoken(value)}")
    return p, [f"like: {p.like} stands for {', '.join(set_now) or 'nothing here'}"]


def _settings(p: Problem, preset: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """List the keys that the problem leaves open and that have something to work on."""
    for dotted, value in preset.items():
        if not _matters(p, dotted):
            continue
        if dotted == "mask.align":
            yield _diagonal(p) if value == BY_CACHE else (dotted, value)
        elif dotted == "weight_layout":
            yield dotted, _layouts(p, value)
        elif not is_said(p, dotted):
            yield dotted, value


def is_said(p: Problem, dotted: str) -> bool:
    """Tell whether the problem says a key itself, be it what holds anyway."""
    outer, _, inner = dotted.partition(".")
    holder, name = (getattr(p, outer), inner) if inner else (p, outer)
    return (not inner and name in p.said) or getattr(holder, name) != getattr(type(holder), name)


def _matters(p: Problem, dotted: str) -> bool:
    """Tell whether a key has something to work on."""
    if dotted == "weight_layout":
        return any(_takes_layout(p, name, PRESETS[p.like or ""][dotted]) for name in _WEIGHTS)
    if dotted == "mask.align":
        return p.mask is not None and _has_open_diagonal(p.mask)
    needs = {
        "fused": p.W_QKV,
        "rope.pairing": p.rope,
        "fully_masked": p.mask,
        "mask_fill": p.mask if p.mask_when == "before_softmax" else None,
    }
    return dotted not in needs or needs[dotted] is not None


def _takes_layout(p: Problem, name: str, layout: str) -> bool:
    """Tell whether a weight has the axes of a layout, and none stated."""
    weight, said = getattr(p, name), p.weight_layout
    open_still = name not in said if isinstance(said, Mapping) else said is None
    return open_still and isinstance(weight, np.ndarray) and weight.ndim == len(layout.split())


def _layouts(p: Problem, layout: str) -> str | dict[str, str]:
    """Give the weights without a stated layout theirs."""
    taking = [name for name in _WEIGHTS if _takes_layout(p, name, layout)]
    if all(name in taking for name in _WEIGHTS if isinstance(getattr(p, name), np.ndarray)):
        return layout
    said = p.weight_layout if isinstance(p.weight_layout, Mapping) else {}
    return {**said, **dict.fromkeys(taking, layout)}


def _spoken(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {each}" for name, each in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _has_open_diagonal(mask: Mask) -> bool:
    said = mask.align is not None or mask.offset is not None
    return not said and bool(mask.causal or mask.window or mask.sliding_window)


def _diagonal(p: Problem) -> tuple[str, Any]:
    """Say where ONNX's diagonal runs."""
    assert p.mask is not None
    if p.past is not None:
        return "mask.offset", _cached(p)
    return "mask.align", "bottom_right" if p.mask.lengths is not None else "top_left"


def _cached(p: Problem) -> int:
    """Count the cached keys; an array that is none is refused later, with the rest of the cache."""
    assert p.past is not None
    keys = next(iter(p.past.values()))
    axes = (p.qkv_layout or "").split()
    axis = axes.index("seq") if len(axes) == keys.ndim else -2
    return int(keys.shape[axis]) if keys.ndim > 1 else 0
