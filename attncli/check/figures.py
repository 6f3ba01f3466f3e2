"""The numbers of a result by the names that people print them under."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attncli.check.printed import Numbers
from attncli.compute import Result
from attncli.errors import InputError, Path
from attncli.frozen import Frozen
from attncli.meant import did_you_mean
from attncli.text import quote
from attncli.trace import Record

__all__ = ["Figure", "Figures"]

_BEFORE = ("row_max", "exp", "exp_sum", "weighted_values")
"""Details that their stage is made of; the others are made of the stage."""

_SHIFTED = ("exp", "exp_sum")


class Figure(Frozen):
    """Numbers under one name.

    Args:
        array: All of them.
        axes: Names of its axes.
        place: Where it comes in the order of the computation.
    """

    array: Numbers
    axes: tuple[str, ...]
    place: tuple[int, int]


class Figures:
    """What a result holds under each name: stages, their details, and what is made of them.

    Args:
        result: What was computed, with its large details.
        shifted: Whether exponentials have the row's maximum subtracted; most people print them
            without that.
    """

    def __init__(self, result: Result, *, shifted: bool = True) -> None:
        self.result = result
        self.shifted = shifted
        self._figures = dict(_figures(result.records))

    def __getitem__(self, name: str) -> Figure:
        figure = self._figures[name]
        if self.shifted or name not in _SHIFTED or "row_max" not in self._figures:
            return figure
        highest = self._figures["row_max"].array
        with np.errstate(over="ignore", invalid="ignore"):
            undone = figure.array * np.exp(highest[..., None] if name == "exp" else highest)
        return Figure(np.nan_to_num(undone, nan=0.0), figure.axes, figure.place)

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def find(self, name: str, path: Path = ()) -> Figure:
        """Return what is under a name.

        Raises:
            InputError: The problem has nothing of that name.
        """
        if name not in self._figures:
            raise InputError(
                f"this problem has no stage {quote(name)}",
                path=path,
                context=f"it has {', '.join(self._figures)}",
                fix=did_you_mean(name, self._figures),
            )
        return self[name]


def _figures(records: tuple[Record, ...]) -> Iterator[tuple[str, Figure]]:
    """Yield every name in the order of the computation."""
    for number, record in enumerate(records):
        details: Mapping[str, Numbers] = record.details
        ordered = [*(name for name in _BEFORE if name in details)]
        for step, name in enumerate(ordered, -len(ordered)):
            yield name, Figure(details[name], _axes(record, name), (number, step))
        if record.array is not None:
            yield record.stage.name, Figure(record.array, record.axes, (number, 0))
        later = [name for name in details if name not in _BEFORE]
        for step, name in enumerate(later, 2):
            yield name, Figure(details[name], _axes(record, name), (number, step))
        if record.stage.name == "weights" and "head" in record.axes and record.array is not None:
            at = record.axes.index("head")
            axes = tuple(axis for axis in record.axes if axis != "head")
            yield "weights_mean", Figure(record.array.mean(axis=at), axes, (number, 1))


def _axes(record: Record, detail: str) -> tuple[str, ...]:
    absent = {"batch", "head"} - set(record.axes)
    return tuple(axis for axis in record.stage.details[detail].axes if axis not in absent)
