"""What each key takes, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.draw import draw
from attncli.errors import InputError
from attncli.problem import Expected, Key, Kind, Mask, Problem, keys
from attncli.readers.records import PARSERS
from attncli.readers.values import Slot

Read = Callable[..., Problem]

WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O")

BLOCKS = {
    "|\n  1 2\n  3 4\n": [[1, 2], [3, 4]],
    "|\n  1, 2,\n  3, 4\n": [[1, 2], [3, 4]],
    "|\n  [[1. 2.]\n   [3. 4.]]\n": [[1, 2], [3, 4]],
    "|\n  tensor([[ 1.0000,  2.0000],\n          [ 3.0000, -4.5000]], grad_fn=<MmBackward0>)\n": [
        [1, 2],
        [3, -4.5],
    ],
    "|\n  tensor([[1., 2.]], device='cuda:0', dtype=torch.float64)\n": [[1, 2]],
    "|\n  array([[1., 2.],\n         [3., inf]], dtype=float32)\n": [[1, 2], [3, np.inf]],
    "|\n  np.array([[1, 2]])\n": [[1, 2]],
    "|\n  Parameter containing:\n  tensor([[1., 2.]], requires_grad=True)\n": [[1, 2]],
    "tensor([[1., 2.], [3., 4.]])": [[1, 2], [3, 4]],
    "|\n  [[[1 2]\n    [3 4]]]\n": [[[1, 2], [3, 4]]],
    '"1 2\\n3 4"': [[1, 2], [3, 4]],
}

ARRAYS_REFUSED = {
    ">\n  1 2\n  3 4\n": "lines YAML has joined",
    "\n  1 2\n  3 4\n": "lines YAML has joined",
    "|\n  [[1. ... 2.]\n   [3. ... 4.]]\n": "numbers left out",
    "|\n  [[1, 2], [3, 4]\n": "a bracket without its partner",
    "|\n  [[1, 2]]]\n": "a bracket without its partner",
    "|\n  [[1,, 2]]\n": "an empty item before a comma",
    "|\n  foo [[1, 2]]\n": "outside its outermost brackets",
    "|\n  tensor([[1, 2]], dtype=float32)\n  5 6 (7 8)\n": "outside its outermost brackets",
    "|\n  tensor([[1., 2.]], dtype=torch.float64) / sqrt(2)\n": "outside its outermost brackets",
    "|\n  tensor([[1, 2]], grad_fn=<A>) * (2)\n": "outside its outermost brackets",
    "|\n  1, , 2\n": "X row 1, column 2 .*is empty",
    "|\n  1 2\n  3\n": r"X row 2 .*has 1 column",
    "|\n  1 2\n  3 x\n": r'X row 2, column 2 .*not a number: "x"',
    "|\n  [[1.+2.j 2.]]\n": "complex",
    "": "X is empty",
    "hello": 'X is text, "hello", where rows of numbers',
    "5": "X is the single number 5",
    "{1, 2}": "X is in braces, which hold keys",
    "{random: 3}": "X.random needs a shape",
    "{random: {shape: 3}}": "a list of whole numbers",
    "{random: {shape: [3, 0]}}": "must be at least 1",
    "{random: {shape: [1, 1, 1, 1, 1]}}": "1 to 4 axes",
    "{random: {shape: [99999, 99999]}}": r"at most 268,435,456 numbers",
    "{random: {shape: [2], sed: 1}}": r"did you mean seed\?",
    "{random: {shape: [2], distribution: gaussian}}": "choices: uniform, normal, linear_init",
    "{random: {shape: [2], seed: -1}}": "must be at least 0",
}

REFUSED = {
    "W_q: [[1]]": r'unknown key "W_q"[\s\S]*did you mean W_Q\?',
    "num-heads: 2": r"did you mean num_heads\?",
    "zzz: 1": "see: attn keys",
    '"": 1': 'unknown key ""',
    "causal: true": r"a key of mask[\s\S]*mask: \{causal: …\}",
    "num_heads: 2.5": "num_heads is .*not a whole number",
    "num_heads: 0": "at least 1",
    "num_heads: true": "truth value",
    "num_heads: two": "not a number",
    "num_heads: [2]": "is a list",
    "num_heads:": "is empty",
    "num_heads: 1e30": "not a whole number",
    "temperature: 0": "must be greater than 0",
    "temperature: nan": "temperature is NaN",
    "temperature: inf": "infinite",
    "expected_tolerance: -1": "at least 0",
    "kv_head_map: Repat": r"not one of its choices[\s\S]*choices: repeat, tile[\s\S]*did you mean repeat\?",
    "dtype: float": r"choices: float64, float32, float16, bfloat16",
    "scale: Non": r"a number, or one of: none, d_model[\s\S]*did you mean none\?",
    "scale: null": "one of: none, d_model",
    "x_layout: dim sequence": r"unknown axis[\s\S]*did you mean seq\?",
    "x_layout: batch dim": "no full set of axes",
    "x_layout: seq seq dim": "no full set of axes",
    "weight_layout: {W_q: out in}": r"did you mean W_Q\?",
    "weight_layout: {W_Q: out}": "not one of its choices",
    "mask: causall": r"did you mean causal\?",
    "mask: true": "true.* is no mask",
    "mask: yes": r"fix: write mask: causal$",
    "mask:": r"is no mask[\s\S]*fix: leave mask out$",
    "mask: null": r"fix: leave mask out$",
    "mask: false": r"fix: leave mask out$",
    "mask: {causal: none}": r"fix: leave causal out: the default is false$",
    "rope: false": r"where a mapping was expected[\s\S]*fix: leave rope out$",
    "rope: none": r"fix: leave rope out$",
    "rope: neox": r"fix: write rope: \{pairing: half\}$",
    "sink: none": r"fix: leave sink out$",
    "sink: true": r"is a truth value[\s\S]*fix: write a number$",
    "softcap: false": r"fix: leave softcap out$",
    "softcap: 0": r"must be greater than 0[\s\S]*fix: leave softcap out$",
    "bias: null": r"fix: leave bias out$",
    "V: null": r"fix: write V: .*, or leave V out$",
    "dropout: none": r"fix: leave dropout out$",
    "like: none": r"fix: leave like out$",
    "num_heads: none": r"fix: leave num_heads out: the default is 1$",
    "num_heads: auto": r"fix: leave num_heads out: the default is 1$",
    "dtype: none": r"fix: leave dtype out: the default is float64$",
    "fused: none": r"choices: block, per_head, per_group\n  fix: write one of them$",
    "position_encoding: true": r"fix: write sinusoidal$",
    "normalize: false": r"did you mean none\?",
    "scale: false": r"did you mean none\?",
    "scale: true": r"fix: leave scale out: the default is 1/√d_k$",
    "scale: auto": r"fix: leave scale out: the default is 1/√d_k$",
    "scale: 1/sqrt(d_k)": r"fix: leave scale out: the default is 1/√d_k$",
    "scale: 1/√head_dim": r"fix: leave scale out: the default is 1/√d_k$",
    "scale: np.sqrt(2)": r"is a formula.*\n[\s\S]*fix: write its value$",
    "X:": r"X is empty[\s\S]*fix: write X: .*, or leave X out$",
    "weight_layout: [out, in]": r"did you mean out in\?",
    "mask_layout: none": r"known: query, key, batch, head$",
    "mask: [[1, 0], [1, 1]]": r"mask: \{keep: …\} if 1[\s\S]*mask: \{drop: …\} if 1",
    "mask: [[0, -1e9], [0, 0]]": "mask: {additive: …}",
    "mask: [[true, 2]]": r"mask row 1, column 2 .*neither true nor false",
    "mask: [[true], [true, true]]": r"mask row 2 .*has 2 columns",
    "mask: nope.npy": "no such file",
    "mask: {causl: true}": r'unknown key "causl" in mask[\s\S]*did you mean causal\?',
    "mask: {causal: maybe}": "true or false was expected",
    "mask: {keep: [[1, 0.5]]}": r"mask\.keep row 1, column 2",
    "mask: {lengths: 3}": r"a list of whole numbers",
    "mask: {lengths: [-1]}": r"mask\.lengths item 1 .*at least 0",
    "mask: {window: 3}": "left and right were expected",
    "mask: {window: {lft: 1}}": r"did you mean left\?",
    "mask: {sliding_window: 0}": "at least 1",
    "tokens: the cat": r"a list of labels was expected[\s\S]*\[the, cat\]",
    "tokens: []": "a list of labels",
    "tokens: [[CLS], a]": r'token 1 of tokens[\s\S]*quotes: "\[CLS\]"',
    "tokens: [a, {b: c}]": "token 2 of tokens .*mapping",
    "tokens:\n- a\n- #1\n": "token 2 of tokens .*empty",
    "name: [a]": "name is a list, where text was expected",
    "schema: attn/2": "this version reads attn/1",
    "stages: 3": "a mapping was expected",
    "context: {Q: [[1]]}": "known: K, V",
    "expected: 3": "stages and their numbers",
    "expected: {a b: 1}": "no stage and no part of one",
    "expected: {weights: [[a]]}": r"expected\.weights row 1, column 1 .*not a number",
    "expected: {weights: a}": "expected.weights is not a number",
    "expected: {weights: [[1]]}\nexpected_decimals: {weigths: 2}": r"did you mean weights\?",
    "expected: {weights: [[1]]}\nexpected_in: {output: percent}": 'unknown stage of expected "output"',
    "expected_decimals: -1": "at least 0",
}

READ = {
    "num_heads: 2": ("num_heads", 2),
    "num_heads: 2.0": ("num_heads", 2),
    "scale: none": ("scale", "none"),
    "scale: 1/sqrt(64)": ("scale", 0.125),
    "mask_fill: -1e9": ("mask_fill", -1e9),
    "mask_fill: -inf": ("mask_fill", -np.inf),
    "mask_fill: finfo_min": ("mask_fill", "finfo_min"),
    "expected_tolerance: 0": ("expected_tolerance", 0.0),
    "x_layout: dim seq": ("x_layout", "dim seq"),
    "qkv_layout: [batch, seq, head, dim]": ("qkv_layout", "batch seq head dim"),
    "weight_layout: {W_O: out in}": ("weight_layout", {"W_O": "out in"}),
    "mask: causal": ("mask", Mask(causal=True)),
    "mask: none": ("mask", None),
    "mask: {causal: yes, window: {left: 2, right: 0}, lengths: [2, 6], align: top_left}": (
        "mask", Mask(causal=True, window={"left": 2, "right": 0}, lengths=(2, 6), align="top_left")
    ),
    "tokens: [1.10, 1:30, no, '']": ("tokens", ("1.10", "1:30", "no", "")),
    "name: 1.10": ("name", "1.10"),
    "name:": ("name", None),
    "X: identity": ("X", "identity"),
    "notes: {a: [1, no]}": ("notes", {"a": ["1", "no"]}),
    "expected: {weights: [[0.50, −1e-3]], 'output[0,1]': 0.10}": (
        "expected", {"weights": Expected([["0.50", "-1e-3"]]), "output[0,1]": Expected("0.10")}
    ),
    "expected: {weights: 1}\nexpected_decimals: {weights: 2}": ("expected_decimals", {"weights": 2}),
    "expected: {'output[0]': 1}\nexpected_in: {output: percent}": ("expected_in", {"output": "percent"}),
}  # fmt: skip


@pytest.mark.parametrize("text", BLOCKS)
def test_blocks(read: Read, text: str) -> None:
    """Rows on lines and printouts are read as they are pasted."""
    np.testing.assert_array_equal(read(f"X: {text}").X, BLOCKS[text])


@pytest.mark.parametrize("text", ARRAYS_REFUSED)
def test_arrays_refused(read: Read, text: str) -> None:
    """What is no array says what it is, and where."""
    with pytest.raises(InputError, match=ARRAYS_REFUSED[text]) as caught:
        read(f"X: {text}")
    assert caught.value.place is not None
    assert caught.value.place.line is not None


@pytest.mark.parametrize("text", REFUSED)
def test_refused(read: Read, text: str) -> None:
    """A value that is not of its key's kind is refused with what was expected, and its line."""
    with pytest.raises(InputError, match=REFUSED[text]) as caught:
        read(text)
    assert caught.value.place is not None
    assert caught.value.place.line is not None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("我, 爱, 你", ["我", "爱", "你"]),
        ("【我, 爱, 你】", ["我", "爱", "你"]),
        ("我、爱、你", ["我", "爱", "你"]),
        ("我，爱，你,", ["我", "爱", "你"]),
        ("我 爱 你", ["我", "爱", "你"]),
        ("New York, Paris", ["New York", "Paris"]),
        ("'[CLS] #1 don''t a:'", ["[CLS]", "#1", "don't", "a:"]),
        ("'[no, -, *a, &b]'", ["no", "-", "*a", "&b"]),
    ],
)
def test_the_fix_for_labels_in_one_text_is_a_list_of_them(read: Read, text: str, meant: list[str]) -> None:
    """Taken as it stands, the fix is read, and as the labels that were meant."""
    with pytest.raises(InputError, match=r"where a list of labels was expected") as caught:
        read(f"tokens: {text}")
    written = caught.value.fix.removeprefix("write ")
    assert read(f"tokens: {written}").tokens == tuple(meant)


