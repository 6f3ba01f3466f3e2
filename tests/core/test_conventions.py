"""Where libraries disagree: small cases with the right value under each stated convention.

Each case was a public report of wrong numbers. What people got instead stands beside it, where a
key of the problem file asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.errors import InputError
from attncli.problem import Alibi, Mask, Problem, Rope, Variant
from tests.computed import detail, stage

NAN, INF = np.nan, np.inf


def column(*numbers: float) -> np.ndarray:
    return np.array(numbers)[:, None]


def seen(*rows: list[int]) -> Mask:
    return Mask(keep=np.array(rows, dtype=bool))


EMPTY_ROW: dict[str, Any] = {
    "Q": np.array([[1.0, 0.0], [0.0, 2.0]]),
    "K": np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]]),
    "V": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "mask": seen([1, 0, 1], [0, 0, 0]),
}
MASKED_NAN = {"Q": column(0), "K": column(0, 0), "V": column(1, NAN), "mask": seen([1, 0])}
ONE_QUERY = {"Q": np.zeros((1, 2)), "K": np.zeros((4, 2)), "V": column(10, 20, 30, 40)}
TWO_QUERIES = ONE_QUERY | {"Q": np.zeros((2, 2))}
UPPER = np.triu(np.ones((3, 3), dtype=bool), 1)
FLAT = {"scaled": np.zeros((3, 3))}
FAR = {"Q": column(-20000), "K": column(1, 0), "V": column(1, 100), "scale": 1.0, "mask": seen([1, 0])}
OVERFLOW = {
    "Q": np.array([[200.0, 200.0]]),
    "K": np.array([[200.0, 200.0], [1.0, 1.0]]),
    "V": column(1, 2),
}
GROUPED = {
    "Q": np.zeros((4, 1, 2)),
    "K": np.zeros((2, 3, 2)),
    "V": np.repeat(np.array([10.0, 20.0]), 3).reshape(2, 3, 1),
    "qkv_layout": "head seq dim",
}
# four heads of width 16 in a model of width 64; each product of query and key is 8 or 0
WIDE = {
    "X": np.repeat(np.eye(4), 16, axis=1)[:1],
    "context": np.concatenate([np.full((1, 64), 0.5), np.zeros((1, 64))]),
    "num_heads": 4,
}
SQUARE = {
    "X": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "W_Q": np.array([[1.0, 2.0], [3.0, 5.0]]),
    "W_K": "identity",
    "W_V": "identity",
}

ROTATED = {"Q": np.array([[1.0, 2, 3, 4]]), "K": np.array([[1.0, 2, 3, 4]])}
DECODED = {
    "Q": np.array([[1.0, 0, 0, 1]]),
    "K": np.array([[1.0, 2, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]]),
    "scale": "none",
}
CAPPED = {"scaled": np.array([[3.0, 1.0]]), "softcap": 1.0, "mask": seen([1, 0])}
SUNK = {"scaled": np.array([[1.0, 2.0]]), "V": column(1, 10)}
# one token of value 1 whose fused weight is the row itself
FUSED = {"X": np.ones((1, 1)), "W_QKV": np.arange(12.0)[None], "num_heads": 2}
# the product of query and key is 2 for the first of two keys, in a head of width 64
UNSCALED = {
    "Q": np.eye(1, 64) * 2,
    "K": np.eye(2, 64) * [[1], [0]],
    "bias": np.array([[0.0, 1.0]]),
}
DISTANCES = {"scaled": np.zeros((1, 6, 2, 2)), "bias": Variant("alibi", Alibi())}
GEOMETRIC = DISTANCES | {"bias": Variant("alibi", Alibi(slopes="geometric"))}


CASES: dict[str, tuple[dict[str, Any], str, Any]] = {
    "fully masked row": (EMPTY_ROW, "weights", [[0.66976, 0, 0.33024], [0, 0, 0]]),
    "fully masked row's output": (EMPTY_ROW, "output", [[1, 0.33024], [0, 0]]),
    "fully masked row as NaN": (EMPTY_ROW | {"fully_masked": "nan"}, "output", [[1, 0.33024], [NAN, NAN]]),
    "fully masked row with a finite fill": (
        # a fill this large swallows the scores even in float64, as −1e9 does in float32
        EMPTY_ROW | {"mask_fill": -1e30},
        "output",
        [[1, 0.33024], [0.66667, 0.66667]],
    ),
    "NaN behind the mask": (MASKED_NAN, "output", [[1]]),
    "NaN behind the mask, as engines have it": (MASKED_NAN | {"masked_values": "ieee"}, "output", [[NAN]]),
    "decoding, bottom right": (
        ONE_QUERY | {"mask": Mask(causal=True, align="bottom_right")},
        "output",
        [[25]],
    ),
    "decoding, by position": (ONE_QUERY | {"mask": Mask(causal=True, offset=3)}, "output", [[25]]),
    "decoding, top left": (ONE_QUERY | {"mask": Mask(causal=True, align="top_left")}, "output", [[10]]),
    "causal, bottom right": (
        TWO_QUERIES | {"mask": Mask(causal=True, align="bottom_right")},
        "output",
        [[20], [25]],
    ),
    "causal, top left": (TWO_QUERIES | {"mask": Mask(causal=True, align="top_left")}, "output", [[10], [15]]),
    "true drops": (
        FLAT | {"mask": Mask(drop=UPPER)},
        "weights",
        [[1, 0, 0], [0.5, 0.5, 0], [0.33333, 0.33333, 0.33333]],
    ),
    "true keeps": (FLAT | {"mask": Mask(keep=UPPER)}, "weights", [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]),
    "0 and 1 as truth": ({"scaled": np.zeros((1, 3)), "mask": seen([0, 1, 0])}, "weights", [[0, 1, 0]]),
    "0 and 1 added": (
        {"scaled": np.zeros((1, 3)), "mask": Mask(additive=np.array([[0.0, 1.0, 0.0]]))},
        "weights",
        [[0.21194, 0.57612, 0.21194]],
    ),
    "scale by the head's width": (WIDE, "weights[0]", [[0.8808, 0.1192]]),
    "scale by the model's width": (WIDE | {"scale": "d_model"}, "weights[0]", [[0.73106, 0.26894]]),
    "scaled scores past float16": (OVERFLOW, "scaled", [[56568.54, 282.84]]),
    "output past float16": (OVERFLOW, "output", [[1]]),
    "scores in float16": (OVERFLOW | {"dtype": "float16"}, "scores", [[INF, 400]]),
    "output in float16": (OVERFLOW | {"dtype": "float16"}, "output", [[NAN]]),
    # −20000 against 0: the masked key is ahead by more than a fill of −1e4 takes away
    "fill that is too small": (FAR | {"mask_fill": -1e4}, "output", [[100]]),
    "fill that is large enough": (FAR | {"mask_fill": -1e9}, "output", [[1]]),
    "fill of minus infinity": (FAR, "output", [[1]]),
    "padded keys": (FLAT | {"mask": Mask(lengths=(2,))}, "weights", [[0.5, 0.5, 0]] * 3),
    "padded queries": (
        FLAT | {"V": np.eye(3), "mask": Mask(query_padding=np.array([True, True, False]))},
        "output",
        [[0.33333] * 3, [0.33333] * 3, [0, 0, 0]],
    ),
    "padding of a batch of queries": (
        {
            "scaled": np.zeros((2, 2, 3)),
            "mask": Mask(key_padding=np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)),
        },
        "weights",
        [[[0.5, 0.5, 0]] * 2, [[1, 0, 0]] * 2],
    ),
    "grouped heads, repeat": (GROUPED, "concat", [[10, 10, 20, 20]]),
    "grouped heads, tile": (GROUPED | {"kv_head_map": "tile"}, "concat", [[10, 20, 10, 20]]),
    "square weight, y = xW": (SQUARE, "Q", [[7, 12], [15, 26]]),
    "square weight, y = xWᵀ": (SQUARE | {"weight_layout": {"W_Q": "out in"}}, "Q", [[5, 13], [11, 29]]),
    "rotation by halves": (
        ROTATED | {"rope": Rope(pairing="half", offset=1)},
        "Q_rot",
        [[-1.98411, 1.9599, 2.46238, 4.0198]],
    ),
    "rotation of neighbours": (
        ROTATED | {"rope": Rope(pairing="interleaved", offset=1)},
        "Q_rot",
        [[-1.14264, 1.92208, 2.95985, 4.0298]],
    ),
    "a query decoded at its own position": (
        DECODED | {"rope": Rope(pairing="half", offset=2)},
        "scores",
        [[-0.45614, 0.83147, 2.0]],
    ),
    "a query decoded at position 0": (
        DECODED | {"rope": Rope(pairing="half", offset=0)},
        "scores",
        [[1.0, -0.83147, 0.58365]],
    ),
    "softcap of scaled scores": (CAPPED, "softcapped", [[0.995055, 0.761594]]),
    "softcap before the mask": (CAPPED, "weights", [[1, 0]]),
    "slopes of six heads": (
        DISTANCES,
        "biased[0,:,1,0]",
        [-0.25, -0.0625, -0.015625, -0.00390625, -0.5, -0.125],
    ),
    "slopes of six heads, geometric": (
        GEOMETRIC,
        "biased[0,:,1,0]",
        [-0.39685, -0.15749, -0.0625, -0.024803, -0.009843, -0.003906],
    ),
    "sink": (SUNK | {"sink": 3.0}, "weights", [[0.09003, 0.24473]]),
    "sink's output": (SUNK | {"sink": 3.0}, "output", [[2.53732]]),
    "no sink": (SUNK, "output", [[7.57953]]),
    "fused in blocks": (FUSED | {"fused": "block"}, "Q", [[0, 1, 2, 3]]),
    "fused in blocks, keys": (FUSED | {"fused": "block"}, "K", [[4, 5, 6, 7]]),
    "fused in blocks, values": (FUSED | {"fused": "block"}, "V", [[8, 9, 10, 11]]),
    "fused by head": (FUSED | {"fused": "per_head"}, "Q", [[0, 1, 6, 7]]),
    "fused by head, keys": (FUSED | {"fused": "per_head"}, "K", [[2, 3, 8, 9]]),
    "fused by head, values": (FUSED | {"fused": "per_head"}, "V", [[4, 5, 10, 11]]),
    "bias without a scale": (UNSCALED | {"scale": "none"}, "weights", [[0.73106, 0.26894]]),
    "bias with the scale": (UNSCALED, "weights", [[0.32082, 0.67918]]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_stated_convention_has_the_value_of_who_does_it_so(case: str) -> None:
    """Each reading, said in the problem, gives the numbers that it gives elsewhere."""
    keys, part, right = CASES[case]
    name, _, index = part.partition("[")
    got = stage(name, **keys)
    cell = tuple(slice(None) if each == ":" else int(each) for each in index[:-1].split(",") if each)
    np.testing.assert_allclose(got[cell], right, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize(
    ("mask", "keys"),
    [
        (Mask(causal=True, sliding_window=3), [2, 3, 4]),
        (Mask(causal=True, window={"left": 3}), [1, 2, 3, 4]),
        (Mask(causal=True, window={"left": 3, "right": 2}), [1, 2, 3, 4]),
        (Mask(window={"left": 3, "right": 0}), [1, 2, 3, 4]),
        (Mask(sliding_window=2), [3, 4, 5]),
        (Mask(sliding_window=1), [4]),
        (Mask(causal=True, sliding_window=2, keep_first=1), [0, 3, 4]),
    ],
    ids=["W in all", "W and itself", "causal cuts", "right 0", "both sides", "itself", "first key stays"],
)
def test_a_window_counts_the_querys_own_key_or_does_not(mask: Mask, keys: list[int]) -> None:
    """sliding_window is W keys with the query's own, window is W keys beside it; seen from query 4 of 6."""
    weights = stage("weights", scaled=np.zeros((6, 6)), mask=mask)
    assert np.flatnonzero(weights[4]).tolist() == keys


