"""The streamed way gives what the full way gives, whatever the convention and wherever the tiles end."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attncli.core.attention import attend
from attncli.core.engine import Engine
from attncli.core.inputs import Dropout, Inputs
from attncli.core.masks import Rules, keep, sight
from attncli.core.streaming import BY_PAIR, attend_streamed
from attncli.trace import Trace, Value
from tests.conftest import Namespace
from tests.core.test_backends_agree import PROBLEMS, draw, inputs, same

ENGINES = {
    "single cells": Engine(queries=1, keys=1),
    "by head": Engine(queries=2, keys=2, apart=True),
    "looking": Engine(queries=2, keys=2, apart=True, looks=True),
    "one tile": Engine(),
}
HALVED = [[4], [4, 4], [8, 4], [8, 4, 4]]
"""Keys of the tiles that four queries make of a tile of 16, for each of the four places in it."""
MIXED = {name: each for name in PROBLEMS if (each := inputs(name)).v or each.x}


def per_item(numbers: list[int]) -> np.ndarray:
    """Give each item of a batch its number, in the axes of the scores."""
    return np.reshape(numbers, (2, 1, 1, 1))


def full(p: Inputs) -> Trace:
    trace = Trace(p.axes)
    with np.errstate(all="ignore"):
        attend(p, trace)
    return trace


def streamed(p: Inputs, engine: Engine) -> Trace:
    trace = Trace(p.axes)
    with np.errstate(all="ignore"):
        attend_streamed(p, trace, engine)
    return trace


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MIXED)
def test_tiles_change_nothing(xp: Namespace, name: str, engine: str) -> None:
    """Each convention comes to the same output, shapes, formulas and log-sums, in tiles of any size."""
    wanted = full(MIXED[name])
    got = streamed(MIXED[name].map(xp.asarray), ENGINES[engine])
    assert set(got.records) == set(wanted.records)
    for ours, theirs in ((wanted.records[each.stage.name], each) for each in got):
        assert (theirs.axes, theirs.shape, theirs.formula) == (ours.axes, ours.shape, ours.formula)
        if theirs.stage.name in BY_PAIR:
            assert theirs.array is None
        else:
            same(theirs.stage.name, xp.to_numpy(theirs.array), ours.array)
        for each, array in theirs.details.items():
            same(each, xp.to_numpy(array), ours.details[each])


SIDE = 6
ends = st.none() | st.integers(0, 5)
FIELDS = {
    "causal": st.booleans(),
    "windows": st.lists(st.tuples(ends, ends), max_size=2).map(tuple),
    "keep_first": st.integers(0, 4),
    "offset": st.integers(-4, 8) | st.lists(st.integers(-4, 8), min_size=2, max_size=2).map(per_item),
    "lengths": st.none() | st.lists(st.integers(0, 9), min_size=2, max_size=2).map(per_item),
    "arrays": st.lists(arrays(bool, (SIDE, SIDE)) | arrays(bool, (2, 1, 1, SIDE)), max_size=1).map(tuple),
    "first_query": st.integers(0, 3),
    "first_key": st.integers(0, 3),
}
"""What each field of `Rules` may be, but for the symbol, which hides nothing."""
OF_A_PART = {"arrays", "first_query", "first_key"}
RULES = st.builds(Rules, **{name: values for name, values in FIELDS.items() if name not in OF_A_PART})
ANY_RULES = st.builds(Rules, **FIELDS)
TILES = [slice(start, stop) for start in range(SIDE) for stop in range(start + 1, SIDE + 1)]


def seen_by(rules: Rules) -> np.ndarray:
    """Tell for each pair of two items whether the query sees the key."""
    return np.broadcast_to(keep(rules, SIDE, SIDE, np.empty(0)).array, (2, 1, SIDE, SIDE))


def test_every_rule_is_drawn() -> None:
    """A field that is new has to be held against `sight` before it can be forgotten there."""
    assert FIELDS.keys() | {"symbol"} == {field.name for field in fields(Rules)}


@pytest.mark.parametrize("name", FIELDS)
def test_every_rule_hides_something(name: str) -> None:
    """Without any one of the fields, some mask is another."""
    (default,) = (field.default for field in fields(Rules) if field.name == name)

    def matters(rules: Rules) -> bool:
        return not np.array_equal(seen_by(rules), seen_by(replace(rules, **{name: default})))  # type: ignore[arg-type]

    find(ANY_RULES, matters, settings=settings(max_examples=1000, database=None, derandomize=True))


@given(ANY_RULES, st.sampled_from(TILES), st.sampled_from(TILES))
def test_sight_agrees_with_keep(rules: Rules, queries: slice, keys: slice) -> None:
    """What any rules call wholly seen or wholly hidden is so, pair by pair; else a closer look is taken."""
    part, seen = seen_by(rules)[..., queries, keys], sight(rules, queries, keys)
    assert seen is None or part.all() == seen == part.any()
    alone = part.shape[2:] == (1, 1) and isinstance(rules.offset, int)
    if alone and rules.lengths is None and not rules.arrays:
        assert seen is not None


@given(ANY_RULES, st.integers(1, 3))
def test_what_distance_decides_repeats(rules: Rules, step: int) -> None:
    """Of rules that distance alone decides, queries and keys that move together see the same."""
    if rules.by_distance:
        moved = replace(rules, first_query=rules.first_query + step, first_key=rules.first_key + step)
        np.testing.assert_array_equal(seen_by(moved), seen_by(rules))


@given(ANY_RULES)
def test_every_array_of_rules_is_converted(rules: Rules) -> None:
    """No array stays behind in one library when the rules go to another."""
    moved = rules.map(lambda array: array.tolist())
    held = [getattr(moved, field.name) for field in fields(moved)]
    assert not any(isinstance(each, np.ndarray) for each in (*held, *moved.arrays))


EDGES = [
    Rules(causal=True),
    Rules(causal=True, offset=2),
    Rules(windows=((1, None),)),
    Rules(windows=((None, 1),)),
    Rules(windows=((2, 0),), keep_first=2, offset=1),
    Rules(causal=True, lengths=per_item([2, 5]), offset=per_item([-1, 1])),
]


@pytest.mark.parametrize("rules", EDGES)
def test_sight_is_never_wrong(rules: Rules) -> None:
    """What the rules call wholly seen or wholly hidden is so, pair by pair, for every tile of 6 × 6."""
    kept = seen_by(rules)
    for queries, keys in product(TILES, TILES):
        part, seen = kept[..., queries, keys], sight(rules, queries, keys)
        assert seen is None or part.all() == seen == part.any(), (queries, keys)


def test_rules_that_know_places_are_not_by_distance() -> None:
    """First keys that stay in sight, lengths, arrays and offsets of items make equal distances differ."""
    window = Rules(windows=((2, 0),))
    assert window.by_distance
    assert replace(window, causal=True, offset=-3).by_distance
    for places in (
        {"keep_first": 2},
        {"lengths": per_item([2, 5])},
        {"offset": per_item([0, 1])},
        {"arrays": (np.ones((SIDE, SIDE), dtype=bool),)},
    ):
        assert not replace(window, **places).by_distance


def test_sight_of_causal_tiles() -> None:
    """Below the diagonal all is seen, above it nothing, and on it a closer look is taken."""
    rules = Rules(causal=True)
    places = [(slice(4, 6), slice(2, 5)), (slice(4, 6), slice(6, 8)), (slice(4, 6), slice(4, 6))]
    assert [sight(rules, queries, keys) for queries, keys in places] == [True, False, None]


@given(
    RULES,
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 4),
    st.integers(1, 4),
    st.booleans(),
)
def test_any_mask_in_any_tiles(
    rules: Rules, sizes: tuple[int, int], queries: int, keys: int, looks: bool
) -> None:
    """Whatever the rules, the sizes and the tiles, both ways come to the same output and log-sums."""
    seq_q, seq_k = sizes
    q, k, v = draw(2, 3, seq_q, 4), draw(2, 3, seq_k, 4), draw(2, 3, seq_k, 5)
    vectors = {"q": Value(q, "Q"), "k": Value(k, "K"), "v": Value(v, "V")}
    heads = {"num_heads": 3, "num_kv_heads": 3, "by_head": True, "batch": True}
    whole = Inputs(**vectors, **heads, seq_q=seq_q, seq_k=seq_k, mask=rules)  # type: ignore[arg-type]
    wanted = full(whole)
    got = streamed(whole, Engine(queries=queries, keys=keys, apart=looks, looks=looks))
    for name in ("head_output", "output"):
        array = got.records[name].array
        assert array is not None
        same(name, array, wanted.records[name].array)
    same("lse", got.records["weights"].details["lse"], wanted.records["weights"].details["lse"])


@pytest.mark.parametrize(("size", "multiplier"), [(100.0, 1.0), (5.0, 1.0), (100.0, -1.0)])
def test_large_scores_do_not_overflow(size: float, multiplier: float) -> None:
    """Where lengths of queries and keys do not rule it out, the largest score is taken off first."""
    k = np.full((3, 4), size, dtype=np.float32)
    q, by = Value(multiplier * k, "Q"), Value(np.float32(multiplier), "c")
    large = Inputs(q=q, k=Value(k, "K"), v=Value(k, "V"), multiplier=by, seq_q=3, seq_k=3)
    output = streamed(large, Engine(queries=2, keys=2, looks=True)).records["output"].array
    np.testing.assert_array_equal(output, k)


EXTREMES: dict[str, dict[str, Any]] = {
    # Each number is ordinary, and so is the result; exp(score)·value without a shift is not.
    "large values": {"q": [[4.0] * 4], "k": [[7.5] * 4, [7.4] * 4], "v": [[3e13], [1e13]], "multiplier": 0.5},
    "small values": {
        "q": [[4.0] * 4],
        "k": [[-7.5] * 4, [-7.4] * 4],
        "v": [[3e-18], [1e-18]],
        "multiplier": 0.5,
    },
    "many values": {"q": [[4.0] * 4], "k": [[15.9] * 4] * 1500, "v": [[1e8]] * 1500, "multiplier": 0.25},
    # The squares of the queries are 0, but not when they are scaled.
    "squares of nothing": {
        "q": [[1e-23] * 2],
        "k": [[3.0] * 2, [2.0] * 2],
        "v": [[1.0], [2.0]],
        "multiplier": 5e24,
    },
    # Queries can be scaled only after they met the keys.
    "late scale": {"q": [[1e10]], "k": [[2e-38], [1e-38]], "v": [[1.0], [2.0]], "multiplier": 1e29},
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_meet_in_the_middle(name: str) -> None:
    """What float32 can hold from end to end comes out right, against float64 in three lines."""
    given = EXTREMES[name]
    by = given.get("multiplier", 1.0)
    q, k, v = (np.array(given[each], dtype=np.float32) for each in "qkv")
    scores = q.astype(float) @ k.astype(float).T * by
    weights = np.exp(scores - scores.max())
    wanted = weights / weights.sum() @ v.astype(float)
    factor = Value(np.float32(by), "c")
    vectors = {"q": Value(q, "Q"), "k": Value(k, "K"), "v": Value(v, "V")}
    problem = Inputs(**vectors, multiplier=factor, seq_q=len(q), seq_k=len(k))  # type: ignore[arg-type]
    got = streamed(problem, Engine(looks=True)).records["output"].array
    assert got is not None
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_softcap_that_is_no_number_of_the_precision_hides_nothing() -> None:
    """Scores that become NaN under it stay out of sight where the mask says so."""
    q, k, v = (draw(4, 2).astype(np.float32) for _ in "qkv")
    vectors = {"q": Value(q, "Q"), "k": Value(k, "K"), "v": Value(v, "V")}
    cap, rules = Value(np.float32(np.inf), "c"), Rules(causal=True, offset=-2)
    whole = Inputs(**vectors, softcap=cap, mask=rules, seq_q=4, seq_k=4)  # type: ignore[arg-type]
    wanted = full(whole).records["output"].array
    got = streamed(whole, Engine(queries=2, keys=2, looks=True)).records["output"].array
    assert wanted is not None
    assert not wanted[:2].any()
    np.testing.assert_array_equal(got, wanted)


def test_which_weights_of_an_empty_row_are_dropped_shows() -> None:
    """A row without keys whose weights are NaN is NaN, but for what dropout takes out."""
    one = Value(np.zeros((2, 1)), "Q")
    stays = Dropout(drawn=Value(np.array([[False, True], [False, False]]), "kept"), keep_rate=None)
    v = Value(np.array([[1.0], [2.0]]), "V")
    blind = {"mask": Rules(lengths=np.array([[0]])), "empty": np.nan, "dropout": stays}
    whole = Inputs(q=one, k=one, v=v, seq_q=2, seq_k=2, **blind)  # type: ignore[arg-type]
    wanted = full(whole).records["output"].array
    got = streamed(whole, Engine(queries=1, keys=1, looks=True)).records["output"].array
    np.testing.assert_array_equal(wanted, [[np.nan], [0.0]])
    np.testing.assert_array_equal(got, wanted)


def test_weights_of_nothing_make_nan_of_nan() -> None:
    """Where all weights are 0 since their sum is, a value of NaN in sight still shows, as in the full way."""
    scores, v = Value(np.zeros((1, 2)), "S"), Value(np.array([[np.nan], [1.0]]), "V")
    whole = Inputs(scores=scores, v=v, normalize="sum", seq_q=1, seq_k=2)
    for way in (full(whole), streamed(whole, Engine(keys=1))):
        np.testing.assert_array_equal(way.records["output"].array, [[np.nan]])


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_out_of_sight(odd: float) -> None:
    """A key that is no finite number and that a query does not see changes nothing for that query."""
    q, k, v = draw(5, 4), draw(5, 4), draw(5, 3)
    k[3] = v[3] = odd
    vectors = {"q": Value(q, "Q"), "k": Value(k, "K"), "v": Value(v, "V")}
    whole = Inputs(**vectors, seq_q=5, seq_k=5, mask=Rules(causal=True))  # type: ignore[arg-type]
    wanted = full(whole).records["output"].array
    got = streamed(whole, Engine(queries=2, keys=2, looks=True)).records["output"].array
    assert wanted is not None
    assert got is not None
    assert np.isfinite(wanted[:3]).all()
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("mask", "keys", "widths"),
    [
        # A window of 4 before the query reaches into one tile of 4 before its own, but for the first.
        (Rules(causal=True, windows=((4, None),)), 4, [4] + [4, 4] * 15),
        # Of a wide tile on the diagonal, halves are left out down to the height of the tile.
        (Rules(causal=True), 16, [n for q in range(16) for n in ([16] * (q // 4) + HALVED[q % 4])]),
        # Nobody knows without looking what an array of a mask hides.
        (Rules(causal=True, arrays=(np.ones((64, 64), dtype=bool),)), 64, [64] * 16),
    ],
)
def test_only_the_keys_in_sight_are_compared(mask: Rules, keys: int, widths: list[int]) -> None:
    """What rules hide is not computed, in tiles of four queries, so that work grows with what is seen."""
    seen = []

    def exp(z: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
        seen.append(z.shape[-1])
        return np.asarray(np.exp(z if shift is None else z - shift))

    x = Value(draw(64, 2), "X")
    streamed(Inputs(q=x, k=x, v=x, seq_q=64, seq_k=64, mask=mask), Engine(queries=4, keys=keys, exp=exp))
    assert sorted(seen) == sorted(widths)
