"""How a key of the problem file is declared: as a field that carries its kind, help and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:  # `attn --help` reads this module and must not wait for NumPy
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Array", "Key", "Kind", "key", "keys"]

Array: TypeAlias = "NDArray[np.generic]"


class Kind(Enum):
    """What a key's value looks like; each kind has one parser in `attncli.readers.records.PARSERS`."""

    ARRAY = "an array of numbers"
    BOOLEANS = "an array of true and false (or 1 and 0)"
    SOURCES = "an array, or a mapping of K and V to one array each"
    LABELS = "a list of labels"
    TEXT = "text"
    INTEGER = "an integer"
    INTEGERS = "a list of integers"
    NUMBER = "a number"
    FLAG = "true or false"
    CHOICE = "one of the choices"
    NUMBER_OR_CHOICE = "a number, or one of the choices"
    AXES = "the names of the axes, in order"
    NAMED_CHOICES = "one of the choices, or a mapping of names to one of them each"
    CACHE = "a mapping of K and V to one array each"
    NUMBERS = "a list of numbers"
    NUMBER_OR_NUMBERS = "a number, or a list of them"
    WINDOW = "a mapping of left and right to a number of keys"
    RECORD = "a mapping of its own keys"
    VARIANT = "one of the choices, or a mapping of one of them to its own keys"
    MASK = "causal, an array of true and false, or a mapping"
    EXPECTED = "a mapping of stages, or parts of stages, to numbers as printed"
    DECIMALS = "an integer, or a mapping of stages to one integer each"
    STAGES = "a mapping of stages to arrays"
    ANYTHING = "anything"


class Key(NamedTuple):
    """One key of the problem file.

    Args:
        name: The key as it is written.
        kind: What its value looks like.
        help: One line for ``--help``, the schema and the documentation.
        default: What holds when the key is absent, as a reader would say it.
        choices: The words it takes; for `Kind.AXES`, the sets of axes that it may order.
        minimum: The smallest number it takes.
        maximum: The largest number it takes.
        above: The number that it must exceed.
        records: For `Kind.RECORD`, the class that declares its keys, under the empty name; for
            `Kind.VARIANT`, the class, or the kind of value, of each choice that has settings.
        names: For `Kind.NAMED_CHOICES`, the names that the mapping may have; empty takes any.
        words: For arrays, what may stand for one whose shape follows from the others.
        array: Whether an array may stand here as well.
        several: Whether a list of values may stand here as well.
        section: Heading of the group of keys that starts here.
    """

    name: str
    kind: Kind
    help: str
    default: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    records: Mapping[str, type | Kind] = MappingProxyType({})
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    array: bool = False
    several: bool = False
    section: str = ""


def key(
    kind: Kind,
    help: str,  # noqa: A002  (the word that command lines use for it)
    *,
    value: Any = None,
    default: str = "",
    **limits: Any,
) -> Any:
    """Declare a key as a field of a dataclass.

    Args:
        kind: What its value looks like.
        help: One line about it.
        value: What the field holds when the key is absent.
        default: What holds then, as a reader would say it, where value does not say it.
        **limits: The other fields of `Key`.
    """
    return field(
        default=value, metadata={"kind": kind, "help": help, "default": default or _shown(value), **limits}
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def keys(declaration: type) -> Iterator[Key]:
    """Yield the keys that `Problem`, `Mask` or a record declares, in the order in which they are written."""
    for each in fields(declaration):
        if each.metadata:
            yield Key(each.name, **each.metadata)
