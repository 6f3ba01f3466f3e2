"""From a problem as it was written to inputs: what is refused and why, and what is read how."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.core.inputs import Inputs
from attncli.errors import InputError
from attncli.problem import Dropout, Mask, Problem
from attncli.resolve import resolve
from attncli.resolve.drawing import drawn_to_stay
from attncli.trace import Value
from tests.computed import array_of, stage


def some(*shape: int) -> np.ndarray:
    """Make an array in which every number is another one."""
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape)


def bits(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype=bool)


def qkv(seq_q: int = 3, seq_k: int = 3, *leading: int) -> dict[str, Any]:
    return {"Q": some(*leading, seq_q, 2), "K": some(*leading, seq_k, 2), "V": some(*leading, seq_k, 2)}


X = some(3, 4)
W: dict[str, Any] = {"W_Q": some(4, 2), "W_K": some(4, 2), "W_V": some(4, 2)}

START: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": (
        {},
        r"there is nothing to compute.*\n.*starts with X.*\n  fix: add X: one row of numbers per token",
    ),
    "only labels": ({"tokens": ("a",)}, "there is nothing to compute"),
    "only keys": ({"K": X}, r"K is given, but nothing for it to work on.*fix: add Q, one row per query"),
    "only weights": (W, r"W_Q is given, but nothing for it to work on.*fix: add X"),
    "two starts": ({"X": X, "Q": X}, r"X and Q are both given, and each starts the computation"),
    "scores twice": ({"scores": X, "masked": X}, r"scores and masked are both given"),
    "weights for queries": (
        {**qkv(), "W_Q": X},
        r"W_Q has no part in a problem that starts with Q.*remove W_Q",
    ),
    "context for queries": ({**qkv(), "context": X}, r"context has no part in a problem that starts with Q"),
    "keys for tokens": ({"X": X, "K": X}, r"K has no part in a problem that starts with X"),
    "keys for scores": ({"scores": X, "K": X}, r"K has no part in a problem that starts with scores"),
    "layout of queries for tokens": (
        {"X": X, "qkv_layout": "dim seq"},
        r"qkv_layout has no part in .* starts with X",
    ),
    "layout of tokens for queries": (
        {**qkv(), "x_layout": "dim seq"},
        r"x_layout has no part in .* starts with Q",
    ),
    "d_k after the scale": ({"scaled": X, "d_k": 4}, r"d_k has no part in a problem that starts with scaled"),
    "queries without keys": ({"Q": X}, r"Q is given, but K is missing.*add K, one row per key"),
    "layout of no weight": (
        {"X": X, **W, "weight_layout": {"W_O": "out in"}},
        r"weight_layout names W_O, which is not given",
    ),
}

SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "a single number": (
        {"X": some()},
        r"X is 0-D \(a single number\), where 2-D \(seq dim\) or 3-D .* is expected",
    ),
    "one token as a list": (
        {"X": some(4)},
        r"X is 1-D \(a list of 4\).*write one row per token: X: \[\[…\], \[…\]\]",
    ),
    "5-D queries": ({"Q": some(1, 1, 1, 2, 2), "K": X}, r"Q is 5-D \(1×1×1×2×2\).*state the layout"),
    "layout of another rank": (
        {"X": X, "x_layout": "batch seq dim"},
        r"X is 2-D \(3×4\), where batch seq dim is expected",
    ),
    "no tokens": ({"X": some(0, 4)}, r"X is empty: its shape is 0×4"),
    "no features": ({"X": some(3, 0)}, r"X is empty: its shape is 3×0"),
    "no scores": ({"scores": some(2, 0)}, r"scores is empty"),
    "keys of another rank": (
        {"Q": some(2, 3, 2), "K": some(3, 2)},
        r"K is 2-D \(3×2\), but Q is 3-D \(2×3×2\)",
    ),
    "keys of another batch": (
        {"Q": some(2, 3, 2), "K": some(1, 3, 2)},
        r"K has 1 item in its batch, but Q has 2",
    ),
    "values of another batch": (
        {**qkv(3, 3, 2), "V": some(3, 3, 2)},
        r"V has 3 items in its batch, but K has 2",
    ),
    "fewer values than keys": (
        {**qkv(), "V": some(2, 2)},
        r"V has 2 rows, but there are 3 keys.*every key has one",
    ),
    "values for scores": ({"scores": some(2, 3), "V": some(1, 2)}, r"V has 1 row, but there are 3 keys"),
    "values of scores' batch": (
        {"scores": some(2, 3, 3), "V": some(3, 2)},
        r"V is 2-D \(3×2\), but scores is 3-D",
    ),
    "context of another rank": (
        {"X": some(2, 3, 4), "context": X},
        r"context is 3×4, but X is 2×3×4: their batches differ",
    ),
    "context of another batch": (
        {"X": some(2, 3, 4), "context": some(1, 5, 4)},
        r"context is 1×5×4, but X is 2×3×4",
    ),
    "context without values": ({"X": X, "context": {"K": X}}, r"context has no V"),
    "context of two lengths": (
        {"X": X, "context": {"K": X, "V": some(2, 4)}},
        r"context gives 3 keys but 2 values",
    ),
    "context of another width": (
        {"X": X, "context": some(5, 3)},
        r"X has 4 columns, but context has 3.*equally wide",
    ),
}

WEIGHTS: dict[str, tuple[dict[str, Any], str]] = {
    "one missing": (
        {"X": X, "W_Q": X.T, "W_K": X.T},
        r"W_V is missing, though W_Q and W_K are given.*W_V: identity",
    ),
    "two missing": ({"X": X, "W_V": X.T}, r"W_Q is missing, though W_V is given"),
    "rows": (
        {"X": X, **W, "W_Q": some(5, 2)},
        r"W_Q has 5 rows, but X has 4 columns.*3 tokens, d = 4\), so W_Q must be 4×d_k; it is 5×2",
    ),
    "transposed": (
        {"X": X, **W, "W_V": some(2, 4)},
        r"W_V has 2 rows.*must be 4×d_v.*it would fit transposed: weight_layout: \{W_V: out in\}",
    ),
    "transposed already": (
        {"X": X, **{name: w.T for name, w in W.items()}, "W_K": some(4, 2), "weight_layout": "out in"},
        r"W_K has 2 rows, but X has 4 columns.*transposed: weight_layout: \{W_K: in out\}",
    ),
    "of the context": ({"X": X, "context": some(2, 3), **W}, r"W_K has 4 rows, but context has 3 columns"),
    "queries and keys": (
        {"X": X, **W, "W_K": some(4, 3)},
        r"W_Q has 2 columns, but W_K has 3.*compared number by number",
    ),
    "grouped heads unsaid": (
        {"X": X, **W, "W_Q": some(4, 8), "num_heads": 4},
        r"W_K has 2 columns, which 4 heads cannot share evenly",
    ),
    "grouped heads with a hint": (
        {"X": X, "W_Q": some(4, 8), "W_K": some(4, 4), "W_V": some(4, 4), "num_heads": 4},
        r"W_Q has 8 columns, but W_K has 4 \(2 against 1 per head\).*for grouped heads say num_kv_heads: 2",
    ),
    "of rank one": ({"X": X, **W, "W_Q": some(4)}, r"W_Q is 1-D \(a list of 4\), but its layout is in out"),
    "of rank three, unsaid": (
        {"X": X, **W, "W_Q": some(2, 4, 2)},
        r"W_Q is 3-D \(2×4×2\).*head in dim, or in head dim",
    ),
    "of rank two, by head": (
        {"X": X, **W, "weight_layout": "head in dim"},
        r"W_Q is 2-D \(4×2\), but its layout is head in dim",
    ),
    "empty": ({"X": X, **W, "W_K": some(4, 0)}, r"W_K is empty"),
    "bias": (
        {"X": X, **W, "b_Q": some(3)},
        r"b_Q is a list of 3, but W_Q makes 2 columns.*give b_Q 2 numbers",
    ),
    "bias as a column": ({"X": X, **W, "b_Q": some(2, 1)}, r"b_Q is 2×1, but W_Q makes 2 columns"),
    "bias of rank three": ({"X": X, **W, "b_V": some(1, 1, 2)}, r"b_V is 1×1×2, but W_V makes 2 columns"),
    "bias by head, turned": (
        {"X": X, **{name: some(4, 6) for name in W}, "num_heads": 2, "b_K": some(3, 2)},
        r"b_K is 3×2, but W_K makes 6 columns",
    ),
    "bias of identity": ({"X": X, **W, "b_Q": "identity"}, r"identity is a matrix.*b_Q: zeros"),
    "W_O rows": (
        {"X": X, **W, "W_O": some(3, 4)},
        r"W_O has 3 rows, but the heads side by side have 2 columns",
    ),
    "W_O transposed": (
        {"X": X, **W, "W_O": some(5, 2)},
        r"W_O has 5 rows.*fit transposed: weight_layout: \{W_O: out in\}",
    ),
    "W_O transposed already": (
        {"X": X, **W, "W_O": some(2, 5), "weight_layout": {"W_O": "out in"}},
        r"W_O has 5 rows.*fit transposed: weight_layout: \{W_O: in out\}",
    ),
    "W_O by other heads": (
        {"X": X, **{name: some(2, 4, 2) for name in W}, "W_O": some(4, 1, 5), "weight_layout": "head in dim"},
        r"W_O has 4 heads, where 2 are expected",
    ),
    "W_O without values": (
        {"Q": X, "K": X, "W_O": X},
        r"W_O is given, but there are no values to project.*add V",
    ),
    "b_O without values": (
        {"scores": X, "b_O": some(4)},
        r"b_O is given, but there are no values to project",
    ),
    "b_O": ({**qkv(), "b_O": some(3)}, r"b_O is a list of 3, but W_O makes 2 columns"),
}

HEADS: dict[str, tuple[dict[str, Any], str]] = {
    "uneven queries": (
        {"X": X, "num_heads": 3},
        r"X has 4 columns, which 3 heads cannot share evenly.*num_heads must divide 4",
    ),
    "uneven values": (
        {"X": X, **W, "W_V": some(4, 3), "num_heads": 2},
        r"W_V has 3 columns, which 2 heads cannot share evenly",
    ),
    "uneven groups": (
        {"X": X, "num_heads": 4, "num_kv_heads": 3},
        r"3 key-value heads cannot serve 4 query heads evenly",
    ),
    "more keys' heads": (
        {"Q": some(1, 2, 3, 2), "K": some(1, 4, 3, 2)},
        r"4 key-value heads cannot serve 2 query heads",
    ),
    "values of other heads": (
        {"Q": some(1, 2, 3, 2), "K": some(1, 2, 3, 2), "V": some(1, 1, 3, 2)},
        r"V has 1 head, where 2 are expected",
    ),
    "num_heads against an axis": (
        {**qkv(3, 3, 1, 2), "num_heads": 4},
        r"Q has 2 heads, where 4 are expected.*num_heads is 4",
    ),
    "num_kv_heads against an axis": (
        {**qkv(3, 3, 1, 2), "num_kv_heads": 1},
        r"K has 2 heads, where 1 are expected.*num_kv_heads is 1",
    ),
    "num_heads against weights": (
        {"X": X, **{name: some(2, 4, 2) for name in W}, "weight_layout": "head in dim", "num_heads": 4},
        r"W_Q has 2 heads, where 4 are expected",
    ),
    "width by head": (
        {"Q": some(1, 2, 3, 2), "K": some(1, 1, 3, 4)},
        r"Q has 4 columns, but K has 4 \(2 against 4 per head\)",
    ),
    "scores without heads": (
        {"scores": some(3, 3), "num_heads": 2},
        r"num_heads is 2, but scores has no head axis.*qkv_layout: head seq dim",
    ),
}

SCALE: dict[str, tuple[dict[str, Any], str]] = {
    "said twice": (
        {**qkv(), "scale": 1.0, "divide_by": 2.0},
        r"scale and divide_by are both given.*keep one",
    ),
    "divided by zero": (
        {**qkv(), "divide_by": 0.0},
        r"divide_by is 0.*divide_by: 1 leaves the scores as they are",
    ),
    "scale after it": (
        {"scaled": X, "scale": 0.5},
        r"scale comes before scaled, which is where this problem starts",
    ),
    "divisor after it": (
        {"masked": X, "divide_by": 2.0},
        r"divide_by comes before masked.*call the numbers scores",
    ),
    "temperature after it": ({"scaled": X, "temperature": 2.0}, r"temperature comes before scaled"),
    "another d_k": ({**qkv(), "d_k": 64}, r"d_k is 64, but each key is 2 wide.*say divide_by"),
    "another d_k per head": ({"X": X, "num_heads": 2, "d_k": 4}, r"d_k is 4, but each key is 2 wide"),
    "width of no model": ({"scores": X, "scale": "d_model"}, r"scale is d_model, but there are no vectors"),
}

LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "too few": (
        {"X": X, "tokens": ("a", "b")},
        r"tokens has 2 labels, but there are 3 queries.*one label per query",
    ),
    "too many keys": (
        {**qkv(1, 3), "context_tokens": ("a",)},
        r"context_tokens has 1 label, but there are 3 keys",
    ),
}


def masked(mask: Mask, problem: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return {**(problem or qkv()), "mask": mask, **keys}


MASKS: dict[str, tuple[dict[str, Any], str]] = {
    "causal across": (
        masked(Mask(causal=True), qkv(2, 5)),
        r"causal is not clear with 2 queries and 5 keys.*at key 3.*causal: true, align: bottom_right\}, or top_left, or offset: n",
    ),
    "window across": (
        masked(Mask(sliding_window=2), qkv(2, 5)),
        r"a window is not clear with 2 queries and 5 keys.*mask: \{window: …, align: bottom_right\}",
    ),
    "align and offset": (
        masked(Mask(causal=True, align="top_left", offset=1)),
        r"align and offset are both given",
    ),
    "align alone": (
        masked(Mask(keep=bits(3, 3), align="top_left")),
        r"align says where a diagonal runs, but there is neither",
    ),
    "offset alone": (
        masked(Mask(offset=2)),
        r"offset says where a diagonal runs.*add causal: true, or remove offset",
    ),
    "first without window": (
        masked(Mask(causal=True, keep_first=1)),
        r"keep_first keeps keys in sight of a window, but there is no window",
    ),
    "lengths count": (masked(Mask(lengths=(1, 2))), r"mask.lengths has 2 numbers for 1 item in the batch"),
    "lengths of a batch": (
        masked(Mask(lengths=(1,)), qkv(3, 3, 2)),
        r"mask.lengths has 1 numbers for 2 items in the batch",
    ),
    "length too large": (masked(Mask(lengths=(4,))), r"mask.lengths says 4, but there are 3 keys"),
    "shape": (
        masked(Mask(keep=bits(2, 3))),
        r"mask.keep is 2×3 \(query, key\), but the scores are 3×3 \(query, key\)",
    ),
    "additive shape": (masked(Mask(additive=some(3, 2))), r"mask.additive is 3×2"),
    "shape by head": (
        masked(Mask(drop=bits(1, 3, 3, 3)), {"X": X, "num_heads": 2}),
        r"mask.drop is 1×3×3×3 \(batch, head, query, key\), but the scores are 2×3×3 \(head, query, key\)",
    ),
    "batch for none": (masked(Mask(keep=bits(2, 1, 3, 3))), r"mask.keep is 2×1×3×3"),
    "one-dimensional": (
        masked(Mask(keep=bits(3))),
        r"mask.keep is 1-D \(a list of 3\), and nothing says which axis is which",
    ),
    "three axes of four": (
        masked(Mask(keep=bits(2, 3, 3)), qkv(3, 3, 2, 2)),
        r"mask.keep is 3-D \(2×3×3\).*mask_layout: batch query key, or head query key",
    ),
    "three axes of two": (masked(Mask(keep=bits(2, 3, 3))), r"mask.keep is 3-D \(2×3×3\), and nothing says"),
    "empty": (masked(Mask(keep=bits(0, 3))), r"mask.keep is empty"),
    "ambiguous padding": (
        masked(Mask(keep=bits(3, 3)), qkv(3, 3, 3)),
        r"mask.keep is 3×3: is that \(batch, keys\) or \(queries, keys\)\?.*key_padding.*mask_layout: query key",
    ),
    "padding as a mask": (
        masked(Mask(keep=bits(2, 3)), qkv(3, 3, 2)),
        r"mask.keep is 2×3, one row per item of the batch rather than per query",
    ),
    "padding beside a larger mask": (
        masked(
            Mask(keep=bits(2, 3), drop=~bits(2, 1, 3, 3)), qkv(3, 3, 2), mask_layout="batch head query key"
        ),
        r"mask.keep is 2×3, one row per item",
    ),
    "padding of other keys": (
        masked(Mask(key_padding=bits(4))),
        r"mask.key_padding is a list of 4, but the problem has 1 item of 3 keys",
    ),
    "padding of other items": (
        masked(Mask(key_padding=bits(3, 3)), qkv(3, 3, 2)),
        r"mask.key_padding is 3×3, but the problem has 2 items of 3 keys.*give one row per item: 2×3",
    ),
    "padding of rank three": (masked(Mask(key_padding=bits(1, 1, 3))), r"mask.key_padding is 1×1×3"),
    "padding of other queries": (
        masked(Mask(query_padding=bits(2))),
        r"mask.query_padding is a list of 2, but .* 3 queries",
    ),
    "masked already": (
        {"masked": X, "mask": Mask(causal=True)},
        r"mask is given, but the scores are masked already",
    ),
}

WORDS: dict[str, tuple[dict[str, Any], str]] = {
    "no shape for X": (
        {"X": "identity"},
        r"X: identity needs a shape, and none follows.*write the numbers of X out",
    ),
    "no width for X": ({"X": "ones", "tokens": ("a", "b")}, r"X: ones needs a shape"),
    "no shape for queries": ({"Q": "identity", "K": "identity"}, r"Q: identity needs a shape"),
    "no width for values": ({"scores": X, "V": "zeros"}, r"V: zeros needs a shape"),
    "no rows for the context": ({"X": X, "context": "ones", **W}, r"context: ones needs a shape"),
    "no shape in a batch": ({"Q": some(2, 3, 2), "K": "zeros"}, r"K: zeros needs a shape"),
}

BAD = {
    f"{table}: {name}": case
    for table, cases in {
        "start": START,
        "shapes": SHAPES,
        "weights": WEIGHTS,
        "heads": HEADS,
        "scale": SCALE,
        "labels": LABELS,
        "masks": MASKS,
        "words": WORDS,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_said(case: str) -> None:
    """The message says what is wrong with the numbers that show it, and mostly what to do."""
    keys, message = BAD[case]
    with pytest.raises(InputError, match=re.compile(message, re.DOTALL)) as caught:
        resolve(Problem(**keys))
    known = {"mask", "context", *keys}
    assert not caught.value.path or caught.value.path[0] in known, "the path names a key that was given"


def read(**keys: Any) -> Inputs:
    return resolve(Problem(**keys)).inputs


def array(value: Value | None) -> np.ndarray:
    assert value is not None
    return np.asarray(value.array)


def test_words_take_the_shape_that_follows() -> None:
    """Identity, zeros and ones are as large as the arrays beside them require."""
    one_hot = read(X="identity", **W)
    assert array(one_hot.x).tolist() == np.eye(4).tolist()
    assert array(read(X="identity", tokens=("a", "b")).x).tolist() == np.eye(2).tolist()
    assert array(read(X="ones", tokens=("a", "b"), **W).x).shape == (2, 4)
    same = read(X=X, W_Q="identity", W_K="zeros", W_V="ones", b_Q="ones", W_O="identity", b_O="zeros")
    assert array(same.w_q).tolist() == np.eye(4).tolist()
    assert array(same.w_k).tolist() == np.zeros((4, 4)).tolist()
    assert array(same.b_q).tolist() == [1.0] * 4
    assert array(same.w_o).tolist() == np.eye(4).tolist()
    assert array(same.b_o).tolist() == [0.0] * 4
    context = read(X=X, context="identity", **W)
    assert array(context.x_k).shape == (4, 4)


@pytest.mark.parametrize(
    ("given", "shapes"),
    [
        ({"Q": some(3, 2), "K": some(5, 2), "V": "identity"}, [(3, 2), (5, 2), (5, 5)]),
        ({"Q": some(3, 2), "K": "zeros", "V": some(5, 4)}, [(3, 2), (5, 2), (5, 4)]),
        ({"Q": some(3, 2), "K": "identity", "V": some(2, 4)}, [(3, 2), (2, 2), (2, 4)]),
        ({"Q": "identity", "K": some(5, 2), "V": some(5, 4)}, [(2, 2), (5, 2), (5, 4)]),
        ({"Q": "zeros", "K": some(3, 2), "V": "ones", "tokens": ("a", "b")}, [(2, 2), (3, 2), (3, 2)]),
        ({"Q": some(3, 2), "K": "ones", "V": "identity"}, [(3, 2), (3, 2), (3, 3)]),
    ],
)
def test_words_among_queries_keys_and_values(given: dict[str, Any], shapes: list[tuple[int, int]]) -> None:
    """Keys are as wide as queries and as many as values, in any layout."""
    for layout in ("seq dim", "dim seq"):
        turned = {
            name: each.T if isinstance(each, np.ndarray) and layout == "dim seq" else each
            for name, each in given.items()
        }
        inputs = read(**turned, qkv_layout=layout)
        assert [array(each).shape for each in (inputs.q, inputs.k, inputs.v)] == shapes


def test_keys_and_values_may_have_sources_of_their_own() -> None:
    """A context of K and V gives each its array, and each its symbol."""
    k, v = some(5, 4), -some(5, 4)
    inputs = read(X=X, context={"K": k, "V": v}, **W)
    assert [each.symbol for each in (inputs.x, inputs.x_k, inputs.x_v) if each] == ["X", "C_K", "C_V"]
    np.testing.assert_array_equal(array(inputs.x_k), k)
    np.testing.assert_array_equal(array(inputs.x_v), v)
    assert (inputs.seq_q, inputs.seq_k) == (3, 5)


def test_no_weights_are_no_stage_of_their_own() -> None:
    """X alone is Q = K = V = X, and not a product with an identity."""
    inputs = read(X=X)
    assert (inputs.w_q, inputs.w_k, inputs.w_v) == (None, None, None)
    np.testing.assert_array_equal(stage("Q", X=X), X)


def test_whole_numbers_are_taken_as_real_ones() -> None:
    """An array of integers divides and multiplies as numbers do, and so does a whole scale."""
    whole = np.array([[3, 1], [1, 2]])
    assert array(read(X=whole).x).dtype == np.float64  # or torch would not multiply it by real weights
    np.testing.assert_array_equal(stage("output", X=whole), stage("output", X=whole.astype(float)))
    assert stage("scaled", X=whole, scale=1).tolist() == (whole @ whole.T).tolist()
    added = Mask(additive=np.array([[0, 1], [0, 0]]))
    assert stage("masked", scaled=whole, mask=added).tolist() == [[3, 2], [1, 2]]


def test_ones_and_zeros_are_true_and_false() -> None:
    """A mask of 1 and 0 keeps what a mask of true and false does; drop turns it round."""
    ones = np.array([[1, 0], [1, 1]])
    for mask in (Mask(keep=ones), Mask(drop=1 - ones), Mask(keep=ones.astype(float))):
        assert stage("weights", scaled=np.zeros((2, 2)), mask=mask).tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("keys", "axes"),
    [
        ({"X": X}, ()),
        ({"X": X, "num_heads": 2}, ("head",)),
        ({"X": some(2, 3, 4)}, ("batch",)),
        ({"X": some(2, 3, 4), "num_heads": 2}, ("batch", "head")),
        (qkv(3, 3, 2), ("batch",)),
        (qkv(3, 3, 1, 2), ("batch", "head")),
        ({**qkv(3, 3, 2), "qkv_layout": "head seq dim"}, ("head",)),
        ({**qkv(3, 3, 2), "num_heads": 2}, ("batch", "head")),
        ({"scores": some(2, 3, 3)}, ("batch",)),
        ({"scores": some(2, 3, 3), "qkv_layout": "head seq dim"}, ("head",)),
        ({"scores": some(2, 3, 3), "qkv_layout": "seq head dim", "V": some(3, 2, 2)}, ("head",)),
        ({"masked": some(1, 2, 3, 3)}, ("batch", "head")),
    ],
)
def test_the_rank_says_which_axes_there_are(keys: dict[str, Any], axes: tuple[str, ...]) -> None:
    """Batch comes by rank; heads by num_heads, by a fourth axis, or when the layout says head."""
    assert read(**keys).axes == axes
    expected = tuple(axis for axis in ("batch", "head") if axis in axes)
    assert stage("weights", **keys).ndim == 2 + len(expected)


def test_heads_of_values_are_enough_to_group_scores() -> None:
    """Scores of four heads take values of two, each serving two of them."""
    inputs = read(scores=some(4, 3, 3), V=some(2, 3, 2), qkv_layout="head seq dim", d_k=4)
    assert (inputs.num_heads, inputs.num_kv_heads) == (4, 2)


@pytest.mark.parametrize(
    ("keys", "formula"),
    [
        ({}, "S ÷ √2"),
        ({"d_k": 2}, "S ÷ √2"),
        ({"scale": "none"}, "S"),
        ({"scale": "d_model"}, "S ÷ √4"),
        ({"scale": 0.125}, "S × 0.125"),
        ({"scale": 2}, "S × 2"),
        ({"divide_by": 8}, "S ÷ 8"),
        ({"temperature": 0.5}, "S ÷ √2 ÷ 0.5"),
        ({"num_heads": 2}, "S ÷ √1"),
    ],
)
def test_the_scale_is_what_the_formula_says(keys: dict[str, Any], formula: str) -> None:
    """One over the root of a key's width, unless a key of the problem says something else."""
    assert compute(Problem(X=X, **W, **keys))["scaled"].formula == formula