@pytest.mark.parametrize("text", READ)
def test_read(read: Read, text: str) -> None:
    """A value of its key's kind arrives as the key declares it."""
    key, expected = READ[text]
    assert getattr(read(text), key) == expected


@pytest.mark.parametrize(
    ("value", "keep"),
    [
        ("[[true, false]]", [[True, False]]),
        ("|\n  [[ True False]]\n", [[True, False]]),
        ("{keep: [[1, 0]]}", [[True, False]]),
        ("m.npy", [[True, False]]),
        ("{keep: i.npy}", [[True, False]]),
        ("m.csv", [[True, False]]),
    ],
)
def test_boolean_masks(read: Read, tmp_path: Path, value: str, keep: list[list[bool]]) -> None:
    """A boolean array keeps where it is true, in any form."""
    np.save(tmp_path / "m.npy", np.array([[True, False]]))
    np.save(tmp_path / "i.npy", np.array([[1, 0]]))
    (tmp_path / "m.csv").write_text("TRUE,False\n")
    mask = read(f"mask: {value}").mask
    assert mask is not None
    assert mask.keep is not None
    assert mask.keep.dtype == np.bool_
    assert mask.keep.tolist() == keep


def test_numeric_mask_file(read: Read, tmp_path: Path) -> None:
    """Numbers in a file are not taken for true and false either."""
    np.save(tmp_path / "m.npy", np.array([[1, 0]]))
    with pytest.raises(InputError, match="libraries differ"):
        read("mask: m.npy")
    np.save(tmp_path / "k.npy", np.array([[1, 2]]))
    with pytest.raises(InputError, match=r"mask\.keep row 1, column 2 .*neither"):
        read("mask: {keep: k.npy}")


