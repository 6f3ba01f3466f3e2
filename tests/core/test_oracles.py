"""torch's attention as an oracle: it was written by others, and for other reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.problem import Mask, Problem
from tests.computed import array_of, detail, stage

torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
sdpa = torch.nn.functional.scaled_dot_product_attention

TOLERANCE = {
    "float64": 1e-12,  # a sum of a few products, in another order
    "float32": 2e-6,
    # Ours rounds scores, weights and output once each to 11 bits; torch's kernel keeps some of them
    # in float32. Half a unit at scores of 4 is 0.002, and softmax passes no more than that on.
    "float16": 6e-3,
    "bfloat16": 5e-2,  # as float16, with 8 bits
}

# batch, heads, queries, keys, head_dim, value_dim
SHAPES = {
    "square": (2, 2, 4, 4, 3, 3),
    "one-query": (1, 2, 1, 6, 4, 4),
    "cross": (3, 1, 2, 5, 8, 8),
    "wide-values": (1, 2, 3, 4, 2, 5),
    "wide": (1, 4, 9, 9, 64, 64),
}
QKV = "batch head seq dim"


def draw(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, *shape]).normal(size=shape))


def draw_qkv(shape: str, kv_heads: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    batch, heads, seq_q, seq_k, dim, value_dim = SHAPES[shape]
    kv_heads = kv_heads or heads
    return (
        draw((batch, heads, seq_q, dim), 1),
        draw((batch, kv_heads, seq_k, dim), 2),
        draw((batch, kv_heads, seq_k, value_dim), 3),
    )


def draw_mask(shape: str) -> np.ndarray:
    """Draw a mask that leaves every query at least one key."""
    batch, heads, seq_q, seq_k, *_ = SHAPES[shape]
    keep = draw((batch, heads, seq_q, seq_k), 4) > 0.2
    keep[..., 0] |= ~keep.any(axis=-1)
    return np.asarray(keep)


def numpy_of(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().to(torch.float64).numpy())


def ours(q: np.ndarray, k: np.ndarray, v: np.ndarray, **keys: Any) -> np.ndarray:
    return stage("head_output", Q=q, K=k, V=v, **keys)


def theirs(*arrays: np.ndarray, dtype: str = "float64", **keys: Any) -> np.ndarray:
    tensors = [torch.from_numpy(array).to(getattr(torch, dtype)) for array in arrays]
    return numpy_of(sdpa(*tensors, **keys))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_plain_attention_is_torchs(shape: str, dtype: str) -> None:
    """Without a mask, ours is torch's for every shape, to the precision of the dtype."""
    q, k, v = draw_qkv(shape)
    wanted = theirs(q, k, v, dtype=dtype)
    np.testing.assert_allclose(ours(q, k, v, dtype=dtype), wanted, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_boolean_mask_keeps_what_torch_keeps(shape: str, dtype: str) -> None:
    """True keeps, in ours as in torch."""
    q, k, v = draw_qkv(shape)
    keep = draw_mask(shape)
    wanted = theirs(q, k, v, dtype=dtype, attn_mask=torch.from_numpy(keep))
    got = ours(q, k, v, dtype=dtype, mask=Mask(keep=keep))
    np.testing.assert_allclose(got, wanted, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_additive_mask_is_torchs_float_mask(shape: str) -> None:
    """Numbers are added to the scaled scores, and −∞ hides a key."""
    q, k, v = draw_qkv(shape)
    bias = np.where(draw_mask(shape), draw((*q.shape[:-1], k.shape[-2]), 5), -np.inf)
    wanted = theirs(q, k, v, attn_mask=torch.from_numpy(bias))
    np.testing.assert_allclose(ours(q, k, v, mask=Mask(additive=bias)), wanted, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_causal_from_the_top_left_is_torchs_is_causal(shape: str) -> None:
    """In torch, is_causal runs its diagonal through the top left corner, whatever the shape."""
    q, k, v = draw_qkv(shape)
    mask = Mask(causal=True, align="top_left")
    np.testing.assert_allclose(ours(q, k, v, mask=mask), theirs(q, k, v, is_causal=True), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_causal_from_the_bottom_right_is_torchs_lower_right(shape: str) -> None:
    """torch.nn.attention.bias names the other corner; decoding with a cache needs it."""
    q, k, v = draw_qkv(shape)
    corners = pytest.importorskip("torch.nn.attention.bias", reason="torch>=2.3 names the corners")
    bias = corners.causal_lower_right(q.shape[-2], k.shape[-2])
    wanted = theirs(q, k, v, attn_mask=bias._materialize())
    np.testing.assert_allclose(
        ours(q, k, v, mask=Mask(causal=True, align="bottom_right")), wanted, atol=1e-12
    )


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_grouped_heads_are_torchs_enable_gqa(kv_heads: int) -> None:
    """A key-value head serves neighbouring query heads, as in torch."""
    q, k, v = draw_qkv("wide", kv_heads)
    np.testing.assert_allclose(ours(q, k, v), theirs(q, k, v, enable_gqa=True), atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 0.25, 1.0, -2.0])
def test_a_scale_multiplies_as_in_torch(scale: float) -> None:
    """A scale is a multiplier and stands in for 1/√d_k."""
    q, k, v = draw_qkv("cross")
    np.testing.assert_allclose(ours(q, k, v, scale=scale), theirs(q, k, v, scale=scale), atol=1e-12)


def test_a_row_without_any_key_is_zero_as_in_torch() -> None:
    """A fully masked row gives zeros, and leaves the other rows alone."""
    q, k, v = draw_qkv("square")
    keep = draw_mask("square")
    keep[:, :, 2] = False
    got = ours(q, k, v, mask=Mask(keep=keep))
    np.testing.assert_allclose(got, theirs(q, k, v, attn_mask=torch.from_numpy(keep)), atol=1e-12)
    assert not got[:, :, 2].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["K", "V"])
def test_ieee_spreads_a_masked_nan_as_torch_does(where: str, bad: float) -> None:
    """With masked_values: ieee a NaN or infinity behind the mask reaches what it reaches in torch."""
    q, k, v = (np.abs(array) for array in draw_qkv("square"))
    (k if where == "K" else v)[:, :, 3] = bad
    keep = np.tri(4, dtype=bool)
    wanted = theirs(q, k, v, attn_mask=torch.from_numpy(keep))
    got = ours(q, k, v, mask=Mask(keep=keep), masked_values="ieee")
    assert np.isnan(wanted[:, :, 0]).all()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))


