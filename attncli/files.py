"""Where ``-o`` writes: a file is replaced as a whole or left as it was, and is never an input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attncli.errors import AttnError, InputError, UnavailableError
from attncli.streams import cannot_write, encoded, write_all, write_stdout
from attncli.text import quote

__all__ = ["check_target", "is_stream", "write_file"]


def check_target(name: str, inputs: Iterable[str]) -> None:
    """Refuse a target before anything is computed for it.

    Args:
        name: The file to be written.
        inputs: Names of the files to be read; ``-`` is standard input.

    Raises:
        InputError: It is no name, or one of the inputs, by whatever spelling or link.
        UnavailableError: It cannot be written.
    """
    if not name:
        raise InputError('-o "" names no file', fix="-o FILE, or -o - for standard output")
    with _naming(name):
        found = _status(name)
        if name.endswith(("/", os.sep)) or (found and stat.S_ISDIR(found.st_mode)):
            raise _refused(name, "it is a directory")
        if found is None:
            _check_folders(name)
        elif not os.access(name, os.W_OK):
            raise _refused(name, "it is write-protected")
    for each in inputs:
        if found and stat.S_ISREG(found.st_mode) and _is_same(found, each):
            spelling = "" if each == name else f", which {_quoted(name)} leads to,"
            raise InputError(
                f"the input {_quoted(each)}{spelling} would be overwritten", fix="give -o another name"
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
        if found and _is_stdout(found):  # such as /dev/stdout, which may be a file open for appending
            write_stdout(pieces)
        elif is_stream(name):
            with Path(name).open("wb", buffering=0) as raw:
                write_all(raw, encoded(pieces))
        else:
            _replace(Path(name).resolve(), found.st_mode if found else None, pieces)


def _replace(target: Path, mode: int | None, pieces: Iterable[str | bytes]) -> None:
    temporary = target.with_name(f".attn-{os.urandom(8).hex()}")
    try:
        # Opened so, and not by tempfile, a new file gets the mode that the umask leaves it.
        with temporary.open("xb", buffering=0) as raw:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            write_all(raw, encoded(pieces))
            os.fsync(raw.fileno())  # a full disk may speak up only now
        temporary.replace(target)
    except BaseException:  # also Ctrl-C
        with suppress(OSError):
            temporary.unlink()
        raise


def _check_folders(name: str) -> None:
    # The folder as it was spelled, too: resolving no/../x makes x of it, which nobody named.
    for folder in (Path(name).parent, Path(name).resolve().parent):
        if not folder.is_dir():
            raise _refused(name, f"there is no folder {_quoted(str(folder))}")
        if not os.access(folder, os.W_OK):
            raise _refused(name, f"the folder {_quoted(str(folder))} is write-protected")


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except AttnError:  # what cannot be shown is found out when its first piece is asked for
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero character in the name
        raise cannot_write(_quoted(name), error) from error


def _refused(name: str, reason: str) -> UnavailableError:
    return UnavailableError(f"cannot write to {_quoted(name)}: {reason}")


def _quoted(name: str) -> str:
    return quote(name, limit=200)


def _status(name: str) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return Path(name).stat()
    return None


def _is_same(found: os.stat_result, each: str) -> bool:
    with suppress(OSError, ValueError):  # a missing or closed input is for the reader to report
        return os.path.samestat(found, os.fstat(0) if each == "-" else Path(each).stat())
    return False


def _is_stdout(found: os.stat_result) -> bool:
    return sys.__stdout__ is not None and os.path.samestat(found, os.fstat(1))
