"""The full way on NumPy: rows are computed some at a time, in memory that is little more than what is kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.compute import Result, compute
from attncli.pieces import pieces
from attncli.problem import Mask, Problem
from attncli.readers import load
from attncli.trace import STAGES
from tests.core.test_backends_agree import PROBLEMS

CONFIGS = Path(__file__).parents[1] / "configs"
EXAMPLES = {
    **{name: Problem(**keys) for name, keys in PROBLEMS.items()},
    **{path.stem: load(str(path))[0] for path in sorted(CONFIGS.rglob("*.yaml"))},
}

every_example = pytest.mark.parametrize("name", EXAMPLES)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even a matrix of the examples be too large for one piece."""
    monkeypatch.setattr("attncli.pieces.PIECE", 4)


def numbers(result: Result) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every stage that was kept, and every detail."""
    for record in result.records:
        if record.array is not None:
            yield record.stage.name, record.array
        yield from record.details.items()


def same(got: Any, wanted: Any) -> None:
    """Hold two arrays against each other, shapes and precisions too; a library may treat ends of rows apart."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(wanted.dtype).eps, atol=0)


@pytest.mark.usefixtures("small_pieces")
@every_example
def test_pieces_change_no_number(name: str) -> None:
    """Some rows at a time, stages and details are what they are at once."""
    pieced = dict(numbers(compute(EXAMPLES[name], large_details=True)))
    at_once = dict(numbers(compute(EXAMPLES[name], large_details=True, recast=lambda _stage, array: array)))
    assert pieced.keys() == at_once.keys()
    for each, wanted in at_once.items():
        same(pieced[each], wanted)


@pytest.mark.usefixtures("small_pieces")
@every_example
def test_what_is_not_kept_is_overwritten_by_the_next_stage_only(name: str) -> None:
    """Each stage is the same when it alone is kept, whatever wrote over those before it."""
    whole = compute(EXAMPLES[name])
    for record in whole.records:
        alone = compute(EXAMPLES[name], keep={record.stage.name})
        if alone.path == "full":
            same(alone[record.stage.name].array, record.array)


def test_the_examples_reach_every_stage_that_goes_by_row() -> None:
    """No stage is left out above."""
    made = {record.stage.name for problem in EXAMPLES.values() for record in compute(problem).records}
    assert {name for name, stage in STAGES.items() if stage.by_row} <= made


@pytest.mark.parametrize("shape", [(), (5,), (3, 2**20), (2, 300, 400), (600, 3, 5, 7), (2, 2, 0)])
def test_pieces_cover_an_array_once(shape: tuple[int, ...]) -> None:
    """Every row is in one piece, and a piece holds no more than there is room for, or one row."""
    counts = np.zeros(shape, dtype=int)
    for piece in pieces(shape):
        counts[piece] += 1
        assert counts[piece].size <= max(2**16, *shape[-1:], 1)
    assert (counts == 1).all()


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


HEADS: dict[str, Any] = {name: draw(8, 384, 32) for name in "QKV"}
LARGE: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"mask": Mask(causal=True)},
    "softcap, bias and a filled mask": {
        "softcap": 5.0,
        "bias": draw(384, 384),
        "mask": Mask(causal=True),
        "mask_fill": -1e9,
    },
    "sink": {"sink": 0.5},
}


@pytest.mark.parametrize("keep", [None, ("weights", "output")], ids=["all", "weights and output"])
@pytest.mark.parametrize("name", LARGE)
def test_little_more_is_taken_than_is_kept(name: str, keep: tuple[str, ...] | None) -> None:
    """The most that is held at once is within 1.3 times the stages that are kept."""
    problem = Problem(**HEADS, **LARGE[name], qkv_layout="head seq dim", dtype="float32")
    compute(problem, keep=keep)  # imports what it takes
    tracemalloc.start()
    result = compute(problem, keep=keep)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.3 * sum(record.array.nbytes for record in result.records if record.array is not None)
