"""The trace that runs stages and records what each returned, with its formula.

The formula is spelled with the symbols of what really went in: ``softmax(Z)``, or ``softmax(M)`` once a
mask came between.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, TypeAlias

from attncli.frozen import Frozen
from attncli.stage import STAGES, Array, Detail, Scalar, Stage, Value, spell, stage

__all__ = [
    "STAGES",
    "Array",
    "Call",
    "Caller",
    "Detail",
    "Record",
    "Run",
    "Scalar",
    "Stage",
    "Trace",
    "Value",
    "spell",
    "stage",
    "untraced",
]

P = ParamSpec("P")


class Record(Frozen):
    """What one stage returned in one run.

    Args:
        stage: Its declaration.
        array: The result; None when it was not to be kept.
        shape: The result's shape.
        axes: Names of the axes that it really has.
        formula: The formula, with the symbols of what went in.
        details: The stage's details by name.
    """

    stage: Stage[...]
    array: Array | None
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    formula: str
    details: Mapping[str, Array]

    def __repr__(self) -> str:
        size = "×".join(map(str, self.shape))
        return f"<{self.stage.name} [{size}] {'not kept' if self.array is None else self.array.dtype}>"


Caller: TypeAlias = Callable[..., Value]
"""What calls stages: a `Trace`, or `untraced`."""


def untraced(stage: Stage[...], *args: Any, **kwargs: Any) -> Value:
    """Run a stage on values, and keep nothing of it."""
    given = [each.array if isinstance(each, Value) else each for each in args]
    named = {name: _bare(value) for name, value in kwargs.items()}
    return Value(stage.function(*given, **named), stage.symbol)


def _bare(value: Any) -> Any:
    return value.array if isinstance(value, Value) else value


class Call(Frozen):
    """A stage and what goes into it, to be run on all of it or on some rows.

    Args:
        stage: The stage.
        inputs: Its arguments by name.
        kept: Whether the result is kept.
        details: The details that are wanted with it.
        cast: Applied to the result.
    """

    stage: Stage[...]
    inputs: Mapping[str, Any]
    kept: bool
    details: tuple[Detail, ...]
    cast: Callable[[Array], Array]

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Array, dict[str, Array]]:
        """Run the stage on its inputs, or on some rows of them; return the result and the details."""
        known = {**inputs, "result": self.cast(self.stage.function(**inputs))}
        details = {}
        for detail in self.details:
            array = detail(known)
            if array is not None:
                known[detail.name] = details[detail.name] = array
        return known["result"], details


Run: TypeAlias = Callable[[Call], tuple[Array, dict[str, Array]]]
"""Runs a stage: returns its result and its details."""


def at_once(call: Call) -> tuple[Array, dict[str, Array]]:
    """Run a stage on all that goes into it."""
    return call(call.inputs)


class Trace:
    """Calls stages and keeps what each returned.

    Args:
        axes: The axes that the problem has, of ``batch`` and ``head``.
        keep: Names of the stages to keep; None keeps all.
        large_details: Also compute the details with a number for each query and key.
        cast: Applied to the name of every stage and its result: the rounding of a precision that
            the arrays themselves lack.
        run: Runs a stage: at once, or in whatever way suits the library.
    """

    def __init__(
        self,
        axes: Collection[str] = (),
        *,
        keep: Collection[str] | None = None,
        large_details: bool = False,
        cast: Callable[[str, Array], Array] = lambda _, array: array,
        run: Run = at_once,
    ) -> None:
        self.records: dict[str, Record] = {}
        self._absent = {"batch", "head"} - set(axes)
        self._keep = keep
        self._large_details = large_details
        self._cast = cast
        self._run = run

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def __call__(self, stage: Stage[P], *args: P.args, **kwargs: P.kwargs) -> Value:
        """Run a stage on values and record it.

        Returns:
            The result, under the symbol of the stage.
        """
        given = inspect.signature(stage.function).bind(*args, **kwargs)
        given.apply_defaults()
        inputs = {name: _bare(value) for name, value in given.arguments.items()}
        kept = self._keep is None or stage.name in self._keep
        wanted = (each for each in stage.details.values() if self._large_details or not each.large)
        call = Call(stage, inputs, kept, tuple(wanted) if kept else (), partial(self._cast, stage.name))
        result, details = self._run(call)
        self.records[stage.name] = Record(
            stage,
            result if kept else None,
            tuple(result.shape),
            tuple(axis for axis in stage.axes if axis not in self._absent),
            spell(stage.formula, given.arguments),
            details,
        )
        return Value(result, stage.symbol)

    def restate(
        self,
        name: str,
        shape: tuple[int, ...],
        array: Array | None = None,
        details: Mapping[str, Array] | None = None,
    ) -> None:
        """Say what a stage returned that was only run on a sample, to record how it is computed.

        Args:
            name: The stage.
            shape: Shape of the whole result.
            array: The whole result; None where it was never made at once.
            details: The details that are known of it.
        """
        kept = array is not None and (self._keep is None or name in self._keep)
        self.records[name] = replace(
            self.records[name], shape=shape, array=array if kept else None, details=details or {}
        )
