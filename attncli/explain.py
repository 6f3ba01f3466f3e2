"""The arithmetic of one cell, step by step back to what was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic import Cell, Gather, Node, Operate, Style, asides, reads
from attncli.backends import open_backend
from attncli.cells import Axes, parse_cell, spell_cell
from attncli.compute import Result, taking, widest
from attncli.core.attention import ORDER, attend
from attncli.core.inputs import Inputs
from attncli.exhibits import softmax_of, starts
from attncli.frozen import Frozen
from attncli.observe import empty_row, kept_pairs
from attncli.provenance import Traced, given
from attncli.trace import Array, Call, Record, Trace

__all__ = ["Explanation", "Share", "Step", "explain"]

Place: TypeAlias = tuple[str, tuple[int, ...]]
"""A stage, a detail or a given array, and an index."""

_LINES = 40
"""So many lines are read at once; steps behind them wait for --depth."""


class Step(Frozen, kw_only=True):
    """How one cell came about.

    Args:
        cell: The cell as people name it.
        index: Where it stands.
        record: The stage that it belongs to.
        made: The arithmetic.
        value: The number.
        remark: What the arithmetic alone does not say; empty where it says all.
    """

    cell: str
    index: tuple[int, ...]
    record: Record
    made: Node
    value: float
    remark: str = ""


class Share(Frozen):
    """What a weight hands on to its query: itself times the value of its key.

    Args:
        key: The key whose value it is, as people name it.
        size: How many numbers that value has.
        at: Makes the product with one of them.
    """

    key: str
    size: int
    at: Callable[[int], float]


class Explanation(Frozen, kw_only=True):
    """The arithmetic behind a cell.

    Args:
        result: Where the cell stands.
        cell: The cell as people name it.
        name: The stage, its detail, or the array that was given.
        index: Where it stands in it.
        value: The number.
        steps: What led to it, in the order of the computation, the cell itself last; empty when it
            was given.
        depth: How many steps back they go.
        behind: How many more cells the first of them were made of.
        share: Of a weight that mixes values, what it hands on; None of any other cell.
    """

    result: Result
    cell: str
    name: str
    index: tuple[int, ...]
    value: float
    steps: tuple[Step, ...]
    depth: int
    behind: int
    share: Share | None = None

    def spell(self, cell: Cell) -> str:
        """Name a cell that a step reads."""
        axes = self._axes.get(cell.name, Axes(tuple(map(str, cell.index)), (), {}))
        return spell_cell(cell.name, cell.index, axes)

    @cached_property
    def _axes(self) -> dict[str, Axes]:
        return _arrays(self.result)


def explain(result: Result, cell: str, style: Style, depth: int | None = None) -> Explanation:
    """Explain a cell.

    Args:
        result: A result of which every stage was kept.
        cell: Such as ``weights[sat,cat]``, or ``weights[0,2,1]`` with a head.
        style: How the arithmetic will be written; what it leaves out is not explained further.
        depth: How many steps to go back; None is as many as can be read at once.

    Raises:
        InputError: There is no such cell.
    """
    name, index = parse_cell(cell, _arrays(result))
    made = _made(result)
    found: dict[Place, Node] = {}
    level = [(name, index)] if name in made else []
    reached = lines = 0
    while level and reached != depth:
        nodes = {each: made[each[0]].ask(each[1]) for each in level}
        lines += sum(1 + len(asides(node)) for node in nodes.values())
        if depth is None and reached and lines > _LINES:
            break
        found |= nodes
        reached += 1
        cells = [(each.name, each.index) for node in nodes.values() for each in reads(node, style)]
        level = [each for each in dict.fromkeys(cells) if each not in found and each[0] in made]
    order = list(made)
    steps = sorted(found, key=lambda each: (order.index(each[0]), each[1]))
    arrays, remarks = _arrays(result), _remarks(result, steps)
    return Explanation(
        result=result,
        cell=spell_cell(name, index, arrays[name]),
        name=name,
        index=index,
        value=float(_array(result, name)[index]),
        steps=tuple(_step(result, arrays, each, found[each], remarks.get(each, "")) for each in steps),
        depth=reached,
        behind=len(level),
        share=_share(result, made, name, index),
    )


def _share(result: Result, made: dict[str, Traced], name: str, index: tuple[int, ...]) -> Share | None:
    """Find what a weight hands on; None where it is not what the values are mixed by."""
    mix = made.get(result.inputs.mixed)
    if mix is None or name not in ORDER["softmax"]:
        return None
    *row, position = index

    def term(d: int) -> Node:
        node = mix.ask((*row, d))
        return node.terms()[position] if isinstance(node, Gather) else node

    first = term(0)
    if not (isinstance(first, Operate) and isinstance(first.left, Cell) and first.left.name == name):
        return None
    return Share(_label("key", position, result), mix.shape[-1], lambda d: term(d).value)


def _step(result: Result, arrays: dict[str, Axes], at: Place, made: Node, remark: str) -> Step:
    name, index = at
    return Step(
        cell=spell_cell(name, index, arrays[name]),
        index=index,
        record=_record(result, name),
        made=made,
        value=float(_array(result, name)[index]),
        remark=remark,
    )


def _remarks(result: Result, cells: Sequence[Place]) -> dict[Place, str]:
    """Say of the weights of a query that sees no key why they are what they are."""
    weights = [each for each in cells if each[0] in ORDER["softmax"]]
    if not weights:
        return {}
    seeing = np.any(kept_pairs(result.inputs, result["weights"].shape), axis=-1)
    return {
        (name, index): f"{_label('query', index[-2], result)} sees no key: {empty_row(result.inputs)}"
        for name, index in weights
        if not np.asarray(seeing)[index[:-1]]
    }


def _label(axis: str, position: int, result: Result) -> str:
    labels = {"query": result.query_labels, "key": result.key_labels}
    return spell_cell("", (position,), Axes((axis,), (), labels)).strip("[]")


def _record(result: Result, name: str) -> Record:
    """Return the record of a stage, or one for a detail, which is as a stage made of its own stage's input."""
    details = _details(result)
    if name not in details:
        return result[name]
    owner, detail = details[name], details[name].stage.details[name]
    stage = replace(
        owner.stage, **{key: getattr(detail, key) for key in ("name", "symbol", "axes", "function")}
    )
    scores, sink = softmax_of(owner)
    formula = detail.formula.format(scores=scores, sink=sink, result=owner.stage.symbol)
    axes = tuple(axis for axis in detail.axes if axis in owner.axes)
    array = owner.details[name]
    return Record(stage, array, array.shape, axes, formula, {})


