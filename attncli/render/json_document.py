"""A result as one JSON document, which is a problem file again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from attncli.compute import Result
from attncli.problem import SCHEMA, Expected, Problem, Variant, keys
from attncli.render.json_text import json_text
from attncli.selfcheck import count_nan, self_check
from attncli.trace import Record
from attncli.version import __version__

__all__ = ["document", "render_json"]


def render_json(result: Result, *, indent: bool = False, ascii_only: bool = False) -> Iterator[str]:
    """Write a result as JSON: the problem's own keys, its stages, and how they were made.

    Args:
        result: What to write.
        indent: A line for each row, for people, rather than one line in all.
        ascii_only: Escape every character beyond ASCII.

    Yields:
        Pieces of the text, with a newline at the end.
    """
    yield from json_text(document(result), indent=indent, ascii_only=ascii_only)
    yield "\n"


def document(result: Result) -> dict[str, Any]:
    """Lay a result out as mappings, lists and NumPy arrays, in the order in which it is written."""
    kept = [record for record in result.records if record.array is not None]
    return {
        "schema": SCHEMA,
        **problem_keys(result.problem),
        "stages": {record.stage.name: record.array for record in kept},
        "meta": {
            "attn": __version__,
            "file": result.file,
            "backend": result.backend,
            "device": result.device,
            "dtype": result.dtype,
            "path": result.path,
            **({"kernel": result.kernel} if result.kernel else {}),
            "scale": _scale(result),
            "stages": [_declaration(record) for record in kept],
            "details": {name: array for record in result.records for name, array in record.details.items()},
            "checks": _checks(result),
            "notes": list(result.notes),
        },
    }


def problem_keys(problem: Problem) -> dict[str, Any]:
    """Collect the keys that were said or differ from their default, but for what an earlier result added."""
    written = _given(problem, problem.said)
    for added in ("schema", "stages", "meta"):
        written.pop(added, None)
    return written


def _given(declared: Any, said: Collection[str] = ()) -> dict[str, Any]:
    kind = type(declared)
    values = {key.name: getattr(declared, key.name) for key in keys(kind)}
    return {
        name: _plain(value)
        for name, value in values.items()
        if value is not None and (name in said or _differs(value, getattr(kind, name)))
    }


def _differs(value: Any, default: Any) -> bool:
    # An array has no truth value, and 1 == True.
    return type(value) is not type(default) or bool(value != default)


@np.errstate(invalid="ignore")  # a NaN may be one that signals
def _plain(value: Any) -> Any:
    if isinstance(value, Variant):
        value = {value.name: value.value}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64, copy=False)  # numbers of JSON do not say how they were stored
    if is_dataclass(value) and not isinstance(value, Expected):
        return _given(value)
    if isinstance(value, Expected):
        return _digits(value.digits)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _digits(digits: Any) -> Any:
    """Write printed digits as a number where that says the same, and else as text, like "0.50"."""
    if not isinstance(digits, str):
        return [_digits(each) for each in digits]
    for number in (int, float):
        try:
            if repr(number(digits)) == digits and digits[-1].isdecimal():
                return number(digits)
        except ValueError:
            continue
    return digits


def _scale(result: Result) -> float | None:
    """Find the one number that the scores were multiplied by; None where they were not scaled, or nobody knows."""
    if not result.start or all(record.stage.name != "scaled" for record in result.records):
        return None
    multiplier, divisor = result.inputs.multiplier, result.inputs.divisor
    scale = 1.0 if multiplier is None else float(multiplier.array)
    return scale if divisor is None else scale / float(divisor.array)


def _checks(result: Result) -> dict[str, Any]:
    checks = self_check(result)
    return {"row_sum_error": checks and checks.row_sum_error, "nan": count_nan(result)}


def _declaration(record: Record) -> dict[str, Any]:
    return {
        "name": record.stage.name,
        "formula": record.formula,
        "axes": record.axes,
        "shape": record.shape,
    }
