"""NumPy's .npz archives: one member, by name, without unpacking more than a file may hold."""

from __future__ import annotations

import contextlib
import math
import pathlib
import zipfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attncli.archive import DOCUMENT
from attncli.errors import InputError, Path, cell_name
from attncli.readers import npy
from attncli.readers.dtypes import widened
from attncli.text import quote

__all__ = ["document", "dtypes", "names_listed", "read"]

_LARGE = 2**28  # bytes; a member above this must not be packed tighter than _RATIO
_RATIO = 100
_SHOWN = 20  # names that an error lists


def read(file: pathlib.Path, member: str | None, path: Path) -> NDArray[np.generic]:
    """Read one array of an .npz archive.

    Args:
        file: Where it is.
        member: Name of the array; None takes the name of the key.
        path: The key that names the archive.

    Raises:
        InputError: If the archive is damaged, or the array is missing, too tightly packed or not numeric.
    """
    name = member or str(path[-1])
    with _whole(file, path), zipfile.ZipFile(file) as archive:
        return _member(archive, name, file.name, path)


def dtypes(file: pathlib.Path, path: Path) -> dict[str, str]:
    """List the arrays of an .npz archive, with the name of each one's dtype.

    Raises:
        InputError: If the archive is damaged.
    """
    with _whole(file, path), zipfile.ZipFile(file) as archive:
        return {
            entry.filename.removesuffix(".npy"): _dtype(archive, entry, path)
            for entry in archive.infolist()
            if entry.filename.endswith(".npy") and entry.filename != f"{DOCUMENT}.npy"
        }


def document(file: pathlib.Path, path: Path) -> str | bytes | None:
    """Read the document of a result; None where there is none.

    Raises:
        InputError: If the archive is damaged, or holds several documents, or one too tightly packed.
    """
    with _whole(file, path), zipfile.ZipFile(file) as archive:
        if f"{DOCUMENT}.npy" not in archive.namelist():
            return None
        entry = _entry(archive, DOCUMENT, file.name, path)
        with archive.open(entry) as stream:
            return npy.read_text(stream, entry.file_size, f"{file.name}#{DOCUMENT}", path)


def _dtype(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> str:
    with archive.open(entry) as stream:
        return npy.read_header(stream, entry.file_size, entry.filename, path).dtype.name


@contextlib.contextmanager
def _whole(file: pathlib.Path, path: Path) -> Iterator[None]:
    """Say of an archive that its parts do not fit together, whichever part says so."""
    try:
        yield
    except (InputError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except (
        Exception
    ) as error:  # zipfile and each way of packing have errors of their own for a damaged archive
        raise InputError(
            f"{cell_name(path)}: {quote(file.name, marks='')} is not a whole .npz file: "
            f"{quote(str(error), limit=120, marks='')}",
            path=path,
            fix="write it again with numpy.savez",
        ) from error


def _member(archive: zipfile.ZipFile, name: str, file: str, path: Path) -> NDArray[np.generic]:
    entry = _entry(archive, name, file, path)
    label = f"{file}#{name}"
    with archive.open(entry) as stream:
        header = npy.read_header(stream, entry.file_size, label, path)
        data = stream.read()
    if len(data) + header.offset != entry.file_size:
        raise zipfile.BadZipFile("a member is shorter than the archive says")
    if 0 in header.shape:
        return np.empty(header.shape)
    flat = np.frombuffer(data, header.dtype, count=math.prod(header.shape))
    return widened(flat.reshape(header.shape, order=header.order))


def _entry(archive: zipfile.ZipFile, name: str, file: str, path: Path) -> zipfile.ZipInfo:
    """Find a member that is there once, and is not packed to take all memory."""
    entries = [entry for entry in archive.infolist() if entry.filename in {name, f"{name}.npy"}]
    if not entries:
        there = [entry.filename.removesuffix(".npy") for entry in archive.infolist()]
        raise names_listed(there, name, file, path)
    if len(entries) > 1:
        raise InputError(
            f"{cell_name(path)}: {quote(file, marks='')} holds {quote(name)} twice",
            path=path,
            fix="write it again",
        )
    entry = entries[0]
    if entry.file_size > _LARGE and entry.file_size > _RATIO * entry.compress_size:
        raise InputError(
            f"{cell_name(path)}: {quote(name)} of {quote(file, marks='')} would unpack to {entry.file_size:,} bytes, "
            f"over {_RATIO} times its packed size",
            path=path,
            fix="save it with numpy.savez, which does not compress, if it is meant",
        )
    return entry


def names_listed(there: list[str], name: str, file: str, path: Path) -> InputError:
    """Make the error for a name that a file does not hold, with the names that it does."""
    shown = ", ".join(quote(each, marks="") for each in there[:_SHOWN])
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return InputError(
        f"{cell_name(path)}: {quote(file, marks='')} holds no array named {quote(name, limit=80)}",
        path=path,
        context=f"it holds: {shown}{more}" if there else "it holds no arrays",
        fix=f"name one of them: {quote(file, marks='')}#NAME",
    )
