"""One call of the command line in this process, with its three streams as a shell would give them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from attncli import cli

__all__ = ["Called", "call"]


class Called(NamedTuple):
    """What a call left behind, in bytes."""

    status: int
    out: bytes
    err: bytes


def call(arguments: Sequence[str], stdin: bytes = b"") -> Called:
    """Run a command line; what it writes is taken at the descriptors, as a pipe would take it."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with _standing_in(given, out, err):
            status = cli.run(arguments)
        return Called(status, *(os.pread(file.fileno(), 1 << 26, 0) for file in (out, err)))


@contextmanager
def _standing_in(*files: BinaryIO) -> Iterator[None]:
    saved = [os.dup(descriptor) for descriptor in range(3)]
    streams = sys.stdin, sys.stdout, sys.stderr
    for descriptor, file in enumerate(files):
        os.dup2(file.fileno(), descriptor)
    assert sys.__stdout__ is not None
    assert sys.__stderr__ is not None
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdin, sys.stdout, sys.stderr = streams
        for descriptor, old in enumerate(saved):
            os.dup2(old, descriptor)
            os.close(old)
