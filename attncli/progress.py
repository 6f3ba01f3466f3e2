"""How far a long computation is: one line on standard error, where a terminal shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

__all__ = ["Bar", "progress"]

PATIENCE = 1.0
"""Seconds that nobody minds waiting."""

PAUSE = 0.1
"""Seconds from one look of the line to the next."""

WIDTH = 24
"""Columns of the bar."""


@contextmanager
def progress(what: str = "") -> Iterator[Callable[[float], None] | None]:
    """Give what is to be told which share of the work is done; None where nobody would see it.

    Args:
        what: The work, as the line begins.
    """
    stream = sys.__stderr__
    if stream is None or not stream.isatty():
        yield None
        return
    bar = Bar(stream, what)
    try:
        yield bar
    finally:
        bar.clear()


class Bar:
    """A line that grows, from the first second on.

    Args:
        stream: The terminal.
        what: What the line begins with.
        clock: Tells the time in seconds.
    """

    def __init__(self, stream: TextIO, what: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._what = f"{what}  " if what else ""
        self._clock = clock
        self._start = clock()
        self._next = self._start + PATIENCE
        self._shown = ""

    def __call__(self, share: float) -> None:
        """Show a share of the work as done, from 0 to 1."""
        now = self._clock()
        if now < self._next or share <= 0:
            return
        self._next = now + PAUSE
        left = (now - self._start) * (1 - share) / share
        full = round(share * WIDTH)
        self._write(f"{self._what}[{'#' * full}{'.' * (WIDTH - full)}] {share:4.0%}  {_spoken(left)} left")

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("")

    def _write(self, line: str) -> None:
        with suppress(OSError):
            self._stream.write(f"\r{line.ljust(len(self._shown))}" + ("" if line else "\r"))
            self._stream.flush()
        self._shown = line


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
