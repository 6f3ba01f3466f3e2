"""Stages, declared beside their functions: what tables, formulas and documents say of a step of attention.

A stage is an ordinary function with a declaration around it: called directly it only computes. A
`Trace` calls it too, and spells out its formula with the symbols of what really went in.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, cast

from attncli.frozen import Frozen

__all__ = ["STAGES", "Array", "Detail", "Scalar", "Stage", "Value", "spell", "stage"]

Array: TypeAlias = Any
"""An array of any backend that follows the Array API standard."""

Scalar: TypeAlias = Any
"""A number; where a stage is traced, the `Value` of one."""

P = ParamSpec("P")
Q = ParamSpec("Q")


class Value(NamedTuple):
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
        function: Computes it from parameters of the stage, ``result`` and the details before it, by name.
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
        """Compute the detail from what there is, by name; None where that lacks something."""
        wanted = _parameters(self.function)
        if any(each.default is each.empty and inputs.get(each.name) is None for each in wanted):
            return None
        return self.function(**{each.name: inputs.get(each.name) for each in wanted})


@cache  # a long run asks for every piece
def _parameters(function: Callable[..., Array]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


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
        by_row: Whether a row of the result is made of the same row of what goes in, so that rows can be
            computed some at a time.
        sums: Whether its numbers are sums of products, over the last axis of its first argument.
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
    by_row: bool = False
    sums: bool = False
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
                Stage(
                    self.name,
                    self.symbol,
                    self.axes,
                    formula,
                    latex,
                    source,
                    function,
                    self.by_row,
                    self.sums,
                    self.details,
                )
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
"""Every stage by name; `attncli.core.attention.ORDER` has them in the order of the computation."""


def stage(
    name: str,
    *,
    symbol: str,
    axes: str,
    formula: str,
    latex: str,
    source: str,
    by_row: bool = False,
    sums: bool = False,
) -> Callable[[Callable[P, Array]], Stage[P]]:
    """Declare a function as a stage.

    Raises:
        TypeError: At import, when a name is used twice or the function has no docstring, which
            is the text that explanations print.
    """

    def declare(function: Callable[P, Array]) -> Stage[P]:
        if name in STAGES:
            raise TypeError(f"stage {name!r} needs a name of its own: there is one already")
        made = Stage(name, symbol, tuple(axes.split()), formula, latex, source, function, by_row, sums)
        STAGES[name] = cast("Stage[...]", _declared(made))
        return made

    return declare


def _declared(made: Stage[P]) -> Stage[P]:
    # python -OO takes all docstrings away
    if not (made.function.__doc__ or sys.flags.optimize > 1):
        raise TypeError(f"stage {made.name!r} needs a docstring: its first line is what explanations print")
    return made


def spell(formula: str, values: Mapping[str, Value | Any]) -> str:
    """Fill a formula's ``{names}`` with symbols, without the ``[…]`` whose values are None."""

    def segment(match: re.Match[str]) -> str:
        names = re.findall(r"{(\w+)}", match[1])
        return "" if any(values[name] is None for name in names) else match[1]

    shown = {name: v.symbol if isinstance(v, Value) else f"{v}" for name, v in values.items()}
    return re.sub(r"\[([^\]]*)\]", segment, formula).format_map(shown)
