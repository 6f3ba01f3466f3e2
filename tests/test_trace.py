"""Stages and the trace: what is recorded, and how a formula is spelled."""

from __future__ import annotations

import itertools
import re
import string
from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.core.logits import scaled
from attncli.core.similarity import scores
from attncli.problem import Mask, Problem
from attncli.trace import STAGES, Detail, Stage, Trace, Value, spell, stage

Q, K = Value(np.eye(2), "Q"), Value(np.ones((3, 2)), "K")
AXES = {"batch", "head", "query", "key", "dim"}


@pytest.fixture
def no_new_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test declare stages without leaving them behind."""
    monkeypatch.setattr("attncli.stage.STAGES", dict(STAGES))


def declare(function: Any, name: str = "halved") -> Stage[...]:
    made: Stage[...] = stage(
        name, symbol="H", axes="query key", formula="{x} ÷ 2[ + {y}]", latex="{x}/2", source="here"
    )(function)
    return made


# formulas


@pytest.mark.parametrize(
    ("formula", "values", "spelled"),
    [
        ("{q}·{k}ᵀ", {"q": Q, "k": K}, "Q·Kᵀ"),
        ("{q}·{k}ᵀ", {"q": Q, "k": Q}, "Q·Qᵀ"),
        ("{x}[ + {b}]", {"x": Q, "b": None}, "Q"),
        ("{x}[ + {b}]", {"x": Q, "b": Value(1, "b")}, "Q + b"),
        ("{x}[·{w} + {b}]", {"x": Q, "w": K, "b": None}, "Q"),
        ("[{x}][{y}]", {"x": None, "y": K}, "K"),
        ("split({x}, {n})", {"x": Q, "n": 4}, "split(Q, 4)"),
        ("{x}[ × {s}]", {"x": Q, "s": Value(0.0, "0")}, "Q × 0"),
    ],
)
def test_a_formula_is_spelled_with_what_went_in(formula: str, values: dict[str, Any], spelled: str) -> None:
    """Symbols stand for values, and an optional segment goes when a value in it is None."""
    assert spell(formula, values) == spelled


W = {f"W_{name}": np.eye(2) for name in "QKV"}


@pytest.mark.parametrize(
    ("keys", "formulas"),
    [
        ({"X": np.eye(2)}, {"Q": "X", "scores": "Q·Kᵀ", "weights": "softmax(Z)", "output": "A·V"}),
        (
            {"X": np.eye(2), **W, "b_Q": np.ones(2), "context": np.ones((3, 2))},
            {"Q": "X·W_Q + b_Q", "K": "C·W_K", "V": "C·W_V"},
        ),
        (
            {"scaled": np.eye(2), "mask": Mask(causal=True)},
            {"masked": "Z where k ≤ q, else −∞", "weights": "softmax(M)"},
        ),
        (
            {"scaled": np.eye(2), "mask": Mask(keep=np.eye(2) > 0), "mask_fill": -1e9},
            {"masked": "Z where kept, else Z − 1e9"},
        ),
        ({"scaled": np.eye(2), "mask": Mask(additive=np.eye(2))}, {"masked": "Z + mask"}),
        (
            {"scaled": np.eye(2), "mask": Mask(window={"left": 2, "right": 0})},
            {"masked": "Z where q − 2 ≤ k ≤ q, else −∞"},
        ),
        (
            {"scaled": np.eye(2), "mask": Mask(causal=True, sliding_window=2, lengths=(1,))},
            {"masked": "Z where k ≤ q and q − 1 ≤ k and kept, else −∞"},
        ),
        ({"scaled": np.eye(2), "mask": Mask(window={"right": 1})}, {"masked": "Z where k ≤ q + 1, else −∞"}),
        (
            {"X": np.eye(2), "num_heads": 2, "W_O": np.eye(2), "b_O": np.ones(2)},
            {
                "Q_heads": "split(Q)",
                "scores": "Q_h·K_hᵀ",
                "head_output": "A·V_h",
                "concat": "concat(O_h)",
                "output": "concat·W_O + b_O",
            },
        ),
        ({"X": np.eye(2), "W_O": np.eye(2)}, {"head_output": "A·V", "output": "O_h·W_O"}),
        (
            {"scaled": np.eye(2), "V": np.eye(2), "mask": Mask(query_padding=np.eye(2)[0] > 0)},
            {"output": "A·V where real, else 0"},
        ),
    ],
)
def test_a_results_formulas_say_how_it_was_computed(keys: dict[str, Any], formulas: dict[str, str]) -> None:
    """Each stage's formula names the arrays that it had, not those that it might have had."""
    result = compute(Problem(**keys))
    assert {name: result[name].formula for name in formulas} == formulas


# records


