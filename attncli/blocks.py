"""From a result to the sheet that a reader sees: which blocks there are, and what stands in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath

import numpy as np

from attncli.cells import Axes, spell_cell
from attncli.compute import Result
from attncli.core.inputs import Inputs
from attncli.exhibits import LOGITS, Exhibit
from attncli.headline import facts, formula
from attncli.matrices import Desk
from attncli.parts import Parts
from attncli.selfcheck import self_check
from attncli.sheet import Block, Numbers, Sheet, View

__all__ = ["make_sheet"]


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
    blocks = tuple(_blocks(Desk(result, view, parts)))
    all_drawn = view.heads_view and all(block.heads for block in blocks)
    return Sheet(
        source=result.problem.origin.name if result.start else "",
        title=PurePath(result.file).name or result.file,
        formula=formula(result),
        facts=facts(result),
        blocks=blocks,
        checks=None if view.blank else self_check(result),  # entropies would tell
        elided=" · ".join(filter(None, ("" if all_drawn else parts.elided, _left_out(result, view)))),
        precision=view.precision,
        full=view.full,
        heads_view=view.heads_view,
        percent=view.percent is not False,
        notes=result.notes,
        example="" if view.blank else _example(result, view),  # what a query looks at most
    )


def _left_out(result: Result, view: View) -> str:
    """Say how many queries and keys the reader did not ask for."""
    axes = {
        "queries": ("--rows", view.rows, result.query_labels),
        "keys": ("--cols", view.columns, result.key_labels),
    }
    cuts = [
        (f"{len(labels) - (span[1] - span[0])} of {len(labels)} {name}", f"{option} {span[0]}:{span[1]}")
        for name, (option, span, labels) in axes.items()
        if span and span != (0, len(labels))
    ]
    if not cuts:
        return ""
    counts, options = zip(*cuts, strict=True)
    whole = "; sums and maxima are of whole rows" if "keys" in counts[-1] else ""
    return f"{' and '.join(counts)} not shown: {' '.join(options)}{whole}"


def _example(result: Result, view: View) -> str:
    """Choose what the last query looks at most but for itself, or its only key, in a part that is shown."""
    record = next((each for each in result.records if each.stage.name == "weights"), None)
    if record is None or record.array is None or not record.array.size:
        return ""
    shown = {"batch": view.batch or 0, "head": view.head or 0}
    lead = tuple(shown[axis] for axis in record.axes[:-2])
    row = np.nan_to_num(record.array[lead][-1])
    if result.query_labels == result.key_labels and len(row) > 1:
        row[-1] = -1
    index = (*lead, len(result.query_labels) - 1, int(np.argmax(row)))
    labels = {"query": result.query_labels, "key": result.key_labels}
    return spell_cell("weights", index, Axes(record.axes, record.shape, labels))


def _blocks(desk: Desk) -> Iterator[Block]:
    """Make a block of each step."""
    decimals, shape = 2, ""
    for title, group in groupby(desk.exhibits, key=lambda exhibit: exhibit.title):
        shown = list(group)
        if any(exhibit.name in (*LOGITS, "weights") for exhibit in shown):
            decimals = 3
        before, shape = shape, _shape(shown, desk.inputs)
        yield Block(
            title=title,
            formulas=tuple(exhibit.formula for exhibit in shown if not exhibit.given),
            shape=shape if shape != before else "",
            remarks=tuple(_remarks(title, desk)),
            decimals=decimals,
            matrices=tuple(matrix for exhibit in shown for matrix in desk.matrices(exhibit)),
            heads=tuple(matrix for exhibit in shown for matrix in desk.heads(exhibit)),
        )


def _remarks(title: str, desk: Desk) -> Iterator[str]:
    """Say the numbers that a step works with."""
    if title == "scale" and desk.start:
        yield f"× {_factor(desk.inputs):.4g}"
    if title == "mask":
        yield f"{desk.hidden.sum():,} of {desk.hidden.size:,} off"
    if title == "given" and desk.inputs.x is None:
        yield "the computation starts here; earlier stages are skipped"


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
