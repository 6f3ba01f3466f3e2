"""From the stages of a result to matrices: of the heads, queries and keys that a reader asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attncli.cells import Axes
from attncli.compute import Result
from attncli.core.inputs import Inputs
from attncli.errors import InputError
from attncli.exhibits import LOGITS, Exhibit, exhibits
from attncli.observe import kept_pairs
from attncli.parts import Part, Parts
from attncli.sheet import Kind, Matrix, Mixture, Numbers, Side, View
from attncli.text import quote
from attncli.trace import STAGES
from attncli.worksheet import blanks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Desk"]

_FEW_KEYS = 6
"""So many keys can be read as a sum."""

_AS_HIDDEN = -1e4
"""What a mask adds to hide a key: BERT's −10000, Tensor2Tensor's −1e9, the least number of a dtype."""


class Desk:
    """A result with all that its matrices need to know of each other.

    Args:
        result: What was computed.
        view: What the reader wants to see of it.
        parts: Which heads and batch items that is.

    Raises:
        InputError: The view names a stage that the result does not have.
    """

    def __init__(self, result: Result, view: View, parts: Parts) -> None:
        everything = list(exhibits(result, detail=view.detail))
        self.inputs = result.inputs
        self.start = result.start
        shown = _selected(everything, view.stages)
        _selected(shown, view.blank)
        self._blank = blanks(shown, view.blank)
        self.exhibits = _once(shown)
        self._view = view
        self._parts = parts
        self._labels = {"query": result.query_labels, "key": result.key_labels}
        self._weights = next((each for each in everything if each.name == "weights"), None)
        self._final = next((each for each in reversed(everything) if each.shares), None)
        self._pairs = result["weights"].shape
        if view.heads_view and not any(self._has_heads(each) for each in self.exhibits):
            raise InputError(
                "there are no weights of several heads to be seen side by side",
                fix="leave out --heads-view",
            )
        self._before_softmax = [each.name for each in self.exhibits if each.name in LOGITS][-1:]
        made = {record.stage.name for record in result.records}
        self._mixed = ("head_output" if "head_output" in made else "output") if _is_sum(result.inputs) else ""

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """Which pairs do not see each other; made only for stages that have a number for each."""
        return ~kept_pairs(self.inputs, self._pairs)

    def matrices(self, exhibit: Exhibit) -> Iterator[Matrix]:
        """Cut an exhibit into the matrices of the heads and batch items that are shown."""
        if exhibit.shares and self._view.mean_heads and "head" in exhibit.axes:
            yield from (
                self._mean(exhibit, part) for part in self._parts.of(exhibit.axes[:-3], exhibit.array.shape)
            )
            return
        for part in self._parts.of(exhibit.axes[:-2], exhibit.array.shape):
            yield self._matrix(exhibit, part)

    def heads(self, exhibit: Exhibit) -> Iterator[Matrix]:
        """Cut weights into all of their heads, where they are not all shown or where that is asked for."""
        if not self._has_heads(exhibit) or exhibit.name in self._blank:
            return
        if self._view.heads_view or (self._parts.elided and self._view.head is None):
            for part in self._parts.of(exhibit.axes[:-2], exhibit.array.shape, every_head=True):
                yield self._matrix(exhibit, part)

    def _has_heads(self, exhibit: Exhibit) -> bool:
        return exhibit is self._final and "head" in exhibit.axes

    def _matrix(self, exhibit: Exhibit, part: Part) -> Matrix:
        rows, columns = exhibit.axes[-2:]
        return self._cut(
            exhibit,
            Matrix(
                name=exhibit.name,
                symbol=exhibit.symbol,
                part=part.name,
                kind=_kind(exhibit),
                array=exhibit.array[part.index],
                axes=self._axes(exhibit),
                lead=part.index,
                rows=self._labels.get(rows, ()),
                columns=self._labels.get(columns, ()),
                hidden=self._masked_cells(exhibit, part),
                filled=self._filled_cells(exhibit, part),
                sides=tuple(self._sides(exhibit, part)),
                given=exhibit.given,
                mixture=self._mixture(exhibit, part),
                blank=exhibit.name in self._blank,
            ),
        )

    def _axes(self, exhibit: Exhibit) -> Axes:
        """Describe the array whose cells are shown; of one that was given, they have positions only."""
        if exhibit.given:
            shape = exhibit.shape or exhibit.array.shape
            return Axes(exhibit.axes[-len(shape) :], shape, {})
        return Axes(exhibit.axes, exhibit.array.shape, self._labels)

    def _mean(self, exhibit: Exhibit, part: Part) -> Matrix:
        """Take the mean over heads; a cell is masked where every head masks it."""
        heads = [Part("", (*part.index, head)) for head in range(exhibit.array.shape[-3])]
        masks = [self._masked_cells(exhibit, head) for head in heads]
        masked = (
            np.logical_and.reduce([mask for mask in masks if mask is not None])
            if all(mask is not None for mask in masks)
            else None
        )
        whole = self._matrix(exhibit, heads[0])
        name = " · ".join(filter(None, (part.name, f"mean of {len(heads)} heads")))
        mean = exhibit.array[part.index].mean(axis=-3)
        lead: tuple[int | range, ...] = (*part.index, range(len(heads)))
        return self._cut(exhibit, replace(whole, part=name, array=mean, lead=lead, hidden=masked, sides=()))

    def _cut(self, exhibit: Exhibit, matrix: Matrix) -> Matrix:
        """Leave the queries and keys that the reader asked for."""
        axes = {"query": self._view.rows, "key": self._view.columns}
        spans = [axes.get(axis) for axis in exhibit.axes[-2:]]
        if spans == [None, None]:
            return matrix
        (top, bottom), (left, right) = (
            _inside(axis, span, size)
            for axis, span, size in zip(exhibit.axes[-2:], spans, matrix.array.shape, strict=True)
        )
        rows, columns = slice(top, bottom), slice(left, right)
        return replace(
            matrix,
            array=matrix.array[rows, columns],
            rows=matrix.rows[rows],
            columns=matrix.columns[columns],
            hidden=None if matrix.hidden is None else matrix.hidden[rows, columns],
            filled=None if matrix.filled is None else matrix.filled[rows, columns],
            sides=tuple(replace(side, values=side.values[rows]) for side in matrix.sides),
            mixture=None,
            first_row=top,
            first_column=left,
            peaks=None if spans[1] is None else matrix.array[rows].max(axis=-1),
        )

    def _masked_cells(self, exhibit: Exhibit, part: Part) -> NDArray[np.bool_] | None:
        """Find the cells that show nothing but the mask; a weight that leaked through it is shown."""
        if not exhibit.by_pair:
            return None
        masked: NDArray[np.bool_] = self.hidden[part.index] & (exhibit.array[part.index] == exhibit.nothing)
        return masked if masked.any() else None

    def _filled_cells(self, exhibit: Exhibit, part: Part) -> NDArray[np.bool_] | None:
        """Find the scores that the mask made a finite number, such as −1e9, or took so far down."""
        if exhibit.name != "masked":
            return None
        filled = np.zeros(exhibit.array.shape, dtype=bool)
        if self.inputs.fill != -math.inf:
            filled |= self.hidden
        if self.inputs.additive is not None:
            added = np.asarray(self.inputs.additive.array)
            filled |= np.isfinite(added) & (added <= _AS_HIDDEN)
        return filled[part.index] if filled.any() else None

    def _sides(self, exhibit: Exhibit, part: Part) -> Iterator[Side]:
        if self._weights is None or exhibit.name in self._blank:
            return
        told = {name: array for name, array in self._weights.details.items() if name not in self._blank}
        details = {name: array[part.index] for name, array in told.items()}
        softmax = exhibit is self._weights
        if exhibit.name in self._before_softmax or (softmax and not self._before_softmax):
            yield from _named(details, {"row_max": "max m"}, spare=not softmax)  # the scores beside show it
        if softmax:
            yield from _named(details, {"exp_sum": "Σexp", "sink_mass": "sink"})
            yield from _named(details, {"row_sum": "row Σ"}, spare=True)
        if softmax and self._view.detail:
            yield from _named(details, {"lse": "LSE", "entropy": "H bit"})

    def _mixture(self, exhibit: Exhibit, part: Part) -> Mixture | None:
        if self._blank or exhibit.name != self._mixed or self._final is None or self.inputs.seq_k > _FEW_KEYS:
            return None
        return Mixture(
            weights=self._final.array[part.index],
            hidden=self._masked_cells(self._final, part),
            keys=self._labels["key"],
        )


def _named(
    details: Mapping[str, Numbers], labels: Mapping[str, str], *, spare: bool = False
) -> Iterator[Side]:
    for name, label in labels.items():
        if name in details:
            yield Side(label=label, values=details[name], spare=spare)


def _selected(everything: Sequence[Exhibit], wanted: tuple[str, ...] | None) -> list[Exhibit]:
    known = list(dict.fromkeys(exhibit.name for exhibit in everything))
    for name in wanted or ():
        if name not in known:
            raise InputError(
                f"there is no stage {quote(name)} to show", context=f"stages: {', '.join(known)}"
            )
    if wanted is None:
        return list(everything)
    details = {detail for name in wanted if name in STAGES for detail in STAGES[name].details}
    return [exhibit for exhibit in everything if exhibit.name in {*wanted, *details}]


def _once(shown: list[Exhibit]) -> list[Exhibit]:
    """Leave out what the last stage hands on as it is, and say there how that was made."""
    if len(shown) < 2:  # noqa: PLR2004  (the last two)
        return shown
    *before, made, last = shown
    if last.formula != f"{last.symbol} = {made.symbol}":
        return shown
    return [*before, replace(last, formula=f"{last.symbol} = {made.formula}")]


def _inside(axis: str, span: tuple[int, int] | None, size: int) -> tuple[int, int]:
    start, stop = span or (0, size)
    if not start < stop <= size:
        raise InputError(f"there are no {axis} positions {start}:{stop}", context=f"positions: 0:{size}")
    return start, stop


def _kind(exhibit: Exhibit) -> Kind:
    if not exhibit.by_pair:
        return Kind.VECTORS
    return Kind.WEIGHTS if exhibit.shares else Kind.SCORES


def _is_sum(p: Inputs) -> bool:
    """Tell whether each output row is the sum of its weighted values and nothing else."""
    return p.real_queries is None and p.exclude
