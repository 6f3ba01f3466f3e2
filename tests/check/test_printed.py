"""What a printed number claims, and what becomes of a claim that does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.check.printed import Printed, Verdict, printed
from attncli.check.report import Report, check_expected
from attncli.errors import InputError
from attncli.problem import Expected, Problem

OK, LAST, WRONG = Verdict.OK, Verdict.LAST_DIGIT, Verdict.WRONG
SCORES = np.array([[1.0, 2.0], [3.0, 3.0]])


def block(digits: Any, stage: str = "weights", **keys: Any) -> Printed:
    (made,) = printed(Problem(scores=SCORES, expected={stage: Expected(digits)}, **keys))
    return made


def checked(expected: dict[str, Any], **keys: Any) -> Report:
    made = {name: Expected(digits) for name, digits in expected.items()}
    return check_expected(Problem(**{"scores": SCORES, "expected": made, **keys}))


@pytest.mark.parametrize(
    ("text", "right", "verdict"),
    [
        ("0.27", 0.2749, OK),
        ("0.27", 0.275, OK),  # half a unit is rounding, either way
        ("0.27", 0.2799, LAST),
        ("0.27", 0.2601, LAST),
        ("0.27", 0.2801, WRONG),
        ("0.50", 0.52, WRONG),
        ("0.5", 0.52, OK),
        ("3", 3.4, OK),
        ("3", 3.6, WRONG),  # no last decimal, no allowance
        ("1e-3", 0.0014, OK),
        ("1.0e-3", 0.00118, WRONG),
        ("1e-3", 0.0019, LAST),
        ("1/3", 1 / 3, OK),
        ("1/3", 0.3334, WRONG),
        ("-inf", -np.inf, OK),
        ("-inf", -1e9, WRONG),
        ("nan", np.nan, OK),
        ("0.1", np.nan, WRONG),
        ("0.30000000000000004", 0.3, OK),  # float64 in another order
    ],
)
def test_a_number_is_held_to_its_printed_digits(text: str, right: float, verdict: Verdict) -> None:
    """A right value rounds to what is printed, or is one unit off, or is another number."""
    assert block(text).verdicts(np.asarray(right)) == verdict


@pytest.mark.parametrize(
    ("text", "right", "verdict"), [("32", 0.324, OK), ("32", 0.3299, LAST), ("32", 0.3301, WRONG)]
)
def test_percentages_get_the_allowance_that_integers_do_not(
    text: str, right: float, verdict: Verdict
) -> None:
    """Whole percentages are numbers with two decimals, by their name or by expected_in."""
    assert block(text, "percent").verdicts(np.asarray(right)) == verdict
    assert block(text, expected_in="percent").verdicts(np.asarray(right)) == verdict


def test_decimals_are_those_of_the_longest_number_unless_they_are_stated() -> None:
    """The 0 among 0.333 is short for 0.000; expected_decimals has the last word."""
    assert block(["0", "0.333"]).verdicts(np.array([0.4, 0.333])).tolist() == [WRONG, OK]
    assert block(["0", "0.333"], expected_decimals=0).verdicts(np.array([0.4, 0.333])).tolist() == [OK, OK]
    assert block(["0", "0.333"], expected_decimals={"weights": 1}).units.tolist() == [0.1, 0.1]


def test_a_tolerance_is_added_to_the_digit() -> None:
    """expected_tolerance allows for inputs that were rounded themselves."""
    assert block("0.27", expected_tolerance=0.05).verdicts(np.asarray(0.32)) == OK
    assert block("0.27").verdicts(np.asarray(0.32)) == WRONG


def test_ragged_rows_are_refused() -> None:
    """Rows of different lengths are no block."""
    with pytest.raises(InputError, match="its rows differ in length"):
        block([["1", "2"], ["3"]])


def test_parts_of_a_stage_are_checked_where_they_are() -> None:
    """A row, a column and a cell are held against that row, column and cell."""
    right = {"weights[0]": ["0.27", "0.73"], "weights[:,1]": ["0.73", "0.50"], "weights[1,1]": "0.50"}
    assert not checked(right).cells(WRONG)
    wrong = checked({**right, "weights[:,1]": ["0.73", "0.60"]})
    assert [cell.name for cell in wrong.cells(WRONG)] == ["weights[1,1]"]


@pytest.mark.parametrize(
    ("expected", "note"),
    [
        (
            {"exp": [["2.72", "7.39"], ["20.09", "20.09"]], "exp_sum": ["10.11", "40.17"]},
            "no maximum subtracted",
        ),
        (
            {"exp": [["0.37", "1.00"], ["1.00", "1.00"]], "exp_sum": ["1.37", "2.00"]},
            "the maximum subtracted",
        ),
    ],
)
def test_exponentials_are_read_with_or_without_the_maximum(expected: dict[str, Any], note: str) -> None:
    """Whichever way fits all of them is taken, and said."""
    report = checked(expected)
    assert not report.cells(WRONG)
    assert note in report.notes[0]


def test_the_two_readings_of_exponentials_are_not_mixed() -> None:
    """One exponential with, and its sum without the maximum subtracted, is wrong."""
    report = checked({"exp": [["2.72", "7.39"], ["20.09", "20.09"]], "exp_sum": ["1.37", "2.00"]})
    assert {cell.stage for cell in report.cells(WRONG)} == {"exp_sum"}


# -- where a wrong number comes from ---------------------------------------------------------------

CHAIN = {"scores": np.array([[2.0, 1.0, 0.0]]), "V": np.array([[1.0], [2.0], [4.0]])}
"""By hand: exp is 7.389, 2.718, 1, their sum 11.107; weights 0.665, 0.245, 0.090; output 1.515."""


def kinds(expected: dict[str, Any]) -> dict[str, str]:
    return {cell.name: cell.kind for cell in checked(expected, **CHAIN).cells(WRONG)}


def test_a_wrong_number_alone_is_an_origin() -> None:
    """What follows from nothing that was printed is where the slip starts."""
    assert kinds({"weights": [["0.665", "0.254", "0.090"]]}) == {"weights[0,1]": "origin"}


def test_what_follows_from_a_wrong_number_is_propagated() -> None:
    """0.665 + 2 · 0.254 + 4 · 0.090 is 1.533: the output follows from the printed weights."""
    found = kinds({"weights": [["0.665", "0.254", "0.090"]], "output": [["1.533"]]})
    assert found == {"weights[0,1]": "origin", "output[0,0]": "propagated"}


def test_a_printed_nan_is_judged_by_itself() -> None:
    """A NaN is right where the stage has one, follows where a printed NaN leads to it, and else is a slip."""
    blind = {"scores": np.array([[np.nan, 1.0]]), "V": np.array([[1.0], [2.0]])}
    assert not checked({"weights": [["nan", "nan"]], "output": [["nan"]]}, **blind).cells(WRONG)
    assert kinds({"weights": [["nan", "0.245", "0.090"]]}) == {"weights[0,0]": "origin"}
    assert kinds({"weights": [["0.665", "0.245", "0.090"]], "output": [["nan"]]}) == {"output[0,0]": "origin"}
    found = kinds({"weights": [["nan", "0.245", "0.090"]], "output": [["nan"]]})
    assert found == {"weights[0,0]": "origin", "output[0,0]": "propagated"}


def test_what_follows_from_rounded_numbers_is_said_to() -> None:
    """0.7 + 2 · 0.2 + 4 · 0.1 is 1.500: right weights, rounded, and an output with more digits than they have."""
    found = kinds({"weights": [["0.7", "0.2", "0.1"]], "output": [["1.500"]]})
    assert found == {"output[0,0]": "rounded"}


def test_weights_follow_from_printed_exponentials() -> None:
    """7.39 ÷ 12.11 is 0.610: the sum was added up wrong, and the weights follow from it."""
    found = kinds(
        {"exp": [["7.39", "2.72", "1.00"]], "exp_sum": ["12.11"], "weights": [["0.610", "0.225", "0.083"]]}
    )
    assert found.pop("exp_sum[0]") == "origin"
    assert set(found.values()) == {"propagated"}
    assert len(found) == 3


def test_percentages_follow_from_the_weights_beside_them() -> None:
    """Wrong weights that are printed again as percentages are one slip."""
    found = kinds({"weights": [["0.665", "0.254", "0.090"]], "percent": [["66.5", "25.4", "9.0"]]})
    assert found == {"weights[0,1]": "origin", "percent[0,1]": "propagated"}


def test_two_slips_are_two_origins() -> None:
    """A second slip that does not follow from the first is one of its own."""
    found = kinds({"weights": [["0.665", "0.254", "0.090"]], "output": [["1.300"]]})
    assert found == {"weights[0,1]": "origin", "output[0,0]": "origin"}


def test_what_follows_from_wrong_numbers_with_all_their_digits_is_propagated() -> None:
    """The weights of 2, 1.5 and 0 are 0.574, 0.348, 0.078; a thousand times their mixture has more digits than those."""
    values = np.array([[1000.0], [2000.0], [4000.0]])
    a = np.exp([2.0, 1.5, 0.0]) / np.exp([2.0, 1.5, 0.0]).sum()
    output = f"{float(a @ values[:, 0]):.2f}"
    expected = {"weights": Expected([[f"{x:.3f}" for x in a]]), "output": Expected([[output]])}
    problem = Problem(scores=CHAIN["scores"], V=values, expected=expected)
    found = {cell.name: cell.kind for cell in check_expected(problem).cells(WRONG)}
    assert found.pop("output[0,0]") == "propagated"
    assert set(found.values()) == {"origin"}
