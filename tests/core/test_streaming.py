"""The streamed way gives what the full way gives, whatever the convention and wherever the tiles end."""

from __future__ import annotations

import numpy as np
import pytest

from attncli.core.attention import Inputs, attend
from attncli.core.streaming import BY_PAIR, Engine, attend_streamed
from attncli.trace import Trace
from tests.conftest import Namespace
from tests.core.test_backends_agree import PROBLEMS, inputs, same

ENGINES = {
    "single cells": Engine(queries=1, keys=1),
    "by head": Engine(queries=2, keys=2, apart=True),
    "looking": Engine(queries=2, keys=2, apart=True, looks=True),
    "one tile": Engine(),
}
MIXED = {name: given for name in PROBLEMS if (given := inputs(name)).v or given.w_v or given.x}


def full(given: Inputs) -> Trace:
    trace = Trace(given.axes)
    with np.errstate(all="ignore"):
        attend(given, trace)
    return trace


def streamed(given: Inputs, engine: Engine) -> Trace:
    trace = Trace(given.axes)
    with np.errstate(all="ignore"):
        attend_streamed(given, trace, engine)
    return trace


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MIXED)
def test_tiles_change_nothing(xp: Namespace, name: str, engine: str) -> None:
    """Each convention comes to the same output, shapes, formulas and log-sums, in tiles of any size."""
    wanted = full(MIXED[name])
    got = streamed(MIXED[name].map(xp.asarray), ENGINES[engine])
    assert set(got.records) == set(wanted.records)
    for ours, theirs in ((wanted.records[each.stage.name], each) for each in got):
        assert (theirs.axes, theirs.shape, theirs.formula) == (ours.axes, ours.shape, ours.formula)
        if theirs.stage.name in BY_PAIR:
            assert theirs.array is None
        else:
            same(theirs.stage.name, xp.to_numpy(theirs.array), ours.array)
        for each, array in theirs.details.items():
            same(each, xp.to_numpy(array), ours.details[each])
