"""The outline of a problem: what would be recorded, found without computing it."""

from __future__ import annotations

import pytest

from attncli.compute import Result, compute
from attncli.core.outline import outline
from attncli.problem import Problem
from attncli.readers import load
from tests.core.test_backends_agree import PROBLEMS
from tests.readme import ROOT

CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))


def _same(result: Result) -> bool:
    found = outline(result.inputs)
    shown = [(each.stage.name, each.formula, each.axes, each.shape) for each in result.records]
    return shown == [(name, each.formula, each.axes, each.shape) for name, each in found.items()]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_stages_formulas_axes_and_shapes_are_foreseen(path: object) -> None:
    """For every example, the outline is what the computation then records, in its order."""
    for problem in load(str(path)):
        assert _same(compute(problem))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_kind_of_problem_has_an_outline(name: str) -> None:
    """Also where there is a cache, more heads of queries than of keys, a batch, or a late start."""
    assert _same(compute(Problem(**PROBLEMS[name])))
