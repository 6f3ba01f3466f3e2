"""Every number of a result as a line of CSV or TSV: its stage, where it stands, and its value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from attncli.compute import Result
from attncli.text import visible
from attncli.trace import Record

__all__ = ["render_delimited"]

AXES = ("batch", "head", "query", "key", "dim")
HEADER = ("stage", *AXES, "query_label", "key_label", "value")

_FORMULA = tuple("=+-@\t\r")  # what a spreadsheet takes for the start of a formula


def render_delimited(result: Result, delimiter: str) -> Iterator[str]:
    """Write a result with a number to a line, in the shortest form that reads back to the same number.

    Args:
        result: What to write.
        delimiter: What stands between two fields.
    """
    yield _lines([HEADER], delimiter)
    for record in result.records:
        if record.array is not None:
            yield _lines(_rows(record, result), delimiter)


def _rows(record: Record, result: Result) -> Iterator[tuple[str, ...]]:
    assert record.array is not None
    labels = {"query": result.query_labels, "key": result.key_labels}
    for index in np.ndindex(*record.shape):
        at = dict(zip(record.axes, index, strict=True))
        places = (str(at.get(axis, "")) for axis in AXES)
        named = (_harmless(labels[axis][at[axis]]) if axis in at else "" for axis in labels)
        yield (record.stage.name, *places, *named, repr(float(record.array[index]) + 0.0))


def _harmless(text: str) -> str:
    """Keep a spreadsheet from computing a label, by an apostrophe, and a terminal from obeying it."""
    return visible(f"'{text}" if text.startswith(_FORMULA) else text)


def _lines(rows: Sequence[tuple[str, ...]] | Iterator[tuple[str, ...]], delimiter: str) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return written.getvalue()
