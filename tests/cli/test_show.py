"""`attn show`: what was computed once is shown again, from whatever form it was kept in, and not computed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.blocks import make_sheet
from attncli.compute import Result, compute
from attncli.problem import Problem
from attncli.readers import load
from attncli.render import FORMATS
from attncli.render.terminal import Terminal
from attncli.sheet import View
from attncli.stored import load_result, stored_result
from tests.cli.conftest import ROOT, Attn
from tests.core.test_backends_agree import PROBLEMS

CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
KEPT = ("json", "npz", "safetensors")
"""The forms that a result comes back from whole."""

PAPER = Terminal(width=120, interactive=False, theme="light")
FORMS = [name for name in FORMATS if name != "png"]
"""A png is the svg, drawn."""


def written(form: str, result: Result, **view: Any) -> bytes:
    """Write a result in some form, as it goes to a file."""
    pieces = FORMATS[form].render([result], View(**view), PAPER)
    return b"".join(each if isinstance(each, bytes) else each.encode() for each in pieces)


def kept(form: str, result: Result, folder: Path) -> Result:
    """Keep a result in some form, and take it from there."""
    file = folder / f"kept.{form}"
    file.write_bytes(written(form, result))
    (problem,) = load_result(str(file))
    return stored_result(problem)


@pytest.mark.parametrize("form", KEPT)
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_example_comes_back_whole(path: Path, form: str, tmp_path: Path) -> None:
    """Problem, stages, formulas, details and notes: the documents are the same, byte for byte."""
    result = compute(load(str(path))[0], large_details=True)
    shown = kept(form, result, tmp_path)
    assert written("json", shown) == written("json", result)
    assert written("npz", shown) == written("npz", result)


@pytest.mark.parametrize("form", KEPT)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_kind_of_problem_comes_back_whole(name: str, form: str, tmp_path: Path) -> None:
    """Whatever the masks, biases and caches are: an array of the problem is found again wherever it stands."""
    result = compute(Problem(**PROBLEMS[name]))
    shown = kept(form, result, tmp_path)
    assert json.loads(written("json", shown)) == json.loads(written("json", result))
    assert written("table", shown) == written("table", result)


def example(config: str, **changes: Any) -> Problem:
    """Read a config, with some keys changed."""
    (problem,) = load(str(ROOT / "configs" / f"{config}.yaml"))
    return replace(problem, **changes)


LARGE = np.array([[np.inf, 0.0], [-np.inf, -0.0], [np.nan, 1.0]])
HARD: dict[str, tuple[Callable[[], Problem], dict[str, Any]]] = {
    "heads and Chinese labels": (lambda: example("multi_head"), {}),
    "all details of a batch": (lambda: example("batch_causal"), {"large_details": True}),
    "one stage, tile by tile": (lambda: example("batch_causal"), {"keep": ("output",)}),
    "two stages": (lambda: example("grouped_query"), {"keep": ("weights", "output")}),
    "float32": (lambda: example("padding_mask", dtype="float32"), {}),
    "bfloat16": (lambda: example("sinusoidal", dtype="bfloat16"), {}),
    "a precision for each part": (lambda: example("self_attention", dtype={"qk": "float32"}), {}),
    "NaN": (lambda: example("conventions/nan_behind_mask", masked_values="ieee"), {}),
    "infinity": (lambda: Problem(Q=LARGE, K=LARGE, V=np.eye(3)), {}),
    "a cache": (lambda: example("conventions/cache", notes={"of": ["a", None, 1.5]}, name="∑"), {}),
    "an array in float32": (lambda: Problem(X=np.array([[0.1, -0.0], [1, 1]], np.float32)), {}),
}
"""A problem, and how it is computed."""


@pytest.mark.parametrize("name", HARD)
def test_every_form_is_written_as_when_it_was_computed(name: str, tmp_path: Path) -> None:
    """From each form that is kept to each that there is, whole and with details, the same bytes."""
    problem, how = HARD[name]
    result = compute(problem(), **how)
    shown = [kept(form, result, tmp_path) for form in KEPT]
    for form in FORMS:
        view = {"stages": ("output",)} if form == "npy" else {"detail": True, "full": True}
        first = written(form, result, **view)
        assert [written(form, each, **view) == first for each in shown] == [True] * len(KEPT), form


@pytest.mark.parametrize("form", KEPT)
def test_the_commands_read_it_from_any_form(attn: Attn, form: str) -> None:
    """A kept result is shown, explained, checked, computed and compared, whatever it was kept in."""
    name = f"r.{form}"
    attn("compute", "cat.yaml", "-q", "-o", name)
    for options in ((), ("--stages", "weights"), ("--stages", "weights", "--format", "csv"), ("--json",)):
        assert attn("show", name, *options) == attn("compute", "cat.yaml", *options)
    told = attn("explain", name, "weights[sat,cat]")
    assert (told.status, told.out) == (
        0,
        attn("explain", "cat.yaml", "weights[sat,cat]").out.replace("cat.yaml", name),
    )
    assert attn("check", name).status == 0
    assert attn("diff", name, "cat.yaml").status == 0
    assert attn("diff", name, "--set-b", "scale=2").status == 1
    again = attn("compute", name, "--json")
    assert again.out == attn("compute", "cat.yaml", "--json").out.replace(
        '"file":"cat.yaml"', f'"file":"{name}"'
    )


@pytest.mark.parametrize("form", KEPT)
def test_a_result_is_held_to_the_precision_that_it_says(attn: Attn, form: str) -> None:
    """float16 is kept as float32 numbers, and still compared as float16, which cat.yaml is not."""
    attn("compute", "cat.yaml", "--dtype", "float16", "--set", "temperature=3", "-q", "-o", f"r.{form}")
    done = attn("check", "cat.yaml", f"r.{form}", "--set", "temperature=3", "--json")
    assert done.status == 0
    assert {each["precision"] for each in json.loads(done.out)["stages"]} == {"float16"}


HEADS = "{Q: [[[[1, 2]], [[3, 4]]]], K: [[[[1, 2]], [[3, 4]]]], V: [[[[5, 6]], [[7, 8]]]], num_heads: 2}"
SCORES = "{scores: [[1, 0], [0, 1]], V: [[1, 2], [3, 4]]}"


@pytest.mark.parametrize("form", KEPT)
@pytest.mark.parametrize(("problem", "stage"), [(HEADS, "V"), (SCORES, "scores")])
def test_a_stage_that_was_given_is_shown_though_none_was_kept(
    attn: Attn, form: str, problem: str, stage: str
) -> None:
    """What was given is not written again among the stages, and a result of nothing else is one too."""
    Path("given.yaml").write_text(problem)
    attn("compute", "given.yaml", "--stages", stage, "-q", "-o", f"r.{form}")
    for options in (("--stages", stage), ("--stages", stage, "--json")):
        assert attn("show", f"r.{form}", *options) == attn("compute", "given.yaml", *options)
    assert (
        attn("show", f"r.{form}", "--json").out == attn("show", f"r.{form}", "--stages", stage, "--json").out
    )


@pytest.mark.parametrize("key", ["notes", "details", "stages", "file", "backend"])
def test_an_array_is_nothing_that_meta_says(attn: Attn, key: str) -> None:
    """An archive may put an array wherever null stands; in meta, none is taken for text, list or mapping."""
    attn("compute", "cat.yaml", "-q", "-o", "r.npz")
    with np.load("r.npz") as archive:
        arrays: dict[str, Any] = dict(archive)
    document = json.loads(arrays["attn.json"].item())
    document["meta"][key] = None
    listed = {name: path for name, path in document["arrays"].items() if path[:2] != ["meta", key]}
    document["arrays"] = {**listed, "X2": ["meta", key]}
    own: dict[str, Any] = {name: arrays[name] for name in listed}
    np.savez("r.npz", **own, X2=np.ones(3), **{"attn.json": np.array(json.dumps(document))})  # type: ignore[arg-type]
    done = attn("show", "r.npz")
    assert (done.status, done.out) == (2, "")
    assert f"meta.{key} is no " in done.err


def test_one_stage_goes_into_one_array(attn: Attn) -> None:
    """What is shown may be written as .npy, which holds the output unless another stage is asked for."""
    attn("compute", "cat.yaml", "-q", "-o", "r.npz")
    assert attn("show", "r.npz", "-o", "o.npy").status == 0
    assert attn("show", "r.npz", "--stages", "weights", "-o", "w.npy").status == 0
    with np.load("r.npz") as arrays:
        np.testing.assert_array_equal(np.load("o.npy"), arrays["output"])
        np.testing.assert_array_equal(np.load("w.npy"), arrays["weights"])


@pytest.mark.parametrize(
    "options", [("-o", "o.npy"), ("--stages", "output"), ("--stages", "output", "--json")]
)
def test_a_stage_that_was_not_kept_is_not_shown(attn: Attn, options: tuple[str, ...]) -> None:
    """What a result was kept without is refused by name, with the stages that it has."""
    attn("compute", "cat.yaml", "--stages", "scores,weights", "-q", "-o", "r.npz")
    done = attn("show", "r.npz", *options)
    assert (done.status, done.out) == (2, "")
    assert "output was not kept in this result" in done.err
    assert "it has scores, weights" in done.err


def test_numpy_takes_a_result_apart_and_puts_it_together(attn: Attn) -> None:
    """An .npz that went through numpy.load and numpy.savez is still the same result, its document readable."""
    attn("compute", "cat.yaml", "-q", "-o", "r.npz")
    with np.load("r.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    assert json.loads(arrays["attn.json"].item())["tokens"] == ["the", "cat", "sat"]
    np.savez("again.npz", **arrays)
    assert attn("show", "again.npz") == attn("show", "r.npz")
    np.savez_compressed("again.npz", **{**arrays, "attn.json": np.array(arrays["attn.json"].item().decode())})
    assert attn("show", "again.npz") == attn("show", "r.npz")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_numbers_stay_as_short_as_they_were(attn: Attn, dtype: str) -> None:
    """A float32 that prints as 0.1 is not shown as 0.10000000149."""
    attn("random", "--seq", "3", "--dim", "4", "--dtype", dtype, "-q", "-o", "result.json")
    assert attn("show", "result.json", "--json").out == Path("result.json").read_text("utf-8")


def test_nothing_is_computed(attn: Attn) -> None:
    """A number, or a formula, that somebody changed in the file is shown as it stands there."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    document = json.loads(Path("result.json").read_text("utf-8"))
    document["stages"]["scores"][0][0] = 77.25
    next(each for each in document["meta"]["stages"] if each["name"] == "scores")["formula"] = "K·Q"
    Path("result.json").write_text(json.dumps(document))
    shown = attn("show", "result.json", "--stages", "scores").out
    assert "77.25" in shown
    assert "S = K·Q" in shown


