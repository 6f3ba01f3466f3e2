"""Expected values against what the problem computes to: a verdict for each, and the first that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from attncli.check.diagnose import Diagnosis, Evidence, Tell, diagnose
from attncli.check.figures import Figures
from attncli.check.follow import kinds
from attncli.check.printed import Numbers, Printed, Verdict, needs_large, printed
from attncli.compute import Recast, Result, compute
from attncli.frozen import Frozen
from attncli.problem import Problem

__all__ = ["Cell", "Checked", "Refused", "Report", "check_expected", "held"]


class Cell(Frozen, kw_only=True):
    """One printed number that is not right.

    Args:
        stage: The block that it stands in, as the problem names it.
        index: Where in the block.
        name: The same as one name, in the stage's own indices: ``weights[0,2]``.
        printed: As it was printed.
        right: What it should be, in the unit and with the decimals that were printed.
        exact: What it should be, in the unit that was printed.
        verdict: Last digit, or wrong.
        kind: Why it is wrong: a key of `attncli.check.follow.KINDS`.
    """

    stage: str
    index: tuple[int, ...]
    name: str
    printed: str
    right: str
    exact: float
    verdict: Verdict
    kind: str


class Checked(Frozen, kw_only=True):
    """One block of printed numbers, checked.

    Args:
        printed: The block.
        right: What its numbers should be.
        axes: Names of the block's axes.
        verdicts: What each number is.
        kinds: Why each wrong number is wrong.
    """

    printed: Printed
    right: Numbers
    axes: tuple[str, ...]
    verdicts: NDArray[np.int8]
    kinds: NDArray[np.object_]

    def write(self, index: tuple[int, ...]) -> str:
        """Write a right number as it would have been printed, with more decimals where those hide the fault."""
        block = self.printed
        number, unit = block.factor * float(self.right[index]), block.factor * float(block.units[index])
        decimals = max(0, round(-np.log10(unit)))
        text = f"{number:.{decimals}f}"
        if self.verdicts[index] != Verdict.OK and text == block.text[index]:
            text = f"{number:.{decimals + 2}f}"
        return text.replace("-0", "0", 1) if np.isfinite(number) and float(text) == 0 else text

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The numbers that are not right."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        for index in map(tuple, np.argwhere(self.verdicts != Verdict.OK).tolist()):
            yield Cell(
                stage=self.printed.key,
                index=index,
                name=_cell_name(self.printed, index),
                printed=str(self.printed.text[index]),
                right=self.write(index),
                exact=self.printed.factor * float(self.right[index]),
                verdict=Verdict(int(self.verdicts[index])),
                kind=str(self.kinds[index]),
            )


class Report(Frozen, kw_only=True):
    """All that a check found.

    Args:
        source: The file, as the user named it.
        result: What the problem computes to.
        blocks: The printed numbers, in the order of the computation.
        notes: Readings that were taken, one sentence each.
        diagnosis: What would make wrong numbers right.
    """

    source: str
    result: Result
    blocks: tuple[Checked, ...]
    notes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None

    def cells(self, verdict: Verdict) -> list[Cell]:
        """List the numbers with a verdict, in the order of the computation."""
        return [cell for block in self.blocks for cell in block.cells if cell.verdict == verdict]

    @property
    def size(self) -> int:
        """Count the numbers that were checked."""
        return sum(block.verdicts.size for block in self.blocks)

    @property
    def first(self) -> Cell | None:
        """Find the first wrong number that does not follow from others, or else the first that does."""
        wrong = self.cells(Verdict.WRONG)
        origins = [cell for cell in wrong if cell.kind == "origin"]
        return next(iter(origins or wrong), None)


class Refused(Frozen, kw_only=True):
    """A file, among several, that could not be checked.

    Args:
        source: The file, as the user named it.
        message: What is wrong with it.
        notes: None.
    """

    source: str
    message: str
    notes: tuple[str, ...] = ()


@np.errstate(all="ignore")  # what others printed may be any number
def check_expected(problem: Problem, tell: Tell | None = None) -> Report:
    """Hold a problem's expected values against what it computes to.

    Args:
        problem: With expected values.
        tell: Hears how the search for another reading gets on.

    Raises:
        InputError: There are none, or one names what the problem does not have.
    """
    blocks = printed(problem)
    result = compute(problem, large_details=needs_large(blocks))
    figures = _reading(Figures(result), blocks)
    verdicts = held(figures, blocks)
    reasons = kinds(figures, blocks, verdicts)
    checked = [
        Checked(
            printed=block,
            right=block.part(figures[block.name].array),
            axes=_axes(block, figures[block.name].axes),
            verdicts=verdicts[block.key],
            kinds=reasons[block.key],
        )
        for block in blocks
    ]
    checked.sort(key=lambda each: figures[each.printed.name].place)
    notes = tuple(_notes(figures, blocks))
    report = Report(source=problem.origin.name, result=result, blocks=tuple(checked), notes=notes)
    wrong = report.cells(Verdict.WRONG)
    if not wrong:
        return report
    found = diagnose(result, partial(_trial, problem, blocks), wrong[0].stage, tell)
    return replace(report, diagnosis=found, notes=(*notes, *result.notes))


def _trial(written: Problem, blocks: Sequence[Printed], problem: Problem, recast: Recast | None) -> Evidence:
    """Hold one reading of a problem against its numbers, which may themselves be meant otherwise."""
    if problem.expected_in != written.expected_in:
        blocks = printed(problem)
    figures = _reading(Figures(compute(problem, large_details=needs_large(blocks), recast=recast)), blocks)
    verdicts = held(figures, blocks)
    right = {block.key: block.part(figures[block.name].array) for block in blocks}
    return Evidence(
        holds=np.concatenate([verdicts[block.key].ravel() != Verdict.WRONG for block in blocks]),
        right=np.concatenate([block.factor * right[block.key].ravel() for block in blocks]),
        bits=np.concatenate([block.bits(right[block.key]).ravel() for block in blocks]),
    )


def held(figures: Figures, blocks: Sequence[Printed]) -> dict[str, NDArray[np.int8]]:
    """Give the verdict on every printed number, by the block's key.

    Raises:
        InputError: A block names what the problem does not have.
    """
    found = {}
    for block in blocks:
        figure = figures.find(block.name, ("expected", block.key))
        found[block.key] = block.verdicts(block.part(figure.array))
    return found


def _reading(figures: Figures, blocks: Sequence[Printed]) -> Figures:
    """Choose whether exponentials were printed with the maximum subtracted: what fits more of them."""
    exponentials = [block for block in blocks if block.name in {"exp", "exp_sum"}]
    if not exponentials:
        return figures
    plain = Figures(figures.result, shifted=False)

    def wrong(reading: Figures) -> int:
        return sum(int((each == Verdict.WRONG).sum()) for each in held(reading, exponentials).values())

    return figures if wrong(figures) < wrong(plain) else plain


def _notes(figures: Figures, blocks: Sequence[Printed]) -> Iterator[str]:
    names = [block.key for block in blocks if block.name in {"exp", "exp_sum"}]
    if names:
        read = "exp(z − max), the maximum subtracted" if figures.shifted else "exp(z), no maximum subtracted"
        yield f"{' and '.join(names)} read as {read}"


def _axes(block: Printed, axes: tuple[str, ...]) -> tuple[str, ...]:
    rest = axes[len(block.index) :]
    kept = [axis for axis, at in zip(axes, block.index, strict=False) if isinstance(at, slice)]
    return (*kept, *rest)


def _cell_name(block: Printed, index: tuple[int, ...]) -> str:
    """Say where a number of a block is in its stage: ``[1]`` of ``output[0]`` is ``output[0,1]``."""
    rest = list(index)
    whole = [rest.pop(0) if isinstance(at, slice) else at for at in block.index] + rest
    name = block.key.partition("[")[0]
    return f"{name}[{','.join(map(str, whole))}]" if whole else name
