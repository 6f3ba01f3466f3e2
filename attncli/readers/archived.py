"""Results that attn wrote among arrays: the document of an .npz or .safetensors file, and its arrays."""

from __future__ import annotations

import contextlib
import copy
import importlib
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

from attncli.archive import DOCUMENT, places, put_together
from attncli.errors import InputError, Path, Place
from attncli.problem import STARTS, Kind, Problem, keys
from attncli.readers import json_tree
from attncli.readers.files import check_regular
from attncli.readers.keys import check_version
from attncli.readers.opening import decode, os_fault
from attncli.readers.places import TextSource
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["ARCHIVES", "has_document", "only_arrays", "placed", "whole"]

ARCHIVES: Mapping[str, str] = MappingProxyType({".npz": "npz", ".safetensors": "safetensors_file"})
"""The formats that have room for a document beside arrays: by suffix, the module that reads each."""


class Among(TextSource):
    """A document that stands among arrays; ``name`` is the whole file's."""

    def place(self, path: Path) -> Place:
        """Return the place of a value in the document."""
        return Place(f"{self.name}#{DOCUMENT}", *(self.locate(path) or ()))


def has_document(name: str) -> bool:
    """Tell whether a file is an archive with a result's document in it.

    Raises:
        InputError: It is an archive by its name, and cannot be read as one.
    """
    return pathlib.Path(name).suffix.lower() in ARCHIVES and _text(name) is not None


def only_arrays(name: str) -> InputError:
    """Make the error for an archive without a document: it shows the problem file that would use its arrays."""
    file = pathlib.Path(name)
    there = list(_kind(name).dtypes(file, ("result",)))
    if not there:
        return InputError(f"{quote(name, limit=200, marks='')} holds no arrays", place=Place(name))
    return InputError(
        f"{quote(name, limit=200, marks='')} holds arrays, not a problem",
        context=f"the document of a result, {DOCUMENT}, is not in it",
        fix="\n".join(["name them in a problem file:", *_naming(quote(file.name, marks=""), there)]),
        place=Place(name),
    )


def _naming(file: str, there: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a problem file that starts with some of an archive's arrays."""
    named = {name.lower(): name for name in there} | {name: name for name in there}
    arrays = [key.name for key in keys(Problem) if key.kind is Kind.ARRAY]
    found = {key: named.get(key, named.get(key.lower())) for key in arrays}
    start = next((key for key in STARTS if found[key]), None)
    if start is None:
        yield f"X: {file}#{quote(there[0], marks='')}"
        return
    foreign = {each for key, others in STARTS.items() for each in (key, *others)} - {start, *STARTS[start]}
    for key, name in found.items():
        if name is not None and key not in foreign:
            yield f"{key}: {file}" if name == key else f"{key}: {file}#{quote(name, marks='')}"


def whole(name: str) -> tuple[Tree, TextSource]:
    """Read the document of an archive that has one, with its arrays where they belong.

    Raises:
        InputError: The document is no JSON, or it and the arrays are not those of one result.
    """
    tree, source = _document(name)
    file, kind = pathlib.Path(name), _kind(name)
    with _inside(source):
        _check_named(name, places(tree))
        return put_together(tree, lambda member, path: kind.read(file, member, path)), source


def _check_named(name: str, named: Mapping[str, Path]) -> None:
    """Refuse an archive whose arrays are not those of its document, none more and none less."""
    file = pathlib.Path(name)
    there = _kind(name).dtypes(file, ("result",))
    for each in there:
        if each not in named:
            raise InputError(
                f"{quote(file.name, marks='')} holds {quote(each)}, which its {DOCUMENT} does not name",
                fix="save it without that array",
            )
    for each, path in named.items():
        if each not in there:
            raise InputError(
                f"{quote(file.name, marks='')} holds no array {quote(each)}, and its {DOCUMENT} names one",
                path=path,
                fix="save it with all of its arrays",
            )


def placed(name: str) -> tuple[Tree, dict[str, Path]]:
    """Read the document of an archive that has one, and where each of its arrays belongs.

    Raises:
        InputError: The document is no JSON or of another version, or it and the arrays are not those of
            one result.
    """
    tree, source = _document(name)
    with _inside(source):
        check_version(tree)
        found = places(tree)
        _check_named(name, found)
        put_together(copy.deepcopy(tree), lambda member, _path: member)  # refuses what is no place
        return tree, found


@contextlib.contextmanager
def _inside(source: TextSource) -> Iterator[None]:
    """Give errors that pass through their place in the document."""
    try:
        yield
    except InputError as error:
        error.place = error.place or source.place(error.path)
        raise


def _document(name: str) -> tuple[dict[str, Any], TextSource]:
    found = _text(name)
    assert found is not None, "the caller has asked whether there is one"
    label = f"{name}#{DOCUMENT}"
    text = found if isinstance(found, str) else decode(found, label)
    ((tree, _),) = json_tree.documents(text, label, several=False)
    if not isinstance(tree, dict):
        raise InputError("the document of a result is a mapping", place=Place(label))
    return tree, Among(name=name, text=text, tokens=json_tree.tokens, end=json_tree.end)


def _text(name: str) -> str | bytes | None:
    file = pathlib.Path(name)
    try:
        check_regular(file, name, ("result",))
        text: str | bytes | None = _kind(name).document(file, ("result",))
    except OSError as error:
        raise os_fault(error, name) from error
    except InputError as error:
        error.place = error.place or Place(name)
        raise
    return text


def _kind(name: str) -> ModuleType:
    module = ARCHIVES[pathlib.Path(name).suffix.lower()]
    return importlib.import_module(f"attncli.readers.{module}")  # not before there is such a file
