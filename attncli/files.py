"""Where `-o` writes: a file is replaced as a whole or left as it was, and never an input."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from attncli.errors import InputError, UnavailableError
from attncli.streams import cannot_write, encoded, write_all, write_stdout
from attncli.text import quote

__all__ = ["check_target", "is_stream", "write_file"]


def check_target(name: str, inputs: Iterable[str]) -> None:
    """Refuse a target before anything is computed for it.

    Args:
        name: The file to be written.
        inputs: Names of the files to be read; ``-`` is standard input.

    Raises:
        InputError: It is one of the inputs, by whatever spelling or link.
        UnavailableError: It cannot be written.
    """
    with _naming(name):
        found = _status(name)
        if name.endswith("/") or (found and stat.S_ISDIR(found.st_mode)):
            raise UnavailableError(f"cannot write to {quote(name)}: it is a directory")
        if found is None:
            _check_folder(os.path.dirname(os.path.realpath(name)))
        elif not os.access(name, os.W_OK):
            raise UnavailableError(f"cannot write to {quote(name)}: it is write-protected")
    for each in inputs:
        if found and stat.S_ISREG(found.st_mode) and _is_same(found, each):
            spelling = "" if each == name else f", which {quote(name)} is too,"
            raise InputError(
                f"the input {quote(each)}{spelling} would be overwritten", fix="give -o another name"
            )


def is_stream(name: str) -> bool:
    """Tell whether a target is written to as it stands: a device, a pipe, or standard output."""
    found = _status(name)
    return found is not None and (not stat.S_ISREG(found.st_mode) or _is_stdout(found))


def write_file(name: str, pieces: Iterable[str | bytes]) -> None:
    """Write a result to a file, wholly or not at all.

    The new file is written beside the old one and then takes its place. A link stays a link, and
    an existing file keeps its mode.

    Raises:
        UnavailableError: It cannot be written.
    """
    with _naming(name):
        found = _status(name)
        if found and _is_stdout(found):  # /dev/stdout, which may be a file opened for appending
            write_stdout(pieces)
        elif is_stream(name):
            with open(name, "wb", buffering=0) as raw:  # noqa: PTH123  (a Path would lose //)
                write_all(raw, encoded(pieces))
        else:
            _replace(os.path.realpath(name), found.st_mode if found else None, pieces)


def _replace(target: str, mode: int | None, pieces: Iterable[str | bytes]) -> None:
    temporary = os.path.join(os.path.dirname(target), f".attn-{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb", buffering=0) as raw:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            write_all(raw, encoded(pieces))
            os.fsync(raw.fileno())  # a full disk or a quota may speak up only now
        os.replace(temporary, target)
    except BaseException:  # also Ctrl-C
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(quote(name, limit=200), error) from error


def _status(name: str) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.stat(name)
    return None


def _check_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        raise UnavailableError(f"cannot write to the folder {quote(folder, limit=200)}: there is none")
    if not os.access(folder, os.W_OK):
        raise UnavailableError(f"cannot write to the folder {quote(folder, limit=200)}: it is write-protected")


def _is_same(found: os.stat_result, each: str) -> bool:
    with suppress(OSError, ValueError):  # a missing or closed input is for the reader to report
        return os.path.samestat(found, os.stat(0 if each == "-" else each))
    return False


def _is_stdout(found: os.stat_result) -> bool:
    return sys.__stdout__ is not None and os.path.samestat(found, os.fstat(1))
