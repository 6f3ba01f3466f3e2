"""What a result says of itself under `meta`, read with care: anybody may have written it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from attncli.errors import InputError, cell_name
from attncli.frozen import Frozen
from attncli.text import quote, visible

__all__ = ["Declared", "Meta", "read_meta", "version"]


class Declared(Frozen, kw_only=True):
    """What is said of one stage; None is not said.

    Args:
        formula: How it was computed.
        axes: Names of its axes.
        shape: Their sizes.
    """

    formula: str | None = None
    axes: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None


class Meta(Frozen, kw_only=True):
    """What a result says of itself; what it does not say is empty.

    Args:
        file: The file that its problem was read from.
        backend: Name of the array library.
        device: The device it ran on.
        dtype: The precision, of all or of each part.
        path: ``full`` or ``streamed``.
        kernel: The library's own kernel that took the place of the tiles.
        notes: What a reader should know.
        declared: What is said of each stage; None where nothing is said of any.
        details: Numbers that belong to stages, not read yet.
    """

    file: str
    backend: str
    device: str
    dtype: str
    path: str
    kernel: str
    notes: tuple[str, ...]
    declared: Mapping[str, Declared] | None
    details: Mapping[str, Any] = field(repr=False)

    def of(self, stage: str) -> Declared:
        """Return what is said of a stage."""
        return (self.declared or {}).get(stage, Declared())


def version(meta: Any) -> str:
    """Return the version of attn that wrote a result; empty where that is not said."""
    said = meta.get("attn") if isinstance(meta, Mapping) else None
    return visible(said) if isinstance(said, str) else ""


def read_meta(meta: Any) -> Meta:
    """Read what a result says of itself.

    Args:
        meta: The value of the key; nothing has to be there.

    Raises:
        InputError: Something is there and is not what belongs there.
    """
    if meta is not None and not isinstance(meta, Mapping):
        raise InputError("meta is no mapping", path=("meta",), fix="compute it again")
    said = _Said(meta or {})
    return Meta(
        file=said.text("file", shown=False),
        backend=said.text("backend"),
        device=said.text("device"),
        dtype=said.text("dtype"),
        path=said.text("path") or "full",
        kernel=said.text("kernel"),
        notes=said.notes(),
        declared=said.declared(),
        details=said.mapping("details"),
    )


class _Said:
    """Reads a mapping of which nothing is known."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self._meta = meta

    def text(self, key: str, *, shown: bool = True) -> str:
        value = self._meta.get(key, "")
        if not isinstance(value, str):
            raise _odd(("meta", key), "no text")
        return visible(value) if shown else value

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self._meta.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise _odd(("meta", key), "no mapping")
        return value or {}

    def notes(self) -> tuple[str, ...]:
        value = self._meta.get("notes")
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(note, str) for note in value):
            raise _odd(("meta", "notes"), "no list of texts")
        return tuple(value)

    def declared(self) -> dict[str, Declared] | None:
        value = self._meta.get("stages")
        if value is None:
            return None
        if not isinstance(value, list):
            raise _odd(("meta", "stages"), "no list")
        found: dict[str, Declared] = {}
        for i, each in enumerate(value):
            if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
                raise _odd(("meta", "stages", i), "no mapping with a name")
            if each["name"] in found:
                raise _odd(("meta", "stages", i), f"{quote(each['name'])} once more")
            found[each["name"]] = _declaration(each, ("meta", "stages", i))
        return found


def _declaration(said: Mapping[str, Any], path: tuple[str | int, ...]) -> Declared:
    formula, axes, shape = (said.get(key) for key in ("formula", "axes", "shape"))
    if formula is not None and not isinstance(formula, str):
        raise _odd((*path, "formula"), "no text")
    for key, value, kind in (("axes", axes, str), ("shape", shape, int)):
        if value is not None and not (isinstance(value, list) and all(type(each) is kind for each in value)):
            raise _odd((*path, key), f"no list of {'names' if kind is str else 'whole numbers'}")
    return Declared(
        formula=None if formula is None else visible(formula),
        axes=None if axes is None else tuple(axes),
        shape=None if shape is None else tuple(shape),
    )


def _odd(path: tuple[str | int, ...], what: str) -> InputError:
    return InputError(f"{cell_name(path)} is {what}", path=path, fix="compute it again")
