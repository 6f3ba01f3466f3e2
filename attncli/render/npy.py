"""One stage as NumPy's .npy: a header, and the numbers as they are."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from attncli.compute import Result

__all__ = ["plain", "render_npy"]

CHUNK = 1 << 20
"""Bytes that are handed on at a time."""


def render_npy(result: Result, stage: str) -> Iterator[bytes]:
    """Write a stage, or Q, K or V where they are given.

    Args:
        result: What was computed.
        stage: Name of the stage.
    """
    made = {record.stage.name: record.array for record in result.records}
    array = plain(np.asarray(made.get(stage, getattr(result.problem, stage, None))))
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    yield head.getvalue()
    numbers = array.reshape(-1).view(np.uint8)
    for start in range(0, numbers.size, CHUNK):
        yield numbers[start : start + CHUNK].tobytes()


@np.errstate(invalid="ignore")  # a NaN may be one that signals
def plain(array: np.ndarray) -> np.ndarray:
    """Lay an array out as files hold it: row by row, and with one kind of zero and of NaN, as in JSON."""
    array = np.array(array, order="C")
    if array.dtype.kind == "f":
        array += 0.0  # −0 + 0 is 0
        array[np.isnan(array)] = np.nan
    return array