def test_scores_without_a_width_are_not_scaled_and_say_so() -> None:
    """Scores alone do not tell d_k: they stay as they are, with a note; with d_k they are scaled."""
    resolved = resolve(Problem(scores=X))
    assert resolved.inputs.divisor is None
    assert "no d_k, scale or divide_by" in resolved.notes[0]
    assert stage("scaled", scores=X, d_k=16).tolist() == (X / 4).tolist()
    assert not resolve(Problem(scores=X, scale="none")).notes


@pytest.mark.parametrize(
    ("keep", "keys", "shape"),
    [
        (bits(3, 3), qkv(), (3, 3)),
        (bits(1, 3), qkv(), (1, 3)),
        (bits(3, 1), qkv(), (3, 1)),
        (bits(1, 1, 3, 3), qkv(), (3, 3)),
        (bits(2, 3, 3), qkv(3, 3, 2), (2, 3, 3)),
        (bits(3, 3), qkv(3, 3, 2), (1, 3, 3)),
        (bits(1, 3), qkv(3, 3, 1), (1, 1, 3)),
        (bits(2, 3, 3), {**qkv(3, 3, 2, 2), "mask_layout": "head query key"}, (1, 2, 3, 3)),
        (bits(2, 3, 3), {**qkv(3, 3, 2, 2), "mask_layout": "batch query key"}, (2, 1, 3, 3)),
        (bits(3, 2, 3), {**qkv(3, 3, 2), "mask_layout": "query batch key"}, (2, 3, 3)),
        (bits(3, 3), {**qkv(3, 3, 3), "mask_layout": "query key"}, (1, 3, 3)),
        (bits(2, 3, 3), {"X": X, "num_heads": 2}, (2, 3, 3)),
        (bits(1, 2, 3, 3), {"X": X, "num_heads": 2}, (2, 3, 3)),
        (bits(2, 1, 3, 3), {"X": some(2, 3, 4), "num_heads": 2}, (2, 1, 3, 3)),
    ],
)
def test_a_masks_axes_are_set_beside_the_scores(
    keep: np.ndarray, keys: dict[str, Any], shape: tuple[int, ...]
) -> None:
    """A mask's array has an axis for each of the scores', of length one where it broadcasts."""
    rules = read(**keys, mask=Mask(keep=keep)).mask
    assert rules is not None
    assert [each.shape for each in rules.arrays] == [shape]


