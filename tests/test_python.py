"""attn from Python: the same numbers, shown at a prompt and in a notebook."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import attncli
from attncli import Attention, attend, load
from attncli.cli import run
from attncli.errors import InputError, UnavailableError
from attncli.problem import Problem
from attncli.render import FORMATS
from attncli.seen import Seen
from attncli.sheet import View
from tests.computed import array_of
from tests.readme import ROOT

CAT: dict[str, Any] = {
    "tokens": ["the", "cat", "sat"],
    "X": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "mask": "causal",
}


def test_the_page_about_python_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/python.md, and of the package's docstring, gives what stands below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    page = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, encoding="utf-8")
    assert (page.attempted > 8, page.failed) == (True, 0)
    assert doctest.testmod(attncli).failed == 0


def test_importing_attn_costs_nothing() -> None:
    """NumPy is imported when somebody computes, and not before."""
    code = "import sys, attncli; assert 'numpy' not in sys.modules; attncli.attend; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match=r"module 'attncli' has no attribute 'atend'"):
        attncli.atend  # noqa: B018


@pytest.mark.parametrize("kind", [list, np.asarray, lambda x: np.asarray(x, dtype=int)])
def test_arrays_may_be_lists_or_arrays(kind: Any) -> None:
    """Softmax of 0 and ln 3 over √1 is ¼ and ¾, whatever holds the numbers."""
    result = attend(scores=kind([[0, 1]]), scale=float(np.log(3)))
    np.testing.assert_allclose(result.array("weights"), [[0.25, 0.75]], rtol=1e-12)


def test_a_notebook_gets_text_and_a_picture() -> None:
    """The bundle that IPython asks for: the sheet as text and as an SVG that names each weight."""
    bundle = attend(**CAT)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/svg+xml"}
    assert bundle["text/plain"] == repr(attend(**CAT))
    assert "100.0%*" in bundle["text/plain"]
    titles = [
        each.text or ""
        for each in ET.fromstring(bundle["image/svg+xml"]).iter("{http://www.w3.org/2000/svg}title")
    ]
    assert "weights[the,the] = 1.0" in titles


def test_arguments_change_what_a_problem_says() -> None:
    """The rest of the file stays: heads, weights and tokens."""
    problem = load(ROOT / "configs" / "multi_head.yaml")
    result = attend(problem, scale="none", mask={"causal": True})
    assert isinstance(result, Attention)
    assert result.query_labels == ("他", "喜欢", "打", "篮球")
    np.testing.assert_array_equal(result.array("scaled"), result.array("scores"))
    assert np.all(result.array("weights")[:, *np.triu_indices(4, 1)] == 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": np.array(["a"])}, r"X is an array of <U1 of shape \(1,\)"),
        ({"X": np.zeros((0, 2))}, r"X is an array of float64 of shape \(0, 2\)"),
        ({"X": np.array(1.0)}, r"1 to 4 axes of real numbers"),
        ({"X": [[1, 2], [3]]}, r"X"),
        ({"X": np.eye(2), "maks": "causal"}, r'"?maks"?'),
        ({}, r"there is nothing to compute"),
        ({"X": np.eye(2), "W_Q": np.eye(3)}, r"W_K is missing"),
    ],
)
def test_what_cannot_be_computed(given: dict[str, Any], message: str) -> None:
    """Bad input is an InputError that says what is wrong, as on the command line."""
    with pytest.raises(InputError, match=message):
        attend(**given)


@pytest.mark.parametrize("problem", [np.eye(2), [[1.0, 0.0]]])
def test_an_array_must_say_which_it_is(problem: Any) -> None:
    """What has no name is neither a problem nor a file, and the fix shows how to name it."""
    with pytest.raises(InputError, match=r"a problem or a file was expected\n  fix: name what it is, .*X=…"):
        attend(problem)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_is_loaded(kind: Any) -> None:
    name = ROOT / "configs" / "multi_head.yaml"
    np.testing.assert_array_equal(attend(kind(name)).array("output"), attend(load(name)).array("output"))


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (np.float32, "float32"),
        (np.dtype("float16"), "float16"),
        (float, "float64"),
        ({"qk": np.float32, "softmax": "float32", "pv": np.dtype("float32")}, "float32"),
    ],
)
def test_a_precision_may_be_a_dtype(dtype: Any, name: str) -> None:
    """NumPy's types name the precision that the words of the problem file do."""
    assert attend(X=np.eye(2), dtype=dtype).dtype == name


@pytest.mark.parametrize("dtype", [np.int32, print])
def test_a_dtype_that_is_no_precision(dtype: Any) -> None:
    with pytest.raises(InputError, match=r"not one of its choices\n.*float64, float32, float16, bfloat16"):
        attend(X=np.eye(2), dtype=dtype)


