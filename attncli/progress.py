"""How far a long search is, for whoever sits and waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Counter", "counting"]

_PATIENCE = 0.5
"""Seconds that nobody minds to wait without a word."""

_PAUSE = 0.1


class Counter:
    """Says on standard error how many of how many are done, in one line that is taken back."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + _PATIENCE
        self._shown = 0

    def __call__(self, done: int, count: int) -> None:
        """Show the numbers, if a person can see them and it is time to."""
        if time.monotonic() < self._next or sys.__stderr__ is None or not sys.__stderr__.isatty():
            return
        self._next = time.monotonic() + _PAUSE
        text = f"{self._what} {done} of {count}"
        self._write("\r" + text.ljust(self._shown))
        self._shown = len(text)

    def clear(self) -> None:
        """Take the line back."""
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")

    def _write(self, text: str) -> None:
        assert sys.__stderr__ is not None
        sys.__stderr__.write(text)
        sys.__stderr__.flush()


@contextmanager
def counting(what: str) -> Iterator[Counter]:
    """Give a counter whose line is gone when the work is."""
    counter = Counter(what)
    try:
        yield counter
    finally:
        counter.clear()
