"""A result as NumPy's .npz: inputs and stages as arrays by name, with the same bytes on each run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from attncli.compute import Result
from attncli.render.json_document import problem_keys

__all__ = ["arrays", "render_npz"]


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
    """Write inputs and kept stages as an .npz file, uncompressed: the bits of floats hardly repeat."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name, array in arrays(result).items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that the bytes do not change
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
            yield pipe.taken()
    yield pipe.taken()


def arrays(result: Result) -> dict[str, np.ndarray]:
    """Collect the arrays of a result: those of the problem, then the stages that were kept."""
    given = {
        name: value for name, value in problem_keys(result.problem).items() if isinstance(value, np.ndarray)
    }
    return given | {record.stage.name: record.array for record in result.records if record.array is not None}
