"""Cells as people name them: weights[1,2], weights[sat,cat], scores[0,1,2]."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from attncli.errors import InputError
from attncli.frozen import Frozen
from attncli.meant import by_symbol, did_you_mean
from attncli.text import quote, shown

__all__ = ["Axes", "parse_cell", "spell_cell", "stand"]

_CELL = re.compile(r"\s*([^\[\]]+?)\s*\[(.*)\]\s*", re.DOTALL)
_WHOLE = "[+-]?[0-9]+"
_DIGITS = 18  # longer positions are in no array

_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^,]*?))\s*(?:,|$)""", re.DOTALL)


class Axes(Frozen):
    """An array that cells can be picked from.

    Args:
        names: Names of its axes, such as ``head``, ``query`` and ``key``.
        shape: Its shape.
        labels: Labels along an axis, by the axis's name.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    labels: Mapping[str, Sequence[str]]

    @cached_property
    def spelled(self) -> dict[str, tuple[str, ...]]:
        """The labels along an axis as they are written in a cell, by the axis's name."""
        return {axis: _spelled(self.labels[axis]) for axis in self.names if self.labels.get(axis)}


def parse_cell(text: str, arrays: Mapping[str, Axes]) -> tuple[str, tuple[int, ...]]:
    """Find the cell that a text names.

    A whole number is always a position; a label that looks like one, or has a comma in it, is
    written in quotes. A label may be written as it stands, or as it is shown.

    Args:
        text: A name, or a symbol that tables show, and one position or label for each axis:
            ``weights[0,sat,cat]``, ``A[0,2,1]``.
        arrays: What there is, by name.

    Returns:
        The name, and the index.

    Raises:
        InputError: There is no such cell, or a label stands in several places.
    """
    found = _CELL.fullmatch(text)
    example = next(iter(arrays))
    if not found:
        raise InputError(
            f"{quote(text)} is no cell",
            fix=f"a stage and a position on each axis, such as {_example(example, arrays)}",
        )
    name = found[1] if found[1] in arrays else by_symbol(found[1], arrays) or found[1]
    if name not in arrays:
        raise InputError(
            f"there is no stage or detail {quote(name)} here",
            context=f"there are {', '.join(arrays)}",
            fix=did_you_mean(name, arrays),
        )
    axes, parts = arrays[name], _split(found[2])
    if len(parts) != len(axes.names):
        raise InputError(
            f"{name} has {len(axes.names)} {'axis' if len(axes.names) == 1 else 'axes'} ({', '.join(axes.names)}), and {quote(text)} "
            f"has {len(parts)} {'position' if len(parts) == 1 else 'positions'}",
            fix=f"such as {_example(name, arrays)}",
        )
    places = zip(parts, axes.names, axes.shape, strict=True)
    return name, tuple(_position(name, part, axis, size, axes) for part, axis, size in places)


def spell_cell(name: str, index: Sequence[int | range], axes: Axes) -> str:
    """Name a cell as `parse_cell` takes it: by labels, as they are shown, where they tell it apart.

    Args:
        name: The stage, its detail, or the array that was given.
        index: Where it stands; a range where it stands for several.
        axes: The array.
    """
    return f"{name}[{','.join(map(_along, index, axes.names, [axes] * len(index)))}]"


def stand(index: Sequence[int | range], shape: Sequence[int]) -> tuple[int | range, ...]:
    """Find where a cell stands in an array that was spread: over more axes, or along those of length 1.

    Args:
        index: Where it stands in what the array was spread to.
        shape: The shape of the array.
    """
    own = index[len(index) - len(shape) :]
    return tuple(0 if size == 1 else i for i, size in zip(own, shape, strict=True))


def _along(i: int | range, axis: str, axes: Axes) -> str:
    if isinstance(i, range):
        return f"{i.start}:{i.stop}"
    return axes.spelled[axis][i] if axis in axes.spelled else str(i)


def _spelled(labels: Sequence[str]) -> tuple[str, ...]:
    """Spell each label of an axis, or its position where another one is shown alike."""
    texts = [shown(label) for label in labels]
    found = Counter(texts)
    return tuple(
        str(i) if found[text] > 1 or label == str(i) else _quoted(text) if label else text
        for i, (label, text) in enumerate(zip(labels, texts, strict=True))
    )


def _quoted(text: str) -> str:
    """Put a label in quotes, unless it is read without them as it stands."""
    if not re.search(rf"[\s,\[\]\"']|^{_WHOLE}$", text):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _split(inside: str) -> list[tuple[str, bool]]:
    """Part what stands in the brackets, and say of each part whether it is quoted."""
    parts, at = [], 0
    while at <= len(inside):
        found = _PART.match(inside, at)
        assert found, "anything up to a comma is a part"
        quoted = found[1] if found[1] is not None else found[2]
        parts.append((re.sub(r"\\(.)", r"\1", quoted), True) if quoted is not None else (found[3], False))
        if not found[0].endswith(","):
            break
        at = found.end()
    return parts


def _position(name: str, part: tuple[str, bool], axis: str, size: int, axes: Axes) -> int:
    text, quoted = part
    if not quoted and re.fullmatch(_WHOLE, text):
        if text.startswith("-") or len(text.lstrip("+0")) > _DIGITS or int(text) >= size:
            raise InputError(f"there is no {axis} {quote(text, marks='')} in {name}", context=_valid(size))
        return int(text)
    labels = axes.labels.get(axis, ())
    places = [i for i, each in enumerate(labels) if each == text]
    places = places or [i for i, each in enumerate(labels) if shown(each) == text]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputError(
            f"{quote(text)} stands at several {axis} positions",
            fix=f"one of {', '.join(map(str, places))} instead",
        )
    if not labels:
        raise InputError(
            f"the axis {axis} of {name} has positions only, not {quote(text)}", context=_valid(size)
        )
    some = ", ".join(quote(each, marks="") for each in list(labels)[:20])
    raise InputError(
        f"there is no {axis} {quote(text)} in {name}",
        context=f"labels: {some}{', …' if len(labels) > 20 else ''}\n{_valid(size)}",  # noqa: PLR2004
    )


def _valid(size: int) -> str:
    return f"positions: {'0' if size == 1 else f'0 to {size - 1}'}"


def _example(name: str, arrays: Mapping[str, Axes]) -> str:
    axes = arrays[name]
    return spell_cell(name, tuple(size - 1 for size in axes.shape), axes)
