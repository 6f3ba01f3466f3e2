"""Arrays that remember where each of their numbers came from: one more array library for the stages.

The functions of `attncli.core` run on any array library. On this one they compute with NumPy and
keep, beside every array, a way to ask for the arithmetic behind one cell of it. So an explanation
cannot differ from the computation: it is the computation, asked cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic import Apply, Cell, Gather, Node, Number, Operate

__all__ = ["Traced", "given"]

Index: TypeAlias = tuple[int, ...]
Ask: TypeAlias = Callable[[Index], Node]


class Traced:
    """An array and, for each index, the arithmetic that made the number there.

    Args:
        value: The numbers.
        ask: Tells for an index how the number came about.
    """

    __array_ufunc__ = None  # NumPy leaves operators with such an array to it

    def __init__(self, value: np.ndarray, ask: Ask) -> None:
        self.value = value
        self.ask = ask

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    dtype = property(lambda self: self.value.dtype)
    device = property(lambda self: self.value.device)

    def __array_namespace__(self) -> Any:
        return _Namespace

    def __getitem__(self, key: Any) -> Traced:
        return _moved(lambda a: a[key], self)

    def __add__(self, other: Any) -> Traced:
        return _operated("+", np.add, self, other)

    def __radd__(self, other: Any) -> Traced:
        return _operated("+", np.add, other, self)

    def __sub__(self, other: Any) -> Traced:
        return _operated("−", np.subtract, self, other)

    def __rsub__(self, other: Any) -> Traced:
        return _operated("−", np.subtract, other, self)

    def __mul__(self, other: Any) -> Traced:
        return _operated("×", np.multiply, self, other)

    def __rmul__(self, other: Any) -> Traced:
        return _operated("×", np.multiply, other, self)

    def __truediv__(self, other: Any) -> Traced:
        return _operated("÷", np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Traced:
        return _operated("÷", np.divide, other, self)

    def __matmul__(self, other: Any) -> Traced:
        return _multiplied(self, other)

    def __rmatmul__(self, other: Any) -> Traced:
        return _multiplied(other, self)

    # Comparisons are decisions, not numbers that anybody asks about.
    def __eq__(self, other: object) -> Any:
        return np.equal(self.value, _value(other))

    def __ne__(self, other: object) -> Any:
        return np.not_equal(self.value, _value(other))

    def __lt__(self, other: Any) -> Any:
        return np.less(self.value, _value(other))

    def __gt__(self, other: Any) -> Any:
        return np.greater(self.value, _value(other))

    __hash__ = None  # type: ignore[assignment]  # as arrays have none


def given(value: np.ndarray, name: str) -> Traced:
    """Make an array whose numbers come from nowhere else: they have names."""
    return Traced(value, lambda index: Cell(float(value[index]), name, index))


def _value(array: Any) -> Any:
    return array.value if isinstance(array, Traced) else array


def _ask(array: Any, index: Index, shape: tuple[int, ...]) -> Node:
    """Ask an array, or a number, that is broadcast to a shape."""
    value = _value(array)
    own = np.shape(value)
    trimmed = tuple(
        0 if size == 1 else i for i, size in zip(index[len(shape) - len(own) :], own, strict=True)
    )
    return array.ask(trimmed) if isinstance(array, Traced) else Number(float(np.asarray(value)[trimmed]))


def _operated(sign: str, operation: Callable[..., Any], left: Any, right: Any) -> Traced:
    value = operation(_value(left), _value(right))

    def ask(index: Index) -> Node:
        a, b = _ask(left, index, value.shape), _ask(right, index, value.shape)
        return Operate(float(value[index]), sign, a, b)

    return Traced(value, ask)


def _multiplied(left: Any, right: Any) -> Traced:
    a, b = _value(left), _value(right)
    value = a @ b
    lead = value.shape[:-2]

    @cache
    def ask(index: Index) -> Node:
        def terms() -> list[Node]:
            *before, i, j = index
            products: list[Node] = []
            for d in range(a.shape[-1]):
                one = _ask(left, (*before, i, d), (*lead, *a.shape[-2:]))
                other = _ask(right, (*before, d, j), (*lead, *b.shape[-2:]))
                products.append(Operate(one.value * other.value, "×", one, other))
            return products

        return Gather(float(value[index]), "dot", terms)

    return Traced(value, ask)


def _moved(move: Callable[..., np.ndarray], *arrays: Any) -> Traced:
    """Rearrange numbers: the same is done to a plan of where each of them stands."""
    plans, sources, start = [], [], 0
    for array in arrays:
        size = math.prod(array.shape)
        plans.append(np.arange(start, start + size).reshape(array.shape))
        sources.append((start, array))
        start += size
    plan = move(*plans)

    def ask(index: Index) -> Node:
        place = int(plan[index])
        first, source = next(pair for pair in reversed(sources) if pair[0] <= place)
        where = tuple(int(i) for i in np.unravel_index(place - first, source.shape))
        return _ask(source, where, source.shape)

    return Traced(move(*map(_value, arrays)), ask)


def _applied(name: str, function: Callable[..., Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        if not isinstance(x, Traced):
            return function(x)
        value = function(x.value)
        return Traced(value, lambda index: Apply(float(value[index]), name, x.ask(index)))

    return apply


def _gathered(how: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def gather(x: Traced, *, axis: int, keepdims: bool = False) -> Traced:
        value = function(x.value, axis=axis, keepdims=keepdims)
        assert axis == -1, "rows are what the stages gather"

        @cache  # what a row is compared with stays one thing, however often it is asked for
        def ask(index: Index) -> Node:
            row = index[:-1] if keepdims else index
            return Gather(
                float(value[index]), how, lambda: [x.ask((*row, j)) for j in range(x.value.shape[-1])]
            )

        return Traced(value, ask)

    return gather


def _moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of the namespace of one that only rearranges one array, or a list of them."""

    def move(arrays: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(arrays, Sequence):
            return _moved(lambda *parts: function(parts, *arguments, **options), *arrays)
        if not isinstance(arrays, Traced):
            return function(arrays, *arguments, **options)
        return _moved(lambda a: function(a, *arguments, **options), arrays)

    return move


def _where(condition: Any, yes: Any, no: Any) -> Any:
    value = np.where(condition, _value(yes), _value(no))
    if not (isinstance(yes, Traced) or isinstance(no, Traced)):
        return value
    chosen = np.broadcast_to(condition, value.shape)
    return Traced(value, lambda index: _ask(yes if chosen[index] else no, index, value.shape))


class _Namespace:
    """The functions of the Array API standard that the stages call."""

    exp = staticmethod(_applied("exp", np.exp))
    tanh = staticmethod(_applied("tanh", np.tanh))
    log = staticmethod(_applied("log", np.log))
    log2 = staticmethod(_applied("log2", np.log2))
    sqrt = staticmethod(_applied("√", np.sqrt))

    sum = staticmethod(_gathered("sum", np.sum))
    max = staticmethod(_gathered("max", np.max))
    mean = staticmethod(_gathered("mean", np.mean))

    broadcast_to = staticmethod(_moving(np.broadcast_to))
    concat = staticmethod(_moving(np.concat))
    matrix_transpose = staticmethod(_moving(np.matrix_transpose))
    moveaxis = staticmethod(_moving(np.moveaxis))
    repeat = staticmethod(_moving(np.repeat))
    reshape = staticmethod(_moving(np.reshape))
    stack = staticmethod(_moving(np.stack))
    take = staticmethod(_moving(np.take))
    tile = staticmethod(_moving(np.tile))

    where = staticmethod(_where)

    # What follows decides or counts, and is plain NumPy.
    arange = staticmethod(np.arange)
    bool = np.bool
    ones = staticmethod(np.ones)

    @staticmethod
    def astype(x: Any, dtype: Any) -> Any:
        return np.astype(x, dtype)

    @staticmethod
    def zeros_like(x: Any) -> np.ndarray:
        return np.zeros_like(_value(x))

    @staticmethod
    def isfinite(x: Any) -> Any:
        return np.isfinite(_value(x))

    @staticmethod
    def isinf(x: Any) -> Any:
        return np.isinf(_value(x))

    @staticmethod
    def isnan(x: Any) -> Any:
        return np.isnan(_value(x))
