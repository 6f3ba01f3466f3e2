"""What must hold for any numbers: laws of attention, searched for a counterexample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from attncli.compute import compute
from attncli.core.heads import merge_heads, serve_query_heads, split_heads
from attncli.problem import Mask, Problem
from tests.computed import detail, stage

lengths = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([0.1, 1.0, 30.0])


def draw(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, *shape]).normal(size=shape) * scale)


@st.composite
def qkv(draws: st.DrawFn, *, square: bool = False) -> dict[str, np.ndarray]:
    """Draw queries, keys and values of one head, of any small shape and spread."""
    seed, scale = draws(seeds), draws(scales)
    seq_q, dim, value_dim = draws(lengths), draws(lengths), draws(lengths)
    seq_k = seq_q if square else draws(lengths)
    return {
        "Q": draw(seed, seq_q, dim, 1, scale=scale)[..., 0],
        "K": draw(seed, seq_k, dim, 2, scale=scale)[..., 0],
        "V": draw(seed, seq_k, value_dim, 3)[..., 0],
    }


@st.composite
def multi_head(draws: st.DrawFn) -> dict[str, Any]:
    """Draw a problem that starts with tokens and has heads, biases and an output weight."""
    seed, heads, head_dim, value_dim = draws(seeds), draws(lengths), draws(lengths), draws(lengths)
    seq, d_model = draws(lengths), draws(lengths)
    return {
        "X": draw(seed, seq, d_model),
        "W_Q": draw(seed, d_model, heads * head_dim, 1)[..., 0],
        "W_K": draw(seed, d_model, heads * head_dim, 2)[..., 0],
        "W_V": draw(seed, d_model, heads * value_dim, 3)[..., 0],
        "b_Q": draw(seed, heads * head_dim, 4)[..., 0],
        "b_K": draw(seed, heads * head_dim, 5)[..., 0],
        "b_V": draw(seed, heads * value_dim, 6)[..., 0],
        "W_O": draw(seed, heads * value_dim, d_model, 7)[..., 0],
        "b_O": draw(seed, d_model, 8)[..., 0],
        "num_heads": heads,
    }


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def plain(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Compute the formula as a textbook writes it, row by row, with Python's own numbers."""
    rows = []
    for query in q.tolist():
        z = [
            sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in k.tolist()
        ]
        e = [math.exp(each - max(z)) for each in z]
        columns = zip(*v.tolist(), strict=True)
        rows.append([sum(w * x for w, x in zip(e, column, strict=True)) / sum(e) for column in columns])
    return np.array(rows)


# softmax


@given(qkv())
def test_one_head_is_the_textbooks_formula(p: dict[str, Any]) -> None:
    """One head is softmax(q·k/√d)·v, written out with sums."""
    same(stage("output", **p), plain(p["Q"], p["K"], p["V"]))


@given(qkv())
def test_rows_of_weights_are_positive_and_sum_to_one(p: dict[str, Any]) -> None:
    """Each query shares out exactly one unit of attention."""
    weights = stage("weights", **p)
    assert (weights >= 0).all()
    same(weights.sum(axis=-1), np.ones(len(p["Q"])))


@given(qkv(), st.floats(-1e6, 1e6))
def test_softmax_does_not_see_a_constant(p: dict[str, Any], shift: float) -> None:
    """A number added to every score of a row leaves its weights alone."""
    scores = np.round(stage("scores", **p), 3)
    weights = stage("weights", scaled=scores)
    np.testing.assert_allclose(stage("weights", scaled=scores + shift), weights, atol=1e-7)


@given(qkv(), st.floats(0.05, 20))
def test_temperature_is_one_more_divisor(p: dict[str, Any], temperature: float) -> None:
    """Scores divided by √d and then by a temperature are scores divided by their product."""
    divisor = math.sqrt(p["K"].shape[1]) * temperature
    same(stage("weights", **p, temperature=temperature), stage("weights", **p, divide_by=divisor))


