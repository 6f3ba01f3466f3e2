"""Other readings: each is found when it is what was meant, and none is when nothing was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attncli.check.printed import Verdict
from attncli.check.readings import READINGS, Reading
from attncli.check.report import Report, check_expected
from attncli.compute import compute
from attncli.errors import AttnError
from attncli.problem import Expected, Mask, Problem
from tests.check.planted import drawn, expecting, planted

seeds = st.integers(0, 10_000)

PLANTED = {
    "weight_layout": "plain",
    "scale": "plain grouped",
    "mask": "masked added padded",
    "mask.causal": "plain causal",
    "mask.align": "cross",
    "mask.window": "sliding window",
    "kv_head_map": "grouped",
    "rope": "rotated",
    "rope.pairing": "rotated",
    "rope.unit": "angles",
    "position_encoding": "placed",
    "position_encoding.sinusoidal.layout": "placed",
    "score": "plain",
    "qk_norm": "normed",
    "biases": "plain",
    "softcap": "causal",
    "bias": "biased",
    "bias_position": "biased",
    "bias.alibi": "sloped",
    "mask_when": "causal",
    "normalize": "masked",
    "sink": "grouped",
    "fully_masked": "empty",
    "fused": "fused",
    "stages": "plain causal",
}
"""The problems in which each row of the table has something to be found by."""


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


@pytest.mark.parametrize("key", PLANTED)
@settings(max_examples=2)
@given(seed=seeds)
def test_a_planted_reading_is_found(key: str, seed: int) -> None:
    """Numbers that were made in another reading are explained by it, for every row of the table."""
    found = 0
    for kind in PLANTED[key].split():
        problem = drawn(kind, seed)
        for reading in READINGS[key](compute(problem)):
            report = diagnosed(problem, reading)
            if report is not None and report.diagnosis is not None:
                assert reading.said in report.diagnosis.matches, report.diagnosis
                assert report.diagnosis.enough
                found += 1
    assert found


def test_every_row_of_the_table_is_planted() -> None:
    """No reading is tried that no test has found; two that are no other problem have tests of their own."""
    assert PLANTED.keys() == READINGS.keys() - {"dtype", "expected_in"}


THIRDS = {"weights": Expected([["33.3", "66.7"], ["50.0", "50.0"]]), "output": Expected([["0.667"], ["0.5"]])}


def test_percentages_are_known_as_such() -> None:
    """Weights that were printed as percentages without a word are named, and the output beside them is not."""
    scores = np.log([[1.0, 2.0], [1.0, 1.0]])
    problem = Problem(scaled=scores, V=np.array([[0.0], [1.0]]), expected=THIRDS)
    found = check_expected(problem).diagnosis
    assert found is not None
    assert found.matches == ("expected_in were {weights: percent}",)
    assert not check_expected(replace(problem, expected_in={"weights": "percent"})).cells(Verdict.WRONG)
    assert check_expected(replace(problem, expected_in="percent")).cells(Verdict.WRONG)


def test_percentages_of_another_convention() -> None:
    """A mask that was left out as well is found with them."""
    problem = Problem(scaled=np.log([[1.0, 2.0], [1.0, 3.0]]), mask=Mask(causal=True, align="top_left"))
    expected = {"weights": Expected([["33.3", "66.7"], ["25.0", "75.0"]])}
    found = check_expected(replace(problem, expected=expected)).diagnosis
    assert found is not None
    assert "mask were left out and expected_in were {weights: percent}" in found.matches


@pytest.mark.parametrize(("mask", "queries"), [(Mask(causal=True), 5), (Mask(causal=True, offset=2), 3)])
def test_a_causal_mask_that_is_one_key_too_wide(mask: Mask, queries: int) -> None:
    """A leak of the next key is recognised, by weights that NumPy's own triangle made."""
    scores = np.random.default_rng(3).normal(size=(queries, 5))
    seen = np.exp(scores) * np.tri(queries, 5, (mask.offset or 0) + 1)
    printed = [[f"{weight:.4f}" for weight in row] for row in seen / seen.sum(-1, keepdims=True)]
    found = check_expected(
        Problem(scaled=scores, mask=mask, expected={"weights": Expected(printed)})
    ).diagnosis
    assert found is not None
    assert found.matches == ("the causal mask let each query see the next key too",)


def test_shares_are_not_tried_as_percentages() -> None:
    """Where no printed weight is more than one, there is nothing to try."""
    rule, problem = READINGS["expected_in"], Problem(scaled=np.eye(2))
    assert not [*rule(compute(problem))]
    shares = {
        "weights": Expected([["0.9", "0.1"], ["0.1", "1.0"]]),
        "scaled": Expected([["9", "9"], ["9", "9"]]),
    }
    assert not [*rule(compute(replace(problem, expected=shares)))]


@settings(max_examples=4)
@given(seed=seeds)
def test_half_precision_is_found_in_printed_numbers(seed: int) -> None:
    """Numbers that were computed in bfloat16 and printed with six digits are explained by it."""
    problem = drawn("causal", seed)
    report = diagnosed(problem, Reading("dtype were bfloat16", {"dtype": "bfloat16"}), decimals=6)
    assert report is not None
    assert report.diagnosis is not None
    assert report.diagnosis.matches == ("dtype were bfloat16",)


@settings(max_examples=3)
@given(seed=seeds)
def test_two_planted_readings_are_found(seed: int) -> None:
    """Two conventions that were both meant otherwise are named together."""
    problem = drawn("masked", seed)
    assert problem.mask is not None
    flipped = {"mask.drop": problem.mask.keep, "mask.keep": None}
    unscaled = {"scale": "none", "divide_by": None}
    # A flipped mask that leaves every row one key at most makes all weights 0 or 1 at any scale.
    seen = np.asarray(problem.mask.keep)
    assume((~seen).sum(axis=-1).max() > 1)
    report = diagnosed(problem, Reading("", {**unscaled, **flipped}))
    assert report is not None
    assert report.diagnosis is not None
    assert "scale were none and mask.keep were mask.drop" in report.diagnosis.matches


@pytest.mark.parametrize("kind", ["plain", "causal", "grouped", "rotated"])
@settings(max_examples=1)
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
    expected = {"weights": Expected([["0.73106", "0.26894"]])}
    report = check_expected(Problem(scores=np.array([[8.0, 0.0]]), d_k=16, expected=expected))
    assert report.diagnosis is not None
    assert not report.diagnosis.enough
    assert "too few" in str(report.diagnosis)


def test_readings_that_come_to_the_same_are_not_told_apart() -> None:
    """Where d_model is d_k squared, √d_model and d_k are one number, and both are named."""
    draw = np.random.default_rng(0)
    problem = Problem(X=draw.normal(size=(4, 16)), num_heads=4)
    report = diagnosed(problem, Reading("", {"scale": "d_model"}))
    assert report is not None
    assert "or if scale were 1/d_k" in str(report.diagnosis)
    assert "do not tell these apart" in str(report.diagnosis)
