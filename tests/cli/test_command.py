"""Commands are made late, and plain values are read without Typer's help: to the same effect."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import typer

from attncli.command import Later, _read

WORDS = ["0", "1", "2", "17", "18", "007", "1_0", "1.0", "+1", "-1", "١", "x", "auto", "float32", "NaN"]
WORDS += ["", " 1", "1 ", "a b", "é", "9" * 18, "9" * 19, str(2**63 - 1), str(2**63), "9" * 5000]


@pytest.fixture(scope="module")
def context() -> Any:
    """The context of `attn compute FILE`, whose command has options of every kind."""
    return Later("compute", "attncli.computing", "").make_context("compute", ["FILE"])


def outcome(read: Any, value: Any) -> object:
    """Return what reading a value gives, or that it is refused; lists and tuples are the same."""
    try:
        found = read(value)
    except typer.TyperException as error:
        return type(error)
    return list(found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("word", WORDS)
def test_values_are_read_as_typer_reads_them(context: Any, word: str) -> None:
    """For every option, each value means what it means to Typer, and what that refuses is refused."""
    for each in context.command.params:
        by_typer = partial(type(each).process_value, each)
        value: Any = (word, word) if each.multiple or each.nargs == -1 else word
        if getattr(each, "is_flag", False):
            value = True
        assert outcome(partial(_read, each, by_typer, context), value) == outcome(
            partial(by_typer, context), value
        ), each.name


def test_what_is_not_given_is_read_as_typer_reads_it(context: Any) -> None:
    """Defaults are taken, and what is required is missed; an empty list is as good as none."""
    for each in context.command.params:
        by_typer = partial(type(each).process_value, each)
        for value in (each.default, None):
            expected = outcome(partial(by_typer, context), value)
            found = outcome(partial(_read, each, by_typer, context), value)
            assert found == (None if expected == [] else expected), each.name


def test_a_plain_value_does_without_typer(context: Any) -> None:
    """Words, numbers in their range and lists of words are not handed on; a number that is not is."""
    options = {each.name: each for each in context.command.params}
    if not hasattr(options["stages"], "type_descriptor"):
        pytest.skip("this Typer does not say what an option takes, and loads no pydantic either")
    handed_on: list[Any] = []

    def by_typer(context: Any, value: Any) -> None:
        del context
        handed_on.append(value)

    for name, value in {
        "stages": "Q",
        "heads": "2",
        "files": ("a",),
        "set": ["a=1"],
        "precision": "18",
    }.items():
        _read(options[name], by_typer, context, value)
    assert handed_on == ["18"]
