"""One parser for each kind of key whose value has no keys of its own."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from types import MappingProxyType
from typing import Any, TypeAlias

from attncli.errors import InputError, Path, cell_name
from attncli.frozen import Frozen
from attncli.problem import Expected, Key, Kind
from attncli.readers.arrays import boolean_array, number_array
from attncli.readers.expected import expected
from attncli.readers.labels import labels
from attncli.readers.scalars import (
    check_names,
    choice,
    clean_text,
    flag,
    found,
    integer,
    integers,
    means_none,
    nearest,
    real,
    unknown_name,
)
from attncli.readers.tree import Plain, Tree
from attncli.text import quote

__all__ = ["PLAIN", "Parser", "Slot"]


class Slot(Frozen):
    """Where a value goes.

    Args:
        key: The key's declaration.
        path: The key's path in the problem.
        folder: What file names are relative to.
    """

    key: Key
    path: Path
    folder: pathlib.Path


Parser: TypeAlias = Callable[[Tree, Slot], Any]


def _array(value: Tree, slot: Slot) -> Any:
    if isinstance(value, str) and value.strip() in slot.key.words:
        return value.strip()
    return number_array(value, slot.path, slot.folder)


def _booleans(value: Tree, slot: Slot) -> Any:
    return boolean_array(value, slot.path, slot.folder)


def _cache(value: Tree, slot: Slot) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise InputError(
            f"{cell_name(slot.path)} is {found(value)}, where K and V were expected",
            path=slot.path,
            fix=f"write {slot.key.name}: {{K: …, V: …}}",
        )
    check_names(value, ("K", "V"), slot.path)
    return {name: number_array(value[name], (*slot.path, name), slot.folder) for name in value}


def _sources(value: Tree, slot: Slot) -> Any:
    if not isinstance(value, dict) or "random" in value:
        return _array(value, slot)
    return _cache(value, slot)


def _text(value: Tree, slot: Slot) -> str | None:
    if isinstance(value, Plain) and not value:
        return None  # a template's line that was not filled in
    return clean_text(value, slot.path)


def _integer(value: Tree, slot: Slot) -> int:
    return integer(value, slot.path, minimum=slot.key.minimum)


def _integers(value: Tree, slot: Slot) -> tuple[int, ...]:
    return integers(value, slot.path, minimum=slot.key.minimum)


def _number(value: Tree, slot: Slot) -> float:
    return _within(real(value, slot.path), slot.key, slot.path)


def _within(result: float, key: Key, path: Path) -> float:
    name = cell_name(path)
    if math.isinf(result) and "inf" not in key.default:
        raise InputError(f"{name} is infinite", path=path, fix="write a finite number")
    fix = f"leave {key.name} out" if key.default == "none" else "write a larger number"
    if key.minimum is not None and result < key.minimum:
        raise InputError(f"{name} is {result:g}, and must be at least {key.minimum:g}", path=path, fix=fix)
    if key.above is not None and result <= key.above:
        raise InputError(f"{name} is {result:g}, and must be greater than {key.above:g}", path=path, fix=fix)
    return result


def _numbers(value: Tree, slot: Slot) -> str | tuple[float, ...]:
    if isinstance(value, str) and value.strip() in slot.key.choices:
        return value.strip()
    if not isinstance(value, list) or not value:
        words = "".join(f", or {word}" for word in slot.key.choices)
        raise InputError(
            f"{cell_name(slot.path)} is {found(value)}, where a list of numbers{words} was expected",
            path=slot.path,
            fix=f"write {slot.key.name}: [0.5, 0.25]",
        )
    paths = [(*slot.path, i) for i in range(len(value))]
    return tuple(_within(real(item, path), slot.key, path) for item, path in zip(value, paths, strict=True))


def _number_or_numbers(value: Tree, slot: Slot) -> float | str | tuple[float, ...]:
    return _numbers(value, slot) if isinstance(value, list) else _number(value, slot)


def _flag(value: Tree, slot: Slot) -> bool:
    return flag(value, slot.path)


def _choice(value: Tree, slot: Slot) -> str:
    return choice(value, slot.path, slot.key.choices)


def _number_or_choice(value: Tree, slot: Slot) -> float | str:
    choices = slot.key.choices
    if isinstance(value, str) and value.strip() in choices:
        return value.strip()
    try:
        return _number(value, slot)
    except InputError as error:
        near = nearest(value, choices) if isinstance(value, str) else None
        if "none" in choices and means_none(value):
            near = "none"
        error.context = f"a number, or one of: {', '.join(choices)}"
        error.fix = f"did you mean {near}?" if near else error.fix
        raise


def _axes(value: Tree, slot: Slot) -> str:
    """Read axes in any order; the choices say which sets of them there are."""
    items = value if isinstance(value, list) else re.split(r"[\s,]+", clean_text(value, slot.path).strip())
    words = [clean_text(item, (*slot.path, i)) for i, item in enumerate(items)]
    known = dict.fromkeys(axis for each in slot.key.choices for axis in each.split())
    for word in words:
        if word not in known:
            raise _unknown_axis(word, known, slot)
    if sorted(words) not in [sorted(each.split()) for each in slot.key.choices]:
        raise InputError(
            f"{cell_name(slot.path)} is {quote(' '.join(words))}, which is no full set of axes",
            path=slot.path,
            context=f"in any order: {'; '.join(slot.key.choices)}",
            fix="name each axis of the arrays once",
        )
    return " ".join(words)


def _unknown_axis(word: str, known: Iterable[str], slot: Slot) -> InputError:
    """Make the error for what is no axis; of letters, such as bshd, it says the axes that they stand for."""
    error = unknown_name(word, known, slot.path, what="axis")
    orders = [" ".join(order) for each in slot.key.choices for order in permutations(each.split())]
    if not nearest(word, known) and (near := nearest(word, orders)):
        error.context, error.fix = "", f"did you mean {near}?"
    return error


def _named_choices(value: Tree, slot: Slot) -> str | dict[str, str]:
    if not isinstance(value, dict):
        return choice(value, slot.path, slot.key.choices)
    if slot.key.names:
        check_names(value, slot.key.names, slot.path)
    return {name: choice(item, (*slot.path, name), slot.key.choices) for name, item in value.items()}


def _decimals(value: Tree, slot: Slot) -> int | dict[str, int]:
    if not isinstance(value, dict):
        return _some_decimals(value, slot, slot.path)
    return {name: _some_decimals(item, slot, (*slot.path, name)) for name, item in value.items()}


def _some_decimals(value: Tree, slot: Slot, path: Path) -> int:
    number, most = integer(value, path, minimum=slot.key.minimum), slot.key.maximum
    if most is not None and number > most:
        raise InputError(f"{cell_name(path)} is {number}, and must be at most {most:g}", path=path)
    return number


def _window(value: Tree, slot: Slot) -> dict[str, int]:
    if not isinstance(value, dict) or not value:
        raise InputError(
            f"{cell_name(slot.path)} is {found(value)}, where left and right were expected",
            path=slot.path,
            fix="write window: {left: 2, right: 0}",
        )
    check_names(value, ("left", "right"), slot.path)
    return {name: integer(item, (*slot.path, name), minimum=0) for name, item in value.items()}


def _expected(value: Tree, slot: Slot) -> dict[str, Expected]:
    return expected(value, slot.path, slot.folder)


def _mapping(value: Tree, slot: Slot) -> Any:
    if not isinstance(value, dict):
        raise InputError(
            f"{cell_name(slot.path)} is {found(value)}, where a mapping was expected", path=slot.path
        )
    return _anything(value, slot)


def _anything(value: Tree, slot: Slot) -> Any:
    """Carry a value through, as plain dicts, lists and text."""
    if isinstance(value, dict):
        return {name: _anything(item, slot) for name, item in value.items()}
    if isinstance(value, list):
        return [_anything(item, slot) for item in value]
    if isinstance(value, float) and math.isinf(value):
        real(value, slot.path)  # refuses what JSON's 1e400 has become, which nobody wrote
    return str(value) if isinstance(value, str) else value


def _labels(value: Tree, slot: Slot) -> tuple[str, ...]:
    return labels(value, slot.path)


PLAIN: Mapping[Kind, Parser] = MappingProxyType(
    {
        Kind.ARRAY: _array,
        Kind.BOOLEANS: _booleans,
        Kind.SOURCES: _sources,
        Kind.LABELS: _labels,
        Kind.TEXT: _text,
        Kind.INTEGER: _integer,
        Kind.INTEGERS: _integers,
        Kind.NUMBER: _number,
        Kind.FLAG: _flag,
        Kind.CHOICE: _choice,
        Kind.NUMBER_OR_CHOICE: _number_or_choice,
        Kind.AXES: _axes,
        Kind.NAMED_CHOICES: _named_choices,
        Kind.CACHE: _cache,
        Kind.NUMBERS: _numbers,
        Kind.NUMBER_OR_NUMBERS: _number_or_numbers,
        Kind.WINDOW: _window,
        Kind.EXPECTED: _expected,
        Kind.DECIMALS: _decimals,
        Kind.STAGES: _mapping,
        Kind.ANYTHING: _anything,
    }
)
"""The parsers; `attncli.readers.records` adds those of the kinds that have keys of their own."""