def test_a_layout_turns_a_mask_round() -> None:
    """``key query`` is the transposed mask."""
    keep = np.tri(3, dtype=bool)
    given: dict[str, Any] = {"scaled": np.zeros((3, 3))}
    turned = stage("weights", **given, mask=Mask(keep=keep.T), mask_layout="key query")
    np.testing.assert_array_equal(turned, stage("weights", **given, mask=Mask(keep=keep)))


@pytest.mark.parametrize(
    ("keys", "queries", "key_labels"),
    [
        ({"X": X}, "012", "012"),
        ({"X": X, "tokens": tuple("abc")}, "abc", "abc"),
        ({"X": X, "context": some(2, 4), "tokens": tuple("abc")}, "abc", "01"),
        ({"X": X, "context": X, "tokens": tuple("abc")}, "abc", "012"),
        ({**qkv(1, 3), "tokens": tuple("abc")}, "0", "abc"),
        ({**qkv(1, 3), "tokens": ("q",), "context_tokens": tuple("abc")}, "q", "abc"),
    ],
)
def test_labels_of_queries_and_keys(keys: dict[str, Any], queries: str, key_labels: str) -> None:
    """Tokens label queries, and keys too in self-attention; without labels they are numbered from 0."""
    resolved = resolve(Problem(**keys))
    assert (resolved.query_labels, resolved.key_labels) == (tuple(queries), tuple(key_labels))


