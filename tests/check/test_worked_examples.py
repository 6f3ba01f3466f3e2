"""Published examples: every slip in them is found, with its kind, and nothing else is called wrong."""

from __future__ import annotations

import functools
import pathlib

import pytest

from attncli.check.printed import Verdict
from attncli.check.report import Report, check_expected
from attncli.readers import load
from tests import worked

KINDS = {"origin": "origin", "propagated": "propagated", "rounded-intermediates": "rounded"}


@functools.cache
def checked(path: pathlib.Path) -> Report:
    (problem,) = load(str(path))
    return check_expected(problem)


def listed(stem: str) -> set[tuple[str, tuple[int, ...], str]]:
    return {(s["stage"], tuple(s["index"]), KINDS[s["kind"]]) for s in worked.SLIPS.get(stem, ())}


@pytest.mark.parametrize("path", worked.FILES, ids=lambda path: path.stem)
def test_exactly_the_known_slips_are_wrong(path: pathlib.Path) -> None:
    """A wrong number is one that slips.json lists, of the kind that it lists."""
    wrong = checked(path).cells(Verdict.WRONG)
    assert {(cell.stage, cell.index, cell.kind) for cell in wrong} == listed(path.stem)


@pytest.mark.parametrize("stem", worked.SLIPS)
def test_what_is_right_instead_is_what_the_list_says(stem: str) -> None:
    """The right number beside each wrong one is the one that slips.json gives."""
    right = {(s["stage"], tuple(s["index"]), s["printed"]): s["right"] for s in worked.SLIPS[stem]}
    for cell in checked(worked.FOLDER / f"{stem}.json").cells(Verdict.WRONG):
        assert cell.exact == pytest.approx(right[cell.stage, cell.index, float(cell.printed)], rel=1e-5)


@pytest.mark.parametrize("stem", worked.SLIPS)
def test_the_headline_is_where_a_slip_starts(stem: str) -> None:
    """What is named first is an origin, never a number that only follows from one."""
    first = checked(worked.FOLDER / f"{stem}.json").first
    assert first is not None
    assert first.kind == "origin"


def test_no_slip_is_taken_for_a_convention() -> None:
    """Authors' slips of the pen are explained by no reading."""
    for stem in worked.SLIPS:
        found = checked(worked.FOLDER / f"{stem}.json").diagnosis
        assert found is not None
        assert not found.matches, stem


def test_all_of_them_are_there() -> None:
    """The folder holds 63 examples, 16 of them with slips."""
    assert len(worked.FILES) == 63
    assert len(worked.SLIPS) == 16
