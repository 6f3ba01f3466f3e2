"""A finished result again, from the document that it was written to: nothing is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from attncli.compute import Result, precisions, widest
from attncli.core.outline import outline
from attncli.errors import InputError
from attncli.problem import STARTS, Problem, Source
from attncli.readers import load
from attncli.readers.result import is_bare, read_result
from attncli.readers.scalars import unknown_name
from attncli.resolve import resolve
from attncli.stored.alone import ORDERED, alone
from attncli.stored.meta import Meta, read_meta, version
from attncli.stored.numbers import holding, numbers, say, seen
from attncli.text import quote
from attncli.trace import Record
from attncli.version import __version__

__all__ = ["load_result", "only", "stored_result"]


def load_result(name: str) -> list[Problem]:
    """Read the problems of a results' file, with their stages.

    Args:
        name: A path, or ``-`` for standard input. Of arrays that came alone, those that are stages by
            their names are read as the stages of an unknown problem.

    Raises:
        InputError: The file cannot be read, or none of its arrays is a stage.
    """
    if not is_bare(name):
        return load(name)
    dump = read_result(name, ORDERED)
    return [Problem(stages=dump.arrays, meta={"notes": [*dump.notes]}, origin=Source(name=name))]


def stored_result(problem: Problem) -> Result:
    """Take a result from the keys that it added to its problem.

    Args:
        problem: What a result reads as. Where there is nothing that a computation could start with,
            its stages are shown as far as they tell by themselves.

    Raises:
        InputError: It is a problem without a result, or a result that does not fit its problem.
    """
    try:
        return _stored(problem, read_meta(problem.meta))
    except InputError as error:
        by = version(problem.meta)
        if by not in {"", __version__}:
            told = f"attn {by} wrote it, and this is attn {__version__}"
            error.context = f"{error.context}\n{told}" if error.context else told
        raise


def _stored(problem: Problem, meta: Meta) -> Result:
    stages = problem.stages or {}
    startless = all(getattr(problem, key) is None for key in STARTS)
    # of stages that were all given none is kept: then only meta tells a result from a problem
    if not stages and (startless or problem.stages is None or meta.declared is None):
        raise InputError(
            "this is a problem, not the result of one: it has no stages",
            fix="attn compute FILE -o result.json, and show that",
        )
    return alone(problem, stages, meta) if startless else _of_problem(problem, stages, meta)


def only(result: Result, stages: Collection[str] | None) -> Result:
    """Leave out of a result the numbers of all stages but some; None leaves all, as in `compute`.

    Raises:
        InputError: One of them was left out already when the result was kept.
    """
    if stages is None:
        return result
    for record in result.records:
        if record.array is None and record.stage.name in stages:
            raise InputError(
                f"{record.stage.name} was not kept in this result",
                context=f"it has {', '.join(each.stage.name for each in result.records if each.array is not None)}",
                fix="compute it again",
            )

    def left(record: Record) -> Record:
        dropped = record.array is not None and record.stage.name not in stages
        return replace(record, array=None, details={}) if dropped else record

    return replace(result, records=tuple(map(left, result.records)))


def _of_problem(problem: Problem, stages: Mapping[str, object], meta: Meta) -> Result:
    """Fill the numbers in where the problem says that there are some."""
    resolved = resolve(problem)
    with np.errstate(all="ignore"):
        expected = outline(resolved.inputs)
    _check_names(stages, expected, meta)
    precision = precisions(problem)
    kind = holding(widest(precision))
    details = dict(_details(meta, expected, kind))
    found = Result(
        problem=problem,
        inputs=resolved.inputs,
        records=tuple(_record(record, stages, meta, details, kind) for record in expected.values()),
        query_labels=resolved.query_labels,
        key_labels=resolved.key_labels,
        notes=meta.notes,
        start=resolved.start,
        backend=meta.backend,
        device=meta.device or "cpu",
        precision=precision,
        path=meta.path,
        kernel=meta.kernel,
        file=meta.file or problem.origin.name,
    )
    if meta.dtype not in {"", found.dtype}:
        raise InputError(
            f"meta.dtype is {quote(meta.dtype)}, and its problem is of {found.dtype}",
            path=("meta", "dtype"),
            fix="compute it again",
        )
    return found


def _check_names(stages: Mapping[str, object], expected: Mapping[str, Record], meta: Meta) -> None:
    """Refuse stages that the problem does not have, or that `meta` does not declare."""
    for name in stages:
        if name not in ORDERED:
            raise unknown_name(name, ORDERED, ("stages",), what="stage")
        if name not in expected:
            raise InputError(
                f"{name} is among the stages, and this problem has none of that name",
                path=("stages", name),
                context=f"it has {', '.join(expected)}",
                fix="compute it again",
            )
    if meta.declared is None:
        return
    for name in (*meta.declared, *stages):
        if name not in stages or name not in meta.declared:
            here, there = ("meta.stages", "stages") if name in meta.declared else ("stages", "meta.stages")
            raise InputError(
                f"{quote(name)} is in {here}, and not in {there}",
                path=("meta", "stages"),
                fix="compute it again",
            )


Details = dict[tuple[str, str], np.ndarray]


def _details(
    meta: Meta, expected: Mapping[str, Record], kind: str
) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    """Read the details, each for the first stage that has one of its name."""
    owners: dict[str, Record] = {}
    for record in expected.values():
        for name in record.stage.details:
            owners.setdefault(name, record)
    pairs = dict(zip(expected["weights"].axes, expected["weights"].shape, strict=True))
    for name, value in meta.details.items():
        path = ("meta", "details", name)
        if name not in owners:
            raise unknown_name(name, owners, path[:-1], what="detail")
        owner = owners[name]
        sizes = pairs | dict(zip(owner.axes, owner.shape, strict=True))
        axes = tuple(axis for axis in owner.stage.details[name].axes if axis in sizes)
        array = numbers(value, path, kind)
        _check_shape(path, array, axes, tuple(sizes[axis] for axis in axes))
        yield (owner.stage.name, name), array


def _record(record: Record, stages: Mapping[str, object], meta: Meta, details: Details, kind: str) -> Record:
    """Fill in the numbers of a stage, and what `meta` says of it."""
    stage = record.stage
    own = {name: array for (owner, name), array in details.items() if owner == stage.name}
    if stage.name not in stages:
        return replace(record, details=own)
    path = ("stages", stage.name)
    array = numbers(stages[stage.name], path, kind)
    _check_shape(path, array, record.axes, record.shape)
    declared = meta.of(stage.name)
    for what, said, right in (("axes", declared.axes, record.axes), ("shape", declared.shape, record.shape)):
        if said not in {None, right}:
            raise InputError(
                f"meta.stages gives {stage.name} the {what} ({', '.join(map(str, said or ()))}), "
                f"and its problem ({', '.join(map(str, right))})",
                path=("meta", "stages"),
                fix="compute it again",
            )
    formula = declared.formula or record.formula
    return replace(record, array=array, formula=formula, details=seen(stage, array, own))


def _check_shape(
    path: tuple[str, ...], array: np.ndarray, axes: tuple[str, ...], expected: tuple[int, ...]
) -> None:
    if array.shape != expected:
        raise InputError(
            f"{'.'.join(path)} is {say(array.shape)}, but its problem makes it {say(expected)} ({', '.join(axes)})",
            path=path,
            fix="compute it again",
        )
