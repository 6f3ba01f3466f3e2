"""Other readings: each is found when it is what was meant, and none is when nothing was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.check.printed import Verdict
from attncli.check.readings import READINGS, Reading, readings
from attncli.check.report import Report, check_expected
from attncli.compute import compute
from attncli.errors import AttnError
from attncli.problem import Problem
from tests.check.planted import KINDS, drawn, expecting, planted

seeds = st.integers(0, 10_000)
by_kind = pytest.mark.parametrize("kind", KINDS)


def diagnosed(problem: Problem, reading: Reading, decimals: int = 4) -> Report | None:
    """Check a problem against the numbers of a reading; None where there is nothing to be found."""
    try:
        meant = planted(problem, reading)
    except AttnError:  # this problem cannot be read that way
        return None
    if meant["output"].shape != compute(problem)["output"].shape:
        return None
    report = check_expected(expecting(problem, meant, decimals))
    return report if len(report.cells(Verdict.WRONG)) > 6 else None


@by_kind
@settings(max_examples=2)
@given(seed=seeds)
def test_a_planted_reading_is_found(kind: str, seed: int) -> None:
    """Numbers that were made in another reading are explained by it, for every reading of the table."""
    problem = drawn(kind, seed)
    for reading in readings(compute(problem)):
        report = diagnosed(problem, reading)
        if report is not None and report.diagnosis is not None:
            assert reading.said in report.diagnosis.matches, report.diagnosis
            assert report.diagnosis.enough


def test_every_row_of_the_table_has_something_to_be_found_by() -> None:
    """No row of the table is left out by the test above; dtype takes more digits."""
    seen = set()
    for kind in KINDS:
        problem = drawn(kind, 1)
        result = compute(problem)
        for key, rule in READINGS.items():
            if any(diagnosed(problem, reading, 4) for reading in rule(result)):
                seen.add(key)
    assert seen >= READINGS.keys() - {"dtype"}


@settings(max_examples=10)
@given(seed=seeds)
def test_half_precision_is_found_in_printed_numbers(seed: int) -> None:
    """Numbers that were computed in bfloat16 and printed with six digits are explained by it."""
    problem = drawn("causal", seed)
    report = diagnosed(problem, Reading("dtype were bfloat16", {"dtype": "bfloat16"}), decimals=6)
    assert report is not None
    assert report.diagnosis is not None
    assert report.diagnosis.matches == ("dtype were bfloat16",)


@settings(max_examples=6)
@given(seed=seeds, data=st.data())
def test_two_planted_readings_are_found(seed: int, data: st.DataObject) -> None:
    """Two conventions that were both meant otherwise are named together."""
    problem = drawn("masked", seed)
    scale = data.draw(st.sampled_from(["none"]))
    both = {"scale": scale, "divide_by": None, "mask.keep": None}
    assert problem.mask is not None
    said = Reading("", {**both, "mask.drop": problem.mask.keep, "mask.keep": None})
    report = diagnosed(problem, said)
    assert report is not None
    assert report.diagnosis is not None
    assert "scale were none and mask.keep were mask.drop" in report.diagnosis.matches


@by_kind
@settings(max_examples=2)
@given(seed=seeds)
def test_noise_is_not_diagnosed(kind: str, seed: int) -> None:
    """Numbers that are off at random match no reading."""
    problem = drawn(kind, seed)
    result = compute(problem)
    draw = np.random.default_rng(seed)
    for record in result.records:
        if record.stage.name in {"weights", "output"}:
            assert record.array is not None
            record.array[...] += draw.normal(scale=0.1, size=record.shape)
    found = check_expected(expecting(problem, result, 2)).diagnosis
    assert found is not None
    assert not found.matches


def test_few_numbers_decide_nothing() -> None:
    """Two wrong numbers are a slip, though some convention would explain them."""
    problem = Problem(
        scores=np.array([[8.0, 0.0]]), d_k=16, expected=expecting_weights([["0.73106", "0.26894"]])
    )
    report = check_expected(problem)
    assert report.diagnosis is not None
    assert not report.diagnosis.enough
    assert "too few" in str(report.diagnosis)


def expecting_weights(digits: list[list[str]]) -> dict[str, object]:
    from attncli.problem import Expected  # noqa: PLC0415

    return {"weights": Expected(digits)}
