from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from attncli.blocks import make_sheet
from attncli.compute import compute
from attncli.errors import InputError
from attncli.problem import Mask, Problem
from attncli.sheet import Kind, Matrix, Sheet
from tests.render.problems import cat, drawn, sheet


def matrix(shown: Sheet, name: str, part: str = "") -> Matrix:
    return next(m for b in shown.blocks for m in b.matrices if (m.name, m.part) == (name, part))


def test_blocks_follow_the_computation() -> None:
    """Each step is a block with a verb, the formula of what really went in, and its constant."""
    blocks = sheet(cat()).blocks
    assert [block.title for block in blocks] == ["project", "score", "scale", "mask", "softmax", "output"]
    assert blocks[0].formulas == ("Q = X·W_Q", "K = X·W_K", "V = X·W_V")
    assert blocks[0].shape == "[3×2]·[2×2] → [3×2]"
    assert blocks[2].remarks == ("× 0.7071",)
    assert blocks[3].remarks == ("3 of 9 off",)
    assert blocks[4].formulas == ("A = exp(M − m) ÷ Σexp",)


def test_header_is_made_from_the_problem() -> None:
    shown = sheet(cat())
    assert (shown.title, shown.source) == ("cat.yaml", "lessons/cat.yaml")
    assert shown.formula == "softmax(QKᵀ/√d + mask)·V"
    assert shown.facts == ("numpy", "float64", "3 tokens", "d=2", "causal")
    assert sheet(cat(mask=None, scale="none", W_O=np.eye(2))).formula == "softmax(QKᵀ)·V·W_O"
    assert sheet(Problem(masked=np.eye(2))).formula == "softmax(M)"


def test_arrays_are_views_into_the_result() -> None:
    result = compute(drawn(3, batch=2, num_heads=2))
    for block in make_sheet(result).blocks:
        for each in block.matrices:
            if not each.given:
                assert np.shares_memory(each.array, result[each.name].array)


@pytest.mark.parametrize(
    ("problem", "given", "skipped"),
    [
        (cat(), ["X"], False),
        (Problem(Q=np.eye(2), K=np.eye(2), V=np.eye(2)), ["Q", "K", "V"], True),
        (Problem(scores=np.eye(2), V=np.eye(2), d_k=1), ["scores", "V"], True),
        (Problem(masked=np.eye(2)), ["masked"], True),
    ],
)
def test_the_start_is_shown_as_given(problem: Problem, given: list[str], *, skipped: bool) -> None:
    """What was given is shown and marked, and the sheet says that what comes before is skipped."""
    shown = sheet(problem)
    assert [m.name for m in shown.blocks[0].matrices if m.given] == given
    assert any("skipped" in remark for remark in shown.blocks[0].remarks) == skipped


def test_masked_cells_and_sides_stand_where_softmax_uses_them() -> None:
    shown = sheet(cat())
    masked, weights = matrix(shown, "masked"), matrix(shown, "weights")
    assert masked.hidden is not None
    np.testing.assert_array_equal(masked.hidden, np.triu(np.ones((3, 3)), 1))
    assert matrix(shown, "scaled").hidden is None
    assert [side.label for side in masked.sides] == ["max m"]
    assert [side.label for side in weights.sides] == ["Σexp", "row Σ"]
    alone = sheet(cat(), stages=("weights",))
    assert [side.label for side in matrix(alone, "weights").sides] == ["max m", "Σexp", "row Σ"]


def test_a_weight_that_leaks_through_a_finite_fill_is_shown() -> None:
    """A masked pair hides its cell only where it holds nothing."""
    leaking = matrix(sheet(cat(mask_fill=-1.0)), "weights")
    assert leaking.hidden is None
    assert leaking.kind is Kind.WEIGHTS


def test_few_heads_are_shown_and_many_are_not() -> None:
    two = sheet(drawn(3, num_heads=2))
    assert [m.part for m in two.blocks[2].matrices] == ["head 0", "head 1"]
    assert not two.elided
    eight = sheet(drawn(3, 8, batch=2, num_heads=8))
    assert [m.part for m in eight.blocks[2].matrices] == ["batch 0 · head 0"]
    assert eight.elided == "batch 0 of 2 · head 0 of 8 shown, 15 more hidden: --batch 1, --head 1 or --full"
    assert len(sheet(drawn(3, 8, batch=2, num_heads=8), full=True).blocks[2].matrices) == 16
    assert [m.part for m in sheet(drawn(3, 8, num_heads=8), head=5).blocks[2].matrices] == ["head 5"]


@pytest.mark.parametrize(("order", "kept"), [("repeat", "kv head 1"), ("tile", "kv head 0")])
def test_a_head_is_shown_with_the_key_value_head_that_serves_it(order: str, kept: str) -> None:
    draw = np.random.default_rng(0)
    q, k, v = (draw.normal(size=(1, heads, 3, 2)) for heads in (4, 2, 2))
    problem = Problem(Q=q, K=k, V=v, num_heads=4, num_kv_heads=2, kv_head_map=order)
    shown = sheet(problem, head=2)
    assert [m.part for m in shown.blocks[0].matrices] == ["head 2", kept, kept]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"stages": ("masks",)}, 'no stage "masks"(.|\n)*stages: X, Q, K, V, Q_heads'),
        ({"head": 2}, "no head 2(.|\n)*heads: 0 to 1"),
        ({"batch": 1}, "no batch item 1(.|\n)*batch items: 0"),
        ({"head": -1}, "no head -1"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(view: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match="there is no") as caught:
        sheet(drawn(3, num_heads=2), **view)
    assert re.search(message, str(caught.value))


def test_the_self_check_counts() -> None:
    """Rows that see no key count neither as wrong sums nor in silence; NaN and infinity are counted."""
    checks = sheet(cat()).checks
    assert checks is not None
    assert (checks.kept, checks.pairs, checks.blind_rows, checks.nan, checks.infinite) == (6, 9, 0, 0, 0)
    assert checks.row_sum_error is not None
    assert checks.row_sum_error <= checks.allowed
    np.testing.assert_allclose(checks.entropies[:2], [0, 1], atol=1e-15)
    blind = sheet(cat(mask=Mask(drop=np.array([[1, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)))).checks
    assert blind is not None
    assert (blind.blind_rows, blind.kept) == (1, 6)
    assert blind.row_sum_error == pytest.approx(0, abs=1e-15)
    broken = sheet(Problem(Q=np.array([[np.nan]]), K=np.array([[1.0]]))).checks
    assert broken is not None
    assert broken.nan == 3


def test_without_weights_there_is_no_self_check() -> None:
    result = compute(cat(), keep=("scores",))
    shown = make_sheet(result)
    assert shown.checks is None
    assert [m.name for block in shown.blocks for m in block.matrices] == ["X", "scores"]


def test_detail_adds_weights_and_exponentials() -> None:
    shown = sheet(cat(), detail=True)
    assert [m.name for m in shown.blocks[0].matrices] == ["W_Q", "W_K", "W_V"]
    exp = matrix(shown, "exp")
    assert exp.array[2, 2] == 1
    assert exp.hidden is not None
    assert [side.label for side in matrix(shown, "weights").sides][-2:] == ["LSE", "H bit"]


def test_notes_are_passed_on() -> None:
    result = dataclasses.replace(compute(cat()), notes=("one",))
    assert make_sheet(result).notes == ("one",)
