"""attn from Python: the same numbers, shown at a prompt and in a notebook."""

from __future__ import annotations

import doctest
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
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.seen import Seen
from attncli.sheet import View
from tests.readme import ROOT

CAT: dict[str, Any] = {
    "tokens": ["the", "cat", "sat"],
    "X": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "mask": "causal",
}


def test_the_page_about_python_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/python.md, and of the package's docstring, gives what stands below it."""
    monkeypatch.chdir(ROOT)
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
