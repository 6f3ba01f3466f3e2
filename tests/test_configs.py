"""The examples under configs: each computes, says the right numbers, and looks as it did when it was read.

Golden files hold the looks. After a change that is meant, rewrite them and read the diff:

    REWRITE_GOLDEN=1 python -m pytest tests/test_configs.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from attncli.blocks import make_sheet
from attncli.compute import Result, compute
from attncli.core.attention import ORDER
from attncli.describe import key_rows
from attncli.readers import load
from attncli.render.terminal import Terminal
from attncli.sheet import View
from attncli.trace import STAGES, Stage
from tests import worked
from tests.computed import array_of
from tests.render.problems import table_text
from tests.render.test_table import GOLDEN, compare

CONFIGS = Path(__file__).parents[1] / "configs"
FILES = sorted(CONFIGS.rglob("*.yaml"))
NAMES = [path.relative_to(CONFIGS).with_suffix("").as_posix() for path in FILES]

by_name = pytest.mark.parametrize("name", NAMES)


@cache
def computed(name: str) -> Result:
    (problem,) = load(str(CONFIGS / f"{name}.yaml"))
    return compute(problem, large_details=True)


def printed(result: Result) -> Iterator[worked.Printed]:
    """List the expected numbers of an example, with as many decimals as the most precise of them shows."""
    percent = result.problem.expected_in == "percent"
    for part, expected in (result.problem.expected or {}).items():
        places = max(map(decimals, texts(expected.digits)))
        numbers = np.array(expected.digits, dtype=np.float64)
        yield worked.Printed("percent" if percent else part, numbers, places, 0.0)


def texts(digits: Any) -> Iterator[str]:
    if isinstance(digits, str):
        yield digits
    else:
        for each in digits:
            yield from texts(each)


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


@by_name
def test_every_expected_number_holds(name: str) -> None:
    """Each example says what to expect, and every number of it rounds to what is said."""
    result = computed(name)
    blocks = list(printed(result))
    assert blocks
    for block in blocks:
        ours = worked.part_of(result, block.part)
        assert ours.shape == block.numbers.shape, block.part
        held = block.holds(ours) | (np.isnan(ours) & np.isnan(block.numbers))
        assert held.all(), f"{block.part}: {ours}"


@by_name
def test_golden_examples(name: str) -> None:
    """At 100 columns and without colour, each example is the text that was read and found good."""
    text = table_text(make_sheet(computed(name), View()), Terminal(width=100, interactive=False))
    (GOLDEN / "configs" / name).parent.mkdir(parents=True, exist_ok=True)
    compare(f"configs/{name}.txt", text)


def test_each_golden_file_has_its_example() -> None:
    """No text is left of an example that is gone."""
    folder = GOLDEN / "configs"
    assert (
        sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.txt")) == NAMES
    )


def test_shuffled_tokens_shuffle_the_numbers_and_nothing_else() -> None:
    """Outputs move with their tokens, weights on both axes, and no number changes by more than rounding."""
    plain, moved = computed("self_attention"), computed("shuffled")
    order = [plain.query_labels.index(label) for label in moved.query_labels]
    assert order != sorted(order)
    for record in plain.records:
        before, after = array_of(plain, record.stage.name), array_of(moved, record.stage.name)
        axes = [
            np.array(order) if axis in {"query", "key"} else np.arange(n)
            for axis, n in zip(record.axes, before.shape, strict=True)
        ]
        np.testing.assert_allclose(after, before[np.ix_(*axes)], rtol=1e-14, atol=0)


def test_wide_vectors_need_the_scale() -> None:
    """With d_k = 512 softmax saturates without the scale, and does not with it."""
    assert array_of(computed("no_scaling"), "weights").max() > 0.999
    assert array_of(computed("with_scaling"), "weights").max() < 0.75


def ways() -> Iterator[Stage[...]]:
    for stage in STAGES.values():
        yield from (stage, *stage.variants)


def test_every_stage_is_shown_by_an_example() -> None:
    """Each way to each stage that is declared is taken by an example, and says where it was published."""
    taken = {record.stage.function for name in NAMES for record in computed(name).records}
    assert [f"{way.name}: {way.formula}" for way in ways() if way.function not in taken] == []
    assert all(way.source for way in ways())
    assert {name for part in ORDER.values() for name in part} == set(STAGES)


WITHOUT_EXAMPLE = {
    "dropout.seed": "what a seed draws is in no book",
    "schema": "a result adds it",
    "stages": "a result adds it",
    "meta": "a result adds it",
}
"""Keys that stand in no file of ours, and why."""


def used(document: Any, above: str = "") -> Iterator[str]:
    """Yield the dotted names of everything that a document's mappings say."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield f"{above}{name}"
            yield from used(value, f"{above}{name}.")
    elif isinstance(document, list):
        for value in document:
            yield from used(value, above)
    elif isinstance(document, str):
        yield f"{above}{document}"


def test_every_key_is_used_by_an_example() -> None:
    """Each declared key, also inside others, stands in an example or in a published problem."""
    documents = [yaml.safe_load(path.read_text("utf-8")) for path in FILES]
    documents += [json.loads(path.read_text("utf-8")) for path in worked.FILES]
    seen = {name for document in documents for name in used(document)}
    assert {row["name"] for row in key_rows()} - seen == set(WITHOUT_EXAMPLE)
