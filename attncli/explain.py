"""The arithmetic of one cell, step by step back to what was given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.arithmetic import Cell, Gather, Node, Operate, Style, asides, reads
from attncli.backends import open_backend
from attncli.cells import Axes, parse_cell, spell_cell
from attncli.compute import Result, taking, widest
from attncli.core.attention import ORDER, attend
from attncli.core.inputs import Inputs
from attncli.frozen import Frozen
from attncli.provenance import Traced, given
from attncli.trace import Array, Record, Trace

__all__ = ["Explanation", "Share", "Step", "explain"]

_LINES = 40
"""So many lines are read at once; steps behind them wait for --depth."""

_ENDS = 3  # numbers of a long value that are shown from each end


class Step(Frozen, kw_only=True):
    """How one cell came about.

    Args:
        cell: The cell as people name it.
        index: Where it stands.
        record: The stage that it belongs to.
        made: The arithmetic.
        value: The number.
    """

    cell: str
    index: tuple[int, ...]
    record: Record
    made: Node
    value: float


class Share(Frozen):
    """What a weight hands on to its query.

    Args:
        key: The key whose value it is, as people name it.
        numbers: The weight times that value; None stands for those in the middle of a long one.
    """

    key: str
    numbers: tuple[float | None, ...]


class Explanation(Frozen, kw_only=True):
    """The arithmetic behind a cell.

    Args:
        result: Where the cell stands.
        cell: The cell as people name it.
        name: The stage, or the array that was given.
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
        axes = _arrays(self.result).get(cell.name, Axes(tuple(map(str, cell.index)), (), {}))
        return spell_cell(cell.name, cell.index, axes)


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
    made = _stages(result)
    found: dict[tuple[str, tuple[int, ...]], Node] = {}
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
    arrays = _arrays(result)
    return Explanation(
        result=result,
        cell=spell_cell(name, index, arrays[name]),
        name=name,
        index=index,
        value=float(_array(result, name)[index]),
        steps=tuple(_step(result, arrays, *each, found[each]) for each in steps),
        depth=reached,
        behind=len(level),
        share=_share(result, made, name, index),
    )


def _share(result: Result, made: dict[str, Traced], name: str, index: tuple[int, ...]) -> Share | None:
    """Find what a weight hands on; None where it is not what the values are mixed by."""
    mix = made.get(result.inputs.mixed)
    if mix is None or name not in ORDER["softmax"]:
        return None
    key = spell_cell("", index[-1:], Axes(("key",), (), {"key": result.key_labels}))
    numbers = tuple(_products(mix, name, index))
    return Share(key.strip("[]"), numbers) if numbers else None


def _products(mix: Traced, name: str, index: tuple[int, ...]) -> Iterator[float | None]:
    """Yield the products of a weight and the numbers of a value, the first and last few of many."""
    *row, key = index
    size = mix.shape[-1]
    for d in range(size) if size <= 2 * _ENDS else (*range(_ENDS), None, *range(size - _ENDS, size)):
        if d is None:
            yield None
            continue
        node = mix.ask((*row, d))
        term = node.terms()[key] if isinstance(node, Gather) else node
        if not (isinstance(term, Operate) and isinstance(term.left, Cell) and term.left.name == name):
            return
        yield term.value


def _step(result: Result, arrays: dict[str, Axes], name: str, index: tuple[int, ...], made: Node) -> Step:
    return Step(
        cell=spell_cell(name, index, arrays[name]),
        index=index,
        record=result[name],
        made=made,
        value=float(_array(result, name)[index]),
    )


def _stages(result: Result) -> dict[str, Traced]:
    """Compute again on arrays that remember, each stage from what the stages before it returned."""
    take = taking(open_backend("numpy", "cpu", widest(result.precision)), result.precision)
    made: dict[str, Traced] = {}

    def name_input(array: Array, symbol: str, part: str) -> Array:
        return given(take(part)(array), symbol) if array.dtype.kind == "f" else array

    def name_stage(stage: str, array: Traced) -> Traced:
        made[stage] = array
        return given(_array(result, stage), stage)

    with np.errstate(all="ignore"):  # as the computation did
        attend(result.inputs.map_named(name_input), Trace(result.inputs.axes, keep=(), cast=name_stage))
    return made


def _arrays(result: Result) -> dict[str, Axes]:
    """List what cells can be picked from: the stages, and then what was given."""
    labels = {"query": result.query_labels, "key": result.key_labels}
    arrays = {each.stage.name: Axes(each.axes, each.shape, labels) for each in result.records}
    for symbol, array in _given(result.inputs).items():
        names = tuple(f"axis {i}" for i in range(array.ndim))
        arrays.setdefault(symbol, Axes(names, array.shape, {}))
    return arrays


def _given(inputs: Inputs) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}

    def note(array: Array, symbol: str, _part: str) -> Array:
        if symbol and array.dtype.kind == "f":
            found.setdefault(symbol, array)
        return array

    inputs.map_named(note)
    return found


def _array(result: Result, name: str) -> np.ndarray:
    for record in _kept(result):
        if record.stage.name == name:
            assert record.array is not None
            return np.asarray(record.array)
    return _given(result.inputs)[name]


def _kept(result: Result) -> Iterator[Record]:
    return (record for record in result.records if record.array is not None)
