"""Strict JSON, some rows of numbers at a time, so that a large result is never one string.

Where orjson is installed it writes large arrays, with the same bytes: ``pip install "attncli[fast]"``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from operator import add
from typing import Any

import numpy as np

__all__ = ["json_text"]

_LARGE = 1024
"""Numbers from which on an array is worth loading orjson for, and that it gets at once."""

_SAMPLE = np.array([[1.5, -1e-05, 1.2e-05, 0.0001, 1e-06, 1e15, 1e16, 1.5e300, 5e-324]])
"""Numbers on whose spelling programs differ."""

_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

_PLAIN = (1e-4, 1e16)
"""Between these, everybody writes numbers without an exponent."""


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
        elif isinstance(value, np.ndarray) and value.ndim in {1, 2} and value.size:
            yield from self._matrix(value, depth) if value.ndim > 1 else self._rows(value[None], "")
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

    def _matrix(self, rows: np.ndarray, depth: int) -> Iterator[str]:
        yield "[" + self._newline(depth + 1)
        yield from self._rows(rows, "," + self._newline(depth + 1))
        yield self._newline(depth) + "]"

    def _rows(self, rows: np.ndarray, between: str) -> Iterator[str]:
        fast = self._orjson if rows.dtype.kind == "f" and rows.size >= _LARGE else None
        step = max(1, _LARGE // rows.shape[1]) if fast else 1
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            text = _by_orjson(fast, some) if fast else _by_json(some[0])
            if self._indent:
                text = text.replace(",", ", ").replace("], [", f"]{between}[")
            yield between + text if start else text

    @cached_property
    def _orjson(self) -> Any:
        try:
            import orjson  # noqa: PLC0415  (an extra, and not worth its time for a small result)
        except ImportError:
            return None
        # A version that spells numbers in its own way is left out.
        return orjson if _by_orjson(orjson, _SAMPLE) == _by_json(_SAMPLE[0]) else None

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


@np.errstate(invalid="ignore")  # a NaN may be one that signals
def _by_orjson(orjson: Any, rows: np.ndarray) -> str:
    """Write rows of numbers, and a comma between any two of them."""
    numbers = rows.astype(np.float64) + 0.0
    text: str = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode()
    if "+" in text:
        text = text.replace("e+", "e")
    odd = numbers[~np.isfinite(numbers)]
    if odd.size and (odd == odd[0]).all():  # as where a mask says no
        return text.replace("null", _word(repr(float(odd[0]))))
    words = [_word(repr(number)) for number in odd.tolist()]
    return "".join(map(add, text.split("null"), [*words, ""])) if words else text


@np.errstate(invalid="ignore")
def _by_json(row: np.ndarray) -> str:
    """Write a row of numbers, to the same bytes."""
    if row.dtype.kind != "f":
        return json.dumps(row.tolist(), separators=(",", ":"))
    numbers = row.astype(np.float64) + 0.0
    words, size = list(map(repr, numbers.tolist())), np.abs(numbers)
    for i in np.flatnonzero(~((size >= _PLAIN[0]) & (size < _PLAIN[1]) | (size == 0))).tolist():
        words[i] = _word(words[i])
    return f"[{','.join(words)}]"


def _word(number: str) -> str:
    """Spell a number of Python's as orjson does: 0.00001, 1e-7 and 1e16 for 1e-05, 1e-07 and 1e+16."""
    if number.endswith("e-05"):
        sign, digits = ("-", number[1:-4]) if number[0] == "-" else ("", number[:-4])
        return f"{sign}0.0000{digits.replace('.', '')}"
    if number[-1].isdigit():
        return number.replace("e-0", "e-").replace("e+", "e")
    return f'"{_NOT_FINITE[number]}"'


def _strict(value: Any) -> Any:
    """Replace what JSON lacks: numbers that are not finite, and NumPy's own scalars; make −0 0."""
    if isinstance(value, np.ndarray | np.generic):
        return _strict(value.tolist())
    if isinstance(value, float):
        if math.isfinite(value):
            return value + 0.0  # −0 + 0 is 0
        return _NOT_FINITE[str(value)]
    if isinstance(value, Mapping):
        return {str(key): _strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    return value


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]
