"""`attn show`: what was computed once is shown again, and not computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attncli.compute import compute
from attncli.problem import Problem
from attncli.readers import load
from attncli.render.json_document import render_json
from attncli.stored import stored_result
from tests.cli.conftest import ROOT, Attn
from tests.core.test_backends_agree import PROBLEMS

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
VIEWS = ((), ("--detail",), ("--stages", "weights"), ("--format", "csv"), ("--format", "svg"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_result_is_shown_as_it_was_when_it_was_computed(attn: Attn, path: Path) -> None:
    """Text, documents and data are the same, byte for byte."""
    attn("compute", str(path), "--detail", "-q", "-o", "result.json")
    for options in VIEWS:
        again = attn("show", "result.json", *options)
        first = attn("compute", "result.json", *options)
        assert (again.status, again.out) == (0, first.out)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_document_reads_back_as_the_same_document(name: str, tmp_path: Path) -> None:
    """Whatever kind of problem: JSON of a stored result says what the JSON says that it came from."""
    document = "".join(render_json(compute(Problem(**PROBLEMS[name]))))
    path = tmp_path / "result.json"
    path.write_text(document, encoding="utf-8")
    (problem,) = load(str(path))
    assert json.loads("".join(render_json(stored_result(problem)))) == json.loads(document)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_numbers_stay_as_short_as_they_were(attn: Attn, dtype: str) -> None:
    """A float32 that prints as 0.1 is not shown as 0.10000000149."""
    attn("random", "--seq", "3", "--dim", "4", "--dtype", dtype, "-q", "-o", "result.json")
    assert attn("show", "result.json", "--json").out == Path("result.json").read_text("utf-8")


def test_nothing_is_computed(attn: Attn) -> None:
    """A number that somebody changed in the file is shown as it stands there."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    document = json.loads(Path("result.json").read_text("utf-8"))
    document["stages"]["scores"][0][0] = 77.25
    Path("result.json").write_text(json.dumps(document))
    assert "77.25" in attn("show", "result.json", "--stages", "scores").out


def changed(**changes: Any) -> None:
    document = json.loads(Path("result.json").read_text("utf-8"))
    for path, value in changes.items():
        part, _, last = path.rpartition("__")
        (document[part] if part else document)[last] = value
    Path("result.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": {}}, "this is a problem, not the result of one"),
        ({"meta": None}, "this is a problem, not the result of one"),
        ({"stages__scores": [[1, 2], [3, 4]]}, '"scores" is 2×2, but the problem has 3 queries and 3 keys'),
        ({"stages__scores": [1, 2, 3]}, '"scores" has 1 axes, but its meta names 2'),
        ({"stages__scores": [["x"]]}, "stages.scores is no array of numbers"),
        ({"stages__scores": [[1, 2], [3]]}, "stages.scores is no array of numbers"),
        ({"meta__stages": [{"name": "nonsense"}]}, "not those that its meta declares"),
        ({"meta__stages": [3]}, "not those that its meta declares"),
    ],
)
def test_a_file_that_holds_no_result(attn: Attn, changes: dict[str, Any], message: str) -> None:
    """One message says what does not fit, and nothing is shown."""
    attn("compute", "cat.yaml", "-q", "-o", "result.json")
    changed(**changes)
    done = attn("show", "result.json")
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_a_problem_is_not_shown(attn: Attn) -> None:
    assert "attn compute FILE -o result.json, and show that" in attn("show", "cat.yaml").err
