"""The cases that onnx ships for Attention and RotaryEmbedding, and its reference evaluator."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from attncli.compute import compute
from tests.computed import array_of
from tests.onnx_cases import ATTENTION, ROTARY, Case, attention_problem, evaluated, rotary_problems

TOLERANCE = {
    "float32": 2e-6,  # sums in another order
    # The operator multiplies queries and keys by √scale each, and rounds those and every step of
    # softmax; ours rounds scores, scaled scores and weights. Outputs are below 1, where the step of
    # float16 is 2⁻¹¹ and that of bfloat16 2⁻⁸: one step and two, of which theirs is the larger part.
    "float16": 6e-4,
    "bfloat16": 8e-3,
    "float64": 1e-12,
}

# A list for every choice that is not about numbers; the evaluator runs every combination of them.
HEADS = {"heads": (2, 2), "grouped": (4, 2)}
CAUSAL: dict[str, dict[str, int]] = {"": {}, "causal": {"is_causal": 1}}
WINDOWS: dict[str, dict[str, int]] = {
    "": {},
    "left": {"left_window_size": 1},
    "right": {"right_window_size": 0},
    "both": {"left_window_size": 2, "right_window_size": 1},
}
SOFTCAPS: dict[str, dict[str, float]] = {"": {}, "softcap": {"softcap": 1.5}}
MASKS = ("", "boolean", "float")
CACHES = ("", "past", "lengths")
CHOICES: list[tuple[str, ...]] = list(product(HEADS, CAUSAL, WINDOWS, SOFTCAPS, MASKS, CACHES))


@pytest.mark.parametrize("case", ATTENTION, ids=lambda case: case.name)
def test_attention_is_that_of_onnxs_own_case(case: Case) -> None:
    """Every output of the node is one of our stages, to the precision of its dtype."""
    problem, stages = attention_problem(case)
    result = compute(problem)
    for output, stage in stages.items():
        wanted = case.outputs[output].astype(np.float64)
        np.testing.assert_allclose(
            array_of(result, stage), wanted, rtol=0, atol=TOLERANCE[case.dtype], err_msg=output
        )


def drawn(choice: tuple[str, ...]) -> Case:
    """Draw inputs for a choice of attributes, and have onnx evaluate them."""
    heads, causal, window, softcap, mask, cache = choice
    rng = np.random.default_rng(CHOICES.index(choice))
    num_heads, kv_heads = HEADS[heads]
    inputs: dict[str, np.ndarray] = {
        "Q": rng.normal(size=(2, num_heads, 3, 4)),
        "K": rng.normal(size=(2, kv_heads, 5, 4)),
        "V": rng.normal(size=(2, kv_heads, 5, 2)),
    }
    keys = 5
    if cache == "past":
        inputs |= {
            "past_key": rng.normal(size=(2, kv_heads, 4, 4)),
            "past_value": rng.normal(size=(2, kv_heads, 4, 2)),
        }
        keys += 4
    if cache == "lengths":
        inputs["nonpad_kv_seqlen"] = np.array([5, 2])
    if mask:
        added = rng.normal(size=(2, num_heads, 3, keys))
        inputs["attn_mask"] = added > -0.5 if mask == "boolean" else np.where(added > 1, -np.inf, added)
    attributes = {**CAUSAL[causal], **WINDOWS[window], **SOFTCAPS[softcap], "qk_matmul_output_mode": 3}
    return evaluated(attributes, inputs)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(filter(None, choice)))
def test_attention_is_that_of_onnxs_evaluator(choice: tuple[str, ...]) -> None:
    """Weights and output are the reference evaluator's, whatever goes together, in float64."""
    case = drawn(choice)
    problem, stages = attention_problem(case)
    result = compute(problem)
    for output, stage in stages.items():
        np.testing.assert_allclose(array_of(result, stage), case.outputs[output], atol=TOLERANCE["float64"])


@pytest.mark.parametrize("case", ROTARY, ids=lambda case: case.name)
def test_rotation_is_that_of_onnxs_own_case(case: Case) -> None:
    """Both pairings, part of a head, tables by position: RotaryEmbedding rotates as our Q_rot."""
    for problem, wanted in rotary_problems(case):
        got = array_of(compute(problem), "Q_rot")
        np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE[case.dtype])


def test_onnx_ships_these_cases() -> None:
    """Every case of the two operators can be said as a problem; onnx 1.23 has this many."""
    assert len(ATTENTION) >= 90
    assert len(ROTARY) >= 8
