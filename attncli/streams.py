"""Standard output and standard error: one loop writes every byte, and notices when it cannot.

`print` is not used: what it leaves in a buffer fails only when the interpreter ends, too late to
be reported, and unbuffered it drops what a short write did not take.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Protocol, TextIO, cast

from attncli.errors import ExitCode, UnavailableError
from attncli.text import visible

__all__ = ["cannot_write", "complain", "encoded", "is_abandoned", "stdout", "write_all", "write_stdout"]

CHUNK = 1 << 16
"""Bytes that are gathered before they are written."""

MOMENT = 50
"""Milliseconds that `head` is given to close its end."""


class Raw(Protocol):
    """What writes some of the bytes that it is given, and says how many."""

    def write(self, data: memoryview, /) -> int | None:
        """Write; return the number of bytes taken, or None when none can be taken now."""

    def fileno(self) -> int:
        """Return the file descriptor."""


def stdout() -> TextIO:
    """Return standard output as the process was given it.

    Raises:
        UnavailableError: It is closed.
    """
    # Not sys.stdout: that may stand for what the option parser says.
    if sys.__stdout__ is None:
        raise UnavailableError(
            "cannot write to standard output: it is closed", fix="-o FILE writes to a file instead"
        )
    return sys.__stdout__


def write_stdout(pieces: Iterable[str | bytes]) -> None:
    """Write a result to standard output, wholly.

    Raises:
        SystemExit: Whoever reads it has seen enough and closed the pipe, which is no error.
        UnavailableError: It is closed, or the device behind it is full or broken.
    """
    stream = stdout()
    try:
        write_all(_raw(stream), encoded(pieces, stream.encoding))
    except BrokenPipeError:
        raise SystemExit(ExitCode.OK) from None
    except OSError as error:
        raise cannot_write("standard output", error) from error


def is_abandoned() -> bool:
    """Tell whether whoever reads standard output has closed the pipe, or does so in a moment.

    A short result fits into the pipe, so that writing it does not show that `head` is gone.
    """
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(stdout().fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(MOMENT))


def complain(text: str) -> None:
    """Write a note or an error to standard error, if anybody can hear it.

    Whatever it quotes, nothing in it acts on the terminal.
    """
    if sys.__stderr__ is not None:
        lines = (f"{visible(line)}\n" for line in text.split("\n"))
        with suppress(OSError):  # there is nowhere else to say so
            write_all(_raw(sys.__stderr__), encoded(lines, sys.__stderr__.encoding))


def cannot_write(name: str, error: Exception) -> UnavailableError:
    """Make the error for a stream or file that took no more."""
    reason = getattr(error, "strerror", None) or str(error)
    return UnavailableError(f"cannot write to {name}: {reason[:1].lower()}{reason[1:]}")


def encoded(pieces: Iterable[str | bytes], encoding: str = "utf-8") -> Iterator[bytes]:
    """Encode text and gather it into chunks; a character that the encoding lacks is escaped."""
    gathered = bytearray()
    for piece in pieces:
        gathered += piece if isinstance(piece, bytes) else piece.encode(encoding, "backslashreplace")
        if len(gathered) >= CHUNK:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def write_all(raw: Raw, chunks: Iterable[bytes]) -> None:
    """Write chunks however few bytes the stream takes at a time."""
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            taken = raw.write(rest)
            if taken is None:  # a pipe that does not block, and is full
                select.select([], [raw], [])
            else:
                rest = rest[taken:]


def _raw(stream: TextIO) -> Raw:
    return cast("Raw", getattr(stream.buffer, "raw", stream.buffer))
