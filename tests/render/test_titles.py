"""Each number of a picture is named as explain takes it, so that whoever points at it can ask for it."""

from __future__ import annotations

import random
import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from attncli.arithmetic import EXACT
from attncli.blocks import make_sheet
from attncli.cells import Axes, parse_cell, spell_cell
from attncli.compute import Result, compute
from attncli.explain import explain
from attncli.problem import Problem
from attncli.readers import load
from attncli.render.svg import render_svg
from attncli.render.terminal import PAGE, Terminal
from attncli.sheet import View
from tests.core.test_backends_agree import PROBLEMS
from tests.readme import ROOT
from tests.render.problems import CAUSAL, cat, drawn

ODD = ("1", "0", "a,b", "]", '"', "\\", "", " ", "x", "x", "Ġy", " y", "a\nb", "\ufffe", "-3", "z\\")
CASES = {
    "numbers": drawn(2, tokens=("1", "0")),
    "odd": drawn(len(ODD), tokens=ODD),
    "repeated": drawn(3, tokens=("a", "b", "a")),
    "heads": drawn(4, num_heads=2, mask=CAUSAL),
    "batch": drawn(3, batch=2, num_heads=2, tokens=("a", "b", "c")),
}
CASES |= {f"problem {name}": Problem(**values) for name, values in PROBLEMS.items()}
CASES |= {path.stem: load(str(path))[0] for path in sorted((ROOT / "configs").glob("*.yaml"))}


def titles(result: Result, **view: Any) -> list[str]:
    page = Terminal(width=PAGE, theme="light")
    root = ET.fromstring("".join(render_svg(make_sheet(result, View(**view)), page)))
    return [each.text or "" for each in list(root.iter("{http://www.w3.org/2000/svg}title"))[1:]]


@pytest.mark.parametrize("name", CASES)
def test_a_title_can_be_given_to_explain(name: str) -> None:
    """A cell of each array, and twenty of all, are accepted, and are the number that the title says."""
    result = compute(CASES[name])
    of_distance = (
        result.inputs.by_distance is not None
    )  # B is shown for each pair, and given for each distance
    found = [title for title in titles(result, full=True) if not (of_distance and title.startswith("B["))]
    one_of_each = {title.partition("[")[0]: title for title in found}
    assert {record.stage.name for record in result.records[-1:]} <= set(one_of_each)
    for title in {*one_of_each.values(), *random.Random(0).sample(found, min(20, len(found)))}:
        cell, _, number = title.rpartition(" = ")
        np.testing.assert_equal(explain(result, cell, EXACT, 0).value, float(number), err_msg=title)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("numbers", 'weights["1","0"]'),
        ("odd", 'weights["a,b","]"]'),
        ("repeated", "weights[2,b]"),
        ("heads", "weights[1,2,0]"),
        ("batch", "weights[1,0,a,c]"),
    ],
)
def test_what_a_title_says(name: str, title: str) -> None:
    """Batch and head come first; labels that look like numbers are quoted, repeated ones are positions."""
    assert title in {each.rpartition(" = ")[0] for each in titles(compute(CASES[name]))}


def test_no_two_numbers_have_one_name() -> None:
    """Of several heads and batch items, and of labels that look alike, each cell has a title of its own."""
    for name in ("odd", "heads", "batch"):
        cells = [each.rpartition(" = ")[0] for each in titles(compute(CASES[name]), full=True)]
        assert len(set(cells)) == len(cells)


def test_what_stands_for_several_names_ranges() -> None:
    """A square of two heads' mean has ranges of heads, queries and keys; what it says is their largest mean."""
    result = compute(drawn(130, num_heads=2))
    found = titles(result, stages=("weights",), mean_heads=True)
    weights = np.asarray(result["weights"].array).mean(axis=0)
    for title in found[:: len(found) // 20]:
        named = re.fullmatch(r"max of mean of weights\[0:2,(\d+):(\d+),(\d+):(\d+)\] = (\S+)", title)
        assert named, title
        top, bottom, left, right = map(int, named.groups()[:4])
        assert float(named[5]) == weights[top:bottom, left:right].max()


def test_any_label_is_found_where_it_stands() -> None:
    """Spelled and read again, each cell is itself, also where every label is one that is hard to read."""
    axes = Axes(("query", "key"), (len(ODD), len(ODD)), {"query": ODD, "key": ODD[::-1]})
    for index in np.ndindex(axes.shape):
        assert parse_cell(spell_cell("weights", index, axes), {"weights": axes}) == ("weights", index)


def test_a_window_keeps_the_positions() -> None:
    """With --rows and --cols a title counts from the first query and key of all."""
    result = compute(cat())
    (title,) = titles(result, stages=("weights",), rows=(2, 3), columns=(1, 2))
    assert title == f"weights[sat,cat] = {float(np.asarray(result['weights'].array)[2, 1])!r}"
