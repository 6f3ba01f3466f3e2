"""Arithmetic as it was done: numbers, what was made of them, and a text that computes the same.

A text in the `EXACT` style is Python: with ``exp``, ``tanh``, ``sqrt``, ``log``, ``log2``, ``max`` and
``mean`` at hand, it evaluates to the number that it explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attncli.frozen import Frozen

__all__ = [
    "EXACT",
    "Apply",
    "Cell",
    "Gather",
    "Node",
    "Number",
    "Operate",
    "Style",
    "asides",
    "reads",
    "write",
]


class Number(Frozen):
    """A number without a name, such as the fill of a mask."""

    value: float


class Cell(Frozen):
    """A number that stands in an array: in a stage, or in what was given."""

    value: float
    name: str
    index: tuple[int, ...]


class Operate(Frozen):
    """Two numbers with a sign between them: + − × or ÷."""

    value: float
    sign: str
    left: Node
    right: Node


class Apply(Frozen):
    """A function of one number, such as exp."""

    value: float
    function: str
    argument: Node


class Gather(Frozen):
    """One number of many.

    Args:
        value: The number.
        how: ``sum``, ``max`` or ``mean`` of a row, or ``dot``, the sum of products of two rows.
        terms: Makes what it is gathered from.
    """

    value: float
    how: str
    terms: Callable[[], Sequence[Node]]


Node: TypeAlias = Number | Cell | Operate | Apply | Gather


class Style(Frozen, kw_only=True):
    """How arithmetic is written.

    Args:
        number: Writes a number.
        signs: What stands for each of + − × and ÷, with its spaces.
        root: What stands for the square root.
        most: So many terms of a sum or a maximum are written; the largest, where there are more, in their order.
        rest: Writes what the other terms come to, from its number and how many they are.
        gathered: Writes a function of many numbers, from its name and theirs.
    """

    number: Callable[[float], str]
    signs: dict[str, str]
    root: str = "√"
    most: int | None = None
    rest: Callable[[str, int], str] = "{0} [the other {1}]".format
    gathered: Callable[[str, str], str] = "{0}({1})".format


EXACT = Style(
    number=repr,
    signs={"+": " + ", "−": " - ", "×": " * ", "÷": " / "},
    root="sqrt",
    gathered="{0}([{1}])".format,
)
"""Every term at full precision, as Python with `math`, and the mean of `statistics`, at hand."""

_LOOSE, _TIGHT, _WHOLE = 1, 2, 3  # how firmly a text holds together: a sum, a product, a number


def write(node: Node, style: Style) -> str:
    """Write how a number was made; what was gathered on the way stands there as one number."""
    return _write(node, style, inline=True)[0]


def asides(node: Node) -> list[Gather]:
    """Return what `write` shows as one number although it was gathered, in the order it was made."""
    found: dict[int, Gather] = {}
    _collect(node, found)
    return list(found.values())


def _collect(node: Node, found: dict[int, Gather]) -> None:
    for each in _inner(node, inline=True):
        if id(each) not in found:
            _collect(each, found)
            found[id(each)] = each


def reads(node: Node, style: Style) -> Iterator[Cell]:
    """Yield the cells to follow: those that are written, without the rest of a row it was compared with."""
    yield from _cells(node, style, inline=True)


def _cells(node: Node, style: Style, *, inline: bool) -> Iterator[Cell]:
    if isinstance(node, Cell):
        yield node
    elif isinstance(node, Gather):
        if inline or node.how == "dot":
            for term in _shown(node, style)[0]:
                yield from _cells(term, style, inline=False)
    else:
        for part in _parts(node):
            yield from _cells(part, style, inline=inline and _is_sum(node))


def _inner(node: Node, *, inline: bool) -> Iterator[Gather]:
    if isinstance(node, Gather):
        if inline:
            for term in node.terms():
                yield from _inner(term, inline=False)
        else:
            yield node
    for part in _parts(node):
        yield from _inner(part, inline=inline and _is_sum(node))


def _is_sum(node: Node) -> bool:
    return isinstance(node, Operate) and node.sign in "+−"


def _is_quotient(node: Node) -> bool:
    return isinstance(node, Operate) and node.sign == "÷"


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Operate):
        return node.left, node.right
    return (node.argument,) if isinstance(node, Apply) else ()


def _write(node: Node, style: Style, *, inline: bool) -> tuple[str, int]:
    """Write a node, and say how firmly its text holds together."""
    if isinstance(node, Gather) and inline:
        return _gathered(node, style)
    if isinstance(node, Operate):
        return _operation(node, style, inline=inline and _is_sum(node))
    if isinstance(node, Apply):
        inner, firmness = _write(node.argument, style, inline=False)
        if node.function == "√":
            closed = firmness == _WHOLE and style.root == "√"
            return f"{style.root}{inner if closed else f'({inner})'}", _WHOLE
        return f"{node.function}({inner})", _WHOLE
    return style.number(node.value), _WHOLE


def _operation(node: Operate, style: Style, *, inline: bool) -> tuple[str, int]:
    left, left_holds = _write(node.left, style, inline=inline)
    right, right_holds = _write(node.right, style, inline=inline)
    if node.sign in "+−":
        if node.sign == "+":
            return _added(left, right, style), _LOOSE
        needs = right_holds == _LOOSE or right[0] in "-−"
        return left + style.signs["−"] + (f"({right})" if needs else right), _LOOSE
    if left_holds == _LOOSE or (node.sign == "×" and _is_quotient(node.left)):  # a ÷ b×c is misread
        left = f"({left})"
    if right_holds < _WHOLE or right[0] in "-−":
        right = f"({right})"
    return left + style.signs[node.sign] + right, _TIGHT


def _added(left: str, right: str, style: Style) -> str:
    """Join two terms; a negative one is taken away."""
    if right[0] in "-−":
        return left + style.signs["−"] + right[1:]
    return left + style.signs["+"] + right


def _gathered(node: Gather, style: Style) -> tuple[str, int]:
    shown, others = _shown(node, style)
    texts = [_write(term, style, inline=False)[0] for term in shown]
    if node.how in {"sum", "dot"}:
        if others:
            texts.append(style.rest(style.number(sum(term.value for term in others)), len(others)))
        text = texts[0]
        for each in texts[1:]:
            text = _added(text, each, style)
        return text, _LOOSE if len(texts) > 1 else _TIGHT
    if others:
        largest = max if node.how == "max" else sum
        texts.append(style.rest(style.number(largest(term.value for term in others)), len(others)))
    return style.gathered(node.how, ", ".join(texts)), _WHOLE


def _shown(node: Gather, style: Style) -> tuple[list[Node], list[Node]]:
    """Part the terms into those that are written, in their order, and the others.

    Where not all are written the largest are, but for those that are no larger than any: they are masked,
    or add nothing, and say no more one by one than together.
    """
    terms = list(node.terms())
    sizes = [_size(term.value, node.how) for term in terms]
    largest = sorted(range(len(terms)), key=lambda i: -sizes[i])[: style.most]
    chosen = {i for i in largest if sizes[i] > min(sizes)} or {*largest}
    if style.most is None or len(terms) <= max(style.most, len(chosen) + 1):
        return terms, []
    others = [term for i, term in enumerate(terms) if i not in chosen]
    return [terms[i] for i in sorted(chosen)], others


def _size(value: float, how: str) -> float:
    """Say how much a term matters to what is gathered; a NaN decides everything."""
    if math.isnan(value):
        return math.inf
    return value if how == "max" else abs(value)