def test_lse_is_torchs_logsumexp() -> None:
    """The detail lse is the natural log of the sum of exponentials of what softmax gets."""
    scores = draw((5, 7)) * 300
    scores[1] = -np.inf
    scores[2, 3:] = -np.inf
    got = detail("lse", masked=scores)
    np.testing.assert_allclose(got, numpy_of(torch.logsumexp(torch.from_numpy(scores), -1)), rtol=1e-14)


def test_entropy_is_torchs_in_bits() -> None:
    """The detail entropy is torch.distributions' entropy, in bits rather than nats."""
    scores = draw((5, 7)) * 3
    got = detail("entropy", masked=scores)
    nats = torch.distributions.Categorical(logits=torch.from_numpy(scores)).entropy()
    np.testing.assert_allclose(got, numpy_of(nats) / np.log(2), rtol=1e-12)


WIDTH, HEADS, BATCH, LENGTH = 6, 3, 2, 4


def module(**keys: Any) -> Any:
    """Make torch's module with biases that are not zero, which is what they start as."""
    made = torch.nn.MultiheadAttention(WIDTH, HEADS, dtype=torch.float64, **keys)
    torch.manual_seed(0)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made


def of_module(made: Any) -> dict[str, Any]:
    """State a module as keys of a problem: its packed weight is W_Q, W_K and W_V one above another."""
    weights = np.split(numpy_of(made.in_proj_weight), 3)
    biases = np.split(numpy_of(made.in_proj_bias), 3)
    return {
        **dict(zip(("W_Q", "W_K", "W_V"), weights, strict=True)),
        **dict(zip(("b_Q", "b_K", "b_V"), biases, strict=True)),
        "W_O": numpy_of(made.out_proj.weight),
        "b_O": numpy_of(made.out_proj.bias),
        "num_heads": HEADS,
        "weight_layout": "out in",
    }


