"""Narrow dtypes: which numbers are rounded, to what, and what becomes of those that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.problem import Mask, Problem
from tests.computed import array_of, stage

torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')

HALVES = ("bfloat16", "float16")


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


GIVEN: dict[str, Any] = {"Q": draw(3, 8), "K": draw(5, 8), "V": draw(5, 4)}


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """Round as torch does, and widen again: every number of a half is one of float32."""
    made = torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, dtype))
    return np.asarray(made.to(torch.float32).numpy())


def softmax(m: np.ndarray) -> np.ndarray:
    e = np.exp(m - m.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("softmax_in", ["float32", "bfloat16", "float16"])
def test_each_part_is_rounded_to_its_own_dtype(half: str, softmax_in: str) -> None:
    """Bit for bit: inputs and scores as qk says, weights as softmax says, output as pv says."""
    result = compute(Problem(**GIVEN, dtype={"qk": half, "softmax": softmax_in, "pv": "float32"}))
    q, k, v = (cast(GIVEN[name], half) for name in "QKV")
    scores = cast(q @ k.T, half)
    scaled = cast(scores / np.sqrt(np.float32(8)), half)
    weights = cast(softmax(scaled), softmax_in)
    for name, wanted in {
        "scores": scores,
        "scaled": scaled,
        "weights": weights,
        "output": weights @ v,
    }.items():
        np.testing.assert_array_equal(array_of(result, name), wanted, err_msg=name)
    assert result.dtype == f"qk {half}, softmax {softmax_in}, pv float32"


@pytest.mark.parametrize("half", HALVES)
def test_a_dtype_for_all_is_that_dtype_for_each(half: str) -> None:
    """One name, and the same name three times, are the same numbers."""
    one = compute(Problem(**GIVEN, dtype=half))
    three = compute(Problem(**GIVEN, dtype=dict.fromkeys(("qk", "softmax", "pv"), half)))
    for a, b in zip(one.records, three.records, strict=True):
        np.testing.assert_array_equal(a.array, b.array)


def test_only_the_output_is_narrow() -> None:
    """What is not said stays float64, and W_O comes in at the part that it works in."""
    w_o = draw(4, 2)
    result = compute(Problem(**GIVEN, W_O=w_o, dtype={"pv": "float16"}))
    assert array_of(result, "weights").dtype == np.float64
    np.testing.assert_array_equal(array_of(result, "scores"), GIVEN["Q"] @ GIVEN["K"].T)
    mixed = array_of(result, "weights") @ GIVEN["V"]
    once = mixed.astype(np.float16).astype(np.float64)
    twice = (once @ w_o.astype(np.float16).astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(array_of(result, "output"), twice)


def test_torch_rounds_where_numpy_does() -> None:
    """On torch the same stages are rounded; a sum in another order moves a number by one step at most."""
    dtype = {"qk": "bfloat16", "softmax": "float32", "pv": "bfloat16"}
    ours, theirs = (compute(Problem(**GIVEN, dtype=dtype), backend=name) for name in ("numpy", "torch"))
    for record in ours.records:
        name, other = record.stage.name, array_of(theirs, record.stage.name)
        np.testing.assert_allclose(other, array_of(ours, name), rtol=2.0**-7, atol=1e-7, err_msg=name)
        if name != "weights":
            np.testing.assert_array_equal(other, cast(other, "bfloat16"), err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", {"qk": "float16", "softmax": "float32", "pv": "float16"}])
def test_an_overflow_is_located(dtype: Any) -> None:
    """300·300·2 does not fit float16: the note names the stage and the cell, and the output is NaN."""
    q = np.array([[1.0, 1.0], [300.0, 300.0]])
    result = compute(Problem(Q=q, K=q, V=q, dtype=dtype))
    assert result.notes[0] == "scores holds infinity at row 2, column 2 (scores[1][1])"
    assert np.isnan(array_of(result, "output")[1]).all()
    assert not compute(Problem(Q=q, K=q, V=q, dtype="bfloat16")).notes


@pytest.mark.parametrize(("dtype", "row"), [("float32", [0.5, 0.5]), ("float64", [0.26894, 0.73106])])
def test_a_finite_fill_hides_nothing_from_an_empty_row(dtype: str, row: list[float]) -> None:
    """−1e9 swallows the scores in float32, which gives equal weights; float64 keeps their difference."""
    nothing = Mask(keep=np.zeros((1, 2), dtype=bool))
    got = stage("weights", scaled=np.array([[1.0, 2.0]]), mask=nothing, mask_fill=-1e9, dtype=dtype)
    np.testing.assert_allclose(got, [row], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32", *HALVES])
def test_the_smallest_number_is_torchs(dtype: str) -> None:
    """finfo_min is torch.finfo's for the dtype; a masked score of 0 becomes exactly that."""
    drop = Mask(drop=np.array([[True, False]]))
    got = stage("masked", scaled=np.zeros((1, 2)), mask=drop, mask_fill="finfo_min", dtype=dtype)
    assert got[0].tolist() == [torch.finfo(getattr(torch, dtype)).min, 0]