def test_labels_that_fit_the_keys_only_are_noted() -> None:
    """When tokens can only label the keys, a note says that they do."""
    (note,) = resolve(Problem(**qkv(1, 3), tokens=tuple("abc"), scale="none")).notes
    assert note == "tokens label the 3 keys, since there is 1 query"


@pytest.mark.parametrize(
    ("keys", "unused"),
    [
        ({"X": X, "mask_fill": -1e9}, "mask_fill"),
        ({"X": X, "fully_masked": "nan"}, "fully_masked"),
        ({"X": X, "said": frozenset({"fully_masked"})}, "fully_masked"),
        ({"X": X, "mask_fill": -1e9, "fully_masked": "nan"}, "mask_fill and fully_masked"),
        ({"masked": some(2, 2), "mask_fill": -1e9, "fully_masked": "nan"}, "mask_fill"),
        ({"X": X, "mask": Mask(causal=True), "mask_fill": -1e9, "fully_masked": "nan"}, ""),
        ({"X": X, "like": "jax"}, ""),
        ({"X": X}, ""),
    ],
)
def test_what_waits_for_a_mask_is_noted(keys: dict[str, Any], unused: str) -> None:
    """A key that only a mask gives a meaning does not go by in silence where there is none."""
    notes = [each for each in resolve(Problem(**keys)).notes if not each.startswith("like")]
    assert notes == ([f"there is no mask for {unused} to act on"] if unused else [])