def test_bias_from_text(read: Read, tmp_path: Path) -> None:
    """A bias written as one line of text has one axis."""
    (tmp_path / "b.csv").write_text("1\n2\n")
    for value in ("|\n  1 2\n", "b.csv", "[1, 2]"):
        np.testing.assert_array_equal(read(f"b_Q: {value}").b_Q, [1, 2])


def test_context_with_two_sources(read: Read) -> None:
    """Keys and values may come from different arrays."""
    context = read("context: {K: [[1]], V: [[2]]}").context
    assert isinstance(context, dict)
    assert {name: array.tolist() for name, array in context.items()} == {"K": [[1]], "V": [[2]]}


def test_json_values(read: Read) -> None:
    """JSON's own types arrive like YAML's words, and keep their digits where those matter."""
    problem = read(
        '{"tokens": [1.10, true], "mask": {"causal": true}, "num_heads": 2, "meta": {"a": 1.50},'
        ' "expected": {"weights": [[0.50, "-Infinity"]]}}',
        name="p.json",
    )
    assert problem.tokens == ("1.10", "true")
    assert problem.mask == Mask(causal=True)
    assert problem.num_heads == 2
    assert problem.meta == {"a": 1.5}
    assert problem.expected == {"weights": Expected([["0.50", "-Infinity"]])}