def test_a_result_without_meta_goes_by_its_problem(attn: Attn) -> None:
    """Stages that another program put to a problem get the formulas and checks that the problem has."""
    attn("compute", "cat.yaml", "-q", "-o", "cat.json")
    changed("cat.json", meta=None)
    shown = attn("show", "cat.json")
    assert shown.status == 0
    assert shown.out.startswith("cat.json  softmax(QKᵀ/√d)·V    float64 · 3 tokens · d=2\n")
    assert "S = Q·Kᵀ" in shown.out
    assert "✓ rows sum to 1" in shown.out


def changed(name: str, **changes: Any) -> None:
    """Change a JSON file by keys, with __ between those that lead to one; None takes a key away."""
    document = json.loads(Path(name).read_text("utf-8"))
    for path, value in changes.items():
        *lead, last = path.split("__")
        inner = document
        for part in lead:
            inner = inner[part]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    Path(name).write_text(json.dumps(document))


def test_arrays_of_others_are_shown_as_far_as_they_go(attn: Attn) -> None:
    """Stages that a kernel left have their numbers and axes, and nothing is said that nobody knows."""
    scores = np.array([[[1.0, -np.inf], [0.0, 0.0]], [[2.0, -np.inf], [0.0, 1.0]]])
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    arrays: dict[str, Any] = {"pattern": weights, "masked": scores, "scaled": weights, "biased": weights}
    arrays |= {name: np.ones((2, 2, 3)) for name in ("o", "Q", "K_all")}
    np.savez("dump.npz", seed=np.ones(1), **arrays)
    shown = attn("show", "dump.npz", "--full")
    assert shown.status == 0
    assert shown.out.startswith("dump.npz  stages without a problem    float64\n")
    assert "× 1" not in shown.out
    assert "2 of 8 off" in shown.out
    assert "26.9%" in shown.out
    assert "A batch 1 given" in shown.out
    assert "A =" not in shown.out
    assert "·v(" not in shown.out
    assert shown.err == 'note: no stage of the problem, and left aside: "seed"\n'
    assert attn("compute", "dump.npz").err.startswith("error: dump.npz holds arrays, not a problem\n")


