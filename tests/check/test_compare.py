"""Results that torch computed, held against the problem: right ones pass, and a fault names its stage."""

from __future__ import annotations

import math
import pathlib
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.check.compare import COMPARED, Comparison, Side, check_result, compared, least
from attncli.check.differ import check_diff, computed
from attncli.checking import Way, diff
from attncli.errors import InputError
from attncli.meant import ALIASES
from attncli.problem import Mask, Problem
from attncli.readers.result import is_result, read_result

torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
seeds = st.integers(0, 10_000)

SEQ, DIM, HEADS = 7, 24, 4
PRECISIONS = ("float64", "float32", "float16", "bfloat16")
NAMES = ("Q_heads", "K_heads", "V_heads", "scores", "scaled", "masked", "weights", "head_output", "output")


def drawn(seed: int, **keys: Any) -> Problem:
    draw = np.random.default_rng(seed)
    weights = {
        name: draw.uniform(-1, 1, (DIM, DIM)) / math.sqrt(DIM) for name in ("W_Q", "W_K", "W_V", "W_O")
    }
    made = {"X": draw.normal(size=(SEQ, DIM)), **weights, "num_heads": HEADS, "mask": Mask(causal=True)}
    return Problem(**{**made, "weight_layout": "out in", **keys})


def by_torch(problem: Problem, dtype: str, fault: str = "") -> dict[str, Any]:
    """Compute a problem in torch alone, as a model's forward pass does, with a fault in one stage."""
    own = getattr(torch, dtype)
    x, w_q, w_k, w_v, w_o = (
        torch.from_numpy(np.asarray(getattr(problem, name))).to(own)
        for name in ("X", "W_Q", "W_K", "W_V", "W_O")
    )
    if fault == "K_heads":
        w_k = w_k.T
    q, k, v = (torch.nn.functional.linear(x, w).view(SEQ, HEADS, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    s = q @ k.transpose(-1, -2)
    z = s / math.sqrt(DIM if fault == "scaled" else DIM // HEADS)
    hidden = torch.ones(SEQ, SEQ).triu(1).bool()
    m = z.masked_fill(hidden.T if fault == "masked" else hidden, float("-inf"))
    a = torch.softmax(m, -2 if fault == "weights" else -1)
    a = torch.nan_to_num(a)
    heads = (a if fault != "head_output" else a.flip(0)) @ v
    joined = heads.transpose(0, 1).reshape(SEQ, DIM) if fault != "output" else heads.reshape(SEQ, DIM)
    return dict(
        zip(NAMES, (q, k, v, s, z, m, a, heads, torch.nn.functional.linear(joined, w_o)), strict=True)
    )


def held(problem: Problem, dtype: str, fault: str = "") -> Comparison:
    arrays = {name: tensor.double().numpy() for name, tensor in by_torch(problem, dtype, fault).items()}
    return check_result(
        problem, "torch", Side(name="torch", arrays=arrays, precisions=dict.fromkeys(arrays, dtype))
    )


@pytest.mark.parametrize("dtype", PRECISIONS)
@settings(max_examples=25)
@given(seed=seeds)
def test_what_torch_computes_is_within_what_its_precision_allows(dtype: str, seed: int) -> None:
    """Attention in torch itself is right in every precision, at every stage."""
    found = held(drawn(seed), dtype)
    assert found.first is None, found.first
    assert [row.stage for row in found.rows] == list(NAMES)


def sums_by_torch(dtype: str, base: float = math.e) -> tuple[Problem, Side]:
    """Let torch take the logarithm of the sums of exponentials, as fused kernels hand it back."""
    problem = drawn(2)
    masked = by_torch(problem, dtype)["masked"]
    lse = torch.logsumexp(masked, -1) / math.log(base)
    arrays = {"weights": torch.softmax(masked, -1).double().numpy(), "lse": lse.double().numpy()}
    return problem, Side(name="torch", arrays=arrays, precisions=dict.fromkeys(arrays, dtype))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_log_of_the_sums_is_compared(dtype: str) -> None:
    """That of torch.logsumexp is right in every precision, as a stage would be, and in base 2 it is none."""
    found = check_result(sums_by_torch(dtype)[0], "torch", sums_by_torch(dtype)[1])
    assert [(row.stage, row.shape, row.wrong) for row in found.rows] == [
        ("weights", (HEADS, SEQ, SEQ), 0),
        ("lse", (HEADS, SEQ), 0),
    ]
    problem, side = sums_by_torch(dtype, base=2)
    first = check_result(problem, "torch", side).first
    assert first is not None
    assert first.stage == "lse"
    assert first.wrong > HEADS * SEQ // 2  # near 0, half precision does not tell the bases apart
    two = replace(side, arrays={"lse2": side.arrays["lse"]}, precisions={"lse2": dtype})
    assert check_result(problem, "torch", two).first is None


def test_two_files_of_sums_are_compared(tmp_path: pathlib.Path) -> None:
    """Under the names that kernels have for them, and that of attn."""
    _, side = sums_by_torch("float32")
    lse = side.arrays["lse"].astype(np.float32)
    np.savez(tmp_path / "a.npz", softmax_lse=lse)
    np.savez(tmp_path / "b.npz", lse=lse + np.float32(0.01) * (np.arange(SEQ) == 3))
    (found,) = diff(Way(str(tmp_path / "a.npz")), Way(str(tmp_path / "b.npz")), [])
    assert [(row.stage, row.index[1], row.wrong) for row in found.rows] == [("lse", 3, HEADS)]


@settings(max_examples=25)
@given(seed=seeds)
def test_where_large_products_cancel_more_is_allowed(seed: int) -> None:
    """Scores near 0 that are sums of thousands are as far off in torch as they are in ours."""
    draw = np.random.default_rng(seed)
    q, k = 1000 + draw.normal(size=(40, 50)), draw.normal(size=(40, 50))
    k -= k.mean(axis=-1, keepdims=True)
    own_q, own_k = (torch.from_numpy(array).float() for array in (q, k))
    scaled = own_q @ own_k.T / math.sqrt(50)
    side = Side(name="torch", arrays={"scaled": scaled.double().numpy()}, precisions={"scaled": "float32"})
    found = check_result(Problem(Q=q, K=k), "torch", side)
    assert found.first is None
    assert found.rows[0].largest > 10 * least(side.arrays["scaled"], "float32")


def one_after_another(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Multiply two matrices in float32, with one addition after the other."""
    total = np.zeros((len(a), b.shape[1]), dtype=np.float32)
    for i in order:
        total += a[:, i : i + 1] * b[i : i + 1]
    return total


def cancelling(seed: int, seq: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw queries and keys, exact in float32, whose second half takes away what the first half adds."""
    draw = np.random.default_rng(seed)
    q, k = draw.normal(size=(seq, dim)), draw.normal(size=(seq, dim))
    q[:, dim // 2 :] = q[:, : dim // 2]
    k[:, dim // 2 :] = 1e-3 * draw.normal(size=(seq, dim // 2)) - k[:, : dim // 2]
    return q.astype(np.float32), k.astype(np.float32)


@pytest.mark.parametrize(("seq", "dim"), [(1, 64), (3, 8), (3, 64), (8, 256)])
@settings(max_examples=10)
@given(seed=seeds)
def test_any_order_of_additions_is_right(seq: int, dim: int, seed: int) -> None:
    """Float32 sums that nearly cancel pass in whatever order they are added up, and so does what follows."""
    q, k = cancelling(seed, seq, dim)
    s = one_after_another(q, k.T, np.random.default_rng(seed).permutation(dim))
    z = s / np.sqrt(np.float32(dim))
    a = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    arrays = {"scores": s, "scaled": z, "weights": a, "output": one_after_another(a, k, np.arange(seq))}
    side = Side(name="it", arrays=arrays, precisions=dict.fromkeys(arrays, "float32"))
    found = check_result(Problem(Q=q, K=k, V=k), "it", side)
    assert found.first is None, found.first


def test_a_sum_may_be_off_by_what_its_terms_allow_and_no_more() -> None:
    """The bound is √n·u·Σ|a·b|, with a part that float32 itself takes of it: ten times as much is wrong."""
    q, k = cancelling(4, 8, 64)
    bound = math.sqrt(64) * 2.0**-24 * np.abs(q) @ np.abs(k.T)
    exact = q.astype(float) @ k.T.astype(float)
    for share, wrong in ((0.9, False), (10.0, True)):
        side = Side(name="it", arrays={"scores": exact + share * bound}, precisions={"scores": "float32"})
        found = check_result(Problem(Q=q, K=k, V=k), "it", side)
        assert (found.first is not None) == wrong


@pytest.mark.parametrize("fault", ["K_heads", "scaled", "masked", "weights", "head_output", "output"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_fault_names_the_stage_that_it_is_in(dtype: str, fault: str) -> None:
    """With one thing wrong in torch's computation, the first stage that is called wrong is that one."""
    found = held(drawn(3), dtype, fault)
    assert found.first is not None
    assert found.first.stage == fault


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("K_heads", 'weight_layout of W_K were "in out"'),
        ("scaled", "scale were 1/√d_model"),
        ("masked", "the causal mask kept the later keys and the query's own"),
        ("weights", "softmax ran over the queries, not the keys"),
        ("output", "heads were joined without moving their axis"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_fault_is_explained(dtype: str, fault: str, said: str) -> None:
    """The convention that torch was made to follow is named."""
    found = held(drawn(5), dtype, fault).diagnosis
    assert found is not None
    assert found.matches == (said,)


def test_one_number_that_is_off_is_found() -> None:
    """A single wrong number is named by its cell, and explained by no convention."""
    problem = drawn(2)
    arrays = {name: tensor.numpy() for name, tensor in by_torch(problem, "float32").items()}
    arrays["weights"][1, 2, 0] += 1e-4
    side = Side(name="torch", arrays=arrays, precisions=dict.fromkeys(arrays, "float32"))
    found = check_result(problem, "torch", side)
    assert found.first is not None
    assert (found.first.cell, found.first.wrong) == ("weights[1,2,0]", 1)
    assert found.diagnosis is not None
    assert not found.diagnosis.matches


def test_ulps_are_those_of_the_precision() -> None:
    """The next float32 after 1 is one unit in the last place off."""
    ours = Side(name="A", arrays={"weights": np.array([[1.0, 0.5]])}, precisions={"weights": "float64"})
    near = np.array([[np.nextafter(np.float32(1), np.float32(2)), 0.5]], dtype=np.float64)
    other = Side(name="B", arrays={"weights": near}, precisions={"weights": "float32"})
    (row,) = compared(ours, other, {"weights": 0.0})
    assert (row.ulps, row.cell, row.wrong, row.largest) == (1.0, "weights[0,0]", 1, 2.0**-23)


def test_nan_where_nan_is_right_is_no_part_of_what_is_allowed() -> None:
    """Of a stage that is NaN on both sides, nothing is off, and that is 0 of what is allowed."""
    side = Side(name="A", arrays={"weights": np.full((1, 2), np.nan)}, precisions={"weights": "float64"})
    (row,) = compared(side, side, {"weights": 0.0})
    assert (row.wrong, row.largest, row.ratio) == (0, 0.0, 0.0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_what_is_too_small_for_a_precision_may_be_zero(dtype: str) -> None:
    """A number under the smallest that a precision has is lost in it, and no fault; others are not lost."""
    smallest = float(np.finfo(dtype).smallest_subnormal)
    kept = Side(name="A", arrays={"weights": np.zeros((1, 2))}, precisions={"weights": dtype})

    def wrong(number: float) -> int:
        other = replace(kept, arrays={"weights": np.array([[number, 0.0]])})
        found = check_diff(("a", "b"), (kept, other), None)
        assert found.rows[0].ulps == number / smallest
        return found.rows[0].wrong

    assert (wrong(smallest), wrong(100 * smallest)) == (0, 1)


def test_a_masked_score_is_one_whatever_fills_it() -> None:
    """−1e9 stands for −∞ where the mask hides a key; a score that is there does not."""
    problem = drawn(4)
    arrays = {name: tensor.numpy() for name, tensor in by_torch(problem, "float32").items()}
    arrays["masked"] = np.where(np.isinf(arrays["masked"]), -1e9, arrays["masked"])
    precisions = dict.fromkeys(arrays, "float32")
    assert check_result(problem, "x", Side(name="x", arrays=arrays, precisions=precisions)).first is None
    arrays["masked"][0, 0, 1] = -3.0
    found = check_result(problem, "x", Side(name="x", arrays=arrays, precisions=precisions)).first
    assert found is not None
    assert found.stage == "masked"


def test_another_layout_is_refused_with_both_shapes() -> None:
    """Axes in another order are no difference of numbers."""
    problem = drawn(1)
    arrays = {"weights": np.moveaxis(by_torch(problem, "float32")["weights"].numpy(), 0, -1)}
    side = Side(name="the result", arrays=arrays, precisions={"weights": "float32"})
    with pytest.raises(InputError, match="weights is 7×7×4 in the result, but 4×7×7 in the problem"):
        check_result(problem, "x", side)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_precision_of_a_saved_tensor_is_read(tmp_path: pathlib.Path, dtype: str) -> None:
    """A safetensors file keeps every precision, .npz those that NumPy has, under torch's names."""
    from safetensors.torch import save_file  # noqa: PLC0415

    dump = by_torch(drawn(1), dtype)
    save_file(
        {"attn.hook_pattern": dump["weights"].contiguous(), "foo": dump["scores"].contiguous()},
        tmp_path / "a.safetensors",
    )
    found = read_result(str(tmp_path / "a.safetensors"), list(NAMES))
    assert found.precisions == {"weights": dtype}
    assert "foo" in found.notes[0]
    if dtype != "bfloat16":
        np.savez(tmp_path / "a.npz", pattern=dump["weights"].numpy())
        assert read_result(str(tmp_path / "a.npz"), list(NAMES)).precisions == {"weights": dtype}


def test_a_plain_array_needs_a_name(tmp_path: pathlib.Path) -> None:
    """An .npy file has no names in it; --map says which stage it is."""
    np.save(tmp_path / "mine.npy", np.eye(3))
    path = str(tmp_path / "mine.npy")
    with pytest.raises(InputError, match="none of its arrays has the name of a stage") as diffed:
        read_result(path, ["weights"])
    assert diffed.value.fix == "call the file after its stage, such as weights.npy"
    with pytest.raises(InputError, match="none of its arrays has the name of a stage") as checked:
        read_result(path, ["weights"], {})
    assert checked.value.fix == "--map mine=weights says which stage an array is"
    assert read_result(path, ["weights"], {"mine": "weights"}).arrays["weights"].shape == (3, 3)
    with pytest.raises(InputError, match='--map names "other", which is not there'):
        read_result(path, ["weights"], {"other": "weights"})


def test_json_of_stages_is_a_result_and_a_problem_is_none(tmp_path: pathlib.Path) -> None:
    """JSON with stages, ours or anybody's, is a result."""
    (tmp_path / "a.json").write_text('{"stages": {"weights": [[1, 0]]}, "meta": {"dtype": "float16"}}')
    (tmp_path / "b.json").write_text('{"X": [[1, 0]]}')
    assert is_result(str(tmp_path / "a.json"))
    assert not is_result(str(tmp_path / "b.json"))
    assert read_result(str(tmp_path / "a.json"), ["weights"]).precisions == {"weights": "float16"}


def test_aliases_lead_to_stages() -> None:
    """Every name in the table stands for stages that there are, and none hides a stage's own name."""
    assert {stage for stages in ALIASES.values() for stage in stages} <= COMPARED.keys()
    assert all(name == name.lower() and name not in COMPARED for name in ALIASES)


def test_a_problem_agrees_with_itself_on_another_backend_and_precision() -> None:
    """A diff of one problem in NumPy float64 and torch float32 finds no difference, and of two scales one."""
    problem = drawn(6)
    a = computed(problem, "A")
    b = computed(drawn(6, dtype="float32"), "B", "torch")
    assert check_diff(("a", "b"), (a, b), problem).first is None
    c = computed(drawn(6, scale="none"), "B")
    found = check_diff(("a", "c"), (a, c), problem)
    assert found.first is not None
    assert found.first.stage == "scaled"
    assert found.diagnosis is not None
    assert found.diagnosis.matches == ("scale were none",)


def test_the_first_stage_is_the_first_of_the_computation() -> None:
    """Whatever the order of the arrays in two files, the stage that is named is the one that errs first."""
    names = ("concat", "output", "weights", "scaled", "scores")
    right = {name: np.ones((2, 2)) for name in names}
    wrong = {name: array + (name != "scores") for name, array in right.items()}
    a, b = (Side(name="A", arrays=each, precisions=dict.fromkeys(each, "float64")) for each in (right, wrong))
    found = check_diff(("a", "b"), (a, b), None)
    assert [row.stage for row in found.rows] == ["scores", "scaled", "weights", "concat", "output"]
    assert found.first is not None
    assert found.first.stage == "scaled"


@pytest.mark.parametrize(
    ("shape", "fix"),
    [
        ((2, 6, 4), "it has the shape of head_output: .* --map NAME=head_output"),
        ((8, 6), "bring the axes into the order"),
        ((1, 6, 8), "bring the axes into the order"),
        ((5, 8), "made from the same inputs"),
    ],
)
def test_another_shape_says_what_may_be_meant(shape: tuple[int, ...], fix: str) -> None:
    """An array that is another stage by its shape, has its axes in another order, or is of another problem."""
    ours = {"Q_heads": np.ones((2, 6, 4)), "head_output": np.ones((2, 6, 4)), "output": np.ones((6, 8))}
    theirs = {"output": np.ones(shape)}
    a, b = (Side(name="A", arrays=each, precisions=dict.fromkeys(each, "float64")) for each in (ours, theirs))
    with pytest.raises(InputError) as refused:
        check_diff(("a", "b"), (a, b), None)
    assert re.search(fix, refused.value.fix)


def test_two_results_without_a_problem_may_differ_by_a_few_units() -> None:
    """Where nothing tells how errors grow, sixteen units of the largest number are let pass."""
    array = np.array([[1.0, 0.25]])
    a = Side(name="A", arrays={"output": array}, precisions={"output": "float32"})
    for units, same in ((15, True), (17, False)):
        b = Side(name="B", arrays={"output": array + units * 2.0**-23}, precisions={"output": "float32"})
        assert (check_diff(("a", "b"), (a, b), None).first is None) is same
    assert least(array, "float32") == 4 * 2.0**-23
