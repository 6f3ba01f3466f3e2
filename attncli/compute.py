"""From a problem to its result: one run of `attend` on one backend, brought back to NumPy."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from attncli.backends import Session, open_backend
from attncli.core.attention import Inputs, attend
from attncli.memory import require_stages
from attncli.observe import Checks, check, observe
from attncli.problem import Problem
from attncli.resolve import resolve
from attncli.trace import Record, Trace

__all__ = ["Result", "compute"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Every stage of a problem, in NumPy.

    Args:
        problem: The problem as it was written.
        inputs: The arrays that went in, in the layout of `Inputs`, as the file gave them.
        records: What the stages returned, in the order of the computation; in float32 or float64.
        query_labels: One label for each query.
        key_labels: One label for each key.
        notes: What a reader should know, one sentence each.
        checks: What the numbers say about themselves.
        start: The key that the data starts with.
        backend: Name of the array library.
        device: The device it ran on.
        dtype: The precision.
    """

    problem: Problem
    inputs: Inputs
    records: tuple[Record, ...]
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    notes: tuple[str, ...]
    checks: Checks
    start: str
    backend: str
    device: str
    dtype: str

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
) -> Result:
    """Compute every stage of a problem.

    Args:
        problem: What to compute.
        backend: Name of the array library; None is NumPy, or torch when the device is no CPU.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        keep: Names of the stages to keep; None keeps all.
        large_details: Also keep the details with a number for each query and key.

    Raises:
        InputError: The problem cannot be computed as it is written.
        UnavailableError: The backend or device is not here, or memory would not suffice.
    """
    session = open_backend(backend, device, problem.dtype)
    resolved = resolve(problem)
    require_stages(resolved.inputs, session.dtype, large_details=large_details)
    records = _run(resolved.inputs, session, keep, large_details=large_details)
    seen = observe(problem, resolved.inputs, records, resolved.query_labels)
    return Result(
        problem=problem,
        inputs=resolved.inputs,
        records=records,
        query_labels=resolved.query_labels,
        key_labels=resolved.key_labels,
        notes=resolved.notes + seen,
        checks=check(resolved.inputs, records),
        start=resolved.start,
        backend=session.backend,
        device=session.device,
        dtype=session.dtype,
    )


def _run(
    inputs: Inputs, session: Session, keep: Collection[str] | None, *, large_details: bool
) -> tuple[Record, ...]:
    trace = Trace(inputs.axes, keep=keep, large_details=large_details, cast=session.round)
    with np.errstate(all="ignore"):  # NaN and infinity are numbers of the result, and are reported there
        attend(inputs.map(session.from_numpy), trace)

    def home(record: Record) -> Record:
        return dataclasses.replace(
            record,
            array=None if record.array is None else session.to_numpy(record.array),
            details={name: session.to_numpy(array) for name, array in record.details.items()},
        )

    return tuple(home(record) for record in trace)