def test_a_record_keeps_array_shape_and_axes() -> None:
    """A trace keeps each stage's array in the order of the calls, with the axes that it has."""
    trace = Trace(["head"])
    s = trace(scores, Q, K)
    z = trace(scaled, s, None, Value(2.0, "2"))
    assert [record.stage.name for record in trace] == ["scores", "scaled"]
    record = trace.records["scaled"]
    assert (record.axes, record.shape, record.formula) == (("head", "query", "key"), (2, 3), "S ÷ 2")
    np.testing.assert_array_equal(record.array, np.full((2, 3), 0.5))
    assert z.symbol == "Z"
    np.testing.assert_array_equal(z.array, record.array)


def test_what_is_not_to_be_kept_is_still_computed() -> None:
    """Without its array a stage has a shape and a formula, and the stages after it are the same."""
    problem = Problem(X=np.eye(3))
    part, whole = compute(problem, keep={"output"}), compute(problem)
    assert [record.stage.name for record in part.records] == [record.stage.name for record in whole.records]
    for less, more in zip(part.records, whole.records, strict=True):
        assert (less.shape, less.formula, less.axes) == (more.shape, more.formula, more.axes)
        assert (less.array is None) == (less.stage.name != "output")
    assert set(part["weights"].details) == {"lse", "lse2"}  # what tiles leave: a number for each query
    np.testing.assert_allclose(part["output"].array, whole["output"].array, rtol=1e-14)  # type: ignore[arg-type]


def test_large_details_are_made_when_asked_for() -> None:
    """A detail with a number per query and key is as large as the scores, and so not made unasked."""
    problem = Problem(X=np.eye(2))
    small = compute(problem)["weights"].details
    assert set(small) == {"row_max", "exp_sum", "row_sum", "lse", "lse2", "entropy"}
    assert set(compute(problem, large_details=True)["weights"].details) == {*small, "exp"}
    assert set(compute(problem, large_details=True)["output"].details) == {"weighted_values"}


def test_a_cast_reaches_what_comes_next() -> None:
    """Each result is cast before it is recorded, and goes on as it was recorded."""
    trace = Trace(cast=lambda _, array: np.round(array))
    s = trace(scores, Value(np.array([[0.6]]), "Q"), Value(np.array([[1.0]]), "K"))
    trace(scaled, s, None, Value(4.0, "4"))
    assert [record.array.tolist() for record in trace if record.array is not None] == [[[1.0]], [[0.0]]]


def test_a_result_has_no_stage_that_was_not_computed() -> None:
    """Asking a result for a stage that it lacks is a KeyError with the name."""
    with pytest.raises(KeyError, match="output"):
        compute(Problem(scores=np.eye(2)))["output"]


# declarations


@pytest.mark.usefixtures("no_new_stages")
def test_a_stage_is_a_function_with_a_declaration() -> None:
    """Called directly it only computes; its summary is the first line of its docstring."""

    def halved(x: float, y: float | None = None) -> float:
        """Halve it.

        And no more.
        """
        return x / 2 + (y or 0)

    made = declare(halved)
    assert made(3.0, y=1.0) == 2.5
    assert made.summary == "Halve it."
    assert "halved" not in STAGES


@pytest.mark.usefixtures("no_new_stages")
def test_a_stage_has_a_name_of_its_own_and_a_docstring() -> None:
    """Both are checked at import, since explanations print the one and results use the other."""

    def documented(x: float) -> float:
        """Halve it."""
        return x / 2

    with pytest.raises(TypeError, match="stage 'weights' needs a name of its own"):
        declare(documented, "weights")
    with pytest.raises(TypeError, match="stage 'halved' needs a docstring"):
        declare(lambda x: x / 2)


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(re.sub(r"[\[\]]", "", template)) if name}


WAYS = [way for declared in STAGES.values() for way in (declared, *declared.variants)]


@pytest.mark.parametrize("declared", WAYS, ids=lambda way: way.function.__name__)
def test_every_stage_says_what_tables_and_documents_need(declared: Stage[...]) -> None:
    """A stage has a symbol, a source and a sentence; its formulas use its own parameters."""
    assert declared.name in STAGES
    assert declared.symbol
    assert declared.source
    assert re.fullmatch(r"[A-Z].*\.", declared.summary)
    assert set(declared.axes) <= AXES
    parameters = set(declared.function.__annotations__) - {"return"}
    assert fields(declared.formula)
    assert fields(declared.formula) <= parameters
    assert fields(declared.latex) <= parameters


DETAILS = [(name, detail) for name, declared in STAGES.items() for detail in declared.details.values()]


@pytest.mark.parametrize(("name", "detail"), DETAILS, ids=lambda each: getattr(each, "name", each))
def test_every_detail_uses_what_its_stage_has(name: str, detail: Detail) -> None:
    """A detail is made from parameters of its stage, its result and details before it, and has a sentence."""
    ways = (STAGES[name], *STAGES[name].variants)
    available = {"result", *(each for way in ways for each in way.function.__annotations__)} - {"return"}
    before = itertools.takewhile(lambda each: each != detail.name, STAGES[name].details)
    assert set(detail.function.__annotations__) - {"return"} <= available | {*before}
    assert fields(detail.formula) <= available
    assert detail.function.__doc__
    assert set(detail.axes) <= AXES
    assert detail.large == ("key" in detail.axes)
