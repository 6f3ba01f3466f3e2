"""A result as NumPy's .npz: its arrays by name, and its document, with the same bytes on each run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from attncli.archive import DOCUMENT, take_apart
from attncli.compute import Result
from attncli.render.json_document import document
from attncli.render.json_text import json_text
from attncli.render.npy import plain

__all__ = ["parts", "render_npz"]


class _Pipe(io.RawIOBase):
    """A file that hands on what is written to it, so that only one array is in memory twice."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def taken(self) -> bytes:
        data = b"".join(self._written)
        self._written.clear()
        return data


def render_npz(result: Result) -> Iterator[bytes]:
    """Write a result as an .npz file, uncompressed: the bits of floats hardly repeat."""
    text, arrays = parts(result)
    # As an array, the document comes through numpy.load and numpy.savez unharmed.
    members = {**arrays, DOCUMENT: np.array(text.encode())}
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name, array in members.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that the bytes do not change
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, plain(array), allow_pickle=False)
            yield pipe.taken()
    yield pipe.taken()


def parts(result: Result) -> tuple[str, dict[str, np.ndarray]]:
    """Take a result apart: its document as JSON, and the arrays of problem, stages and details by name."""
    text, arrays = take_apart(document(result))
    return "".join(json_text(text)), arrays
