"""Stages, declared beside their functions, and the trace that records what each returned.

A stage is an ordinary function with a declaration around it: called directly it only computes. A
`Trace` calls it too, keeps the result, and spells out the formula with the symbols of what really
went in: ``softmax(Z)``, or ``softmax(M)`` once a mask came between.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Generic, ParamSpec, TypeAlias, cast

from attncli.frozen import Frozen

__all__ = [
    "STAGES",
    "Array",
    "Caller",
    "Detail",
    "Record",
    "Scalar",
    "Stage",
    "Trace",
    "Value",
    "spell",
    "stage",
    "untraced",
]

Array: TypeAlias = Any
"""An array of any backend that follows the Array API standard."""

Scalar: TypeAlias = Any
"""A number; where a stage is traced, the `Value` of one."""

P = ParamSpec("P")
Q = ParamSpec("Q")


class Value(Frozen):
    """An array, or a number, with the symbol that stands for it in formulas."""

    array: Array
    symbol: str


class Detail(Frozen):
    """A number that belongs to a stage and is shown with it on request.

    Args:
        name: Its name in results, such as ``lse``.
        symbol: Its symbol in tables.
        formula: Template over the parameters of its stage and ``result``.
        axes: Names of its axes.
        function: Computes it from parameters of the stage, by name, and ``result``.
    """

    name: str
    symbol: str
    formula: str
    axes: tuple[str, ...]
    function: Callable[..., Array]

    @property
    def large(self) -> bool:
        """Tell whether it has a number for each query and key, so that it is made only when asked for."""
        return "key" in self.axes

    def __call__(self, inputs: Mapping[str, Array]) -> Array | None:
        """Compute the detail from what went into its stage, by name; None where that lacks something."""
        wanted = inspect.signature(self.function).parameters.values()
        if any(each.default is each.empty and inputs.get(each.name) is None for each in wanted):
            return None
        return self.function(**{each.name: inputs.get(each.name) for each in wanted})


class Stage(Frozen, Generic[P]):
    """One step of attention: a function and what tables, formulas and documents say of it.

    Args:
        name: Its name in results and on the command line.
        symbol: Its symbol in formulas.
        axes: Names of its axes; ``batch`` and ``head`` are there only when the problem has them.
        formula: Template over the function's parameters; ``[…]`` goes when a parameter in it is None.
        latex: The formula for LaTeX, over the same parameters.
        source: Where the step was published.
        function: The computation.
        details: Numbers that belong to it, by name.
        variants: Other ways to the same stage.
    """

    name: str
    symbol: str
    axes: tuple[str, ...]
    formula: str
    latex: str
    source: str
    function: Callable[P, Array]
    details: dict[str, Detail] = field(default_factory=dict)
    variants: list[Stage[...]] = field(default_factory=list)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Array:
        """Compute the stage, without a trace."""
        return self.function(*args, **kwargs)

    @property
    def summary(self) -> str:
        """What the stage does, in a reader's words: the first line of its docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def variant(self, *, formula: str, latex: str, source: str) -> Callable[[Callable[Q, Array]], Stage[Q]]:
        """Declare another way to the same stage; it shares name, symbol, axes and details."""

        def declare(function: Callable[Q, Array]) -> Stage[Q]:
            made = _declared(
                Stage(self.name, self.symbol, self.axes, formula, latex, source, function, self.details)
            )
            self.variants.append(cast("Stage[...]", made))
            return made

        return declare

    def detail(
        self, name: str, *, symbol: str, formula: str, axes: str
    ) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
        """Declare a detail of this stage; the function stays as it is."""

        def declare(function: Callable[..., Array]) -> Callable[..., Array]:
            self.details[name] = Detail(name, symbol, formula, tuple(axes.split()), function)
            return function

        return declare


STAGES: dict[str, Stage[...]] = {}
"""Every stage by name, in the order of the computation."""


def stage(
    name: str, *, symbol: str, axes: str, formula: str, latex: str, source: str
) -> Callable[[Callable[P, Array]], Stage[P]]:
    """Declare a function as a stage.

    Raises:
        TypeError: At import, when a name is used twice or the function has no docstring, which
            is the text that explanations print.
    """

    def declare(function: Callable[P, Array]) -> Stage[P]:
        if name in STAGES:
            raise TypeError(f"stage {name!r} needs a name of its own: there is one already")
        made = Stage(name, symbol, tuple(axes.split()), formula, latex, source, function)
        STAGES[name] = cast("Stage[...]", _declared(made))
        return made

    return declare


def _declared(made: Stage[P]) -> Stage[P]:
    # python -OO takes all docstrings away
    if not (made.function.__doc__ or sys.flags.optimize > 1):
        raise TypeError(f"stage {made.name!r} needs a docstring: its first line is what explanations print")
    return made


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


Caller: TypeAlias = Callable[..., Value]
"""What calls stages: a `Trace`, or `untraced`."""


def untraced(stage: Stage[...], *args: Any, **kwargs: Any) -> Value:
    """Run a stage on values, and keep nothing of it."""
    result = stage.function(*map(_bare, args), **{name: _bare(value) for name, value in kwargs.items()})
    return Value(result, stage.symbol)


def _bare(value: Any) -> Any:
    return value.array if isinstance(value, Value) else value


class Trace:
    """Calls stages and keeps what each returned.

    Args:
        axes: The axes that the problem has, of ``batch`` and ``head``.
        keep: Names of the stages to keep; None keeps all.
        large_details: Also compute the details with a number for each query and key.
        cast: Applied to the name of every stage and its result: the rounding of a precision that
            the arrays themselves lack.
    """

    def __init__(
        self,
        axes: Collection[str] = (),
        *,
        keep: Collection[str] | None = None,
        large_details: bool = False,
        cast: Callable[[str, Array], Array] | None = None,
    ) -> None:
        self.records: dict[str, Record] = {}
        self._absent = {"batch", "head"} - set(axes)
        self._keep = keep
        self._large_details = large_details
        self._cast = cast

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
        call = cast("Callable[..., Array]", stage.function)  # bound by name, which P cannot say
        result = call(**inputs)
        if self._cast:
            result = self._cast(stage.name, result)
        kept = self._keep is None or stage.name in self._keep
        self.records[stage.name] = Record(
            stage,
            result if kept else None,
            tuple(result.shape),
            tuple(axis for axis in stage.axes if axis not in self._absent),
            spell(stage.formula, given.arguments),
            self._details(stage, {**inputs, "result": result}) if kept else {},
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

    def _details(self, stage: Stage[...], inputs: Mapping[str, Array]) -> dict[str, Array]:
        wanted = (each for each in stage.details.values() if self._large_details or not each.large)
        made = {detail.name: detail(inputs) for detail in wanted}
        return {name: array for name, array in made.items() if array is not None}


def spell(formula: str, values: Mapping[str, Value | Any]) -> str:
    """Fill a formula's ``{names}`` with symbols, without the ``[…]`` whose values are None."""

    def segment(match: re.Match[str]) -> str:
        names = re.findall(r"{(\w+)}", match[1])
        return "" if any(values[name] is None for name in names) else match[1]

    shown = {name: v.symbol if isinstance(v, Value) else f"{v}" for name, v in values.items()}
    return re.sub(r"\[([^\]]*)\]", segment, formula).format_map(shown)
