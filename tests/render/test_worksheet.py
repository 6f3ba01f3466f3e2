"""Worksheets: what is blank stands nowhere else on the sheet either."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from attncli.compute import Result, compute
from attncli.python import attend
from attncli.render import FORMATS
from attncli.render.terminal import PAGE, Terminal
from attncli.sheet import View
from tests.computed import array_of
from tests.render.problems import drawn

PAST = {"K": [[0.91, 0.83, 0.75, 0.67]], "V": [[0.59, 0.41, 0.37, 0.29]]}
TWO_OR_THREE = {"keep": [[1, 1, 0], [0, 1, 1], [1, 1, 1]]}  # a row with one key would be that key's value
KEPT = np.ones((3, 4)).tolist()

PROBLEMS: dict[str, dict[str, Any]] = {
    "every stage": {
        "num_heads": 2,
        "mask": "causal",
        "softcap": 5,
        "rope": {"pairing": "half"},
        "qk_norm": "rms",
        "bias": np.arange(1, 13).reshape(3, 4) / 7,
        "past": PAST,
        "dropout": {"p": 0, "keep": KEPT},
    },
    "mask after softmax": {"mask": TWO_OR_THREE, "mask_when": "after_softmax", "scale": "none"},
    "renormalized": {"mask": TWO_OR_THREE, "mask_when": "after_softmax_renormalized"},
}
"""Problems in which stages hand numbers on in every way that there is."""


@cache
def _result(name: str) -> Result:
    return compute(attend(drawn(3), **PROBLEMS[name]).problem, large_details=True)


def _digits(*arrays: np.ndarray) -> set[str]:
    """Spell numbers to ten decimals, cut off, but those that are short, which may stand anywhere."""
    numbers = np.abs(np.concatenate([array.ravel() for array in arrays]))
    spelled = {f"{number:.17f}"[:-7] for number in numbers[np.isfinite(numbers)]}
    return {text for text in spelled if not text.endswith(("00000", "99999"))}


def _told(result: Result, stage: str) -> set[str]:
    """Spell the numbers of a stage and its details, but those that stand before it already."""
    names = [record.stage.name for record in result.records]
    before = [array_of(result, name) for name in names[: names.index(stage)]]
    given = [value.array for value in (result.inputs.x, result.inputs.bias) if value]
    details = [np.asarray(array) for array in result[stage].details.values()]
    return _digits(array_of(result, stage), *details) - _digits(*before, *given)


CASES = [
    (name, record.stage.name)
    for name in PROBLEMS
    for record in _result(name).records
    if _told(_result(name), record.stage.name)
]
"""What there is to find, but for stages that only put numbers in other places."""


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "svg"])
@pytest.mark.parametrize(("name", "stage"), CASES)
def test_nothing_on_the_sheet_tells_what_is_blank(name: str, stage: str, form: str) -> None:
    """With every detail, its numbers stand in no other table, no sum, no line and no title of a cell."""
    result = _result(name)
    view = View(detail=True, full=True, percent=False, precision=12, blank=(stage,))
    page = Terminal(width=PAGE)
    blank, whole = (
        "".join(map(str, FORMATS[form].render([result], each, page)))
        for each in (view, replace(view, blank=()))
    )
    told = _told(result, stage)
    assert [text for text in told if text in whole]
    assert not [text for text in told if text in blank]


def test_the_logarithm_of_a_sum_does_not_tell_a_score() -> None:
    """With one key to see, LSE is that key's score: it is blank where the scores are."""
    result = compute(attend(drawn(3), mask="causal").problem)
    score = f"{array_of(result, 'scaled')[0, 0]:.12f}"
    for blank in ((), ("scaled",)):
        view = View(detail=True, full=True, precision=12, blank=blank)
        page = "".join(map(str, FORMATS["table"].render([result], view, Terminal(width=PAGE))))
        assert (score in page) == (not blank)
