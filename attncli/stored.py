"""A finished result again, from the document that it was written to: nothing is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.compute import Result, precisions, widest
from attncli.core.inputs import Inputs
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve import resolve
from attncli.text import quote, visible
from attncli.trace import STAGES, Record

__all__ = ["stored_result"]


def stored_result(problem: Problem) -> Result:
    """Take a result from the keys that it added to its problem.

    Args:
        problem: What a result's JSON reads as.

    Raises:
        InputError: It is a problem without a result, or a result that does not fit its problem.
    """
    if not problem.stages or not isinstance(problem.meta, dict) or "stages" not in problem.meta:
        raise InputError(
            "this is a problem, not the result of one: it has no stages",
            fix="attn compute FILE -o result.json, and show that",
        )
    resolved = resolve(problem)
    precision = precisions(problem)
    kind = "float64" if widest(precision) == "float64" else "float32"
    meta = problem.meta
    stored = _Stored(problem.stages, meta.get("details") or {}, kind, resolved.inputs)
    return Result(
        problem=problem,
        inputs=resolved.inputs,
        records=tuple(stored.record(declared) for declared in meta["stages"]),
        query_labels=resolved.query_labels,
        key_labels=resolved.key_labels,
        notes=tuple(map(str, meta.get("notes") or ())),
        start=resolved.start,
        backend=_word(meta, "backend", "numpy"),
        device=_word(meta, "device", "cpu"),
        precision=precision,
    )


def _word(meta: Mapping[str, Any], key: str, absent: str) -> str:
    value = meta.get(key, absent)
    if not isinstance(value, str):
        raise InputError(f"meta.{key} is no text", path=("meta", key), fix=f"write {key}: {absent}")
    return visible(value)


class _Stored:
    """Reads the arrays of a document."""

    def __init__(
        self, stages: Mapping[str, Any], details: Mapping[str, Any], kind: str, inputs: Inputs
    ) -> None:
        self._stages = stages
        self._details = details
        self._kind = kind
        self._sizes = {"query": inputs.seq_q, "key": inputs.seq_k}

    def record(self, declared: Any) -> Record:
        """Read a stage as `meta` declares it."""
        try:
            name, formula, axes = declared["name"], declared["formula"], tuple(declared["axes"])
            stage, numbers = STAGES[name], self._stages[name]
        except (KeyError, TypeError) as error:
            raise InputError(
                "the stages of this result are not those that its meta declares",
                path=("meta", "stages"),
                fix="compute it again",
            ) from error
        array = self._array(numbers, ("stages", name))
        self._check(name, axes, array)
        details = {each: detail for each, detail in self._details.items() if each in stage.details}
        return Record(
            stage,
            array,
            array.shape,
            axes,
            str(formula),
            {each: self._array(detail, ("meta", "details", each)) for each, detail in details.items()},
        )

    def _array(self, numbers: Any, path: tuple[str, ...]) -> np.ndarray:
        try:
            return np.array(numbers, dtype=self._kind)
        except (TypeError, ValueError) as error:
            raise InputError(f"{'.'.join(path)} is no array of numbers", path=path) from error

    def _check(self, name: str, axes: tuple[str, ...], array: np.ndarray) -> None:
        """Refuse a stage that cannot be of this problem, as when a file was changed by hand."""
        if len(axes) != array.ndim:
            raise InputError(
                f"{quote(name)} has {array.ndim} axes, but its meta names {len(axes)}", path=("stages", name)
            )
        sizes = dict(zip(axes, array.shape, strict=True))
        # The new keys alone are fewer than all where there is a cache.
        compared = self._sizes if "query" in axes else {}
        if any(sizes.get(axis, size) != size for axis, size in compared.items()):
            raise InputError(
                f"{quote(name)} is {'×'.join(map(str, array.shape))}, but the problem has "
                f"{self._sizes['query']} queries and {self._sizes['key']} keys",
                path=("stages", name),
                fix="compute it again",
            )
