"""safetensors files: the header is checked against the file, and one tensor is mapped.

The format (https://github.com/huggingface/safetensors#format) is 8 bytes of header length, a JSON
header, and the numbers. Reading it here maps one tensor without loading the others, and says which
part is wrong where the library has one message for all.
"""

from __future__ import annotations

import json
import math
import pathlib
import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attncli.archive import DOCUMENT
from attncli.errors import InputError, Path, cell_name
from attncli.readers.dtypes import small_float, widened
from attncli.readers.npy import is_shape
from attncli.readers.npz import names_listed
from attncli.text import quote

__all__ = ["document", "dtypes", "read"]

_MAX_HEADER = 100_000_000
_METADATA = "__metadata__"
_LENGTH = struct.Struct("<Q")

_SMALL = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
"""Numbers that NumPy lacks."""

_DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}


def read(file: pathlib.Path, member: str | None, path: Path) -> NDArray[np.generic]:
    """Map one tensor of a safetensors file into memory.

    Args:
        file: Where it is.
        member: Name of the tensor; None takes the name of the key.
        path: The key that names the file.

    Raises:
        InputError: If the file is cut short or its header lies, or the tensor is not there.
    """
    name = member or str(path[-1])
    header, start = _header(file, path)
    entry = header.get(name)
    if entry is None or name == _METADATA:
        raise names_listed(sorted(header.keys() - {_METADATA}), name, file.name, path)
    dtype, shape, offset = _layout(entry, name, start, file, path)
    if 0 in shape:
        return np.empty(shape)
    return widened(np.asarray(np.memmap(file, dtype, "r", offset, shape)))


def dtypes(file: pathlib.Path, path: Path) -> dict[str, str]:
    """List the tensors of a safetensors file, with the name of each one's dtype.

    Raises:
        InputError: If the file is cut short, its header lies, or a dtype is not known.
    """
    header, start = _header(file, path)
    names = sorted(header.keys() - {_METADATA})
    return {name: _layout(header[name], name, start, file, path)[0].name for name in names}


def document(file: pathlib.Path, path: Path) -> str | None:
    """Read the document of a result among the metadata; None where there is none.

    Raises:
        InputError: If the file is cut short, or its header lies.
    """
    metadata = _header(file, path)[0].get(_METADATA, {})
    found = metadata.get(DOCUMENT) if isinstance(metadata, dict) else None
    if found is not None and not isinstance(found, str):
        raise _damaged(file, path, f"{DOCUMENT} in its metadata is no text")
    return found


def _header(file: pathlib.Path, path: Path) -> tuple[dict[str, Any], int]:
    """Return the JSON header, and where the numbers start."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = stream.read(_LENGTH.size)
        if len(first) < _LENGTH.size:
            raise _damaged(file, path, f"it has only {size} bytes")
        (length,) = _LENGTH.unpack(first)
        if length > min(size - _LENGTH.size, _MAX_HEADER):
            raise _damaged(file, path, f"its header claims {length:,} bytes, and the file has {size:,}")
        raw = stream.read(length)
    try:
        header = json.loads(raw, object_pairs_hook=_mapping)
    except _Twice as error:
        raise _damaged(file, path, f"its header names {quote(str(error))} twice") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(file, path, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise _damaged(file, path, "its header is not a mapping")
    for one, other in _overlaps(header):
        raise _damaged(file, path, f"{quote(one)} and {quote(other)} lie on the same bytes")
    return header, _LENGTH.size + length


def _overlaps(header: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield neighbours that share bytes, which the format forbids; what is no entry is for `_layout` to refuse."""
    spans = []
    for name, entry in header.items():
        offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
        if isinstance(offsets, list) and [type(each) for each in offsets] == [int, int]:
            spans.append((*offsets, name))
    filled = sorted(span for span in spans if span[0] < span[1])
    yield from ((one, other) for (_, end, one), (begin, _, other) in pairwise(filled) if begin < end)


class _Twice(ValueError):
    """A mapping holds a key twice."""


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise _Twice(key)
        mapping[key] = value
    return mapping


def _layout(
    entry: Any, name: str, start: int, file: pathlib.Path, path: Path
) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return dtype, shape and offset of a tensor, held against the size of the file."""
    try:
        label, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, begin, end)) and is_shape(shape)
    except (TypeError, KeyError, ValueError):
        whole = False
    if not whole:
        raise _damaged(file, path, f"the header's entry for {quote(name)} is not valid")
    if not isinstance(label, str) or label not in {*_DTYPES, *_SMALL}:
        raise InputError(
            f"{cell_name(path)}: {quote(name)} of {quote(file.name, marks='')} has the dtype {quote(str(label))}, "
            "which is not known",
            path=path,
            fix=f"save it as one of: {', '.join([*_DTYPES, *_SMALL])}",
        )
    dtype = small_float(_SMALL[label]) if label in _SMALL else _DTYPES[label]
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise _damaged(file, path, f"the size of {quote(name)} does not agree with its shape {shape}")
    there = file.stat().st_size - start
    if end > there:
        raise _damaged(file, path, f"it is cut short: {quote(name)} ends at byte {end:,} of {there:,}")
    return dtype, shape, start + begin


def _damaged(file: pathlib.Path, path: Path, why: str) -> InputError:
    return InputError(
        f"{cell_name(path)}: {quote(file.name, marks='')} is not a whole safetensors file: {why}",
        path=path,
        fix="copy or download it again",
    )