def _details(result: Result) -> dict[str, Record]:
    """Find the details of one number for each query: by name, the record of the stage that each belongs to."""
    return {
        name: record
        for record in result.records
        for name in record.details
        if not record.stage.details[name].large
    }


def _made(result: Result) -> dict[str, Any]:
    """Compute again on arrays that remember, each stage from what the stages before it returned."""
    take = taking(open_backend("numpy", "cpu", widest(result.precision)), result.precision)
    made: dict[str, Any] = {}
    details, names = _details(result), starts(result.inputs)

    def name_input(array: Array, symbol: str, part: str) -> Array:
        return given(take(part)(array), names.get(symbol, symbol)) if array.dtype.kind == "f" else array

    def name_stage(stage: str, array: Traced) -> Traced:
        made[stage] = array
        return given(_array(result, stage), stage)

    def run(call: Call) -> tuple[Array, dict[str, Array]]:
        known = {**call.inputs, "result": call.cast(call.stage.function(**call.inputs))}
        for name, owner in details.items():
            if owner.stage.name == call.stage.name:
                made[name] = call.stage.details[name](known)
                known[name] = given(owner.details[name], name)
        return known["result"], {}

    with np.errstate(all="ignore"):  # as the computation did
        attend(result.inputs.map_named(name_input), Trace(result.inputs.axes, cast=name_stage, run=run))
    return made


def _arrays(result: Result) -> dict[str, Axes]:
    """List what cells can be picked from: the stages, their details, and what was given."""
    labels = {"query": result.query_labels, "key": result.key_labels}
    records = [*result.records, *(_record(result, name) for name in _details(result))]
    arrays = {each.stage.name: Axes(each.axes, each.shape, labels) for each in records}
    for symbol, array in _given(result.inputs).items():
        names = tuple(f"axis {i}" for i in range(array.ndim))
        arrays.setdefault(symbol, Axes(names, array.shape, {}))
    return arrays


def _given(inputs: Inputs) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    names = starts(inputs)

    def note(array: Array, symbol: str, _part: str) -> Array:
        if symbol and array.dtype.kind == "f":
            found.setdefault(names.get(symbol, symbol), array)
        return array

    inputs.map_named(note)
    return found


def _array(result: Result, name: str) -> np.ndarray:
    kept = {each.stage.name: each.array for each in result.records if each.array is not None}
    kept |= {detail: owner.details[detail] for detail, owner in _details(result).items()}
    return np.asarray(kept[name] if name in kept else _given(result.inputs)[name])