@given(qkv())
def test_a_hot_temperature_flattens_and_a_cold_one_picks(p: dict[str, Any]) -> None:
    """Entropy rises to that of equal weights, and falls to that of the best key alone."""
    hot, cold = (detail("entropy", **p, temperature=t) for t in (1e9, 1e-9))
    same(hot, np.full(len(p["Q"]), math.log2(len(p["K"]))))
    np.testing.assert_allclose(cold, 0, atol=1e-6)


@pytest.mark.parametrize("size", [1e308, -1e308, 1e-308, 5e-324])
def test_scores_at_the_ends_of_float64_stay_exact(size: float) -> None:
    """The row's maximum is subtracted first, so that no exponential overflows."""
    weights = stage("weights", scaled=np.array([[size, size], [size, -size]]))
    assert weights[0].tolist() == [0.5, 0.5]
    apart = [float(size > 0), float(size < 0)] if abs(size) > 1 else [0.5, 0.5]
    assert weights[1].tolist() == apart


def test_a_long_row_still_sums_to_one() -> None:
    """A hundred thousand keys of all sizes: the sum of the weights is 1 to 12 digits."""
    scores = draw(0, 2, 100_000, scale=10)
    same(stage("weights", scaled=scores).sum(axis=-1), np.ones(2))
    assert stage("weights", scaled=np.zeros((1, 100_000)))[0, 77] == pytest.approx(1e-5, rel=1e-12)


def test_certainty_has_an_entropy_of_zero_and_not_of_minus_zero() -> None:
    """A row that looks at one key only has 0 bits, without a sign."""
    bits = detail("entropy", masked=np.array([[0.0, -np.inf]]))
    assert math.copysign(1, bits[0]) == 1


# order


@given(qkv(), seeds)
def test_the_order_of_the_keys_does_not_matter(p: dict[str, Any], seed: int) -> None:
    """Keys and values shuffled together give shuffled weights and the same output."""
    order = np.random.default_rng(seed).permutation(len(p["K"]))
    shuffled = p | {"K": p["K"][order], "V": p["V"][order]}
    same(stage("weights", **shuffled), stage("weights", **p)[:, order])
    same(stage("output", **shuffled), stage("output", **p))


@given(multi_head(), seeds)
def test_permuting_tokens_permutes_outputs(p: dict[str, Any], seed: int) -> None:
    """Attention has no sense of order: shuffled tokens come out shuffled, and otherwise the same."""
    order = np.random.default_rng(seed).permutation(len(p["X"]))
    same(stage("output", **p | {"X": p["X"][order]}), stage("output", **p)[order])


@given(multi_head(), lengths)
def test_a_causal_prefix_never_changes(p: dict[str, Any], cut: int) -> None:
    """With a causal mask, the outputs of the first tokens do not depend on those that follow."""
    whole = stage("output", **p, mask=Mask(causal=True))
    prefix = stage("output", **p | {"X": p["X"][:cut]}, mask=Mask(causal=True))
    same(prefix, whole[:cut])


@given(multi_head())
def test_items_of_a_batch_do_not_meet(p: dict[str, Any]) -> None:
    """Each item of a batch is what it would be alone."""
    other = p["X"][::-1] * 2
    batch = stage("output", **p | {"X": np.stack([p["X"], other])})
    same(batch[0], stage("output", **p))
    same(batch[1], stage("output", **p | {"X": other}))


# heads


@given(seeds, lengths, lengths, lengths)
def test_merging_undoes_splitting(seed: int, heads: int, seq: int, head_dim: int) -> None:
    """Splitting into heads and laying them side by side again changes nothing."""
    x = draw(seed, 2, seq, heads * head_dim)
    split = split_heads(x, heads)
    assert split.shape == (2, heads, seq, head_dim)
    np.testing.assert_array_equal(split[:, -1], x[..., -head_dim:])
    np.testing.assert_array_equal(merge_heads(split), x)


