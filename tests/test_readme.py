"""What the README shows is what happens."""

from __future__ import annotations

import re

import pytest

from tests.readme import ROOT, Step, run, steps

README = (ROOT / "README.md").read_text("utf-8")


def settled(printed: str) -> str:
    """Leave out the rounding error of row sums, whose last bits are the processor's."""
    return re.sub(r"± \S+", "± …", printed)


@pytest.mark.parametrize("step", list(steps(README)), ids=lambda step: step.command[:60])
def test_a_console_block_prints_what_it_shows(step: Step) -> None:
    """Each command prints what stands below it; rewrite with `python -m tests.readme README.md`."""
    assert settled(run(step.command)) == settled(step.printed)


def test_the_readme_is_short() -> None:
    """It can be read in one go."""
    assert len(README.splitlines()) < 150


def test_every_code_block_is_run_or_sets_up() -> None:
    """No block shows a command that nothing runs: those that set up make the two environments."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    others = [text for language, text in blocks if language != "console"]
    assert len(others) == 2
    for text in others:
        assert text.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")
