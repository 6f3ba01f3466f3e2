"""attn from Python: the same numbers, shown at a prompt and in a notebook."""

from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import attncli
from attncli import Attention, attend, load
from attncli.errors import InputError
from attncli.problem import Problem
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