def test_nothing_is_said_of_pairs_that_nobody_knows_of(attn: Attn) -> None:
    """Without masked scores, a dump does not tell which keys a query may see."""
    np.savez("dump.npz", weights=np.eye(2))
    shown = attn("show", "dump.npz").out
    assert "✓ rows sum to 1 ± 0  ✓ no NaN" in shown
    assert "pairs" not in shown


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((3, 3)), "stages.weights holds float64, where a result of this precision has float32"),
        (np.ones((3, 3), bool), "stages.weights holds bool"),
        (np.ones((3, 3), "c8"), "complex numbers"),
        (np.array([[None]]), "Python objects, which are not loaded"),
    ],
)
def test_an_array_of_another_kind_is_no_stage(attn: Attn, array: np.ndarray, message: str) -> None:
    """What was put into an archive in the place of a stage is of its precision, or refused."""
    attn("compute", "cat.yaml", "--dtype", "float32", "-q", "-o", "r.npz")
    with np.load("r.npz") as archive:
        arrays: dict[str, Any] = {**archive, "weights": array}
    np.savez("r.npz", **arrays)
    done = attn("show", "r.npz")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "\n   --> r.npz#attn.json" in done.err


@pytest.mark.parametrize("form", KEPT)
def test_stages_without_a_problem_are_kept_as_such(attn: Attn, form: str) -> None:
    """What is shown of a kernel's dump may be kept, and is shown again."""
    narrow = np.array([[0.25, 0.75]], np.float32)
    np.savez("dump.npz", weights=narrow, scaled=narrow, output=narrow)
    attn("show", "dump.npz", "-o", f"again.{form}")
    for options in ((), ("--json",), ("--format", "csv")):
        assert attn("show", f"again.{form}", *options) == attn("show", "dump.npz", *options)
    assert json.loads(attn("show", "dump.npz", "--json").out)["meta"]["scale"] is None
    (problem,) = load_result(f"again.{form}")
    assert make_sheet(stored_result(problem)).source == "", "no command that computes is recommended"


