"""Progress: said to a person who waits, and to nobody else."""

from __future__ import annotations

import io
import sys

import pytest

from attncli import progress


class Screen(io.StringIO):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        """Be one."""
        return True


@pytest.mark.parametrize(("stream", "said"), [(Screen(), True), (io.StringIO(), False)])
def test_only_a_terminal_hears_of_progress(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, said: bool
) -> None:
    """A terminal sees the count, and is left clean; a pipe gets nothing."""
    monkeypatch.setattr(sys, "__stderr__", stream)
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with progress.counting("trying reading") as tell:
        tell(3, 40)
    expected = "\rtrying reading 3 of 40\r" + " " * 22 + "\r" if said else ""
    assert stream.getvalue() == expected


def test_what_is_quick_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within half a second nothing is shown."""
    stream = Screen()
    monkeypatch.setattr(sys, "__stderr__", stream)
    with progress.counting("trying reading") as tell:
        tell(3, 40)
    assert not stream.getvalue()