@pytest.mark.parametrize("digits", ["9007199254740993", "999999999999999999", "-9007199254740993"])
@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
def test_whole_numbers_are_exact(read: Read, digits: str, name: str) -> None:
    """A whole number beyond 2⁵³ keeps its last digit, from JSON too."""
    mask = read(f'{{"mask": {{"offset": {digits}}}}}', name=name).mask
    assert mask == Mask(offset=int(digits))


@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
def test_whole_numbers_that_are_too_long(read: Read, name: str) -> None:
    """A whole number that 64 bits have hardly room for is refused rather than rounded."""
    with pytest.raises(InputError, match="not a whole number of at most 18 digits"):
        read(f'{{"mask": {{"offset": {10**18}}}}}', name=name)


@pytest.mark.parametrize(
    "text", ['{"tokens": ["\\ud800"]}', '{"tokens": [null]}', '{"X": null}', '{"name": null}']
)
def test_json_refused(read: Read, text: str) -> None:
    """Nulls and halves of surrogate pairs are refused."""
    with pytest.raises(InputError, match=r"surrogate|null"):
        read(text, name="p.json")


def test_words_stand_for_arrays_only_where_a_shape_follows(tmp_path: Path) -> None:
    """Which arrays a word may stand for is declared; every other array refuses it, inside records too."""
    slots: list[tuple[Key, tuple[str, ...]]] = [
        (key, (key.name,)) for key in keys(Problem) if key.kind is Kind.ARRAY
    ]
    for outer in keys(Problem):
        for name, record in outer.records.items():
            if isinstance(record, type):
                inner = (key for key in keys(record) if key.kind is Kind.ARRAY)
                slots += [(key, (outer.name, name, key.name)) for key in inner]
    assert {path for key, path in slots if key.words} == {(name,) for name in (*"XQKV", *WEIGHTS)}
    for key, path in slots:
        if key.words:
            assert PARSERS[Kind.ARRAY]("zeros", Slot(key, path, tmp_path)) == "zeros"
        else:
            with pytest.raises(InputError, match='is text, "zeros", where rows of numbers were expected'):
                PARSERS[Kind.ARRAY]("zeros", Slot(key, path, tmp_path))


