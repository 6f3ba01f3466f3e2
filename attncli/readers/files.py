"""Arrays in files beside the problem file: which suffix is read by what, and what is never opened."""

from __future__ import annotations

import importlib
import pathlib
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from attncli.errors import InputError, Path, cell_name
from attncli.readers.opening import os_fault
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["FORMATS", "check_regular", "is_reference", "read_reference", "referenced"]

ArrayReader: TypeAlias = Callable[[pathlib.Path, str | None, Path], Any]
"""Takes file, member and key; returns an array, or rows of text."""


def _reader(module: str) -> ArrayReader:
    """Return the reader of a module, which is imported when it is first used."""

    def read(file: pathlib.Path, member: str | None, path: Path) -> Any:
        return importlib.import_module(f"attncli.readers.{module}").read(file, member, path)

    return read


FORMATS: Mapping[str, ArrayReader] = MappingProxyType(
    {
        ".npy": _reader("npy"),
        ".npz": _reader("npz"),
        ".safetensors": _reader("safetensors_file"),
        ".csv": _reader("csv_file"),
        ".tsv": _reader("csv_file"),
    }
)

_UNREAD = {
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle"), "it may run code when it is loaded"),
    **dict.fromkeys((".h5", ".hdf5", ".mat", ".gguf", ".onnx", ".parquet", ".xlsx", ".txt", ".json"), "attn has no reader for it"),
}  # fmt: skip

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LFS = b"version https://git-lfs"


def is_reference(text: str) -> bool:
    """Tell whether a text names a file, known to us or not, or a URL."""
    name = text.partition("#")[0].strip()
    return (
        _URL.match(text) is not None
        or pathlib.PurePath(name).suffix.lower() in FORMATS.keys() | _UNREAD.keys()
    )


def referenced(tree: Tree, folder: pathlib.Path) -> Iterator[str]:
    """Yield the files that the values of a mapping or list name, as they are found from here."""
    for value in tree.values() if isinstance(tree, Mapping) else tree:
        if isinstance(value, Mapping) or (isinstance(value, list) and isinstance(tree, Mapping)):
            yield from referenced(value, folder)  # a list in a list is a matrix
        elif isinstance(value, str) and is_reference(value):
            yield str(folder / _split(value)[0])


def read_reference(text: str, path: Path, folder: pathlib.Path) -> Any:
    """Read the array that a text such as ``dump.npz#q`` names.

    Args:
        text: File, relative to ``folder``, then ``#`` and a member's name where the file holds several.
        path: The key that names it.
        folder: Where the problem file is.

    Returns:
        An array, or rows of text that are still to be read as numbers.

    Raises:
        InputError: If it is a URL, no regular file, or no array of numbers.
    """
    if _URL.match(text):
        raise InputError(
            f"{cell_name(path)} names a URL, which is not fetched: {quote(text, limit=80)}",
            path=path,
            fix="download the file and name its path",
        )
    name, mark, member = _split(text)
    file = folder / name
    suffix = file.suffix.lower()
    if suffix in _UNREAD:
        raise InputError(
            f"{cell_name(path)}: {quote(name, limit=80, marks='')} is not read: {_UNREAD[suffix]}",
            path=path,
            fix=f"save the array as one of: {', '.join(FORMATS)}",
        )
    if mark and not member:
        raise InputError(f"{cell_name(path)}: a name must follow the # in {quote(text, limit=80)}", path=path)
    try:
        check_regular(file, name, path)
        return FORMATS[suffix](file, member or None, path)
    except OSError as error:
        fault = os_fault(error, name, what=f"{cell_name(path)}: ")
        fault.path = path
        fault.context = f"looked for {quote(str(file), limit=200, marks='')}"
        raise fault from error


def _split(text: str) -> tuple[str, str, str]:
    """Split at the first # that follows a known suffix, since file names may hold one too."""
    match = re.search(r"\.(?:npy|npz|safetensors|csv|tsv)(#)", text, re.IGNORECASE)
    at = match.start(1) if match else len(text)
    return text[:at].strip(), text[at : at + 1], text[at + 1 :].strip()


def check_regular(file: pathlib.Path, name: str, path: Path) -> None:
    """Refuse what would hang or never end, and Git LFS's stand-ins, before a reader opens it."""
    try:
        mode = file.stat().st_mode
    except ValueError:  # a zero character, or half of a surrogate pair
        raise InputError(
            f"{cell_name(path)}: {quote(name, limit=80)} holds a character that no file name has",
            path=path,
            fix="name a file",
        ) from None
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file (a pipe or a device)"
        raise InputError(
            f"{cell_name(path)}: {quote(name, limit=80, marks='')} is {kind}", path=path, fix="name a file"
        )
    with file.open("rb") as stream:
        if stream.read(len(_LFS)) == _LFS:
            raise InputError(
                f"{cell_name(path)}: {quote(name, limit=80, marks='')} is only a Git LFS pointer to the real file",
                path=path,
                fix="run: git lfs pull",
            )
