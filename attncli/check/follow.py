"""Where a wrong number comes from: the computation again, from the numbers that were printed.

Each stage is computed from what was printed for the stages before it, as far as it was. A wrong
number that this arrives at was not wrong by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attncli.check.figures import Figures
from attncli.check.printed import Numbers, Printed, Truth, Verdict, needs_large
from attncli.compute import compute
from attncli.trace import Array

__all__ = ["KINDS", "Kind", "kinds"]

Kind = Literal["", "origin", "propagated", "rounded"]

KINDS: Mapping[str, str] = {
    "origin": "where a slip starts: not what the stage before gives",
    "propagated": "that follow from wrong numbers before them",
    "rounded": "that follow from the rounded numbers before them",
}
"""What a wrong number can be, and what that means."""

_DRAWS = 16
"""Runs that show how far digits that were cut off reach."""

Cells = Mapping[str, Truth]
"""For each block, by its key, which of its numbers take the place of the computed ones."""


def kinds(
    figures: Figures, blocks: Sequence[Printed], verdicts: Mapping[str, NDArray[np.int8]]
) -> dict[str, NDArray[np.object_]]:
    """Say for each printed number why it is wrong; nothing where it is not.

    Args:
        figures: The right numbers.
        blocks: The printed ones.
        verdicts: What each of them is, by the block's key.
    """
    wrong = {key: found == Verdict.WRONG for key, found in verdicts.items()}
    found = {key: np.where(cells, "origin", "").astype(object) for key, cells in wrong.items()}
    right = {key: ~cells for key, cells in wrong.items()}
    everything = {key: np.ones_like(cells) for key, cells in wrong.items()}
    tries: tuple[tuple[Kind, Cells], ...] = (
        ("propagated", wrong),
        ("rounded", right),
        ("propagated", everything),
    )
    for kind, cells in tries:
        open_cells = {key: known == "origin" for key, known in found.items()}
        if not any(each.any() for each in open_cells.values()):
            break
        for key, follows in _followers(figures, blocks, cells).items():
            found[key][open_cells[key] & follows] = kind
    if any((known == "origin").any() for known in found.values()):
        for key, follows in _loose_followers(figures, blocks, wrong).items():
            found[key][(found[key] == "origin") & follows] = "propagated"
    return found


def _followers(figures: Figures, blocks: Sequence[Printed], cells: Cells) -> dict[str, Truth]:
    """Find the printed numbers that follow from other printed ones, those of some cells."""
    chain = _Chain(figures, blocks, cells)
    found = {}
    for block in blocks:
        ways = [block.verdicts(block.part(array)) != Verdict.WRONG for array in chain.ways(block)]
        found[block.key] = np.logical_or.reduce(ways)
    return found


def _loose_followers(figures: Figures, blocks: Sequence[Printed], cells: Cells) -> dict[str, Truth]:
    """Find the printed numbers that follow from others before those were rounded to be printed.

    Whoever computed with all digits printed fewer of them, and what was cut off grows on the way. So
    the run is made some times with digits drawn for those that were cut off, and what is as near as
    that spread follows.
    """
    draw = np.random.default_rng(0)
    runs: dict[str, list[Numbers]] = {block.key: [] for block in blocks}
    for _ in range(_DRAWS):
        drawn = [replace(b, numbers=b.numbers + b.units * (draw.random(b.units.shape) - 0.5)) for b in blocks]
        chain = _Chain(figures, drawn, cells)
        for block, other in zip(blocks, drawn, strict=True):
            runs[block.key].append(block.part(next(chain.ways(other))))
    found = {}
    for block in blocks:
        low, high = np.min(runs[block.key], axis=0), np.max(runs[block.key], axis=0)
        spare = (high - low) / 4  # what a few draws do not reach
        clipped = np.clip(block.numbers, low - spare, high + spare)
        near = np.where(np.isnan(block.numbers), low, clipped)  # clip leaves a printed NaN as it is
        found[block.key] = block.verdicts(near) != Verdict.WRONG
    return found


class _Chain:
    """One run in which printed numbers take the place of computed ones as soon as they are there."""

    def __init__(self, figures: Figures, blocks: Sequence[Printed], cells: Cells) -> None:
        self._exact = figures
        self._blocks = blocks
        self._cells = cells
        self._reached: dict[str, list[Numbers]] = {}
        result = compute(figures.result.problem, large_details=needs_large(blocks), recast=self._recast)
        self._figures = Figures(result, shifted=figures.shifted)

    def ways(self, block: Printed) -> Iterator[Numbers]:
        """Yield what a block's stage or detail is by each way that leads to it."""
        if block.name in self._reached:
            yield from self._reached[block.name]
            standing = self._reached[block.name][-1]
            for other in self._of(block.name):  # percent follows from weights printed beside it
                if other is block:
                    break
                standing = other.put(standing, self._cells[other.key])
                yield standing
            return
        yield self._figures[block.name].array
        if block.name == "exp_sum":
            yield self._sum()

    def _recast(self, stage: str, array: Array) -> Array:
        self._reached[stage] = [array, *self._by_details(stage)]
        return self._put(stage, self._reached[stage][-1])

    def _by_details(self, stage: str) -> Iterator[Numbers]:
        """Make a stage of the details that were printed before it."""
        if stage == "weights" and (self._of("exp") or self._of("exp_sum")):
            total = self._put("exp_sum", self._sum())[..., None]
            yield self._put("exp", self._exact["exp"].array) / np.where(total == 0, 1.0, total)
        if stage in {"output", "head_output"} and self._of("weighted_values"):
            exact = self._exact["weighted_values"].array
            if exact.ndim == self._exact[stage].array.ndim + 1:
                change = self._put("weighted_values", exact) - exact
                yield self._exact[stage].array + change.sum(axis=-2)

    def _sum(self) -> Numbers:
        exact = self._exact["exp"].array
        change = self._put("exp", exact) - exact
        total: Numbers = self._exact["exp_sum"].array + change.sum(axis=-1)
        return total

    def _of(self, name: str) -> list[Printed]:
        return [block for block in self._blocks if block.name == name]

    def _put(self, name: str, array: Numbers) -> Numbers:
        for block in self._of(name):
            array = block.put(array, self._cells[block.key])
        return array
