"""One body of code on every array library: the same numbers, and never two devices at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.core.attention import attend
from attncli.core.inputs import Inputs
from attncli.problem import T5, AdditiveScore, Alibi, Dropout, Mask, Problem, Rms, Rope, Sinusoidal, Variant
from attncli.resolve import resolve
from attncli.trace import STAGES, Trace
from tests.conftest import Namespace


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


def with_nan(array: np.ndarray, row: int) -> np.ndarray:
    array = array.copy()
    array[..., row, :] = np.nan
    array[..., row, -1] = np.inf
    return array


def with_zeros(array: np.ndarray, row: int) -> np.ndarray:
    array = array.copy()
    array[row] = 0
    return array


WEIGHTS = {"W_Q": draw(4, 6), "W_K": draw(4, 6), "W_V": draw(4, 6)}
BIASES = {"b_Q": draw(6), "b_K": draw(6), "b_V": draw(6)}
OUTPUT = {"W_O": draw(6, 5), "b_O": draw(5)}
QKV = {"Q": draw(2, 4, 3, 2), "K": draw(2, 2, 5, 2), "V": draw(2, 2, 5, 3)}
PADDED = np.array([[True, True, True], [True, False, False]])
EVERY_MASK = Mask(
    causal=True,
    keep=draw(3, 3) > -2,
    drop=draw(3, 3) > 2,
    additive=np.where(draw(3, 3) > -1.5, draw(3, 3), -np.inf),
    key_padding=PADDED,
    query_padding=PADDED,
    lengths=(3, 2),
    window={"left": 1},
    sliding_window=2,
    keep_first=1,
    align="bottom_right",
)

PROBLEMS: dict[str, dict[str, Any]] = {
    "no weights": {"X": draw(3, 4)},
    "one head": {"X": draw(3, 4), **WEIGHTS, **BIASES},
    "heads": {"X": draw(3, 4), **WEIGHTS, **BIASES, **OUTPUT, "num_heads": 3},
    "one head with W_O": {"X": draw(3, 4), **WEIGHTS, **OUTPUT},
    "batch": {"X": draw(2, 3, 4), **WEIGHTS, **OUTPUT, "num_heads": 2},
    "context": {"X": draw(3, 4), "context": {"K": draw(5, 4), "V": draw(5, 4)}, **WEIGHTS, "num_heads": 2},
    "repeat": {**QKV},
    "tile": {**QKV, "kv_head_map": "tile"},
    "no values": {"Q": draw(3, 4), "K": draw(5, 4)},
    "scale": {"Q": draw(3, 4), "K": draw(5, 4), "scale": 0.3, "temperature": 2.0},
    "divisor": {"Q": draw(3, 4), "K": draw(5, 4), "divide_by": 3},
    "no scale": {"Q": draw(3, 4), "K": draw(5, 4), "scale": "none"},
    "scores": {"scores": draw(3, 5), "V": draw(5, 2), "d_k": 4},
    "scaled": {"scaled": draw(2, 3, 5), "V": draw(2, 5, 2)},
    "masked": {"masked": np.where(draw(3, 3) > 0, draw(3, 3), -np.inf), "V": with_nan(draw(3, 2), 2)},
    "every mask": {"X": draw(2, 3, 4), **WEIGHTS, **OUTPUT, "num_heads": 2, "mask": EVERY_MASK},
    "window to the right": {**QKV, "mask": Mask(window={"right": 1}, align="top_left")},
    "offset": {**QKV, "mask": Mask(causal=True, offset=1)},
    "lengths": {**QKV, "mask": Mask(causal=True, lengths=(5, 2), align="bottom_right")},
    "mask by head": {**QKV, "mask": Mask(keep=draw(1, 4, 3, 5) > 0)},
    "empty row": {"scaled": draw(2, 3), "V": draw(3, 2), "mask": Mask(keep=np.eye(2, 3) > 2)},
    "empty row of nan": {"scaled": draw(2, 3), "mask": Mask(keep=np.eye(2, 3) > 2), "fully_masked": "nan"},
    "finite fill": {**QKV, "mask": Mask(causal=True, offset=2), "mask_fill": -1e9},
    "smallest fill": {**QKV, "mask": Mask(causal=True, offset=2), "mask_fill": "finfo_min"},
    "empty row, ieee": {
        "scaled": draw(2, 3),
        "V": with_nan(draw(3, 2), 2),
        "masked_values": "ieee",
        "mask": Mask(keep=np.array([[0, 0, 0], [1, 0, 1]], dtype=bool)),
    },
    "empty row of nan, mixed": {
        "scaled": draw(2, 3),
        "V": draw(3, 2),
        "fully_masked": "nan",
        "mask": Mask(keep=np.array([[0, 0, 0], [1, 0, 1]], dtype=bool)),
    },
    "nan that is dropped": {
        "Q": with_nan(draw(3, 2), 0),
        "K": draw(3, 2),
        "V": draw(3, 2),
        "dropout": Dropout(p=0.5, keep=np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)),
    },
    "empty row of nan that is dropped": {
        "scaled": draw(2, 3),
        "V": draw(3, 2),
        "fully_masked": "nan",
        "mask": Mask(keep=np.array([[0, 0, 0], [1, 0, 1]], dtype=bool)),
        "dropout": Dropout(p=0.5, keep=np.array([[0, 0, 0], [1, 1, 0]], dtype=bool)),
    },
    "nan that is masked after": {
        "Q": with_nan(draw(3, 2), 0),
        "K": draw(3, 2),
        "V": draw(3, 2),
        "mask_when": "after_softmax",
        "mask": Mask(keep=np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)),
    },
    "nan of queries": {"Q": with_nan(draw(3, 2), 2), "K": draw(3, 2), "V": draw(3, 2)},
    "nan of keys": {"Q": draw(3, 2), "K": with_nan(draw(3, 2), 2), "V": draw(3, 2)},
    "infinite values": {"Q": draw(3, 2), "K": draw(3, 2), "V": np.full((3, 2), np.inf)},
    "masked nan": {"X": with_nan(draw(3, 4), 2), **WEIGHTS, "mask": Mask(causal=True)},
    "masked nan and fill": {"X": with_nan(draw(3, 4), 2), "mask": Mask(causal=True), "mask_fill": -1e9},
    "masked nan, ieee": {"X": with_nan(draw(3, 4), 2), "mask": Mask(causal=True), "masked_values": "ieee"},
    "sinusoidal": {"X": draw(3, 4), "position_encoding": Variant("sinusoidal", Sinusoidal(offset=2))},
    "encoding as given": {"X": draw(2, 3, 4), "position_encoding": draw(3, 4)},
    "rope by halves": {**QKV, "rope": Rope(pairing="half")},
    "rope interleaved": {
        "X": draw(3, 6),
        "num_heads": 1,
        "rope": Rope(pairing="interleaved", dim=4, offset=3),
    },
    "norm": {**QKV, "qk_norm": Variant("rms", Rms(weight_Q=draw(2)))},
    "cache": {
        **QKV,
        "past": {"K": draw(2, 2, 4, 2), "V": draw(2, 2, 4, 3)},
        "mask": Mask(causal=True, offset=4),
    },
    "cosine": {"Q": with_zeros(draw(3, 4), 1), "K": draw(5, 4), "score": "cosine"},
    "general": {"Q": draw(3, 4), "K": draw(5, 2), "score": Variant("general", draw(4, 2))},
    "additive": {
        "Q": draw(3, 4),
        "K": draw(5, 2),
        "V": draw(5, 2),
        "score": Variant("additive", AdditiveScore(W_q=draw(4, 3), W_k=draw(2, 3), v=draw(3))),
    },
    "additive without weights": {**QKV, "score": Variant("additive", AdditiveScore())},
    "softcap and bias": {**QKV, "softcap": 2.0, "bias": draw(3, 5)},
    "bias before scale": {**QKV, "bias": draw(1, 4, 3, 5), "bias_position": "before_scale"},
    "alibi and t5": {
        **QKV,
        "bias": (Variant("alibi", Alibi()), Variant("t5", T5(table=draw(8, 4)))),
        "bias_position": "before_softcap",
        "softcap": 3.0,
    },
    "sink": {**QKV, "sink": (0.5, -1.0, 2.0, 0.0), "mask": Mask(causal=True, offset=-1)},
    "sums": {
        "Q": np.abs(draw(3, 4)),
        "K": np.abs(draw(5, 4)),
        "normalize": "sum",
        "mask": Mask(causal=True, offset=0),
    },
    "no softmax": {**QKV, "normalize": "none", "mask": Mask(causal=True, offset=0)},
    "mask after softmax": {"X": draw(3, 4), "mask": Mask(causal=True), "mask_when": "after_softmax"},
    "renormalized": {"X": draw(3, 4), "mask": Mask(causal=True), "mask_when": "after_softmax_renormalized"},
    "dropout": {**QKV, "dropout": Dropout(p=0.4, seed=1)},
}
by_problem = pytest.mark.parametrize("name", PROBLEMS)


def inputs(name: str) -> Inputs:
    return resolve(Problem(**PROBLEMS[name])).inputs


def run(given: Inputs) -> Trace:
    trace = Trace(given.axes, large_details=True)
    with np.errstate(all="ignore"):
        attend(given, trace)
    return trace


def same(name: str, got: np.ndarray, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=name)


@by_problem
def test_every_array_library_gives_the_same_numbers(xp: Namespace, name: str) -> None:
    """Each stage and each detail is NumPy's, on every array library."""
    wanted, got = run(inputs(name)), run(inputs(name).map(xp.asarray))
    assert list(got.records) == list(wanted.records)
    for ours, theirs in zip(wanted, got, strict=True):
        assert (theirs.axes, theirs.shape, theirs.formula) == (ours.axes, ours.shape, ours.formula)
        assert list(theirs.details) == list(ours.details)
        same(theirs.stage.name, xp.to_numpy(theirs.array), ours.array)
        for each, array in theirs.details.items():
            same(each, xp.to_numpy(array), ours.details[each])