def test_a_square_weight_is_noted_with_its_reading() -> None:
    """Only where shape cannot tell, and the reading matters, is there one note for all weights."""
    square, symmetric = some(4, 4), np.eye(4)
    (note,) = resolve(Problem(X=X, W_Q=square, W_K=square, W_V=symmetric)).notes
    assert note.startswith("W_Q, W_K are square and read as y = xW; for nn.Linear's y = xWᵀ say")
    assert not resolve(Problem(X=X, W_Q=square, W_K=square, W_V=square, weight_layout="in out")).notes
    assert not resolve(Problem(X=X, **W)).notes


@pytest.mark.parametrize(
    "start",
    [{"scores": X, "scale": "none"}, {"scaled": X}, {"Q": X, "K": np.eye(X.shape[1]), "scale": "none"}],
)
def test_scores_are_capped_and_biased_wherever_the_problem_starts(start: dict[str, Any]) -> None:
    """A softcap and a bias act on scaled scores, whether these were computed or given."""
    bias = np.arange(X.size).reshape(X.shape) / 7
    np.testing.assert_allclose(stage("softcapped", **start, softcap=2.0), 2 * np.tanh(X / 2), rtol=1e-14)
    np.testing.assert_allclose(
        stage("biased", **start, softcap=2.0, bias=bias), 2 * np.tanh(X / 2) + bias, rtol=1e-14
    )
    before = stage("softcapped", **start, softcap=2.0, bias=bias, bias_position="before_softcap")
    np.testing.assert_allclose(before, 2 * np.tanh((X + bias) / 2), rtol=1e-14)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 7), (2, 3, 4, 9)])
