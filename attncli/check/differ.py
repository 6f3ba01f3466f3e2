"""Two results, two problems, or one problem in two ways: where they part, stage by stage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from attncli.check.compare import (
    COMPARED,
    Comparison,
    Side,
    allowances,
    coarser,
    compared,
    least,
    numbers_of,
    reference,
    trial,
)
from attncli.check.diagnose import Tell, diagnose
from attncli.compute import Result, compute
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.trace import STAGES

__all__ = ["check_diff", "computed"]

_UNMEASURED = 4
"""How much more two results may differ, where no problem tells how errors grow in it."""


def computed(problem: Problem, name: str, backend: str | None = None, device: str = "auto") -> Side:
    """Compute one side of a comparison, in the precision that the problem states."""
    result = compute(problem, backend=backend, device=device)
    arrays = numbers_of(result)
    precisions = {each: result.precision[COMPARED[each]] for each in arrays}
    return Side(name=name, arrays=arrays, precisions=precisions)


@np.errstate(all="ignore")  # what others printed may be any number
def check_diff(
    names: tuple[str, str], sides: tuple[Side, Side], problem: Problem | None, tell: Tell | None = None
) -> Comparison:
    """Compare two sides stage by stage.

    Args:
        names: What the user called them.
        sides: Their stages.
        problem: What side A was computed from, if it was.
        tell: Hears how the search for another reading gets on.

    Raises:
        InputError: They share no stage, or a stage has two shapes.
    """
    a, b = sides
    if problem is None:  # a file has its arrays in any order, and the first to differ is to be named
        a = replace(a, arrays={stage: a.arrays[stage] for stage in COMPARED if stage in a.arrays})
    shared = [stage for stage in a.arrays if stage in b.arrays]
    if not shared:
        raise InputError(
            "the two have no stage in common",
            context=f"A has {', '.join(a.arrays)}; B has {', '.join(b.arrays)}",
        )
    ours = None if problem is None else reference(problem)
    both = replace(
        b, precisions={stage: coarser(a.precisions[stage], b.precisions[stage]) for stage in shared}
    )
    both = replace(both, arrays={stage: b.arrays[stage] for stage in shared})
    found = Comparison(
        source=names[1],
        against=names[0],
        rows=compared(a, b, _allowed(a, both, problem, ours)),
        notes=tuple(_alone(a, b)),
    )
    if found.first is None or problem is None or ours is None:
        return found
    search = diagnose(ours, partial(trial, both), found.first.stage, tell)
    return replace(found, diagnosis=search)


def _allowed(a: Side, both: Side, problem: Problem | None, ours: Result | None) -> dict[str, float]:
    if problem is not None and ours is not None:
        return allowances(problem, ours, both)
    return {
        stage: _UNMEASURED * least(a.arrays[stage], precision) for stage, precision in both.precisions.items()
    }


def _alone(a: Side, b: Side) -> list[str]:
    """Name the stages that only one side has."""
    found = []
    for one, other in ((a, b), (b, a)):
        alone = [name for name in one.arrays if name not in other.arrays and name in STAGES]
        if alone:
            found.append(f"only in {one.name}: {', '.join(alone)}")
    return found
