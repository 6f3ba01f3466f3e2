"""What there is to show of a result: the arrays that were given, then every stage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from attncli.compute import Result
from attncli.core.attention import bias_of
from attncli.core.inputs import Inputs
from attncli.frozen import Frozen
from attncli.sheet import Numbers
from attncli.trace import STAGES, Record, Value

__all__ = ["LOGITS", "Exhibit", "exhibits", "softmax_of", "starts", "title_of"]

LOGITS = ("scaled", "softcapped", "biased", "masked")
"""From the first of these on, numbers are read with three decimals rather than two."""

_TITLES = {
    "X_pos": "position",
    "Q": "project",
    "K": "project",
    "V": "project",
    "Q_heads": "heads",
    "K_heads": "heads",
    "V_heads": "heads",
    "Q_norm": "norm",
    "K_norm": "norm",
    "Q_rot": "rotate",
    "K_rot": "rotate",
    "K_all": "cache",
    "V_all": "cache",
    "scores": "score",
    "scaled": "scale",
    "softcapped": "softcap",
    "biased": "bias",
    "masked": "mask",
    "weights": "softmax",
    "masked_weights": "mask after",
    "dropped": "dropout",
    "head_output": "mix",
}
"""A verb for a step; stages of one verb share a block. Other stages go by their own name."""

_PROJECTIONS = ("w_q", "b_q", "w_k", "b_k", "w_v", "b_v", "w_o", "b_o")
_SOURCES = {"x": "query", "x_k": "key", "x_v": "key"}
_BESIDE = {"X_pos": "encoding", "K_all": "past_k", "V_all": "past_v", "biased": "bias"}
"""Stages that take an array of the problem's own, which is shown beside what they make."""
_WEIGHTS = ("weights", "masked_weights", "dropped")

_STARTS = {
    "q": ("query", "dim"),
    "k": ("key", "dim"),
    "scores": ("query", "key"),
    "scaled": ("query", "key"),
    "masked": ("query", "key"),
    "v": ("key", "dim"),
}


class Exhibit(Frozen, kw_only=True):
    """An array with all that is said of it.

    Args:
        title: The step that it belongs to.
        name: The stage, or the key of the problem file.
        symbol: Its symbol.
        formula: How it was computed; empty when it was given.
        axes: Names of its axes.
        array: The numbers.
        details: Numbers that belong to it.
        nothing: What a masked cell holds.
        shape: The shape that it was given in, where one array serves all heads, or is a row; empty
            where that is its own.
    """

    title: str
    name: str
    symbol: str
    formula: str = ""
    axes: tuple[str, ...]
    array: Numbers
    details: Mapping[str, Numbers] = field(default_factory=dict)
    nothing: float = -math.inf
    shape: tuple[int, ...] = ()

    @property
    def given(self) -> bool:
        """Whether it was given rather than computed."""
        return not self.formula

    @property
    def shares(self) -> bool:
        """Whether its numbers are shares of 1."""
        return self.name in _WEIGHTS

    @property
    def by_pair(self) -> bool:
        """Whether it has a number for each query and key."""
        return self.axes[-2:] == ("query", "key")


def exhibits(result: Result, *, detail: bool = False) -> Iterator[Exhibit]:
    """Yield what there is to show, in the order of the computation.

    Args:
        result: What was computed; stages that were not kept are left out.
        detail: Also the weights of the projections, and the details with a number for each pair.
    """
    if detail:
        yield from _projections(result.inputs)
    yield from _sources(result.inputs)
    yield from _start(result.inputs)
    for record in result.records:
        if record.array is not None:
            if record.stage.name in _BESIDE and result.start:
                yield _beside(result.inputs, record)
            if detail:
                yield from _by_pair(record)
            yield _computed(record, record.array)


def _beside(p: Inputs, record: Record) -> Exhibit:
    value = bias_of(p) if record.stage.name == "biased" else getattr(p, _BESIDE[record.stage.name])
    assert value is not None
    array = value.array
    if record.stage.name == "biased":  # one bias may serve all heads
        array = np.broadcast_to(array, record.shape)
    return _given(value, array, record.axes, title=title_of(record))


def _projections(p: Inputs) -> Iterator[Exhibit]:
    for name in _PROJECTIONS:
        value: Value | None = getattr(p, name)
        if value is not None:
            matrix = value.array if value.array.ndim > 1 else value.array[None]
            yield _given(value, matrix, ("in", "out"))


def _sources(p: Inputs) -> Iterator[Exhibit]:
    """Yield X, and what keys and values come from where that is not X."""
    shown = set()
    for name, rows in _SOURCES.items():
        value: Value | None = getattr(p, name)
        if value is not None and value.symbol not in shown:
            shown.add(value.symbol)
            yield _given(value, value.array, ("batch", rows, "dim"), title="project")


def _start(p: Inputs) -> Iterator[Exhibit]:
    names = starts(p)
    for start, axes in _STARTS.items():
        value: Value | None = getattr(p, start)
        if value is not None:
            name = names.get(value.symbol, value.symbol)
            yield _given(value, value.array, (*p.axes[: value.array.ndim - 2], *axes), name=name)


def starts(p: Inputs) -> dict[str, str]:
    """Name the scores that were given rather than computed as stages are, by their symbol."""
    values = {name: getattr(p, name) for name in _STARTS if name in STAGES}
    return {value.symbol: name for name, value in values.items() if value is not None}


def _given(
    value: Value, array: Numbers, axes: tuple[str, ...], *, title: str = "given", name: str = ""
) -> Exhibit:
    return Exhibit(
        title=title,
        name=name or value.symbol,
        symbol=value.symbol,
        axes=axes[-array.ndim :],
        array=array,
        shape=value.array.shape,
    )


def _computed(record: Record, array: Numbers) -> Exhibit:
    stage = record.stage
    formula = record.formula
    scores, sink = softmax_of(record)
    if scores:  # the title says softmax; the sides show m and Σexp
        total = f"(Σ exp({scores} − m) + exp({sink} − m))" if sink else "Σexp"
        formula = f"exp({scores} − m) ÷ {total}"
    return Exhibit(
        title=title_of(record),
        name=stage.name,
        symbol=stage.symbol,
        formula=f"{stage.symbol} = {formula}"
        if formula and not formula.startswith(f"{stage.symbol}(")
        else formula,
        axes=record.axes,
        array=array,
        details=record.details,
        nothing=0.0 if stage.name in _WEIGHTS else -math.inf,
    )


def _by_pair(record: Record) -> Iterator[Exhibit]:
    """Yield the details that have a number for each query and key."""
    for name, array in record.details.items():
        detail = record.stage.details[name]
        if detail.axes[-2:] == ("query", "key"):
            formula = detail.formula.format(scores=softmax_of(record)[0])
            yield Exhibit(
                title=title_of(record),
                name=name,
                symbol=detail.symbol,
                formula=f"{detail.symbol} = {formula}",
                axes=record.axes,
                array=array,
                nothing=0.0,
            )


def title_of(record: Record) -> str:
    """Name the step that a stage belongs to by a verb."""
    if record.stage.name == "weights" and "row_max" not in record.details:
        return "normalize"
    return _TITLES.get(record.stage.name, record.stage.name)


def softmax_of(record: Record) -> tuple[str, str]:
    """Name what softmax was taken of, and the sink that took part; empty where there is none."""
    if found := re.fullmatch(r"softmax\((.+)\)", record.formula):
        return found[1], ""
    found = re.fullmatch(r"exp\((.+)\) ÷ \(Σ exp\(\1\) \+ exp\((.+)\)\)", record.formula)
    return (found[1], found[2]) if found else ("", "")
