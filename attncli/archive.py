"""A result among arrays: the document that says what each array of an .npz or .safetensors file is.

JSON holds a result whole. Where arrays have a place of their own, the same document stands beside
them under the name `DOCUMENT`, with null for each array, and lists where each of them belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attncli.errors import InputError, Path
from attncli.text import quote

__all__ = ["DOCUMENT", "places", "put_together", "take_apart"]

DOCUMENT = "attn.json"
"""What the document is called: an entry of an .npz file, or a key of safetensors' metadata."""

_PLACES = "arrays"
"""The key of the document that lists its arrays."""

Document = dict[str, Any]


def take_apart(document: Mapping[str, Any]) -> tuple[Document, dict[str, np.ndarray]]:
    """Take the arrays out of a result's document.

    Args:
        document: Mappings, lists, scalars and arrays.

    Returns:
        The document, with null for each array and a list of them, and the arrays by their names.
    """
    arrays: dict[str, np.ndarray] = {}
    listed: dict[str, Path] = {}

    def without(value: Any, path: Path) -> Any:
        if isinstance(value, np.ndarray):
            name = _name(path)
            assert name not in arrays, f"two arrays would be called {name}"
            arrays[name], listed[name] = value, path
            return None
        if isinstance(value, Mapping):
            return {key: without(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [without(each, (*path, i)) for i, each in enumerate(value)]
        return value

    return {**without(document, ()), _PLACES: listed}, arrays


def _name(path: Path) -> str:
    """Name an array as a reader would: a stage by its own name, others by the keys that lead to them."""
    start = 1 if path[0] in {"stages", "meta"} else 0
    return ".".join(map(str, path[start:]))


def places(document: Mapping[str, Any]) -> dict[str, Path]:
    """Read where each array of a document belongs.

    Raises:
        InputError: The list of them is missing, or is none.
    """
    listed = document.get(_PLACES)
    if not isinstance(listed, Mapping):
        raise InputError(f"it has no mapping under {_PLACES}, which says what each array is", path=(_PLACES,))
    for name, path in listed.items():
        if not isinstance(path, list) or not path or not all(type(part) in {str, int} for part in path):
            raise InputError(f"{_PLACES} gives no place for {quote(name)}", path=(_PLACES, name))
    return {name: tuple(path) for name, path in listed.items()}


def put_together(document: Mapping[str, Any], read: Callable[[str, Path], Any]) -> Document:
    """Put the arrays of a document back into it.

    Args:
        document: As it was parsed; its lists and mappings are changed.
        read: Takes the name of an array, and the path to where it belongs.

    Raises:
        InputError: The document has no such place, or something else stands there.
    """
    whole = {key: value for key, value in document.items() if key != _PLACES}
    for name, path in places(document).items():
        *lead, last = path
        inner: Any = whole
        for part in lead:
            inner = _inside(inner, part)
        if not _holds(inner, last) or inner[last] is not None:
            raise InputError(
                f"{_PLACES} says that {quote(name)} stands at {'.'.join(map(str, path))}, which is not left free for it",
                path=(_PLACES, name),
            )
        inner[last] = read(name, path)
    return whole


def _inside(value: Any, part: str | int) -> Any:
    return value[part] if _holds(value, part) else None


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and 0 <= part < len(value)
    return isinstance(value, dict) and part in value