@given(multi_head())
def test_each_head_is_one_heads_attention_on_its_columns(p: dict[str, Any]) -> None:
    """Head h is the plain formula on its own columns of Q, K and V; W_O and b_O follow."""
    q, k, v = (p["X"] @ p[f"W_{name}"] + p[f"b_{name}"] for name in "QKV")
    columns = [np.split(array, p["num_heads"], axis=1) for array in (q, k, v)]
    heads = [plain(*each) for each in zip(*columns, strict=True)]
    same(stage("output", **p), np.concatenate(heads, axis=1) @ p["W_O"] + p["b_O"])


@pytest.mark.parametrize("order", ["repeat", "tile"])
@given(seeds, lengths, lengths)
def test_grouped_heads_are_copied_heads(order: str, seed: int, kv_heads: int, group: int) -> None:
    """Sharing key-value heads is the same as writing each of them out for every head it serves."""
    q = draw(seed, kv_heads * group, 3, 2)
    k, v = draw(seed, kv_heads, 4, 2, 1)[..., 0], draw(seed, kv_heads, 4, 3)
    served_by = [
        h // group if order == "repeat" else h % kv_heads for h in range(kv_heads * group)
    ]  # Ainslie et al. 2023, and x-transformers
    layout = "head seq dim"
    grouped = stage("head_output", Q=q, K=k, V=v, qkv_layout=layout, kv_head_map=order)
    copied = stage("head_output", Q=q, K=k[served_by], V=v[served_by], qkv_layout=layout)
    np.testing.assert_array_equal(grouped, copied)
    np.testing.assert_array_equal(serve_query_heads(k, kv_heads * group, order), k[served_by])


# layouts


@given(multi_head())
def test_tokens_in_columns_are_the_transposed_problem(p: dict[str, Any]) -> None:
    """With x_layout dim seq the same numbers are computed from X written the other way round."""
    same(stage("output", **p | {"X": p["X"].T}, x_layout="dim seq"), stage("output", **p))


@given(multi_head())
def test_weights_of_nn_linear_are_the_transposed_ones(p: dict[str, Any]) -> None:
    """With weight_layout out in each weight is read as its transpose; a mapping picks single ones."""
    names = ("W_Q", "W_K", "W_V", "W_O")
    turned = {name: p[name].T for name in names}
    same(stage("output", **p | turned, weight_layout="out in"), stage("output", **p))
    one = p | {"W_K": p["W_K"].T}
    same(stage("output", **one, weight_layout={"W_K": "out in"}), stage("output", **p))


