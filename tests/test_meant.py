"""Which stage is meant by a name that none has."""

from __future__ import annotations

import pytest

from attncli.core.attention import ORDER
from attncli.meant import ALIASES, did_you_mean, meant_stage
from attncli.trace import STAGES

ALL = [name for part in ORDER.values() for name in part]
SHORT = ["Q", "K", "V", "scores", "scaled", "weights", "row_max", "lse", "output"]


@pytest.mark.parametrize("name", STAGES)
def test_every_symbol_finds_its_stage(name: str) -> None:
    """What stands in formulas and over tables leads to the name that options and files take."""
    assert meant_stage(STAGES[name].symbol, ALL) == name


@pytest.mark.parametrize("name", ALIASES)
def test_every_name_of_another_program_finds_a_stage(name: str) -> None:
    """The first of its stages that there is."""
    assert meant_stage(name, [*ALL, "lse"]) == ALIASES[name][0]
    assert meant_stage(name, [ALIASES[name][-1]]) == ALIASES[name][-1]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("A", "weights"),
        ("softmax", "weights"),
        ("attn_weights", "weights"),
        ("Weights", "weights"),
        ("weigths", "weights"),
        ("Z", "scaled"),
        ("m", "row_max"),
        ("LSE", "lse"),
        ("q", "Q"),
        ("M", None),
        ("something", None),
    ],
)
def test_what_is_meant_is_among_what_there_is(name: str, meant: str | None) -> None:
    """A symbol goes before another program's name, and that before what is spelled nearly so."""
    assert meant_stage(name, SHORT) == meant
    assert did_you_mean(name, SHORT, "else") == (f"did you mean {meant}?" if meant else "else")
