"""From a problem to its result: one run of `attend` on one backend, brought back to NumPy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attncli.backends import Session, open_backend
from attncli.core.attention import ORDER, attend
from attncli.core.inputs import Inputs
from attncli.frozen import Frozen
from attncli.observe import observe
from attncli.pieces import Pieces
from attncli.plan import Plan, make_plan
from attncli.problem import Problem
from attncli.resolve import resolve
from attncli.trace import Array, Record, Run, Trace, at_once

if TYPE_CHECKING:
    from attncli.streamed import Progress

__all__ = ["Recast", "Result", "compute", "plan", "precisions", "taking", "widest"]

Recast: TypeAlias = Callable[[str, Array], Array]
"""Takes the name of a stage and its result, and returns what is to stand for the result."""


class Result(Frozen, kw_only=True):
    """Every stage of a problem, in NumPy.

    Args:
        problem: The problem as it was written.
        inputs: The arrays that went in, in the layout of `Inputs`, as the file gave them.
        records: What the stages returned, in the order of the computation; in float32 or float64.
        query_labels: One label for each query.
        key_labels: One label for each key.
        notes: What a reader should know, one sentence each.
        start: The key that the data starts with; empty where stages came without a problem.
        backend: Name of the array library.
        device: The device it ran on.
        precision: The precision of each part: qk, softmax and pv.
        path: ``full`` when every stage was made whole, ``streamed`` when it went tile by tile.
        kernel: The library's own kernel that took the place of the tiles, if one did.
        file: The file that the problem was read from when it was computed, as the user named it.
    """

    problem: Problem
    inputs: Inputs
    records: tuple[Record, ...]
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    notes: tuple[str, ...]
    start: str
    backend: str
    device: str
    precision: Mapping[str, str]
    path: str = "full"
    kernel: str = ""
    file: str = "<problem>"

    @property
    def dtype(self) -> str:
        """The precision, as a reader would say it: one name, or one for each part."""
        if len(set(self.precision.values())) == 1:
            return self.precision["qk"]
        return ", ".join(f"{part} {dtype}" for part, dtype in self.precision.items())

    def __getitem__(self, stage: str) -> Record:
        """Return the record of a stage by its name."""
        for record in self.records:
            if record.stage.name == stage:
                return record
        raise KeyError(stage)


def compute(
    problem: Problem,
    *,
    backend: str | None = None,
    device: str = "auto",
    keep: Collection[str] | None = None,
    large_details: bool = False,
    recast: Recast | None = None,
    run: Run | None = None,
    progress: Progress | None = None,
) -> Result:
    """Compute every stage of a problem.

    Args:
        problem: What to compute.
        backend: Name of the array library; None is NumPy, or torch when the device is no CPU.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        keep: Names of the stages to keep; None keeps all.
        large_details: Also keep the details with a number for each query and key.
        recast: Given the name of each stage and its result, an array of the backend; what it returns
            takes the place of the result, there and in all stages after it.
        run: Runs each stage; None runs it in the way that suits the library.
        progress: Is told how far it is.

    Raises:
        InputError: The problem cannot be computed as it is written.
        UnavailableError: The backend or device is not here, or memory would not suffice.
    """
    precision = precisions(problem)
    session = open_backend(backend, device, widest(precision))
    resolved = resolve(problem)
    pieces = session.backend == "numpy" and not (recast or run)  # which see a result as a whole
    chosen = make_plan(resolved.inputs, precision, keep, large_details=large_details, pieces=pieces)
    chosen.require()
    trace = Trace(
        resolved.inputs.axes,
        keep=keep,
        large_details=large_details,
        cast=_cast(session, precision, recast),
        run=Pieces() if pieces else run or at_once,
    )
    with np.errstate(all="ignore"):  # NaN and infinity are numbers of the result, and are reported there
        there = resolved.inputs.map_parts(taking(session, precision))
        fused = _run(chosen, there, session, trace, progress)
    records = tuple(_home(record, session) for record in trace)
    seen = observe(resolved.problem, resolved.inputs, records, resolved.query_labels)
    return Result(
        problem=problem,
        inputs=resolved.inputs,
        records=records,
        query_labels=resolved.query_labels,
        key_labels=resolved.key_labels,
        notes=resolved.notes + seen,
        start=resolved.start,
        backend=session.backend,
        device=session.device,
        precision=precision,
        path=chosen.path,
        kernel=f"{session.backend} fused" if fused else "",
        file=problem.origin.name,
    )


def plan(
    problem: Problem,
    *,
    device: str = "auto",
    backend: str | None = None,
    keep: Collection[str] | None = None,
    large_details: bool = False,
) -> Plan:
    """Say how a problem would be computed and what that takes; the arguments are those of `compute`."""
    precision = precisions(problem)
    session = open_backend(backend, device, widest(precision))
    pieces = session.backend == "numpy"
    return make_plan(resolve(problem).inputs, precision, keep, large_details=large_details, pieces=pieces)


def precisions(problem: Problem) -> dict[str, str]:
    """Return the precision of each part of the computation: qk, softmax and pv."""
    dtype = problem.dtype
    return {part: dtype if isinstance(dtype, str) else dtype.get(part, "float64") for part in ORDER}


def widest(precision: Mapping[str, str]) -> str:
    """Return the precision that holds the numbers of every part."""
    found = set(precision.values())
    if len(found) == 1:
        return found.pop()
    return "float64" if "float64" in found else "float32"


def _cast(
    session: Session, precision: Mapping[str, str], recast: Recast | None
) -> Callable[[str, Array], Array]:
    rounders = {name: session.rounder(precision[part]) for part, names in ORDER.items() for name in names}

    def cast(stage: str, array: Array) -> Array:
        rounder = rounders[stage]
        rounded = rounder(array) if rounder else array
        return recast(stage, rounded) if recast else rounded

    return cast


def taking(session: Session, precision: Mapping[str, str]) -> Callable[[str], Callable[[np.ndarray], Array]]:
    """Make what takes the inputs of a part of the computation to a session, at the part's precision."""

    def taken(part: str) -> Callable[[np.ndarray], Array]:
        rounder = session.rounder(precision[part])

        def take(array: np.ndarray) -> Array:
            own = session.from_numpy(array)
            return rounder(own) if rounder and array.dtype.kind == "f" else own

        return take

    return taken


def _run(chosen: Plan, inputs: Inputs, session: Session, trace: Trace, progress: Progress | None) -> bool:
    """Run the way that was chosen, and tell whether the library's own kernel took part."""
    if chosen.path == "streamed":
        from attncli.core.streaming import attend_streamed  # noqa: PLC0415
        from attncli.streamed import engine_for  # noqa: PLC0415  (threads are rarely needed)

        return attend_streamed(inputs, trace, engine_for(session, progress))
    attend(inputs, trace, looks=session.backend == "numpy")
    return False


def _home(record: Record, session: Session) -> Record:
    return dataclasses.replace(
        record,
        array=None if record.array is None else session.to_numpy(record.array),
        details={name: session.to_numpy(array) for name, array in record.details.items()},
    )