def run_module(made: Any, x: np.ndarray, context: np.ndarray, **keys: Any) -> tuple[np.ndarray, np.ndarray]:
    source = torch.from_numpy(context)
    with torch.no_grad():
        out, weights = made(torch.from_numpy(x), source, source, **keys)
    return numpy_of(out), numpy_of(weights)


@pytest.mark.parametrize("average", [False, True], ids=["by-head", "averaged"])
def test_multihead_attention_is_torchs_module(*, average: bool) -> None:
    """Packed weights in nn.Linear's layout, biases and W_O give torch's output and weights."""
    made = module(batch_first=True)
    x = draw((BATCH, LENGTH, WIDTH))
    out, weights = run_module(made, x, x, average_attn_weights=average)
    result = compute(Problem(X=x, **of_module(made)))
    array = array_of(result, "weights")
    np.testing.assert_allclose(array.mean(axis=1) if average else array, weights, atol=1e-12)
    np.testing.assert_allclose(array_of(result, "output"), out, atol=1e-12)


def test_tokens_before_the_batch_are_a_stated_layout() -> None:
    """nn.MultiheadAttention without batch_first takes (seq, batch, dim): x_layout says so."""
    made = module(batch_first=False)
    x, context = draw((LENGTH, BATCH, WIDTH)), draw((LENGTH + 2, BATCH, WIDTH), 1)
    out, _ = run_module(made, x, context)
    got = stage("output", X=x, context=context, x_layout="seq batch dim", **of_module(made))
    np.testing.assert_allclose(got, out.swapaxes(0, 1), atol=1e-12)


def test_torchs_module_drops_where_ours_keeps() -> None:
    """key_padding_mask and attn_mask of nn.MultiheadAttention are true where a key is hidden."""
    made = module(batch_first=True)
    x = draw((BATCH, LENGTH, WIDTH))
    real = np.array([[True, True, True, False], [True, True, False, False]])
    hidden = np.triu(np.ones((LENGTH, LENGTH), dtype=bool), 1)
    out, weights = run_module(
        made,
        x,
        x,
        key_padding_mask=torch.from_numpy(~real),
        attn_mask=torch.from_numpy(hidden),
        average_attn_weights=False,
    )
    for mask in (Mask(key_padding=real, drop=hidden), Mask(lengths=(3, 2), causal=True)):
        result = compute(Problem(X=x, mask=mask, **of_module(made)))
        np.testing.assert_allclose(array_of(result, "weights"), weights, atol=1e-12)
        np.testing.assert_allclose(array_of(result, "output"), out, atol=1e-12)


def test_a_padding_mask_counts_items_and_not_heads() -> None:
    """With as many items as heads, padding still goes by item: the shapes alone would not tell."""
    made = module(batch_first=True)
    x = draw((HEADS, LENGTH, WIDTH))
    real = np.arange(LENGTH) < np.array([[4], [2], [1]])
    out, _ = run_module(made, x, x, key_padding_mask=torch.from_numpy(~real))
    got = stage("output", X=x, mask=Mask(key_padding=real), **of_module(made))
    np.testing.assert_allclose(got, out, atol=1e-12)


def test_a_mask_by_head_is_torchs_3d_attn_mask() -> None:
    """In torch masks of items and heads share one axis; ours has the two."""
    made = module(batch_first=True)
    x = draw((BATCH, LENGTH, WIDTH))
    keep = draw((BATCH, HEADS, LENGTH, LENGTH), 7) > 0
    keep[..., 0] = True
    drop = torch.from_numpy(~keep.reshape(BATCH * HEADS, LENGTH, LENGTH))
    out, _ = run_module(made, x, x, attn_mask=drop)
    got = stage("output", X=x, mask=Mask(keep=keep), **of_module(made))
    np.testing.assert_allclose(got, out, atol=1e-12)