def test_tensors_of_torch_are_arrays() -> None:
    """Those that want gradients, and those of a precision that NumPy lacks, with torch's precisions."""
    torch = pytest.importorskip("torch")
    x = torch.tensor([[0.5, 1.0], [2.0, -1.0]])
    wanted = attend(X=x.numpy(), mask={"additive": [[0, 1], [1, 0]]}, dtype="float32")
    for tensor in (x.clone().requires_grad_(), torch.nn.Parameter(x.bfloat16()), x.half()):
        made = attend(X=tensor, mask={"additive": torch.eye(2).flip(0).bfloat16()}, dtype=torch.float32)
        np.testing.assert_array_equal(made.array("output"), wanted.array("output"))
    assert attend(X=x, dtype=torch.bfloat16).dtype == "bfloat16"


@pytest.mark.parametrize("kind", [np.ndarray.tolist, np.array, np.float32, "torch"])
def test_infinity_hides_a_key(kind: Any) -> None:
    """A mask of 0 and −∞ is what others hand over: inside a mapping, as a bias, as masked scores."""
    if kind == "torch":
        kind = pytest.importorskip("torch").from_numpy
    scores = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 2.5], [3.0, 2.0, 1.0]])
    hides = np.where(np.tri(3) > 0, 0.0, -np.inf)
    right = np.exp(scores) * np.tri(3)
    right /= right.sum(-1, keepdims=True)
    for way in ({"mask": {"additive": kind(hides)}}, {"bias": kind(hides)}):
        np.testing.assert_allclose(array_of(attend(scaled=scores, **way), "weights"), right, rtol=1e-6)
    np.testing.assert_allclose(array_of(attend(masked=kind(scores + hides)), "weights"), right, rtol=1e-6)


def test_arrays_of_bfloat16_are_taken() -> None:
    """The type that JAX has is beyond NumPy, and each of its numbers is one of float32."""
    types = pytest.importorskip("ml_dtypes")
    x = np.array([[0.5, 1.0], [2.0, -1.0]])
    made = attend(X=x.astype(types.bfloat16), dtype=types.bfloat16)
    np.testing.assert_array_equal(made.array("output"), attend(X=x, dtype="bfloat16").array("output"))


def test_what_is_none_is_not_given() -> None:
    assert attend(X=np.eye(2), mask=None, W_Q=None).inputs.mask is None
    assert attend(Problem(X=np.eye(2)), X=None).array("Q").shape == (2, 2)


def test_one_stage_may_be_named_alone() -> None:
    """A text names what a tuple of it does."""
    result = attend(**CAT)
    assert result.text(stages="weights") == result.text(stages=("weights",))
    assert result.svg(stages="weights") == result.svg(stages=("weights",))
    assert result.text(blank="weights") == result.text(blank=("weights",))


def test_stages_may_be_a_list_with_commas() -> None:
    """As on the command line; a name that is none is refused by itself."""
    result = attend(**CAT)
    assert result.text(stages="V, weights") == result.text(stages=("V", "weights"))
    assert result.text(blank="V,weights") == result.text(blank=("V", "weights"))
    with pytest.raises(InputError, match=r'there is no stage "weigths"'):
        result.text(stages="V, weigths")


SAVED = [
    (name, keywords, options)
    for name, each in FORMATS.items()
    for keywords, options in (
        ({}, []),
        ({"stages": "weights"}, ["--stages", "weights"]),
        ({"detail": True}, ["--detail"]),
        ({"width": 70, "precision": 5}, ["--width", "70", "--precision", "5"]),
    )
    if not (each.stage and keywords.get("stages") != "weights")  # the command goes another way to one stage
    and not (each.bare and "detail" in keywords)
    and not (each.data and "precision" in keywords)
]


