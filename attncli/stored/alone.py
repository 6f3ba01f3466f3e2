"""Stages that came without a problem, such as a kernel's dump: their numbers, and what those say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from attncli.compute import Result
from attncli.core.attention import ORDER
from attncli.core.inputs import Inputs
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.readers.scalars import unknown_name
from attncli.stored.meta import Meta
from attncli.stored.numbers import holding, numbers, say, seen
from attncli.trace import STAGES, Record, Value

__all__ = ["ORDERED", "alone"]

ORDERED = tuple(name for names in ORDER.values() for name in names)
"""Every stage, in the order of the computation."""

_PRECISIONS = ("float64", "float32", "float16", "bfloat16")

Shapes = Mapping[str, tuple[int, ...]]
Named = Mapping[str, tuple[str, ...]]


def alone(problem: Problem, stages: Mapping[str, object], meta: Meta) -> Result:
    """Make a result of stages without what they were computed from: it has no start and no formulas.

    Args:
        problem: Has nothing to start with.
        stages: Nested lists or arrays, by name.
        meta: What the file says of them.

    Raises:
        InputError: They are no stages, or not those of one computation.
    """
    for name in stages:
        if name not in ORDERED:
            raise unknown_name(name, ORDERED, ("stages",), what="stage")
    dtype = meta.dtype if meta.dtype in _PRECISIONS else _dtype(stages)
    arrays = {
        name: numbers(stages[name], ("stages", name), holding(dtype)) for name in ORDERED if name in stages
    }
    shapes = {name: array.shape for name, array in arrays.items()}
    axes = _axes(shapes, meta)
    inputs = _inputs(shapes, axes, arrays.get("masked"))
    return Result(
        problem=problem,
        inputs=inputs,
        records=tuple(_records(arrays, axes, inputs, meta)),
        query_labels=tuple(map(str, range(inputs.seq_q))),
        key_labels=tuple(map(str, range(inputs.seq_k))),
        notes=meta.notes,
        start="",
        backend=meta.backend,
        device=meta.device or "cpu",
        precision=dict.fromkeys(ORDER, dtype),
        path=meta.path,
        kernel=meta.kernel,
        file=meta.file or problem.origin.name,
    )


def _dtype(stages: Mapping[str, object]) -> str:
    narrow = all(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in stages.values())
    return "float32" if narrow else "float64"


def _axes(shapes: Shapes, meta: Meta) -> Named:
    """Name the axes of each stage, as is said or as is likely.

    Of three, the first is the batch where a stage without heads has three.
    """
    third = "head"
    for name, shape in shapes.items():
        if len(shape) not in {2, 3, 4}:
            raise InputError(
                f"stages.{name} is {say(shape)}, where 2 to 4 axes were expected",
                path=("stages", name),
                fix="bring the axes into the order (batch, head, query, key or dim), those that there are",
            )
        said = meta.of(name).axes
        if said not in {None, *(_named(name, *lead) for lead in _LEADS if len(lead) + 2 == len(shape))}:
            raise InputError(
                f"meta.stages gives {name} the axes ({', '.join(said or ())}), and its shape is {say(shape)}",
                path=("meta", "stages"),
                fix="name the axes in the order (batch, head, query, key or dim), those that there are",
            )
        if len(shape) == 3 and "head" not in STAGES[name].axes:  # noqa: PLR2004
            third = "batch"
    leads: dict[int, tuple[str, ...]] = {2: (), 3: (third,), 4: ("batch", "head")}
    return {name: meta.of(name).axes or _named(name, *leads[len(shape)]) for name, shape in shapes.items()}


_LEADS = ((), ("batch",), ("head",), ("batch", "head"))
"""The axes that may stand before the last two."""


def _named(name: str, *lead: str) -> tuple[str, ...]:
    return (*lead, *STAGES[name].axes[-2:])


_NEW_KEYS = ("K", "V", "K_heads", "V_heads", "K_norm", "K_rot")
"""Stages without the keys of a cache."""

_KV_HEADS = (*_NEW_KEYS, "K_all", "V_all")
"""Stages whose heads may each serve several query heads."""


def _inputs(shapes: Shapes, axes: Named, masked: np.ndarray | None) -> Inputs:
    """Find the sizes that the stages agree on; what is masked is all that is known beside."""
    sizes = _Sizes(shapes, axes)
    sizes.of("batch")
    queries, keys = sizes.of("query"), sizes.of("key", spare=_NEW_KEYS)
    heads, kv_heads = sizes.of("head", spare=_KV_HEADS), sizes.of("head", only=_KV_HEADS)
    if heads and kv_heads and heads % kv_heads:
        raise InputError(
            f"{heads} heads of queries cannot share {kv_heads} heads of keys", path=("stages",), fix=_FIX
        )
    hidden = None if masked is None else np.where(masked == -math.inf, -math.inf, 0.0)
    return Inputs(
        seq_q=queries or keys or 1,
        seq_k=keys or queries or 1,
        batch=any("batch" in names for names in axes.values()),
        by_head=any("head" in names for names in axes.values()),
        num_heads=heads or kv_heads or 1,
        num_kv_heads=kv_heads or heads or 1,
        additive=None if hidden is None else Value(hidden, "mask"),
        exclude=False,  # nobody knows whether an output is the sum of its weighted values
    )


_FIX = "show those of one computation"


class _Sizes:
    """The size of each axis, over the stages that have it."""

    def __init__(self, shapes: Shapes, axes: Named) -> None:
        self._found: dict[str, dict[str, int]] = {}
        for name, shape in shapes.items():
            for axis, size in zip(axes[name], shape, strict=True):
                self._found.setdefault(axis, {})[name] = size

    def of(self, axis: str, *, spare: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> int:
        """Return the size of an axis; 0 where no stage has it.

        Args:
            axis: Its name.
            spare: Stages that are asked last, since they may have fewer.
            only: The only stages that are asked; none are all.
        """
        found = self._found.get(axis, {})
        asked = {name: size for name, size in found.items() if name not in spare and name in (only or found)}
        (first, size), *others = (asked or found).items() or [("", 0)]
        if only and not asked:
            return 0
        for name, other in others:
            if other != size:
                raise InputError(
                    f"stages.{name} has {other} in the place of {axis}, but stages.{first} has {size}",
                    path=("stages", name),
                    fix=_FIX,
                )
        return size


def _records(arrays: Mapping[str, np.ndarray], axes: Named, p: Inputs, meta: Meta) -> Iterator[Record]:
    """Record what is there, and that there are weights, whose shape says who could see whom."""
    batch = next((array.shape[0] for name, array in arrays.items() if "batch" in axes[name]), 1)
    sizes = {"batch": batch, "head": p.num_heads}
    lead = {axis: sizes[axis] for axis in p.axes}
    pairs = ((*lead, "query", "key"), (*lead.values(), p.seq_q, p.seq_k))
    for name in ORDERED:
        stage = STAGES[name]
        if name in arrays:
            if name == "weights" and axes[name] != pairs[0]:
                raise InputError(
                    f"stages.weights has the axes ({', '.join(axes[name])}), and others have ({', '.join(pairs[0])})",
                    path=("stages", name),
                    fix=_FIX,
                )
            array = arrays[name]
            formula = meta.of(name).formula or ""
            yield Record(stage, array, array.shape, axes[name], formula, seen(stage, array, {}))
        elif name == "weights":
            yield Record(stage, None, pairs[1], pairs[0], "", {})