@given(multi_head())
def test_weights_by_head_are_the_columns_of_the_plain_ones(p: dict[str, Any]) -> None:
    """``in head dim`` (Keras) and ``head in dim`` say the heads of a weight; W_O is (head, dim, out)."""
    heads = p["num_heads"]
    keras = {
        name: p[name].reshape(len(p["X"][0]), heads, p[name].shape[1] // heads)
        for name in ("W_Q", "W_K", "W_V")
    }
    keras["W_O"] = p["W_O"].reshape(heads, p["W_O"].shape[0] // heads, -1)
    biases = {name: p[name].reshape(heads, -1) for name in ("b_Q", "b_K", "b_V")}
    unsaid = {key: value for key, value in p.items() if key != "num_heads"}
    same(stage("output", **unsaid | keras | biases, weight_layout="in head dim"), stage("output", **p))
    by_head = {name: np.moveaxis(w, 1, 0) for name, w in keras.items() if name != "W_O"}
    # W_O may stay a plain matrix under a 3-D layout
    same(stage("output", **unsaid | by_head, weight_layout="head in dim"), stage("output", **p))


@pytest.mark.parametrize(
    "layout",
    ["batch head seq dim", "batch seq head dim", "seq batch head dim", "dim head batch seq"],
)
@given(seeds, lengths, lengths)
def test_any_order_of_the_axes_of_q_k_and_v(layout: str, seed: int, batch: int, heads: int) -> None:
    """Q, K and V may come with their axes in any order that qkv_layout says."""
    arrays = {"Q": (batch, heads, 2, 3), "K": (batch, heads, 4, 3), "V": (batch, heads, 4, 5)}
    straight = {name: draw(seed, *shape) for name, shape in arrays.items()}
    order = [("batch", "head", "seq", "dim").index(axis) for axis in layout.split()]
    turned = {name: array.transpose(order) for name, array in straight.items()}
    same(stage("head_output", **turned, qkv_layout=layout), stage("head_output", **straight))


# masks


@given(qkv(square=True), st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_a_window_is_the_mask_that_it_draws(p: dict[str, Any], left: int, right: int, causal: bool) -> None:
    """A window is the band of keys from q − left to q + right; sliding_window W is W − 1 on each side."""
    i, j = np.ogrid[: len(p["Q"]), : len(p["K"])]
    band = (i - j <= left) & (j - i <= right) & ((j <= i) | (not causal))
    same(
        stage("weights", **p, mask=Mask(window={"left": left, "right": right}, causal=causal)),
        stage("weights", **p, mask=Mask(keep=band)),
    )
    sliding = (abs(i - j) <= left) & ((j <= i) | (not causal))
    same(
        stage("weights", **p, mask=Mask(sliding_window=left + 1, causal=causal)),
        stage("weights", **p, mask=Mask(keep=sliding)),
    )


@given(qkv(), st.integers(0, 3), st.integers(0, 5), st.integers(-2, 6))
def test_first_keys_stay_in_sight_of_a_window(p: dict[str, Any], left: int, first: int, offset: int) -> None:
    """keep_first holds its keys in every window, and a query stands at its offset among the keys."""
    i, j = np.ogrid[offset : offset + len(p["Q"]), : len(p["K"])]
    keep = ((i - j <= left) | (j < first)) & (j <= i)
    mask = Mask(causal=True, window={"left": left}, keep_first=first, offset=offset)
    same(stage("weights", **p, mask=mask), stage("weights", **p, mask=Mask(keep=keep)))


@given(qkv())
def test_bottom_right_ends_on_the_last_key(p: dict[str, Any]) -> None:
    """With align bottom_right the last query sees every key, and each earlier one a key less."""
    seq_q, seq_k = len(p["Q"]), len(p["K"])
    masked = stage("masked", **p, mask=Mask(causal=True, align="bottom_right"))
    seen = [max(0, seq_k - after) for after in reversed(range(seq_q))]
    assert np.isfinite(masked).sum(axis=-1).tolist() == seen


@given(seeds, st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_lengths_are_a_padding_mask(seed: int, real: list[int]) -> None:
    """A length keeps that many keys of its item, as the padding mask with as many ones does."""
    items = {name: draw(seed, len(real), 4, 2) for name in "QKV"}
    padding = np.arange(4) < np.array(real)[:, None]
    same(
        stage("output", **items, mask=Mask(lengths=tuple(real))),
        stage("output", **items, mask=Mask(key_padding=padding)),
    )


@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_a_padded_item_is_the_shorter_problem(seed: int, real: list[int]) -> None:
    """An item with padding gives what it gives without it, causal from the end of its own keys."""
    items = {name: draw(seed, len(real), 4, 2) for name in "QKV"}
    mask = Mask(lengths=tuple(real), causal=True, align="bottom_right")
    whole = stage("output", **{**items, "Q": items["Q"][:, :2]}, mask=mask)
    for item, length in enumerate(real):
        alone = {name: array[item, :length] for name, array in items.items()} | {"Q": items["Q"][item, :2]}
        same(whole[item], stage("output", **alone, mask=Mask(causal=True, align="bottom_right")))


@given(qkv(), seeds)
def test_three_ways_to_say_a_mask(p: dict[str, Any], seed: int) -> None:
    """Keep, drop turned round, and −∞ added, are one mask."""
    keep = draw(seed, len(p["Q"]), len(p["K"])) > 0
    kept = stage("weights", **p, mask=Mask(keep=keep))
    np.testing.assert_array_equal(stage("weights", **p, mask=Mask(drop=~keep)), kept)
    added = np.where(keep, 0.0, -np.inf)
    np.testing.assert_array_equal(stage("weights", **p, mask=Mask(additive=added)), kept)
    assert not kept[~keep].any()


@given(qkv(), seeds)
def test_what_a_mask_combines_is_combined_with_and(p: dict[str, Any], seed: int) -> None:
    """A key is seen when every rule of the mask shows it."""
    shape = (len(p["Q"]), len(p["K"]))
    keep, drop = draw(seed, *shape, 1)[..., 0] > -0.5, draw(seed, *shape, 2)[..., 0] > 0.5
    padding = draw(seed, shape[1]) > -0.5
    same(
        stage("weights", **p, mask=Mask(keep=keep, drop=drop, key_padding=padding)),
        stage("weights", **p, mask=Mask(keep=keep & ~drop & padding)),
    )


@given(qkv(), seeds)
def test_a_query_without_keys_gets_zeros_and_no_log(p: dict[str, Any], seed: int) -> None:
    """A fully masked row is zeros, or NaN when asked for, its lse −∞; the other rows do not notice."""
    keep = draw(seed, len(p["Q"]), len(p["K"])) > 0.3
    keep[0] = False
    empty = ~keep.any(axis=-1)
    weights, output = (stage(name, **p, mask=Mask(keep=keep)) for name in ("weights", "output"))
    assert not weights[empty].any()
    assert not output[empty].any()
    assert (detail("lse", **p, mask=Mask(keep=keep))[empty] == -np.inf).all()
    same(weights[~empty].sum(axis=-1), np.ones((~empty).sum()))
    as_nan = {**p, "mask": Mask(keep=keep), "fully_masked": "nan"}
    for name, zeros in (("weights", weights), ("output", output)):
        array = stage(name, **as_nan)
        assert np.isnan(array[empty]).all()
        np.testing.assert_array_equal(array[~empty], zeros[~empty])


@given(multi_head(), seeds)
def test_padded_queries_come_out_as_zero(p: dict[str, Any], seed: int) -> None:
    """query_padding zeroes the rows of the output, behind W_O and b_O too, and no others."""
    real = draw(seed, len(p["X"])) > 0
    output = stage("output", **p, mask=Mask(query_padding=real))
    assert not output[~real].any()
    np.testing.assert_array_equal(output[real], stage("output", **p)[real])


bad_numbers = st.sampled_from([np.nan, np.inf, -np.inf])
hidings = st.sampled_from(["keep", "additive", "key_padding", "lengths"])


def hiding(how: str, seq: int) -> Mask:
    """Hide the last key of a square problem from every query."""
    seen = np.arange(seq) < seq - 1
    return {
        "keep": Mask(keep=np.tile(seen, (seq, 1))),
        "additive": Mask(additive=np.tile(np.where(seen, 0.0, -np.inf), (seq, 1))),
        "key_padding": Mask(key_padding=seen),
        "lengths": Mask(lengths=(seq - 1,)),
    }[how]


@given(multi_head(), bad_numbers, hidings, st.sampled_from([-np.inf, -1e9]))
@example({"X": np.eye(2), "W_Q": np.eye(2), "W_K": np.eye(2), "W_V": np.eye(2)}, np.nan, "additive", -np.inf)
def test_a_masked_token_may_hold_anything(p: dict[str, Any], bad: float, how: str, fill: float) -> None:
    """NaN or infinity in a token that is masked changes no bit of what the others get."""
    seq = len(p["X"])
    assume(seq > 1)
    clean = p["X"].copy()
    clean[-1] = 0
    spoiled = clean.copy()
    spoiled[-1] = bad
    # a masked key whose score is not finite counts as one of score 0: so it is here, without a bias
    same_score = {name: value for name, value in p.items() if name not in {"b_Q", "b_K", "b_V"}}
    keys = {"mask": hiding(how, seq), "mask_fill": fill}
    wanted = stage("output", **same_score | {"X": clean}, **keys)
    got = stage("output", **same_score | {"X": spoiled}, **keys)
    np.testing.assert_array_equal(got[:-1], wanted[:-1])


@given(qkv(square=True), bad_numbers, hidings, st.sampled_from("KV"))
def test_with_ieee_a_masked_value_spreads(p: dict[str, Any], bad: float, how: str, where: str) -> None:
    """masked_values: ieee lets 0·NaN and NaN − ∞ be NaN, as every engine does."""
    seq = len(p["Q"])
    assume(seq > 1)
    p[where][-1] = bad
    p["Q"] = np.abs(p["Q"])
    excluded = stage("output", **p, mask=hiding(how, seq))
    spread = stage("output", **p, mask=hiding(how, seq), masked_values="ieee")
    assert np.isfinite(excluded).all()
    if where == "K" and bad == -np.inf:  # −∞ − ∞ is −∞: that key was out of sight anyhow
        np.testing.assert_array_equal(spread, excluded)
    else:
        assert np.isnan(spread).all()


@given(seeds, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_visible_infinity_is_ieees(seed: int, bad: float) -> None:
    """What a mask does not hide is left to IEEE arithmetic, where 0·∞ is NaN and A·∞ is ∞."""
    scaled, v = draw(seed, 3, 4, scale=500), draw(seed, 4, 2)
    v[1, 0] = bad
    everything = Mask(keep=np.ones((3, 4), dtype=bool))
    same(stage("output", scaled=scaled, V=v, mask=everything), stage("output", scaled=scaled, V=v))


@given(qkv(), seeds)
def test_a_finite_fill_is_added(p: dict[str, Any], seed: int) -> None:
    """−1e9 hides a key as −∞ does while a query sees another one."""
    keep = draw(seed, len(p["Q"]), len(p["K"])) > 0
    keep[:, 0] = True
    filled = stage("output", **p, mask=Mask(keep=keep), mask_fill=-1e9)
    np.testing.assert_array_equal(filled, stage("output", **p, mask=Mask(keep=keep)))


@given(qkv())
def test_a_finite_fill_leaves_an_empty_row_to_the_precision(p: dict[str, Any]) -> None:
    """Added to every score, −1e9 leaves the unmasked softmax in float64 and equal weights in float32."""
    nothing = Mask(keep=np.zeros((len(p["Q"]), len(p["K"])), dtype=bool))
    assume(np.abs(stage("scaled", **p)).max() < 30)  # float32's step at 1e9 is 64
    double = stage("weights", **p, mask=nothing, mask_fill=-1e9)
    np.testing.assert_allclose(double, stage("weights", **p), atol=1e-5)
    single = stage("weights", **p, mask=nothing, mask_fill=-1e9, dtype="float32")
    np.testing.assert_allclose(single, 1 / len(p["K"]), rtol=1e-6)


# results


@given(qkv())
def test_a_later_start_gives_the_same_end(p: dict[str, Any]) -> None:
    """Scores, scaled and masked scores taken out and put in again lead to the same output."""
    mask = Mask(keep=np.eye(len(p["Q"]), len(p["K"]), dtype=bool))
    result = compute(Problem(**p, mask=mask))
    scores, scaled, masked, output = (result[name].array for name in ("scores", "scaled", "masked", "output"))
    width = p["K"].shape[1]
    assert output is not None
    for keys in (
        {"scores": scores, "d_k": width, "mask": mask},
        {"scaled": scaled, "mask": mask},
        {"masked": masked},
    ):
        np.testing.assert_array_equal(stage("output", V=p["V"], **keys), output)
