"""A result of another program against the problem, stage by stage, by what its precision allows.

How far a right result may be off is measured, not guessed: the same stage is computed in the
result's precision, with every sum shaken as another order of additions might, and its distance from
float64 is doubled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np

from attncli.check.diagnose import Diagnosis, Evidence, Tell, diagnose
from attncli.check.printed import Numbers
from attncli.check.rounding import shaken
from attncli.compute import Recast, Result, compute, precisions
from attncli.core.attention import ORDER
from attncli.errors import InputError
from attncli.frozen import Frozen
from attncli.problem import Problem
from attncli.trace import STAGES

__all__ = [
    "COMPARED",
    "Comparison",
    "Row",
    "Side",
    "allowances",
    "check_result",
    "coarser",
    "compared",
    "least",
    "numbers_of",
    "reference",
    "trial",
]

COMPARED: Mapping[str, str] = {
    name: part
    for part, stages in ORDER.items()
    for stage in stages
    for name in (stage, *(each.name for each in STAGES[stage].details.values() if not each.large))
}
"""What is compared, in order: stages, each before its details of one number for each query; and its part."""

PRECISIONS: Mapping[str, float] = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
"""Distance from 1 to the next number of each precision, the finest first."""

_NORMAL: Mapping[str, float] = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "float16": 2.0**-14,
    "bfloat16": 2.0**-126,
}
"""The number below which the distance to the next one shrinks no further."""

_SAFETY = 2.0
"""How much worse than ours another program's rounding may be."""

_FEW_ULPS = 4
"""Units in the last place of a stage's largest number that are never held against it: in a small
stage, ours may have been exact by luck."""

_FILL = -1e4
"""A score as low as this is masked, whatever number the mask was made with."""


class Side(Frozen, kw_only=True):
    """Stages that are compared.

    Args:
        name: What messages call it.
        arrays: By name of the stage or detail, in the order of the computation.
        precisions: The precision that each was computed in.
    """

    name: str
    arrays: Mapping[str, Numbers]
    precisions: Mapping[str, str]


class Row(Frozen, kw_only=True):
    """One stage of a comparison, or one detail.

    Args:
        stage: Its name.
        shape: Its shape on both sides.
        precision: The coarser of the two precisions.
        largest: The largest difference.
        index: Where that is.
        given: The number there, of the result or of side B.
        right: The number there, of the problem or of side A.
        ulps: The difference there, in units in the last place of the precision.
        allowed: How large a difference may be.
        wrong: How many numbers are further off.
    """

    stage: str
    shape: tuple[int, ...]
    precision: str
    largest: float
    index: tuple[int, ...]
    given: float
    right: float
    ulps: float
    allowed: float
    wrong: int

    @property
    def ratio(self) -> float:
        """The largest difference as a share of what is allowed."""
        if not self.allowed:  # as in a stage of NaN, where 0 × ∞ would be one more
            return np.inf if self.largest else 0.0
        return self.largest / self.allowed

    @property
    def cell(self) -> str:
        """Where the largest difference is: ``weights[0,2]``."""
        return f"{self.stage}[{','.join(map(str, self.index))}]"


class Comparison(Frozen, kw_only=True):
    """All that a comparison found.

    Args:
        source: What is compared, as the user named it.
        against: What it is held against.
        rows: The stages that both have, in the order of the computation.
        notes: Stages that only one side has, and readings that were taken.
        diagnosis: What would make wrong numbers right.
    """

    source: str
    against: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None

    @property
    def first(self) -> Row | None:
        """Find the first stage that is further off than is allowed."""
        return next((row for row in self.rows if row.wrong), None)


@np.errstate(all="ignore")  # what others printed may be any number
def check_result(
    problem: Problem, source: str, result: Side, notes: tuple[str, ...] = (), tell: Tell | None = None
) -> Comparison:
    """Hold the stages of a result against what a problem computes to.

    Args:
        problem: The problem.
        source: The result's name.
        result: Its stages.
        notes: Remarks on the result.
        tell: Hears how the search for another reading gets on.

    Raises:
        InputError: A stage has another shape than the problem's.
    """
    ours = reference(problem)
    found = Comparison(
        source=source,
        against=problem.origin.name,
        rows=compared(_stages(ours), result, allowances(problem, ours, result)),
        notes=notes,
    )
    if found.first is None:
        return found
    diagnosis = diagnose(ours, partial(trial, result), found.first.stage, tell)
    return replace(found, notes=(*notes, *ours.notes), diagnosis=diagnosis)


def reference(problem: Problem, recast: Recast | None = None) -> Result:
    """Compute a problem in float64, whatever precision it states."""
    return compute(replace(problem, dtype="float64"), recast=recast)


def allowances(problem: Problem, ours: Result, other: Side, recast: Recast | None = None) -> dict[str, float]:
    """Measure how far each stage of a right result may be off.

    Args:
        problem: The problem; a precision that it states is the result's too.
        ours: What it computes to in float64.
        other: The result.
        recast: What changes stages in this reading of the problem.
    """
    stages = _stages(ours).arrays
    coarse = {
        stage: coarser(other.precisions[stage], *precisions(problem).values()) for stage in other.arrays
    }
    rounded = {
        precision: compute(replace(problem, dtype=_measured(precision)), recast=recast, run=shaken)
        for precision in set(coarse.values())
    }
    allowed = {}
    for stage, precision in coarse.items():
        if stage in stages:
            right, near = stages[stage], numbers_of(rounded[precision])[stage]
            with np.errstate(invalid="ignore"):  # −∞ − −∞ of masked scores
                off = _finest(np.abs(np.asarray(near, dtype=float) - right)) * _share(precision)
            allowed[stage] = _SAFETY * off + least(right, precision)
    return allowed


