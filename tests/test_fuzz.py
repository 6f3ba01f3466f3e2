"""Nothing wrong in silence: whatever is asked of whatever file, there is a right result or one clear message.

The short run is part of the tests; ``pytest -m fuzz`` runs on, ATTN_FUZZ inputs of each kind. They are
the same ones each time; ATTN_FUZZ_SEED chooses others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from attncli import streams
from attncli.check import diagnose
from attncli.keys import Kind
from attncli.trace import STAGES

from .fuzz import computing, judging, showing
from .fuzz.options import COMMANDS, WORDS, cells, mostly, options, sizes
from .fuzz.promises import COUNTED
from .problem_files import VALUES, labels, mangled, nearly_valid, spelled, valid

PLAIN = computing.plain_problems()
PLAIN_FILES = PLAIN.flatmap(spelled)
WRITTEN = mostly(PLAIN_FILES | valid(), nearly_valid() | mangled(), of=3)
NAMES = st.none() | labels | st.sampled_from([*STAGES, "rope", "mask.window", "rope.pairing", "lse", ""])

ABOUT = st.sampled_from(["keys", "stages", "schema"]).flatmap(
    lambda name: st.tuples(st.just(name), NAMES, options(name))
)

CHECKS: dict[str, tuple[Callable[..., None], list[st.SearchStrategy[Any]]]] = {
    "plain": (computing.check_plain, [PLAIN, st.data()]),
    "valid": (computing.check_valid, [valid()]),
    "any": (computing.check_any, [WRITTEN, options("compute"), st.booleans()]),
    "several": (computing.check_several, [WRITTEN, WRITTEN, options("compute"), st.data()]),
    "random": (computing.check_random, [sizes(), options("random")]),
    "width": (
        computing.check_width,
        [PLAIN_FILES | valid(), st.sampled_from(["0", "1", "abc", "20", "300"])],
    ),
    "explain": (
        showing.check_explain,
        [mostly(PLAIN_FILES, WRITTEN, of=3), cells(), options("explain"), st.booleans()],
    ),
    "cell": (showing.check_cell, [PLAIN, st.data()]),
    "shown": (showing.check_shown, [valid(), options("show", others=False)]),
    "edited": (
        showing.check_edited,
        [PLAIN_FILES | PLAIN_FILES | valid(), options("show", most=1), st.data()],
    ),
    "dumped": (showing.check_dumped, [PLAIN_FILES, options("show", most=1), st.data()]),
    "about": (showing.check_about, [ABOUT]),
    "printed": (judging.check_printed, [PLAIN, st.data()]),
    "result": (judging.check_result, [PLAIN, st.data()]),
    "check": (
        judging.check_files,
        [mostly(judging.expecting(), WRITTEN, of=3), WRITTEN, judging.results(), options("check"), st.data()],
    ),
    "diff": (judging.check_diff, [WRITTEN, WRITTEN, judging.results(), options("diff"), st.data()]),
}
"""What is held, and of which inputs."""


def search(name: str, examples: int) -> None:
    """Run a check on so many inputs, the same ones each time."""
    hold, strategies = CHECKS[name]
    check = seed(int(os.environ.get("ATTN_FUZZ_SEED", "0")))(given(*strategies)(hold))
    settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))(
        check
    )()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "ATTN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(diagnose, "combinations", lambda *_: [])  # pairs of readings take seconds
    monkeypatch.setattr(streams, "MOMENT", 0)  # nobody closes a pipe here


def test_everything_is_drawn() -> None:
    """A new kind of key, and a new option's kind of value, take part in the search."""
    assert set(VALUES) == set(Kind)
    asked = {
        each.metavar
        for command in COMMANDS.values()
        for each in command.params
        if each.param_type_name == "option" and not each.is_flag and "|" not in each.metavar
    }
    assert asked == set(WORDS)


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_wrong_in_silence(name: str) -> None:
    """A short search finds no crash, no wrong number, no lost key and no unclear message."""
    search(name, 30)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", CHECKS)
def test_nothing_wrong_in_a_long_search(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for as long as one likes, and how many inputs that were."""
    COUNTED.clear()
    search(name, int(os.environ.get("ATTN_FUZZ", "20000")))
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {COUNTED.total():,} runs, {dict(sorted(COUNTED.items()))}\n")
