"""A result as JSON: strict, exact, and a problem file again."""

from __future__ import annotations

import json
import math
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attncli.readers import load
from attncli.render.json_document import problem_keys
from attncli.render.json_text import json_text

from .conftest import ROOT, Attn


def strict(text: str) -> Any:
    """Read JSON, refusing what the standard does not have."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


EVERY_KEY = """\
name: everything
source: a book, p. 3
notes: [one, {two: [0.5, null, true]}]
tokens: [a, b]
context_tokens: ["1:30", "no", '0.50']
Q: [[1, -0.0], [0.1, 1e-300]]
K: [[1, 0], [0, 1], [1, 1]]
V: [[1], [.inf], [3]]
num_heads: 1
temperature: 2
scale: d_model
mask: {causal: true, keep: [[1, 1, 0], [1, 0, 1]], additive: [[0, -inf, 0], [0, 0, 0]], offset: 1, keep_first: 1,
  sliding_window: 2, window: {left: 1}}
mask_fill: -1e9
dtype: float32
expected: {"weights[0]": [0.50, 0.5, "1.0"], output: [[1e-05], [28.4]]}
expected_decimals: {weights: 2}
expected_tolerance: 0.01
"""


def test_a_result_is_a_problem_file(attn: Attn, folder: Path) -> None:
    """Computing a result again, from any file that configs hold, gives the same bytes, but for the file's name."""
    (folder / "every.yaml").write_text(EVERY_KEY.replace("scale: d_model", "scale: 0.3"))
    problems = ["every.yaml", *map(str, sorted((ROOT / "configs").rglob("*.yaml")))]
    once = attn("compute", *problems, "--format", "jsonl", "--detail", "-o", "once.jsonl")
    twice = attn("compute", "once.jsonl", "--format", "jsonl", "--detail", "-o", "twice.jsonl")
    assert (once.status, twice.status) == (0, 0)
    first, second = (Path(name).read_text("utf-8").splitlines() for name in ("once.jsonl", "twice.jsonl"))
    for problem, line, again in zip(problems, first, second, strict=True):
        assert strict(line)["meta"]["file"] == problem
        assert again == line.replace(f'"file":{json.dumps(problem)}', '"file":"once.jsonl"')


def test_every_key_is_written_as_it_was(folder: Path) -> None:
    """Keys come out as they went in: only those given, words as words, printed digits as printed."""
    (folder / "every.yaml").write_text(EVERY_KEY)
    written = strict("".join(json_text(problem_keys(load("every.yaml")[0]))))
    assert written["mask"] == {
        "causal": True,
        "keep": [[True, True, False], [True, False, True]],
        "additive": [[0.0, "-Infinity", 0.0], [0.0, 0.0, 0.0]],
        "window": {"left": 1},
        "sliding_window": 2,
        "keep_first": 1,
        "offset": 1,
    }
    assert written["expected"] == {"weights[0]": ["0.50", 0.5, 1.0], "output": [[1e-05], [28.4]]}
    assert written["V"] == [[1.0], ["Infinity"], [3.0]]
    assert math.copysign(1, written["Q"][0][1]) == 1
    assert written["notes"] == ["one", {"two": ["0.5", "null", "true"]}]
    assert (written["scale"], written["temperature"]) == ("d_model", 2.0)
    assert "fully_masked" not in written


def test_the_document_says_how_it_was_made(attn: Attn) -> None:
    """Beside the stages stand their declarations, details, checks and notes, and the scale as a number."""
    document = strict(attn("compute", "cat.yaml", "--json", "--set", "divide_by=4", "--detail").out)
    assert next(iter(document)) == "schema"
    assert list(document)[-2:] == ["stages", "meta"]
    meta = document["meta"]
    assert meta["scale"] == 0.25
    assert [each["name"] for each in meta["stages"]] == list(document["stages"])
    assert meta["stages"][-1] == {
        "name": "output",
        "formula": "A·V",
        "axes": ["query", "dim"],
        "shape": [3, 2],
    }
    assert set(meta["details"]) == {
        *("row_max", "exp", "exp_sum", "row_sum", "lse", "lse2", "entropy"),
        "weighted_values",
    }
    assert meta["checks"]["nan"] == 0


def test_only_the_stages_asked_for(attn: Attn) -> None:
    """--stages keeps those, refuses an unknown one, and one that this problem does not have."""
    done = attn("compute", "cat.yaml", "--json", "--stages", "weights, output")
    assert list(strict(done.out)["stages"]) == ["weights", "output"]
    unknown = attn("compute", "cat.yaml", "--json", "--stages", "weight")
    assert (unknown.status, unknown.out) == (2, "")
    assert 'no stage "weight"' in unknown.err
    absent = attn("compute", "cat.yaml", "--json", "--stages", "masked")
    assert (absent.status, absent.out) == (2, "")
    assert 'no stage "masked"' in absent.err


def test_rows_stand_on_one_line_each() -> None:
    """For people, there is a line for each key and each row of numbers, and the same content."""
    value = {"X": np.eye(2), "n": np.zeros((1, 2, 2)), "meta": {"list": [{"a": [1, 2]}], "none": []}}
    text = "".join(json_text(value, indent=True))
    assert "    [1.0, 0.0],\n    [0.0, 1.0]\n  ],\n" in text
    assert '      {"a": [1, 2]}\n' in text
    assert strict(text) == strict("".join(json_text(value)))
    assert "".join(json_text({"scale": -0.0, "notes": [-0.0]})) == '{"scale":0.0,"notes":[0.0]}'