def coarser(*names: str) -> str:
    """Return the coarsest of some precisions."""
    return max(names, key=PRECISIONS.__getitem__)


def _measured(precision: str) -> str:
    # Nothing finer than float64 is there to measure it by: float32 shows how errors grow.
    return "float32" if precision == "float64" else precision


def _share(precision: str) -> float:
    return PRECISIONS[precision] / PRECISIONS[_measured(precision)]


def least(array: Numbers, precision: str) -> float:
    """Return the difference that is never held against a stage: a few units of its largest number."""
    return _FEW_ULPS * PRECISIONS[precision] * max(_finest(np.abs(array)), _NORMAL[precision])


def _finest(sizes: Numbers) -> float:
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def numbers_of(result: Result) -> dict[str, Numbers]:
    """List what was kept of a result, as it is compared."""
    found: dict[str, Numbers] = {}
    for record in result.records:
        own = {record.stage.name: record.array, **record.details}
        found |= {name: array for name, array in own.items() if name in COMPARED and array is not None}
    return found


def _stages(result: Result) -> Side:
    arrays = numbers_of(result)
    return Side(name="the problem", arrays=arrays, precisions=dict.fromkeys(arrays, "float64"))


def compared(ours: Side, other: Side, allowed: Mapping[str, float]) -> tuple[Row, ...]:
    """Compare the stages that both sides have.

    Raises:
        InputError: They have different shapes.
    """
    rows = []
    for stage, right in ours.arrays.items():
        if stage in other.arrays:
            given = other.arrays[stage]
            _same_shape(stage, ours, other)
            precision = coarser(ours.precisions[stage], other.precisions[stage])
            rows.append(_row(stage, right, given, precision, allowed[stage]))
    return tuple(rows)


def _same_shape(stage: str, ours: Side, other: Side) -> None:
    right, given = ours.arrays[stage].shape, other.arrays[stage].shape
    if right == given:
        return
    raise InputError(
        f"{stage} is {_say(given)} in {other.name}, but {_say(right)} in {ours.name}",
        fix=_fitting(given, right, [name for name in ours.arrays if name not in other.arrays], ours),
    )


def _fitting(given: tuple[int, ...], right: tuple[int, ...], free: Sequence[str], ours: Side) -> str:
    """Say what may be meant by an array that has not the shape of its stage."""
    like = next((name for name in reversed(free) if ours.arrays[name].shape == given), None)
    if like:
        return f"it has the shape of {like}: call it that, or say so with --map NAME={like} in attn check"
    if sorted(n for n in given if n > 1) == sorted(n for n in right if n > 1):
        orders = [o for o in permutations(range(len(given))) if tuple(given[i] for i in o) == right]
        order = f": transpose{orders[0]}" if len(orders) == 1 else ""
        return f"bring the axes into the order (batch, head, query, key or dim), those that the problem has{order}"
    return "compare what was made from the same inputs, in the same sizes"


def _row(stage: str, right: Numbers, given: Numbers, precision: str, allowed: float) -> Row:
    off = difference(right, given)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape))
    one = PRECISIONS[precision] * 2.0 ** np.floor(np.log2(max(abs(float(right[index])), _NORMAL[precision])))
    finite = np.isfinite(right[index]) and np.isfinite(off[index])
    return Row(
        stage=stage,
        shape=off.shape,
        precision=precision,
        largest=float(off[index]),
        index=index,
        given=float(given[index]),
        right=float(right[index]),
        ulps=float(off[index] / one) if finite else float(off[index]),
        allowed=allowed,
        wrong=int((off > allowed).sum()),
    )


def difference(right: Numbers, given: Numbers) -> Numbers:
    """Measure how far apart numbers are; a masked score is one whatever it is filled with."""
    wide = np.asarray(given, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        off = np.abs(wide - right)
    same = (wide == right) | (np.isnan(wide) & np.isnan(right)) | ((right == -np.inf) & (wide <= _FILL))
    return np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))


def _say(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a single number"


def trial(result: Side, problem: Problem, recast: Recast | None) -> Evidence:
    """Hold one reading of the problem against the result."""
    ours = reference(problem, recast)
    allowed = allowances(problem, ours, result, recast)
    stages = _stages(ours).arrays
    shared = [stage for stage in stages if stage in result.arrays]
    shapes = [stages[stage].shape == array.shape for stage, array in result.arrays.items() if stage in stages]
    if len(shared) < len(result.arrays) or not all(shapes):
        raise InputError("this reading has other stages, or others shapes")
    off = {stage: difference(stages[stage], result.arrays[stage]) for stage in shared}
    return Evidence(
        holds=np.concatenate([(off[stage] <= allowed[stage]).ravel() for stage in shared]),
        right=np.concatenate([*(stages[stage].ravel() for stage in shared), np.array([*allowed.values()])]),
        bits=np.concatenate([_bits(result.arrays[stage], allowed[stage]) for stage in shared]),
    )


def _bits(array: Numbers, allowed: float) -> Numbers:
    """Measure how unlikely it is to meet a number by chance: not at all where anything is allowed."""
    finite = array[np.isfinite(array)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    bits = np.log2(max(spread / (2 * allowed), 1)) if allowed else 0.0
    return np.full(array.size, bits)