@by_problem
def test_shapes_are_those_that_the_axes_promise(name: str) -> None:
    """A record's array has one axis for each name, and so have its details."""
    for record in run(inputs(name)):
        assert record.array is not None
        assert len(record.axes) == record.array.ndim, record.stage.name
        absent = set(record.stage.axes) - set(record.axes)
        for each, array in record.details.items():
            promised = [axis for axis in record.stage.details[each].axes if axis not in absent]
            assert array.ndim == len(promised), each


@by_problem
def test_weighted_values_add_up_to_the_output(name: str) -> None:
    """The addends shown for an output are those that it is the sum of, masked NaN left out."""
    for record in run(inputs(name)):
        if "weighted_values" in record.details:
            total = record.details["weighted_values"].sum(axis=-2)
            same("weighted_values", total, record.array)


def test_the_table_reaches_every_stage() -> None:
    """No stage is declared that none of these problems computes."""
    assert {record.stage.name for name in PROBLEMS for record in run(inputs(name))} == set(STAGES)


@by_problem
def test_every_operation_stays_on_the_device(name: str) -> None:
    """Nothing is made on another device than the inputs': torch's fake tensors check each operation."""
    torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    fake = pytest.importorskip("torch._subclasses.fake_tensor")

    def elsewhere(array: np.ndarray) -> Any:
        return torch.from_numpy(array.copy()).to("meta")

    given = inputs(name).map(elsewhere)
    with fake.FakeTensorMode(allow_non_fake_inputs=True):
        trace = run(given)
    for record in trace:
        arrays = {"": record.array, **record.details}
        assert {each: a.device.type for each, a in arrays.items()} == dict.fromkeys(arrays, "meta")


def test_mixed_devices_would_have_failed() -> None:
    """The check above is one: an input that is left on the CPU stops the computation."""
    pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    import torch  # noqa: PLC0415, TID251  (behind the skip)

    fake = pytest.importorskip("torch._subclasses.fake_tensor")

    def half_way(array: np.ndarray) -> Any:
        tensor = torch.from_numpy(array.copy())
        return tensor if array.dtype == np.bool_ else tensor.to("meta")

    given = inputs("every mask").map(half_way)
    with (
        fake.FakeTensorMode(allow_non_fake_inputs=True),
        pytest.raises(RuntimeError, match=r"same device|not on the expected device"),
    ):
        run(given)
