"""``like``: what each preset says that it stands for, and whether the library agrees."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from attncli.compute import Result, compute
from attncli.presets import PRESETS
from attncli.problem import Mask, Problem, Rope
from attncli.readers import load
from tests.computed import array_of


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


W = {name: draw(4, 4) for name in ("W_Q", "W_K", "W_V")}
CAUSAL = Mask(causal=True)
ACROSS = {"Q": draw(2, 4), "K": draw(3, 4), "V": draw(3, 4), "mask": CAUSAL}
PAST = {"K": draw(5, 4), "V": draw(5, 4)}
CUBES = {name: draw(4, 2, 2) for name in W}

EXPANSIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "torch_sdpa": (
        "torch_sdpa",
        ACROSS,
        "mask.align: top_left, fully_masked: zeros, masked_values: ieee, kv_head_map: repeat",
    ),
    "torch_mha": (
        "torch_mha",
        {"X": draw(3, 4), "W_QKV": draw(12, 4), "mask": CAUSAL},
        "weight_layout: out in, fused: block, fully_masked: nan, masked_values: ieee",
    ),
    "keras": (
        "keras",
        {"X": draw(3, 4), **CUBES, "mask": CAUSAL},
        "weight_layout: in head dim, mask.align: top_left, mask_fill: -1e+09, masked_values: ieee",
    ),
    "keras, plain weights": ("keras", {"X": draw(3, 4), **W}, "masked_values: ieee"),
    "jax": (
        "jax",
        ACROSS,
        "mask.align: top_left, mask_fill: finfo_min, masked_values: ieee, kv_head_map: repeat",
    ),
    "onnx": (
        "onnx",
        ACROSS,
        "mask.align: top_left, fully_masked: zeros, masked_values: ieee, kv_head_map: repeat",
    ),
    "onnx, cache": (
        "onnx",
        {**ACROSS, "past": PAST},
        "mask.offset: 5, fully_masked: zeros, masked_values: ieee, kv_head_map: repeat",
    ),
    "onnx, lengths": (
        "onnx",
        {**ACROSS, "mask": Mask(causal=True, lengths=(2,))},
        "mask.align: bottom_right, fully_masked: zeros, masked_values: ieee, kv_head_map: repeat",
    ),
    "flash": ("flash", ACROSS, "mask.align: bottom_right, fully_masked: zeros, kv_head_map: repeat"),
    "hf": (
        "hf",
        {"X": draw(3, 4), **W, "rope": Rope(), "mask": CAUSAL},
        "weight_layout: out in, rope.pairing: half, mask_fill: finfo_min, masked_values: ieee, kv_head_map: repeat",
    ),
    "x_transformers": (
        "x_transformers",
        {"X": draw(3, 4), **W, "rope": Rope(), "mask": CAUSAL},
        "weight_layout: out in, rope.pairing: interleaved, mask_fill: finfo_min, masked_values: ieee, kv_head_map: tile",
    ),
    "no mask": ("torch_sdpa", {"Q": draw(2, 4), "K": draw(3, 4)}, "masked_values: ieee, kv_head_map: repeat"),
    "part of a layout": (
        "torch_mha",
        {"X": draw(3, 4), **W, "W_O": draw(4, 4), "weight_layout": {"W_O": "in out"}},
        "weight_layout: {W_O: in out, W_Q: out in, W_K: out in, W_V: out in}, masked_values: ieee",
    ),
}


def like(name: str, **keys: Any) -> Result:
    return compute(Problem(**keys, like=name))


@pytest.mark.parametrize("case", EXPANSIONS)
def test_a_preset_says_what_it_stands_for(case: str) -> None:
    """The note lists the keys that were filled in, and only those that have something to work on."""
    name, keys, said = EXPANSIONS[case]
    assert like(name, **keys).notes[0] == f"like: {name} stands for {said}"


def test_every_preset_is_in_the_table() -> None:
    """A new preset takes a row above."""
    assert {name for name, *_ in EXPANSIONS.values()} == set(PRESETS)


SAID = {
    "weight_layout": "weight_layout: in out",
    "fused": "fused: per_head",
    "mask.align": "mask: {causal: true, align: top_left}",
    "mask.offset": "mask: {causal: true, offset: 1}",
    "mask_fill": "mask_fill: -inf",
    "fully_masked": "fully_masked: zeros",
    "masked_values": "masked_values: exclude",
    "kv_head_map": "kv_head_map: repeat",
    "rope.pairing": "rope: {pairing: interleaved}",
}
"""Keys that presets set, as a file says them; most say what holds without a preset."""

FILE = {
    "X": "X: [[1, 2], [3, 5]]",
    "W_QKV": "W_QKV: [[1, 0, 1, 2, 1, 3], [2, 1, 1, 0, 0, 1]]",
    **{line.partition(":")[0]: line for line in (*SAID.values(), "fused: block", "mask: causal")},
}
"""A file that says all of them, by the key at the start of each line."""


@pytest.mark.parametrize("key", SAID)
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_never_overrides_what_is_said(name: str, key: str, tmp_path: pathlib.Path) -> None:
    """A key that the file says stays, also where that is its default."""
    needed = {"X", "W_QKV", "fused", "rope", "mask", "weight_layout"}
    lines = {each: line for each, line in FILE.items() if each in needed}
    lines[key.partition(".")[0]] = SAID[key]
    path = tmp_path / "p.yaml"
    path.write_text("\n".join(lines.values()))
    (problem,) = load(str(path), [f"like={name}"])
    note = compute(problem).notes[0]
    assert note.startswith(f"like: {name} stands for ")
    assert f" {key}: " not in note
    assert "mask.align" not in note or not key.startswith("mask.")


@pytest.mark.parametrize("name", PRESETS)
def test_a_file_that_says_everything_is_left_as_it_is(name: str, tmp_path: pathlib.Path) -> None:
    """With every key said, a preset stands for nothing."""
    path = tmp_path / "p.yaml"
    path.write_text("\n".join({**FILE, "mask": SAID["mask.align"]}.values()))
    (problem,) = load(str(path), [f"like={name}"])
    assert compute(problem).notes[0] == f"like: {name} stands for nothing here"


SHAPES = {"Q": (2, 4, 3, 8), "K": (2, 2, 5, 8), "V": (2, 2, 5, 6)}
ARRAYS = {name: draw(*shape) for name, shape in SHAPES.items()}
KEEP = draw(2, 4, 3, 5) > 0
KEEP[0, 1, 2] = False  # a query that sees no key


def test_torch_sdpa_is_torchs() -> None:
    """Causal from the top left, an empty row of zeros, grouped heads repeated, NaN spread."""
    torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    sdpa = torch.nn.functional.scaled_dot_product_attention
    tensors = [torch.from_numpy(array) for array in ARRAYS.values()]
    for mask, keys in (
        (CAUSAL, {"is_causal": True}),
        (Mask(keep=KEEP), {"attn_mask": torch.from_numpy(KEEP)}),
    ):
        wanted = sdpa(*tensors, enable_gqa=True, **keys).numpy()
        got = array_of(like("torch_sdpa", **ARRAYS, mask=mask), "head_output")
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    behind = ARRAYS | {"V": np.where(np.arange(5)[:, None] == 4, np.nan, ARRAYS["V"])}
    wanted = sdpa(*map(torch.from_numpy, behind.values()), enable_gqa=True, is_causal=True).numpy()
    got = array_of(like("torch_sdpa", **behind, mask=CAUSAL), "head_output")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    assert np.isnan(got).all()


def test_torch_mha_is_torchs() -> None:
    """Packed weights in blocks of rows, and NaN for a query that sees no key when weights are asked for."""
    torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    module = torch.nn.MultiheadAttention(4, 2, dtype=torch.float64, batch_first=True, bias=False)
    x, keep = draw(1, 3, 4), np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    with torch.no_grad():
        out, weights = module(
            *[torch.from_numpy(x)] * 3, attn_mask=torch.from_numpy(~keep), average_attn_weights=False
        )
    result = like(
        "torch_mha",
        X=x,
        W_QKV=module.in_proj_weight.detach().numpy(),
        W_O=module.out_proj.weight.detach().numpy(),
        num_heads=2,
        mask=Mask(keep=keep),
        mask_layout="query key",
    )
    np.testing.assert_allclose(array_of(result, "weights"), weights.numpy(), atol=1e-12)
    np.testing.assert_allclose(array_of(result, "output"), out.numpy(), atol=1e-12)
    assert np.isnan(array_of(result, "output")[0, 1]).all()
    assert result.notes[-1].endswith("the weights there are NaN (fully_masked: nan)")


@pytest.mark.parametrize(
    ("mask", "keys"),
    [
        (CAUSAL, {"is_causal": True}),
        (Mask(keep=KEEP), {"mask": KEEP}),
        (Mask(causal=True, keep=KEEP), {"is_causal": True, "mask": KEEP}),
        (Mask(window={"left": 1, "right": 0}), {"local_window_size": (1, 0)}),
        (Mask(lengths=(4, 2)), {"key_value_seq_lengths": np.array([4, 2], dtype=np.int32)}),
    ],
    ids=["causal", "mask with an empty row", "both", "window", "lengths"],
)
def test_jax_is_jaxs(mask: Mask, keys: dict[str, Any]) -> None:
    """Causal and windows from the top left, an empty row of equal weights, grouped heads repeated."""
    jax = pytest.importorskip("jax", reason='needs JAX: pip install "attncli[jax]"')
    turned = [array.swapaxes(1, 2).astype(np.float32) for array in ARRAYS.values()]
    turned[2] = np.pad(turned[2], [(0, 0)] * 3 + [(0, 2)])  # JAX wants values as wide as keys
    bias = draw(1, 4, 3, 5).astype(np.float32)
    wanted = jax.nn.dot_product_attention(*turned, bias=bias, **keys)
    arrays = dict(zip("QKV", turned, strict=True))
    result = like("jax", **arrays, qkv_layout="batch seq head dim", bias=bias, mask=mask, dtype="float32")
    got = array_of(result, "head_output").swapaxes(1, 2)
    np.testing.assert_allclose(got, np.asarray(wanted), rtol=0, atol=2e-6)
