"""Keys that have keys of their own: records, choices with settings, the mask, and the problem itself."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attncli.errors import InputError, Path, cell_name
from attncli.problem import Kind, Mask, Variant, keys
from attncli.readers.arrays import number_array
from attncli.readers.defaults import leave_out
from attncli.readers.plain_mask import plain_mask
from attncli.readers.scalars import check_names, choice, found, nearest
from attncli.readers.tree import Plain, Tree
from attncli.readers.values import PLAIN, Parser, Slot

__all__ = ["PARSERS", "parse_mapping"]


def parse_mapping(
    tree: Mapping[str, Tree], declaration: type, path: Path, folder: pathlib.Path
) -> dict[str, Any]:
    """Read the keys of a problem, or of a record in it.

    Args:
        tree: What the file says under each key.
        declaration: `Problem`, or a record in it.
        path: Where the mapping stands.
        folder: What file names are relative to.

    Returns:
        Values by key, for the keys that are there.

    Raises:
        InputError: If a key is unknown, or its value not of its kind.
    """
    known = {key.name: key for key in keys(declaration)}
    check_names(tree, known, path)
    slots = {name: Slot(known[name], (*path, name), folder) for name in tree}
    return {name: _parsed(tree[name], slot) for name, slot in slots.items()}


def _parsed(value: Tree, slot: Slot) -> Any:
    """Read a value; a word that only says what holds without the key is answered with that."""
    try:
        return PARSERS[slot.key.kind](value, slot)
    except InputError as error:
        if error.path == slot.path and (fix := leave_out(value, slot.key)):
            is_array = slot.key.kind in {Kind.ARRAY, Kind.SOURCES, Kind.BOOLEANS}
            error.context, error.fix = "", f"{error.fix}, or {fix}" if is_array else fix
        raise


def _record(value: Tree, slot: Slot) -> Any:
    return _filled(value, slot, slot.key.records[""])


def _filled(value: Tree, slot: Slot, declaration: type | Kind) -> Any:
    """Read what a record, or a choice with a value of its own, is set to."""
    if isinstance(declaration, Kind):
        return PARSERS[declaration](value, slot)
    if isinstance(value, Plain) and not value:
        value = {}
    if not isinstance(value, dict):
        raise InputError(
            f"{cell_name(slot.path)} is {found(value)}, where a mapping was expected",
            path=slot.path,
            context=f"its keys: {', '.join(key.name for key in keys(declaration))}",
            fix=_mapping_instead(value, slot, declaration),
        )
    return declaration(**parse_mapping(value, declaration, slot.path, slot.folder))


def _mapping_instead(value: Tree, slot: Slot, declaration: type) -> str:
    """Say what to write in place of one word: what was meant, where that is clear, and else every choice."""
    first, *_ = keys(declaration)
    meant = nearest(value, first.choices) if isinstance(value, str) else None
    words = (meant,) if meant else first.choices or ("…",)
    return f"write {slot.path[-1]}: " + " or ".join(f"{{{first.name}: {word}}}" for word in words)


def _variant(value: Tree, slot: Slot) -> Any:
    """Read a choice, with its settings where it has any; or an array, or several of these."""
    key = slot.key
    if key.several and isinstance(value, list) and any(map(_names_a_choice, value)):
        one = key._replace(several=False)
        slots = [Slot(one, (*slot.path, i), slot.folder) for i in range(len(value))]
        return tuple(_variant(item, each) for item, each in zip(value, slots, strict=True))
    if key.array and not _names_a_choice(value):
        return number_array(value, slot.path, slot.folder)
    if isinstance(value, dict):
        check_names(value, (*key.records,), slot.path)
        if len(value) != 1:
            raise InputError(
                f"{cell_name(slot.path)} names {len(value)} ways, and takes one",
                path=slot.path,
                context=f"one of: {', '.join(key.records)}",
                fix="write each as an item of a list, to have them added up" if key.several else "keep one",
            )
        (name, settings), *_ = value.items()
        return Variant(name, _filled(settings, Slot(key, (*slot.path, name), slot.folder), key.records[name]))
    chosen = choice(value, slot.path, (*key.choices, *key.records))
    if chosen in key.choices:
        return chosen
    if isinstance(key.records[chosen], Kind):
        raise InputError(
            f"{cell_name(slot.path)} is {chosen}, and says nothing of its numbers",
            path=slot.path,
            fix=f"write {key.name}: {{{chosen}: …}}",
        )
    return Variant(chosen, _filled({}, Slot(key, (*slot.path, chosen), slot.folder), key.records[chosen]))


def _names_a_choice(value: Tree) -> bool:
    """Tell a choice, be it misspelt, from an array: a bare word or a mapping, but for a drawn array."""
    if isinstance(value, dict):
        return "random" not in value
    return isinstance(value, str) and value.strip().isidentifier()


def _mask(value: Tree, slot: Slot) -> Mask | None:
    if isinstance(value, dict):
        return Mask(**parse_mapping(value, Mask, slot.path, slot.folder))
    if isinstance(value, str) and value in {"causal", "none"}:
        return Mask(causal=True) if value == "causal" else None
    return Mask(keep=plain_mask(value, slot.path, slot.folder))


PARSERS: Mapping[Kind, Parser] = MappingProxyType(
    {**PLAIN, Kind.RECORD: _record, Kind.VARIANT: _variant, Kind.MASK: _mask}
)
"""The parser of every kind."""