@pytest.mark.parametrize("key", ["notes", "meta"])
def test_nothing_that_is_carried_through_becomes_infinite(read: Read, key: str) -> None:
    """A number too large for a float is refused in free text as well."""
    with pytest.raises(InputError, match=f"{key} is too large for float64"):
        read(f'{{"{key}": [{{"a": 1e400}}]}}', name="p.json")


def test_every_kind_has_a_parser() -> None:
    """A new kind of key cannot be forgotten."""
    assert set(PARSERS) == set(Kind)


def _columns(array: Any) -> Iterable[float]:
    return np.abs(array).max(), array.min()


def test_drawn_arrays(read: Read) -> None:
    """A drawn array is the one that its seed and distribution name."""
    drawn = read("X: {random: {shape: [100, 4], seed: 7, distribution: linear_init}}").X
    np.testing.assert_array_equal(drawn, draw((100, 4), 7, "linear_init"))
    largest, smallest = _columns(drawn)
    assert 0.09 < largest <= 0.1
    assert smallest < 0
    uniform = read("X: {random: {shape: [100, 4]}}").X
    np.testing.assert_array_equal(uniform, np.random.default_rng(0).random((100, 4)))
    normal = draw((100, 4), np.random.default_rng(3), "normal")
    np.testing.assert_array_equal(normal, np.random.default_rng(3).standard_normal((100, 4)))


def test_unknown_distribution() -> None:
    """Drawing from what is not known lists what is."""
    with pytest.raises(InputError, match=r"'cauchy' is not known[\s\S]*uniform, normal, linear_init"):
        draw((2,), 0, "cauchy")


@pytest.mark.parametrize("value", ["1e400", "1/0", "null"])
@pytest.mark.parametrize("key", ["expected_tolerance", "scale", "softcap", "temperature"])
def test_a_fix_names_nothing_that_is_refused_too(read: Read, key: str, value: str) -> None:
    """A number that must be finite is not to be replaced by infinity or NaN, as a cell of an array may be."""
    with pytest.raises(InputError) as single:
        read(f"X: [[1]]\n{key}: {value}")
    assert not re.search("inf|nan", single.value.fix, re.IGNORECASE)
    with pytest.raises(InputError, match=r"(inf|nan)[a-z ]*, if that is meant"):
        read(f"X: [[{value}]]")
