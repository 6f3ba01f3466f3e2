"""A problem with some keys set otherwise, by their names as the problem file has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from attncli.problem import Mask, Problem, Variant

__all__ = ["changed", "current"]

_WEIGHTS = ("W_Q", "W_K", "W_V", "W_QKV", "W_O")


def changed(problem: Problem, changes: Mapping[str, Any]) -> Problem:
    """Return a problem in which keys, dotted where they are in a mapping, have other values."""
    for path, value in changes.items():
        problem = _put(problem, tuple(path.split(".")), value)
    return problem


def current(problem: Problem, path: str) -> Any:
    """Return what a problem says under a dotted key; None where there is nothing."""
    value: Any = problem
    for name in path.split("."):
        if isinstance(value, Variant):
            value = value.value if value.name == name else None
        elif isinstance(value, Mapping):
            value = value.get(name)
        else:
            value = getattr(value, name, None)
    return value


def _put(holder: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    if not rest:
        return {**holder, name: value} if isinstance(holder, Mapping) else _replaced(holder, name, value)
    if isinstance(holder, Variant):
        return dataclasses.replace(holder, value=_put(holder.value, tuple(rest), value))
    return _replaced(holder, name, _put(_inner(holder, name), tuple(rest), value))


def _replaced(holder: Any, name: str, value: Any) -> Any:
    if isinstance(holder, Variant):
        return dataclasses.replace(holder, value=_replaced(holder.value, name, value))
    return dataclasses.replace(holder, **{name: value})


def _inner(holder: Any, name: str) -> Any:
    """Return the mapping under a name, or the one that its short form stands for."""
    inner = getattr(holder, name)
    if name == "mask":
        return inner or Mask()
    if name == "weight_layout" and not isinstance(inner, Mapping):
        given = (weight for weight in _WEIGHTS if getattr(holder, weight) is not None)
        return dict.fromkeys(given, inner or "in out")
    return inner
