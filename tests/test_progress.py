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


def test_only_a_terminal_hears_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sees what is done, and is left clean; whoever works for a pipe has nobody to tell."""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    screen = Screen()
    monkeypatch.setattr(sys, "__stderr__", screen)
    with progress.progress("trying readings") as tell:
        assert tell
        tell(0.25)
    assert "\rtrying readings  [######" in screen.getvalue()
    assert screen.getvalue().endswith(" \r")
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    with progress.progress("trying readings") as tell:
        assert tell is None


def test_what_is_quick_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second nothing is shown."""
    screen = Screen()
    monkeypatch.setattr(sys, "__stderr__", screen)
    with progress.progress("trying readings") as tell:
        assert tell
        tell(0.25)
    assert not screen.getvalue()
