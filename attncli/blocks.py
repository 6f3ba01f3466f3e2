"""From a result to the sheet that a reader sees: which blocks there are, and what stands in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from attncli.cells import Axes, spell_cell
from attncli.compute import Result
from attncli.core.attention import Inputs
from attncli.errors import InputError
from attncli.exhibits import Exhibit, exhibits
from attncli.headline import facts, formula
from attncli.observe import kept_pairs
from attncli.parts import Part, Parts
from attncli.selfcheck import self_check
from attncli.sheet import Block, Kind, Matrix, Mixture, Numbers, Sheet, Side, View
from attncli.text import quote

__all__ = ["make_sheet"]

_FEW_KEYS = 6
"""So many keys can be read as a sum."""

_LOGITS = ("scaled", "softcapped", "biased", "masked")
"""From the first of these on, numbers are read with three decimals rather than two."""


def make_sheet(result: Result, view: View | None = None) -> Sheet:
    """Arrange a result for reading.

    Args:
        result: What was computed.
        view: What the reader wants to see of it; None is everything that is small enough.

    Raises:
        InputError: The view names a stage, head or batch item that the result does not have.
    """
    view = view or View()
    parts = Parts(result, view)
    source = result.problem.origin.name
    return Sheet(
        source=source,
        title=PurePath(source).name or source,
        formula=formula(result),
        facts=facts(result),
        blocks=tuple(_blocks(_Desk(result, view, parts))),
        checks=self_check(result),
        elided=parts.elided,
        precision=view.precision,
        full=view.full,
        notes=result.notes,
        example=_example(result),
    )


def _example(result: Result) -> str:
    """Choose what the last query looks at most but for itself, or its only key."""
    record = next((each for each in result.records if each.stage.name == "weights"), None)
    if record is None or record.array is None or not record.array.size:
        return ""
    lead = (0,) * (record.array.ndim - 2)
    row = np.nan_to_num(record.array[lead][-1])
    if result.query_labels == result.key_labels and len(row) > 1:
        row[-1] = -1
    index = (*lead, len(result.query_labels) - 1, int(np.argmax(row)))
    labels = {"query": result.query_labels, "key": result.key_labels}
    return spell_cell("weights", index, Axes(record.axes, record.shape, labels))


def _blocks(desk: _Desk) -> Iterator[Block]:
    """Make a block of each step."""
    decimals, shape = 2, ""
    for title, group in groupby(desk.exhibits, key=lambda exhibit: exhibit.title):
        shown = list(group)
        if any(exhibit.name in (*_LOGITS, "weights") for exhibit in shown):
            decimals = 3
        before, shape = shape, _shape(shown, desk.inputs)
        yield Block(
            title=title,
            formulas=tuple(exhibit.formula for exhibit in shown if not exhibit.given),
            shape=shape if shape != before else "",
            remarks=tuple(desk.remarks(title)),
            decimals=decimals,
            matrices=tuple(matrix for exhibit in shown for matrix in desk.matrices(exhibit)),
        )


class _Desk:
    """A result with all that its matrices need to know of each other."""

    def __init__(self, result: Result, view: View, parts: Parts) -> None:
        everything = list(exhibits(result, detail=view.detail))
        self.inputs = result.inputs
        self.exhibits = _selected(everything, view.stages)
        self._view = view
        self._parts = parts
        self._labels = {"query": result.query_labels, "key": result.key_labels}
        self._weights = next((each for each in everything if each.name == "weights"), None)
        self._final = next((each for each in reversed(everything) if each.shares), None)
        self._hidden = ~kept_pairs(result.inputs, result["weights"].shape)
        self._before_softmax = [each.name for each in self.exhibits if each.name in _LOGITS][-1:]
        mixed_by = "head_output" if any(each.name == "head_output" for each in everything) else "output"
        self._mixed = mixed_by if _is_sum(result.inputs) else ""

    def remarks(self, title: str) -> Iterator[str]:
        """Say the numbers that a step works with."""
        if title == "scale":
            yield f"× {_factor(self.inputs):.4g}"
        if title == "mask":
            yield f"{self._hidden.sum():,} of {self._hidden.size:,} off"
        if title == "given" and self.inputs.x is None:
            yield "the computation starts here; earlier stages are skipped"

    def matrices(self, exhibit: Exhibit) -> Iterator[Matrix]:
        """Cut an exhibit into the matrices of the heads and batch items that are shown."""
        for part in self._parts.of(exhibit.axes, exhibit.array.shape):
            rows, columns = exhibit.axes[-2:]
            yield Matrix(
                name=exhibit.name,
                symbol=exhibit.symbol,
                part=part.name,
                kind=_kind(exhibit),
                array=exhibit.array[part.index],
                rows=self._labels.get(rows, ()),
                columns=self._labels.get(columns, ()),
                hidden=self._masked_cells(exhibit, part),
                sides=tuple(self._sides(exhibit, part)),
                given=exhibit.given,
                mixture=self._mixture(exhibit, part),
            )

    def _masked_cells(self, exhibit: Exhibit, part: Part) -> NDArray[np.bool_] | None:
        """Find the cells that show nothing but the mask; a weight that leaked through it is shown."""
        if not exhibit.by_pair:
            return None
        masked: NDArray[np.bool_] = self._hidden[part.index] & (exhibit.array[part.index] == exhibit.nothing)
        return masked if masked.any() else None

    def _sides(self, exhibit: Exhibit, part: Part) -> Iterator[Side]:
        if self._weights is None:
            return
        details = {name: array[part.index] for name, array in self._weights.details.items()}
        softmax = exhibit is self._weights
        if exhibit.name in self._before_softmax or (softmax and not self._before_softmax):
            yield from _named(details, {"row_max": "max m"})
        if softmax:
            yield from _named(details, {"exp_sum": "Σexp", "sink_mass": "sink", "row_sum": "row Σ"})
        if softmax and self._view.detail:
            yield from _named(details, {"lse": "LSE", "entropy": "H bit"})

    def _mixture(self, exhibit: Exhibit, part: Part) -> Mixture | None:
        if exhibit.name != self._mixed or self._final is None or self.inputs.seq_k > _FEW_KEYS:
            return None
        return Mixture(
            weights=self._final.array[part.index],
            hidden=self._masked_cells(self._final, part),
            keys=self._labels["key"],
        )


def _named(details: Mapping[str, Numbers], labels: Mapping[str, str]) -> Iterator[Side]:
    for name, label in labels.items():
        if name in details:
            yield Side(label=label, values=details[name])


def _selected(everything: Sequence[Exhibit], wanted: tuple[str, ...] | None) -> list[Exhibit]:
    known = list(dict.fromkeys(exhibit.name for exhibit in everything))
    for name in wanted or ():
        if name not in known:
            raise InputError(
                f"there is no stage {quote(name)} to show", context=f"stages: {', '.join(known)}"
            )
    return [exhibit for exhibit in everything if wanted is None or exhibit.name in wanted]


def _kind(exhibit: Exhibit) -> Kind:
    if not exhibit.by_pair:
        return Kind.VECTORS
    return Kind.WEIGHTS if exhibit.shares else Kind.SCORES


def _is_sum(p: Inputs) -> bool:
    """Tell whether each output row is the sum of its weighted values and nothing else."""
    return p.real_queries is None and p.exclude


def _factor(p: Inputs) -> float:
    """Combine what the scores are multiplied and divided by."""
    factor: float = p.multiplier.array if p.multiplier else 1.0
    for each in (p.divisor, p.temperature):
        factor /= each.array if each else 1.0
    return factor


def _shape(shown: Sequence[Exhibit], p: Inputs) -> str:
    """Say the shape of what a step made, once where all parts share it."""
    shapes = {exhibit.symbol: _brackets(exhibit.array) for exhibit in shown}
    made = {exhibit.symbol: _brackets(exhibit.array) for exhibit in shown if not exhibit.given}
    if len(set(made.values())) == 1 and len(made) > 1 and p.x is not None and p.w_q is not None:
        weights = {_brackets(weight.array) for weight in (p.w_q, p.w_k, p.w_v) if weight is not None}
        sources = {_brackets(source.array) for source in (p.x, p.x_k, p.x_v) if source is not None}
        if len(weights) == len(sources) == 1 and shown[-1].name == "V":
            return f"{sources.pop()}·{weights.pop()} → {made.popitem()[1]}"
    if len(set(shapes.values())) == 1:
        return shapes.popitem()[1]
    return "  ".join(f"{symbol} {shape}" for symbol, shape in (made or shapes).items())


def _brackets(array: Numbers) -> str:
    return f"[{'×'.join(map(str, array.shape))}]"
