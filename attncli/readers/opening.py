"""Bytes of a problem file, from wherever they come, and their text."""

from __future__ import annotations

import codecs
import errno
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from attncli.errors import InputError, Place, UnavailableError
from attncli.text import quote

__all__ = ["MAX_BYTES", "STDIN", "decode", "os_fault", "read_bytes"]

STDIN = "-"
_CHUNK = 2**20
MAX_BYTES = 2**30
_ZIP = b"PK\x03\x04"

# UTF-32 stands first: its mark starts with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
)


def read_bytes(name: str) -> bytes:
    """Read a file, a pipe or standard input to its end, once.

    Args:
        name: A path, or ``-`` for standard input.

    Raises:
        InputError: If no file is named, or it is not there, cannot be read, or is larger than `MAX_BYTES`.
    """
    if not name:
        raise InputError("no file is named: the name is empty", fix="name a file, or - for standard input")
    try:
        if name == STDIN:
            return _bounded(_stdin(), name)
        with Path(name).open("rb") as file:
            status = Path(name).stat()
            if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
                raise _too_large(name)
            return _bounded(file, name)
    except OSError as error:
        raise os_fault(error, name) from error
    except InputError:
        raise
    except ValueError as error:  # a path with a NUL, or a stream that is closed
        raise InputError(f"cannot read {_spoken(name)}: {error}", place=Place(name)) from error


def _stdin() -> BinaryIO:
    if sys.stdin is None:  # what Python leaves behind when the shell closed it
        raise InputError(
            "standard input is closed, so there is nothing to read",
            fix="pipe a problem file into attn, or name one",
        )
    return sys.stdin.buffer


def _bounded(file: BinaryIO, name: str) -> bytes:
    data = bytearray()
    while chunk := file.read(_CHUNK):  # asked for all at once, Python makes room for as much as may come
        data += chunk
        if len(data) > MAX_BYTES:
            raise _too_large(name)
    return bytes(data)


def _too_large(name: str) -> InputError:
    return InputError(
        f"{_spoken(name)} is larger than 1 GiB",
        fix="put the matrices in .npy or .safetensors files and name those",
        place=Place(name),
    )


def os_fault(error: OSError, name: str, *, what: str = "") -> InputError | UnavailableError:
    """Say in one sentence why the system refused to open or read ``name``."""
    said = error.strerror or str(error)
    reason = {
        FileNotFoundError: "there is no such file",
        IsADirectoryError: "it is a directory",
        PermissionError: "its permissions forbid it",
    }.get(type(error), said[:1].lower() + said[1:])
    kind = UnavailableError if error.errno == errno.ENOMEM else InputError
    return kind(f"{what}cannot read {_spoken(name)}: {reason}")


def _spoken(name: str) -> str:
    return "standard input" if name in {STDIN, "<stdin>"} else quote(name, limit=200, marks="")


def decode(data: bytes, name: str) -> str:
    """Turn a file's bytes into text: UTF-8, or what the byte-order mark says.

    Raises:
        InputError: If the bytes are not text in that encoding; names the first bad byte and its line.
    """
    if data.startswith(_ZIP):
        raise InputError(
            f"{_spoken(name)} holds a zip archive, such as an .npz file, and no text",
            fix="save it under a name that ends in .npz, and name that",
            place=Place(name),
        )
    codec, label, skip = next(
        ((codec, label, len(mark)) for mark, codec, label in _MARKS if data.startswith(mark)),
        ("utf-8", "UTF-8", 0),
    )
    if not skip and b"\0" in data[:4]:
        raise InputError(
            f"{_spoken(name)} holds zero bytes: it is not text, or UTF-16 without a byte-order mark",
            fix="save it as UTF-8",
            place=Place(name, 1),
        )
    try:
        return str(memoryview(data)[skip:], codec)
    except UnicodeDecodeError as error:
        at = error.start + skip
        line = str(data[skip:at], codec, "replace").count("\n") + 1
        raise InputError(
            f"{_spoken(name)} is not {label}: byte 0x{data[at]:02X} at offset {at}, line {line}, does not belong",
            fix="save it as UTF-8",
            place=Place(name, line),
        ) from error
