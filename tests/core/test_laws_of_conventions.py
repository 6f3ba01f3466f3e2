"""What must hold for any numbers under the stated conventions: caches, rotations, caps, sinks, windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.compute import Result, compute
from attncli.core.positions import rotate
from attncli.problem import T5, Alibi, Dropout, Mask, Problem, Rms, Rope, Sinusoidal, Variant
from tests.computed import array_of, detail, stage

seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 6)
pairings = st.sampled_from(["half", "interleaved"])


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, *shape]).normal(size=shape))


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


# a cache

BIASES = {
    "": None,
    "alibi": Variant("alibi", Alibi()),
    "alibi from the first key": Variant("alibi", Alibi(form="m*j")),
    "t5": Variant("t5", T5(table=draw(0, 8, 4), bidirectional=False, max_distance=6)),
}


@st.composite
def decodings(draws: st.DrawFn) -> dict[str, Any]:
    """Draw the rules of a decoder with four heads, of which two or four have keys and values."""
    pairing = draws(st.none() | pairings)
    norm = Variant("rms", Rms(weight_Q=draw(1, 4), weight_K=draw(2, 4)))
    return {
        "num_heads": 4,
        "num_kv_heads": draws(st.sampled_from([1, 2, 4])),
        "rope": pairing and Rope(pairing=pairing, base=100.0, dim=draws(st.sampled_from([None, 2]))),
        "qk_norm": draws(st.sampled_from([None, norm])),
        "bias": BIASES[draws(st.sampled_from(sorted(BIASES)))],
        "softcap": draws(st.sampled_from([None, 2.0])),
        "sink": draws(st.sampled_from([None, 0.5])),
        "mask": Mask(
            causal=True,
            sliding_window=draws(st.none() | st.integers(1, 4)),
            window=draws(st.none() | st.just({"left": 2})),
        ),
    }


def cache_of(result: Result) -> dict[str, np.ndarray]:
    """Take the keys and values that a run leaves behind for the next one."""
    there = {record.stage.name for record in result.records} | {"K", "V"}
    after = {"K": ("K_all", "K_rot", "K_norm", "K_heads"), "V": ("V_all", "V_heads")}
    return {
        name: array_of(result, next(each for each in stages if each in there))
        for name, stages in after.items()
    }


def decoded(tokens: dict[str, np.ndarray], sizes: list[int], rules: dict[str, Any]) -> np.ndarray:
    """Run a few tokens at a time, each run with the cache of those before."""
    outputs, past, start = [], None, 0
    for size in sizes:
        some: dict[str, Any] = {name: array[start : start + size] for name, array in tokens.items()}
        now = rules
        if isinstance(rules.get("position_encoding"), Variant):
            now = rules | {"position_encoding": Variant("sinusoidal", Sinusoidal(offset=start))}
        result = compute(Problem(**some, **now, past=past))
        outputs.append(array_of(result, "output"))
        past, start = cache_of(result), start + size
    return np.concatenate(outputs)


chunks = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@given(decodings(), chunks, seeds)
def test_decoding_with_a_cache_is_the_causal_run(rules: dict[str, Any], sizes: list[int], seed: int) -> None:
    """Tokens run one by one, or a few at a time, come out as they do together: Q, K and V given."""
    narrow = 4 * rules["num_kv_heads"]
    tokens = {
        "Q": draw(seed, sum(sizes), 16),
        "K": draw(seed, sum(sizes), narrow, 1)[..., 0],
        "V": draw(seed, sum(sizes), narrow, 2)[..., 0],
    }
    same(decoded(tokens, sizes, rules), stage("output", **tokens, **rules))


@given(decodings(), chunks, seeds)
def test_decoding_from_tokens_is_the_causal_run(rules: dict[str, Any], sizes: list[int], seed: int) -> None:
    """The same from X, through weights, with an encoding of the position added."""
    narrow = 4 * rules["num_kv_heads"]
    rules = rules | {
        "W_Q": draw(seed, 5, 16),
        "W_K": draw(seed, 5, narrow, 1)[..., 0],
        "W_V": draw(seed, 5, narrow, 2)[..., 0],
        "W_O": draw(seed, 16, 3),
        "position_encoding": Variant("sinusoidal", Sinusoidal()),
    }
    tokens = {"X": draw(seed, sum(sizes), 5)}
    same(decoded(tokens, sizes, rules), stage("output", **tokens, **rules))


# rotation


@given(pairings, seeds, st.integers(-50, 50))
def test_rotation_keeps_lengths(pairing: str, seed: int, offset: int) -> None:
    """A rotated vector is as long as it was, wherever it stands; at position 0 it does not move."""
    q = draw(seed, 4, 6)
    turned = stage("Q_rot", Q=q, K=q, rope=Rope(pairing=pairing, offset=offset, dim=4))
    same(np.linalg.norm(turned, axis=-1), np.linalg.norm(q, axis=-1))
    np.testing.assert_array_equal(turned[:, 4:], q[:, 4:])
    if offset <= 0 < offset + 4:
        np.testing.assert_array_equal(turned[-offset], q[-offset])


@given(pairings, seeds, st.integers(0, 1000))
def test_rotated_scores_depend_on_distances(pairing: str, seed: int, offset: int) -> None:
    """All tokens moved by the same number of positions score each other as before."""
    x = {"Q": draw(seed, 4, 6), "K": draw(seed, 4, 6, 1)[..., 0]}
    still = stage("scores", **x, rope=Rope(pairing=pairing))
    moved = stage("scores", **x, rope=Rope(pairing=pairing, positions=tuple(range(offset, offset + 4))))
    same(moved, still)


@given(pairings, seeds)
def test_opposite_angles_undo_a_rotation(pairing: str, seed: int) -> None:
    """Rotating back gives the vector again."""
    x, angles = draw(seed, 3, 6), draw(seed, 3, 2)
    there = rotate(x, np.cos(angles), np.sin(angles), pairing)
    same(rotate(there, np.cos(angles), -np.sin(angles), pairing), x)


# caps, sinks and logs


@given(seeds, st.floats(0.1, 100), st.sampled_from([0.01, 1.0, 1e3]))
def test_a_cap_is_a_bound_and_keeps_the_order(seed: int, cap: float, scale: float) -> None:
    """No score goes beyond the cap, none overtakes another, and small ones hardly move."""
    z = np.sort(draw(seed, 1, 20) * scale)
    bent = stage("softcapped", scaled=z, softcap=cap)
    assert (np.abs(bent) <= cap).all()
    assert (np.diff(bent) >= 0).all()
    assert (np.sign(bent) == np.sign(z)).all()
    small = np.abs(z) < cap / 100
    np.testing.assert_allclose(bent[small], z[small], rtol=1e-4)


@given(seeds, st.floats(-50, 50), st.booleans())
def test_a_sink_takes_what_the_row_lacks(seed: int, sink: float, masked: bool) -> None:
    """The sink's share and the row's sum are 1 together, also where no key is seen."""
    problem = {"scaled": draw(seed, 4, 5) * 10, "sink": sink}
    if masked:
        problem |= {"mask": Mask(keep=draw(seed, 4, 5, 1)[..., 0] > 0.8)}
    same(detail("sink_mass", **problem) + detail("row_sum", **problem), np.ones(4))
    more = stage("weights", **problem | {"sink": sink + 1})
    assert (more <= stage("weights", **problem) + 1e-15).all()


@given(seeds)
def test_a_log_in_base_two_is_the_natural_one_over_ln_2(seed: int) -> None:
    """lse2 · ln 2 = lse, and both are −∞ for a row without a key."""
    problem = {"scaled": draw(seed, 4, 5), "mask": Mask(keep=np.arange(4)[:, None] > np.arange(5))}
    lse, lse2 = (detail(name, **problem) for name in ("lse", "lse2"))
    assert lse[0] == lse2[0] == -np.inf
    same(lse2[1:] * math.log(2), lse[1:])


# masks


@given(seeds, lengths, lengths)
def test_renormalized_after_softmax_is_masked_before(seed: int, seq_q: int, seq_k: int) -> None:
    """What a mask leaves of a row, divided by its sum, is the softmax over what it leaves."""
    keep = draw(seed, seq_q, seq_k) > 0
    problem = {"scaled": draw(seed, seq_q, seq_k, 1)[..., 0], "V": draw(seed, seq_k, 2)}
    before = stage("weights", **problem, mask=Mask(keep=keep))
    after = problem | {"mask": Mask(keep=keep), "mask_when": "after_softmax_renormalized"}
    same(stage("weights", **after), before)
    same(stage("output", **after), stage("output", **problem, mask=Mask(keep=keep)))
    once = stage("masked_weights", **problem, mask=Mask(keep=keep), mask_when="after_softmax")
    same(once, np.where(keep, stage("weights", **problem), 0))


@given(
    seeds,
    st.tuples(lengths, lengths),
    st.booleans(),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(1, 4),
    st.integers(0, 3),
    st.integers(-2, 4),
)
def test_every_window_is_the_mask_that_it_draws(  # noqa: PLR0917
    seed: int,
    shape: tuple[int, int],
    causal: bool,
    left: int | None,
    right: int | None,
    sliding: int | None,
    first: int,
    offset: int,
) -> None:
    """Window, sliding_window, keep_first and causal together, cell by cell, from any offset."""
    scaled = draw(seed, *shape)
    window = {side: keys for side, keys in (("left", left), ("right", right)) if keys is not None}
    windowed = bool(window) or sliding is not None
    if not windowed and not causal:
        return
    keep = np.zeros(shape, dtype=bool)
    for query, key in np.ndindex(shape):
        distance = key - (query + offset)
        in_window = left is None or -distance <= left
        in_window &= right is None or distance <= right
        in_sliding = sliding is None or abs(distance) < sliding
        stays = key < first
        keep[query, key] = (in_window or stays) and (in_sliding or stays) and (not causal or distance <= 0)
    mask = Mask(
        causal=causal,
        window=window or None,
        sliding_window=sliding,
        keep_first=first if windowed else None,
        offset=offset,
    )
    np.testing.assert_array_equal(
        stage("weights", scaled=scaled, mask=mask), stage("weights", scaled=scaled, mask=Mask(keep=keep))
    )


@given(seeds, st.floats(0, 0.9))
def test_dropping_nothing_only_enlarges(seed: int, p: float) -> None:
    """With every weight kept, dropout divides by 1 − p."""
    problem = {"scaled": draw(seed, 3, 4)}
    keep = np.ones((3, 4), dtype=bool)
    same(stage("dropped", **problem, dropout=Dropout(p=p, keep=keep)) * (1 - p), stage("weights", **problem))


@pytest.mark.parametrize("normalize", ["softmax", "sum", "none"])
@given(seeds)
def test_masked_keys_have_no_weight(normalize: str, seed: int) -> None:
    """Whatever makes weights of scores, a masked key gets none."""
    keep = draw(seed, 3, 4) > 0
    problem = {"scaled": np.abs(draw(seed, 3, 4, 1)[..., 0]), "mask": Mask(keep=keep)}
    assert not stage("weights", **problem, normalize=normalize)[~keep].any()