def test_what_a_result_says_of_its_axes_holds_without_a_problem(attn: Attn) -> None:
    """Where the problem was taken out of a result, three axes are what it says, and not what is likely."""
    document = {
        "stages": {"weights": [[[0.5, 0.5]], [[1, 0]]]},
        "meta": {"stages": [{"name": "weights", "axes": ["batch", "query", "key"], "formula": "softmax(Z)"}]},
    }
    Path("r.json").write_text(json.dumps(document))
    shown = attn("show", "r.json").out
    assert "A batch 1" in shown
    assert "A = exp(Z - m) ÷ Σexp" in shown
    changed("r.json", meta__stages=[{"name": "weights", "axes": ["key", "query", "batch"]}])
    assert (
        "meta.stages gives weights the axes (key, query, batch), and its shape is 2×1×2"
        in attn("show", "r.json").err
    )


ALONE: dict[str, tuple[dict[str, tuple[int, ...]], str]] = {
    "weights of 2 queries": ({"weights": (2, 3), "output": (3, 2)}, "stages.output has 3 in the place of query, but stages.weights has 2"),
    "one axis": ({"weights": (3,)}, "stages.weights is 3, where 2 to 4 axes were expected"),
    "a batch in some": ({"weights": (3, 3), "output": (2, 3, 2)}, "weights has the axes (query, key), and others have (batch, query, key)"),
    "heads that cannot share": ({"Q_heads": (3, 2, 2), "K_heads": (2, 2, 2)}, "3 heads of queries cannot share 2 heads of keys"),
    "batches": ({"Q": (3, 2, 2), "output": (2, 2, 2)}, "output has 2 in the place of batch, but stages.Q has 3"),
    "no stage": ({"seed": (2, 2)}, "none of its arrays has the name of a stage"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_arrays_that_are_of_no_one_computation(attn: Attn, name: str) -> None:
    """Stages by themselves are refused where no problem could have them all."""
    shapes, message = ALONE[name]
    arrays: dict[str, Any] = {key: np.ones(shape) for key, shape in shapes.items()}
    np.savez("dump.npz", **arrays)
    done = attn("show", "dump.npz")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "\n   --> dump.npz\n" in done.err


DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "no stages": ({"stages": None}, "this is a problem, not the result of one"),
    "another shape": ({"stages__scores": [[1, 2], [3, 4]]}, "stages.scores is 2×2, but its problem makes it 3×3 (query, key)"),
    "another width": ({"stages__Q": [[1], [2], [3]]}, "stages.Q is 3×1, but its problem makes it 3×2 (query, dim)"),
    "fewer axes": ({"stages__scores": [1, 2, 3]}, "stages.scores is 3, but its problem makes it 3×3"),
    "text": ({"stages__scores": [["x"]]}, "stages.scores row 1, column 1 (stages.scores[0][0]) is"),
    "null": ({"stages__scores": [[1, 2, 3], [None, 1, 2], [1, 2, 3]]}, "row 2, column 1 (stages.scores[1][0])"),
    "truth": ({"stages__scores": [[True] * 3] * 3}, "is a truth value"),
    "rows of two lengths": ({"stages__scores": [[1, 2], [3]]}, "has 1 column"),
    "a number": ({"stages__scores": 5}, "stages.scores is no array of numbers"),
    "too large": ({"dtype": "float32", "stages__Q": [[1e39, 1], [2, 3], [4, 5]]}, "(stages.Q[0][0]) is too large for float32"),
    "a stage misspelt": ({"stages__wieghts": [[1]]}, "did you mean weights?"),
    "a stage of other problems": ({"stages__Q_rot": [[1]]}, "Q_rot is among the stages, and this problem has none of that name"),
    "a stage that is gone": ({"stages__scores": None}, '"scores" is in meta.stages, and not in stages'),
    "a stage not declared": ({"meta__stages": []}, '"Q" is in stages, and not in meta.stages'),
    "no numbers": ({"stages__Q": []}, "stages.Q"),
    "another precision": ({"meta__dtype": "float32"}, 'meta.dtype is "float32", and its problem is of float64'),
    "no list of stages": ({"meta__stages": 3}, "meta.stages is no list"),
    "no stage in the list": ({"meta__stages": [3]}, "meta.stages item 1 (meta.stages[0]) is no mapping with a name"),
    "a detail misspelt": ({"meta__details__entropie": [1, 2, 3]}, "did you mean entropy?"),
    "a detail of another shape": ({"meta__details__entropy": [1, 2]}, "meta.details.entropy is 2, but its problem makes it 3 (query)"),
    "notes that are none": ({"meta__notes": "abc"}, "meta.notes is no list of texts"),
    "notes that are a number": ({"meta__notes": 0}, "meta.notes is no list of texts"),
    "no stages, and none declared": ({"stages": {}, "meta__stages": None}, "this is a problem, not the result of one"),
    "no stages, and no problem": ({"stages": {}, "meta__stages": [], "X": None}, "this is a problem, not the result of one"),
    "no stages, and some declared": ({"stages": {}}, '"Q" is in meta.stages, and not in stages'),
    "a backend that is none": ({"meta__backend": 1}, "meta.backend is no text"),
    "meta that is none": ({"meta": "abc"}, "meta is no mapping"),
    "a newer document": ({"schema": "attn/2", "gates": [[1]]}, 'schema is "attn/2", and this version reads attn/1'),
    "a newer attn": ({"meta__attn": "9.9", "stages__gated": [[1]]}, "attn 9.9 wrote it, and this is attn 0."),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_result_that_is_none_any_more(attn: Attn, name: str) -> None:
    """One message says what does not fit, and where, and nothing is shown."""
    changes, message = DAMAGED[name]
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    changed("result.json", **changes)
    done = attn("show", "result.json")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "\n   --> result.json" in done.err


def test_a_result_of_another_version_is_told_as_such(attn: Attn) -> None:
    """Where something does not fit, a reader learns that another attn wrote it."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    changed("result.json", meta__attn="9.9", stages__Q=[[1]])
    assert "attn 9.9 wrote it, and this is attn 0." in attn("show", "result.json").err


def declared(what: str, value: Any) -> list[dict[str, Any]]:
    """Return what meta says of the stages, with one thing said wrongly of the first."""
    document = json.loads(Path("result.json").read_text("utf-8"))
    document["meta"]["stages"][0][what] = value
    return list(document["meta"]["stages"])


@pytest.mark.parametrize(
    ("what", "value", "message"),
    [
        ("axes", ["key", "dim"], "meta.stages gives Q the axes (key, dim), and its problem (query, dim)"),
        ("shape", [3, 3], "meta.stages gives Q the shape (3, 3), and its problem (3, 2)"),
        ("shape", "3", "is no list of whole numbers"),
        ("axes", [1, 2], "is no list of names"),
        ("formula", 1, "is no text"),
        ("name", "K", '"K" once more'),
    ],
)
def test_meta_that_contradicts_its_stages(attn: Attn, what: str, value: Any, message: str) -> None:
    """What is said of a stage is held against the problem."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    changed("result.json", meta__stages=declared(what, value))
    done = attn("show", "result.json")
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_what_a_result_says_of_itself_acts_on_no_terminal(attn: Attn) -> None:
    """Formula, notes, backend and the file's name are text, whoever wrote them."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    changed(
        "result.json",
        meta__file="\x1b[31mred",
        meta__backend="\x1b[32m",
        meta__notes=["\x1b[33m"],
        meta__stages=declared("formula", "\x1b[34m"),
    )
    for form in ("table", "markdown", "latex", "svg"):
        done = attn("show", "result.json", "--format", form)
        assert done.status == 0
        assert "\x1b" not in done.out + done.err


def test_a_problem_is_not_shown(attn: Attn) -> None:
    assert "attn compute FILE -o result.json, and show that" in attn("show", "cat.yaml").err


@pytest.mark.parametrize("form", [name for name in FORMATS if not FORMATS[name].again])
def test_what_is_made_to_be_looked_at_does_not_come_back(attn: Attn, form: str) -> None:
    """A picture or a table is refused by its name, with the forms that a result is kept in."""
    done = attn("show", f"result{FORMATS[form].suffixes[0]}")
    assert (done.status, done.out) == (2, "")
    assert f"a result does not come back from {form}" in done.err
    assert ".json, .jsonl, .ndjson, .npz, .safetensors" in done.err