def numbers(value: Any) -> Any:
    """Turn lists of what JSON says into lists of numbers."""
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return list(map(numbers, value)) if isinstance(value, list) else words.get(value, value)


@given(arrays.arrays(np.float64, arrays.array_shapes(max_dims=4, max_side=3), elements=st.floats()))
def test_numbers_read_back_exactly(array: np.ndarray) -> None:
    """Every float comes back as it was, −0 as 0, and what is not finite as a word."""
    text = "".join(json_text(array))
    assert not re.search(r"-0\.0[],]", text)
    np.testing.assert_array_equal(np.array(numbers(strict(text))), array + 0.0)


FLOATS = st.one_of(
    st.floats(),
    st.floats(1e-6, 1e-3),  # where programs start to write exponents
    st.floats(1e14, 1e18),
    st.integers(-(2**63), 2**63).map(float),
    st.floats(width=32),
    st.sampled_from([5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e-05, -9.5e-05, 1e16, -0.0]),
)


def large(drawn: list[float], dtype: str = "float64", shape: tuple[int, ...] = (3, 500)) -> np.ndarray:
    """Repeat numbers until there are so many that a faster writer is worth it."""
    with np.errstate(over="ignore"):
        return np.resize(np.array(drawn), shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@given(drawn=st.lists(FLOATS, min_size=1), indent=st.booleans())
def test_orjson_changes_no_byte(drawn: list[float], indent: bool, dtype: str) -> None:
    """A large array has the same text where orjson writes it and where it is not installed, and reads back."""
    pytest.importorskip("orjson", reason='needs orjson: pip install "attncli[fast]"')
    array = large(drawn, dtype)
    fast = "".join(json_text(array, indent=indent))
    with pytest.MonkeyPatch.context() as without:
        without.setitem(sys.modules, "orjson", None)
        assert fast == "".join(json_text(array, indent=indent))
    np.testing.assert_array_equal(np.array(numbers(strict(fast))), array.astype("float64") + 0.0)


@pytest.mark.parametrize("shape", [(2000,), (1, 3000), (40, 64), (2, 3, 400), (3000, 1)])
def test_every_shape_reads_back_with_and_without_orjson(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that orjson gets some at a time stand where they would stand one by one."""
    array = large([0.1, math.nan, -math.inf, 1e-7, 3.0, 1e-05, math.inf], shape=shape)
    texts = []
    for module in (import_module("orjson") if find_spec("orjson") else None, None):
        monkeypatch.setitem(sys.modules, "orjson", module)
        texts += [["".join(json_text({"a": array}, indent=indent)) for indent in (False, True)]]
    assert texts[0] == texts[1]
    for text in texts[0]:
        np.testing.assert_array_equal(np.array(numbers(strict(text)["a"])), array)
    rows = len(re.findall(r"\[[^\[\]]+\]", texts[0][1]))
    assert rows == math.prod(shape[:-1])
    assert texts[0][1].count("\n") >= rows


def test_orjson_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large array is written by it, a small one and whole numbers are not."""
    orjson = pytest.importorskip("orjson", reason='needs orjson: pip install "attncli[fast]"')
    asked: list[tuple[int, ...]] = []

    def dumps(array: np.ndarray, option: int) -> bytes:
        asked.append(array.shape)
        return bytes(orjson.dumps(array, option=option))

    monkeypatch.setitem(sys.modules, "orjson", SimpleNamespace(dumps=dumps, OPT_SERIALIZE_NUMPY=16))
    for array in (np.ones((2, 1000)), np.ones((3, 3)), np.ones((40, 40), dtype=int)):
        strict("".join(json_text(array)))
    assert asked[1:] == [(1, 1000), (1, 1000)]  # after a look at how it spells numbers


def test_an_orjson_that_spells_otherwise_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a version to write 1e-5 for 0.00001, results would differ from machine to machine."""

    def dumps(array: np.ndarray, option: int) -> bytes:
        assert option
        return json.dumps(array.tolist(), separators=(",", ":")).replace("e-0", "e-").encode()

    array = large([1e-05, 2.0])
    wanted = "".join(json_text(array))
    monkeypatch.setitem(sys.modules, "orjson", SimpleNamespace(dumps=dumps, OPT_SERIALIZE_NUMPY=1))
    assert "".join(json_text(array)) == wanted
    assert "0.00001,2.0" in wanted


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_notes_are_strict(value: Any) -> None:
    """Whatever stands in free text comes out as strict JSON, in ASCII when that is asked for."""
    strict("".join(json_text({"notes": value})))
    assert "".join(json_text({"notes": value}, ascii_only=True)).isascii()


def test_large_arrays_come_in_small_pieces() -> None:
    """A large array is never one giant string."""
    array = np.random.default_rng(0).random((400, 1000))
    assert max(map(len, json_text(array))) < 30_000


@pytest.mark.parametrize(
    ("scores", "word", "nan"), [("nan, 0", "NaN", 4), ("-inf, 0", "-Infinity", 0), ("inf, 0", "Infinity", 3)]
)
def test_numbers_that_json_lacks_are_words(
    attn: Attn, folder: Path, scores: str, word: str, nan: int
) -> None:
    """A result that holds NaN or infinity is strict JSON all the same, and counts its NaN."""
    (folder / "odd.yaml").write_text(f"scores: [[{scores}]]\nV: [[1], [2]]\nd_k: 1\n")
    document = strict(attn("compute", "odd.yaml", "--json").out)
    assert document["scores"][0][0] == word
    assert document["stages"]["scaled"][0][0] == word
    assert document["meta"]["checks"]["nan"] == nan