def test_a_row_without_keys_has_no_log() -> None:
    """Its lse is −∞, so that merging it with another block adds nothing; FlashAttention says +∞."""
    np.testing.assert_allclose(detail("lse", **EMPTY_ROW), [1.10794, -INF], rtol=1e-5)


@pytest.mark.parametrize(
    "keys",
    [{"sink": 1.0}, {"normalize": "sum"}, {"normalize": "none"}, {"mask_when": "after_softmax_renormalized"}],
    ids=str,
)
def test_a_row_without_keys_has_no_weight_where_nothing_divides_by_zero(keys: dict[str, Any]) -> None:
    """With a sink, without softmax or with the mask after it the row is zero, and the note says so."""
    result = compute(Problem(**EMPTY_ROW, **keys, fully_masked="nan"))
    assert not result["weights"].array[1].any()  # type: ignore[index]
    assert result.notes[-1] == "row 2 sees no key: the weights there are 0"


def test_a_row_without_keys_may_be_an_error() -> None:
    """fully_masked: error names the row instead of filling it."""
    with pytest.raises(InputError, match=r"row 2 sees no key that the mask keeps"):
        stage("weights", **EMPTY_ROW, fully_masked="error")


def test_a_padding_mask_is_not_broadcast_over_queries() -> None:
    """A (batch, keys) mask that would fit (queries, keys) is refused: torch takes it without a word."""
    padding = np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    with pytest.raises(InputError, match=r"is that \(batch, keys\) or \(queries, keys\)\?"):
        stage("weights", scaled=np.zeros((2, 2, 3)), mask=Mask(keep=padding))


@pytest.mark.parametrize("mask", [Mask(causal=True), Mask(sliding_window=2)])
def test_a_diagonal_needs_a_corner(mask: Mask) -> None:
    """With more keys than queries no alignment is assumed: libraries are split."""
    with pytest.raises(InputError, match="which key is the first query's own"):
        stage("weights", **ONE_QUERY, mask=mask)