@pytest.mark.parametrize(("form", "keywords", "options"), SAVED)
def test_saving_writes_what_the_command_writes(
    tmp_path: Path, form: str, keywords: dict[str, Any], options: list[str]
) -> None:
    """Byte for byte what -o leaves, in every format that there is."""
    if form == "png":
        pytest.importorskip("resvg_py")
    names = [str(tmp_path / f"{who}{FORMATS[form].suffixes[0]}") for who in ("ours", "theirs")]
    attend(str(ROOT / "configs/multi_head.yaml")).save(Path(names[0]), **keywords)
    assert run(["compute", str(ROOT / "configs/multi_head.yaml"), *options, "-q", "-o", names[1]]) == 0
    ours, theirs = (Path(name).read_bytes() for name in names)
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("x.doc", {}, r'"x\.doc" does not say in which format'),
        ("x.json", {"format": "doc"}, r"not written as doc\n  fix: --format table\|json"),
        ("x.json", {"precision": 3}, r"json holds every number as it is: --precision would change nothing"),
        ("x.npy", {"stages": "Q, K"}, r"npy holds one stage, and --stages names 2"),
        ("x.npz", {"stages": "masked_weights"}, r'this problem has no stage "masked_weights"'),
        ("x.svg", {"blank": "weights", "answers": True}, r"svg is one picture"),
        ("x.svg", {"theme": "x"}, r"theme='x' is none of"),
        ("x.svg", {"colour": 1}, r"there is no option colour"),
        ("cat.yaml", {}, r'the input "cat\.yaml" would be overwritten'),
    ],
)
def test_what_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, keywords: dict[str, Any], message: str
) -> None:
    """The message is the command's, and no file is left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat.yaml").write_text("X: [[1, 2]]\nmask: causal\n")
    with pytest.raises(InputError, match=message):
        attend("cat.yaml").save(name, **keywords)
    assert [each.name for each in tmp_path.iterdir()] == ["cat.yaml"]


def test_a_format_of_one_stage_holds_the_output(tmp_path: Path) -> None:
    result = attend(**CAT)
    result.save(tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), result.array("output"))


def test_details_are_seen_when_asked_for() -> None:
    """The exponentials, which are not kept: those of scores 0 and ln 3 are a third and 1."""
    text = attend(scaled=[[0, float(np.log(3))]]).text(detail=True)
    assert re.search(r"\b0\.333 +1\.000\b", text)


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(UnavailableError, match=r"cannot write to .*there is no folder"):
        attend(**CAT).save("no/such/folder.json")


def test_a_stage_that_is_not_there() -> None:
    """The message names the stages that there are, and the nearest."""
    for ask in (attend(**CAT).array, attend(**CAT).__getitem__):
        with pytest.raises(
            InputError, match=r"no stage \"weight\"\n.*Q, K, V, .*\n  fix: did you mean weights\?"
        ):
            ask("weight")


def test_a_record_is_short_at_a_prompt() -> None:
    assert repr(attend(**CAT)["weights"]) == "<weights [3×3] float64>"


def test_a_file_of_several_problems(tmp_path: Any) -> None:
    (tmp_path / "two.jsonl").write_text('{"X": [[1]]}\n{"X": [[2]]}\n')
    with pytest.raises(InputError, match=r"holds 2 problems"):
        load(tmp_path / "two.jsonl")


def test_nothing_is_changed_in_place() -> None:
    """The problem that was given is the same afterwards."""
    problem = Problem(X=np.eye(2))
    attend(problem, mask="causal")
    assert problem.mask is None


def test_a_picture_takes_what_the_command_takes(tmp_path: Path) -> None:
    """For the same options, the SVG is to the letter that of `attn compute`."""
    looks: list[tuple[dict[str, Any], list[str]]] = [
        ({"theme": "dark", "palette": "magma"}, ["--theme", "dark", "--palette", "magma"]),
        ({"theme": "auto", "scale": "log", "width": 60}, ["--scale", "log", "--width", "60"]),
        ({"stages": "weights", "percent": False}, ["--stages", "weights", "--no-percent"]),
        ({"rows": [1, 3], "columns": (0, 2)}, ["--rows", "1:3", "--cols", "0:2"]),
        ({"precision": 5, "head": 1}, ["--precision", "5", "--head", "1"]),
    ]
    file = "configs/multi_head.yaml"
    result = attend(load(ROOT / file))
    for keywords, options in looks:
        command = [sys.executable, "-m", "attncli", "compute", file, *options]
        subprocess.run([*command, "-q", "-o", str(tmp_path / "x.svg")], check=True, cwd=ROOT)
        assert result.svg(**keywords) == (tmp_path / "x.svg").read_text("utf-8"), keywords


def test_every_option_of_a_view_has_a_type() -> None:
    """The keywords that a type checker knows are those of a view."""
    assert list(Seen.__annotations__) == [each.name for each in fields(View)]


def test_answers_follow_in_text() -> None:
    """A worksheet's answers are written, and refused for a picture, which is one."""
    result = attend(**CAT)
    assert "answers" in result.text(blank="weights", answers=True)
    with pytest.raises(InputError, match=r"an SVG is one picture, without answers"):
        result.svg(blank="weights", answers=True)


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ({"theme": "x"}, r"theme='x' is none of 'auto', 'dark', 'light'"),
        ({"palette": []}, r"palette=\[\] is none of 'blues', .*'gray'"),
        ({"scale": "x"}, r"scale='x' is none of 'linear', 'sqrt', 'log', None"),
        ({"width": 0}, r"width=0 is no number of columns"),
        (
            {"cols": (0, 1)},
            r"no option cols\n.*options: width, theme, palette, scale, stages, .*\n.*mean columns\?",
        ),
        ({"colour": 1}, r"no option colour\n.*options: width, theme"),
        ({"rows": 3}, r"rows=3 is no range of positions\n.*rows=\(0, 16\)"),
        ({"rows": (3, 3)}, r"rows=\(3, 3\) is no range"),
        ({"stages": 3}, r"stages=3 names no stages"),
        ({"stages": "weigths"}, r'no stage "weigths"'),
        ({"precision": -1}, r"precision=-1 is no number of decimals"),
        ({"head": 5}, r"there is no head 5"),
    ],
)
def test_what_a_picture_does_not_take(look: dict[str, Any], message: str) -> None:
    """A message says what may be given instead."""
    with pytest.raises(InputError, match=message):
        attend(**CAT).svg(**look)


def test_a_text_has_no_colours_to_choose() -> None:
    with pytest.raises(InputError, match=r"there is no option theme\n.*options: width, scale, stages"):
        attend(**CAT).text(theme="dark")  # type: ignore[call-arg]
