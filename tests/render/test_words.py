"""What a sheet says in words: its signs, its entropies, and how a stage was made."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.problem import Problem
from attncli.render.digits import PERCENT
from attncli.render.terminal import Terminal
from tests.computed import array_of
from tests.render.problems import cat, drawn, sheet, table_text
from tests.render.test_table import plain


def test_signs_are_explained_where_they_occur_and_no_colour_does() -> None:
    """The star, the dot and H, each only when it is there."""
    star, dot, bits = "* largest in its row", "· masked", "H entropy of a row's weights"

    def said(problem: Problem, color: Any = None, **view: Any) -> list[str]:
        text = plain(table_text(sheet(problem, **view), Terminal(width=120, color=color)))
        return [sign for sign in (star, dot, bits) if sign in text]

    assert said(cat()) == [star, dot, bits]
    assert said(cat(mask=None)) == [star, bits]
    assert said(cat(), stages=("Q",)) == [bits]
    assert said(cat(), blank=("weights",)) == [dot]
    assert said(cat(), color="truecolor") == said(cat(), color="16") == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0.5, 0.5]] * 9, "H 1 bit in each row"),
        ([[0.5, 0.5]] * 2, "H 1 bit in each row"),
        ([[0.5, 0.5]], "H 1 bit"),
        ([[0.5, 0.5], [0.25, 0.75]], "H 1 / 0.81 bit"),
        ([[0.5, 0.5]] * 6 + [[1, 1e-300]], "H 0 … 1, median 1 bit"),
    ],
)
def test_entropies_that_are_all_alike_are_said_once(rows: list[list[float]], said: str) -> None:
    """A coin has one bit, and one of 1 : 3 has 2 − 0.75·log₂ 3 = 0.81."""
    text = table_text(sheet(Problem(scaled=np.log(np.array(rows)))), Terminal(width=120))
    assert re.search(rf"  {re.escape(said)}$", text, re.MULTILINE)


def test_heads_side_by_side_that_are_the_output_are_shown_once() -> None:
    """Without W_O the output is what concat made, and says so; with it, or asked for, there are both."""
    problem = drawn(3, num_heads=2)

    def titles(problem: Problem, **view: Any) -> list[str]:
        return [f"{block.title}: {' '.join(block.formulas)}" for block in sheet(problem, **view).blocks][-2:]

    assert titles(problem) == ["mix: O_h = A·V_h", "output: O = concat(O_h)"]
    assert titles(problem, stages=("concat",)) == ["concat: concat(O_h)"]
    assert titles(problem, blank=("concat",)) == titles(problem)
    projected = drawn(3, num_heads=2, W_O=np.eye(4))
    assert titles(projected) == ["concat: concat(O_h)", "output: O = concat·W_O"]
    np.testing.assert_array_equal(array_of(compute(problem), "concat"), array_of(compute(problem), "output"))


def test_a_sink_is_in_the_formula_as_it_is_computed() -> None:
    """The row's maximum is taken from the sink as from the scores, also where exp alone is shown."""
    problem = Problem(scaled=np.array([[1.0, 2.0]]), sink=(3.0,))
    (block,) = [block for block in sheet(problem, detail=True).blocks if block.title == "softmax"]
    assert block.formulas == ("e = exp(Z − m)", "A = exp(Z − m) ÷ (Σ exp(Z − m) + exp(sink − m))")


@pytest.mark.parametrize(
    ("weight", "written"),
    [
        (-1e307, "−1.0e309%"),
        (1.7e308, "1.7e310%"),
        (1e4, "1.0e6%"),
        (9999.0, "999900.0%"),
        (-2.0, "−200.0%"),
        (0.5, "50.0%"),
        (-0.0, "0.0%"),
        (math.inf, "∞"),
    ],
)
def test_a_percentage_is_written_however_large_it_is(weight: float, written: str) -> None:
    """A hundred times a weight may be more than a float holds, and is written with its power of ten."""
    assert PERCENT(weight) == written


def test_a_weight_of_no_softmax_has_its_percentage_everywhere() -> None:
    """In cells, and in the list of the strongest, where inf% once stood."""
    scores = np.full((40, 40), 1e307)
    scores[0, 1] = -1e307
    problem = Problem(scores=scores, d_k=1, normalize="none")
    text = plain(table_text(sheet(problem, stages=("weights",)), Terminal(width=100)))
    assert "inf%" not in text
    assert "−1e309" in text
    assert re.search(r"0 → 2 +1\.0e309% ", text)


SPACES = ("cat", " cat", "cat ", "", " ", "\u00a0", "\u3000", "a b", "\u2003x")
SEEN = ("cat", "␣cat", "cat␣", '""', "␣", "<U+00A0>", "<U+3000>", "a b", "<U+2003>x")


def test_white_space_is_seen_where_a_label_starts_and_ends() -> None:
    """No token looks like nothing or like another one, at the rows, above the columns or in words."""
    page = Terminal(width=300, interactive=False)
    table = table_text(sheet(drawn(9, tokens=SPACES), stages=("weights",)), page).splitlines()[4:14]
    head, *rows = (re.split(" {2,}", line.strip()) for line in table)
    assert " ".join(head).startswith(" ".join(("q╲k", *SEEN)))
    assert [row[0].partition(" ")[2] for row in rows] == list(SEEN)
    for row in rows:
        looked = re.findall(r"(\S.*?) \d+%(?:, |$)", row[-1])
        assert looked
        assert set(looked) <= set(SEEN)
