"""What the parsers hand over: nested dict, list and text, and the limits that all of them keep."""

from __future__ import annotations

from typing import Any, TypeAlias

from attncli.errors import InputError, Place

__all__ = ["MAX_DEPTH", "MAX_VALUES", "Folded", "Plain", "Tree", "check_amount", "too_deep", "too_many"]

Tree: TypeAlias = Any
"""dict, list, text, from JSON also int, float, bool and None, and arrays that stand beside a document."""

MAX_DEPTH = 64
MAX_VALUES = 50_000_000


class Plain(str):
    """Text without quotes: whether it is a number, a word or a label depends on its key."""

    __slots__ = ()


class Folded(str):
    """Text whose line ends became blanks, so that it can no longer be read as rows on lines."""

    __slots__ = ()


def too_many(place: Place) -> InputError:
    """Make the error for a file that stands for more values than one may."""
    return InputError(
        f"the file holds more than {MAX_VALUES:,} values, aliases counted as what they stand for",
        fix="put large matrices in .npy or .safetensors files and name those",
        place=place,
    )


def too_deep(place: Place) -> InputError:
    """Make the error for a file that is nested deeper than any array or key needs."""
    return InputError(
        f"the file is nested more than {MAX_DEPTH} levels deep",
        context="an array has at most 4 dimensions",
        fix="look for brackets that are opened and not closed, or for lists inside lists",
        place=place,
    )


def check_amount(text: str, name: str) -> None:
    """Refuse a text with more separators than there may be values, before its tree takes the memory."""
    if len(text) > MAX_VALUES and text.count(",") + text.count("\n") > MAX_VALUES:
        raise too_many(Place(name))
