"""Every key that was written is in the result, with the value that it was given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attncli.keys import Kind, keys
from attncli.problem import Mask, Problem, Variant
from tests.problem_files import KEYS

__all__ = ["hold_echo", "plain"]

DEFAULTS = Problem()


def hold_echo(tree: dict[str, Any], document: dict[str, Any]) -> None:
    """A result has every key that its problem has."""
    for name, value in tree.items():
        if name in {"schema", "stages", "meta"}:
            continue
        want, default = _echo(name, value), plain(getattr(DEFAULTS, name))
        assert _same(document.get(name, default), want), (name, document.get(name, default), want)


def plain(value: Any) -> Any:
    """Spell arrays, records and what is not finite as JSON has them."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Variant):
        return {value.name: plain(value.value)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _echo(name: str, value: Any) -> Any:
    """Spell a drawn value as a result does."""
    kind = KEYS[name].kind
    if kind is Kind.MASK and not isinstance(value, dict):
        return {"causal": True} if isinstance(value, str) else {"keep": plain(value)}
    if kind is Kind.ANYTHING:
        return plain(value)
    if isinstance(value, str) and value in KEYS[name].records:
        return {value: {}}
    return plain(value)


def _same(got: Any, want: Any) -> bool:
    """Tell whether two values say the same; a record may leave out what is its default."""
    if isinstance(got, dict) and isinstance(want, dict):
        needed = {key for key in want if not _is_default(key, want[key])}
        return needed <= got.keys() <= want.keys() and all(_same(got[key], want[key]) for key in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(_same, got, want))
    return bool(_number(got) == _number(want))


def _number(value: Any) -> Any:
    """Return the number that a value is, or its text: YAML has no other than these in notes."""
    try:
        return str(value).lower() if isinstance(value, bool) else repr(float(value) + 0.0)
    except (TypeError, ValueError):
        return "null" if value is None else value


def _is_default(name: str, value: Any) -> bool:
    declared = [
        key.default
        for declaration in (Mask, *(each for key in KEYS.values() for each in key.records.values()))
        if isinstance(declaration, type)
        for key in keys(declaration)
        if key.name == name
    ]
    return any(str(value).lower() == default or _number(value) == _number(default) for default in declared)
