"""Strict JSON, one row of numbers at a time, so that a large result is never one string."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["json_text"]


def json_text(value: Any, *, indent: bool = False, ascii_only: bool = False) -> Iterator[str]:
    """Write mappings, lists, scalars and NumPy arrays as strict JSON.

    Numbers are in the shortest form that reads back to the same float, and −0 is 0. NaN and
    infinity, which JSON lacks, are the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.

    Args:
        value: What to write.
        indent: A line for each key and for each row of numbers, rather than all on one line.
        ascii_only: Escape every character beyond ASCII.

    Yields:
        Pieces of the text, without a newline at the end.
    """
    yield from _Writer(indent=indent, ascii_only=ascii_only).pieces(value, 0)


@lru_cache
def _encoder(*, indent: bool, ascii_only: bool) -> json.JSONEncoder:
    separators = (", ", ": ") if indent else (",", ":")
    return json.JSONEncoder(separators=separators, ensure_ascii=ascii_only, allow_nan=False)


class _Writer:
    def __init__(self, *, indent: bool, ascii_only: bool) -> None:
        self._indent = indent
        self._encode = _encoder(indent=indent, ascii_only=ascii_only).encode

    def pieces(self, value: Any, depth: int) -> Iterator[str]:
        """Write a value that starts at some depth of nesting."""
        if isinstance(value, Mapping):
            yield from self._members(value, depth)
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            yield self._encode(_numbers(value))
        elif _is_nested(value):
            yield from self._items(value, depth)
        else:
            yield self._line(value)

    def _members(self, mapping: Mapping[str, Any], depth: int) -> Iterator[str]:
        before = "{" + self._newline(depth + 1)
        colon = ": " if self._indent else ":"
        for key, value in mapping.items():
            yield f"{before}{self._line(str(key))}{colon}"
            yield from self.pieces(value, depth + 1)
            before = "," + self._newline(depth + 1)
        yield self._newline(depth) + "}" if mapping else "{}"

    def _items(self, items: Any, depth: int) -> Iterator[str]:
        before = "[" + self._newline(depth + 1)
        for item in items:
            yield before
            if isinstance(item, Mapping):  # one of many alike, so on one line
                yield self._line(item)
            else:
                yield from self.pieces(item, depth + 1)
            before = "," + self._newline(depth + 1)
        yield self._newline(depth) + "]" if len(items) else "[]"

    def _newline(self, depth: int) -> str:
        return "\n" + "  " * depth if self._indent else ""

    def _line(self, value: Any) -> str:
        text = self._encode(_strict(value))
        # What would act on a terminal, or is no character at all, is as good when it is escaped.
        return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _is_nested(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 1
    return isinstance(value, list | tuple) and any(isinstance(x, list | tuple | Mapping) for x in value)


def _numbers(row: np.ndarray) -> list[Any]:
    if row.dtype.kind != "f":
        return list(row.tolist())
    numbers: list[Any] = (row + 0.0).tolist()
    return numbers if np.isfinite(row).all() else [_strict(number) for number in numbers]


def _strict(value: Any) -> Any:
    """Replace what JSON lacks: numbers that are not finite, and NumPy's own scalars; make −0 0."""
    if isinstance(value, np.ndarray | np.generic):
        return _strict(value.tolist())
    if isinstance(value, float):
        if math.isfinite(value):
            return value + 0.0  # −0 + 0 is 0
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): _strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    return value


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]