def test_dropout_draws_what_numpy_draws_from_the_seed(shape: tuple[int, ...]) -> None:
    """Whole or in part, the weights that stay are those of numpy.random.default_rng, wherever a part begins."""
    wanted = np.random.default_rng(7).random(shape) >= 0.3
    drawn = drawn_to_stay(7, 0.3, shape)
    np.testing.assert_array_equal(drawn.now(), wanted)
    for start, stop in ((0, 1), (1, 3), (1, None), (-1, None)):
        part = (slice(start, stop),) * len(shape)
        np.testing.assert_array_equal(drawn[part].now(), wanted[part])
        first = (slice(0, 1),) * len(shape)
        np.testing.assert_array_equal(drawn[part][first].now(), wanted[part][first])


def test_dropout_of_a_batch_with_heads_is_one_draw() -> None:
    """Batch, head, query and key follow one another in the draw."""
    problem = Problem(
        Q=some(2, 3, 4, 2), K=some(2, 3, 5, 2), V=some(2, 3, 5, 2), dropout=Dropout(p=0.5, seed=3)
    )
    stayed = array_of(compute(problem), "dropped") != 0
    weights = array_of(compute(problem), "weights") != 0
    np.testing.assert_array_equal(stayed, weights & (np.random.default_rng(3).random((2, 3, 4, 5)) >= 0.5))
