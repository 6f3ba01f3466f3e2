"""YAML to a tree in which nothing is interpreted yet.

The tree is made from the parser's events, not by its constructor: scalars stay text, so ``no``,
``010`` and ``1:30`` cannot turn into something else, and duplicate keys, aliases and nesting are
seen as they come. It is also several times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from attncli.errors import InputError, Place
from attncli.readers.places import Token, place_at
from attncli.readers.tree import MAX_DEPTH, MAX_VALUES, Folded, Plain, Tree, check_amount, too_deep, too_many
from attncli.readers.yaml_faults import explain
from attncli.text import quote

__all__ = ["parse", "tokens"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # only its parser is used

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {_TAG + name for name in ("int", "float", "bool", "null")}
_TEXT_TAGS = {"!", _TAG + "str"}


def parse(text: str, name: str) -> Tree:
    """Read one YAML document.

    Args:
        text: The whole file.
        name: What errors call it.

    Returns:
        Nested dict, list, `Plain` (unquoted) and str (quoted) values.

    Raises:
        InputError: If it is not YAML, or holds what a problem file may not.
    """
    check_amount(text, name)
    try:
        return _Composer(text, name).document()
    except yaml.YAMLError as error:
        raise explain(error, text, name) from error


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the places of everything in a document that `parse` has read before."""
    events = _Loader(text[start:])
    for event in iter(events.get_event, None):
        offset = event.start_mark.index + start
        match event:
            case ScalarEvent():
                yield Token("scalar", event.value, offset, event.anchor)
            case AliasEvent():
                yield Token("alias", str(event.anchor), offset)
            case SequenceStartEvent():
                yield Token("[", "", offset, event.anchor)
            case MappingStartEvent():
                yield Token("{", "", offset, event.anchor)
            case SequenceEndEvent():
                yield Token("]", "", offset)
            case MappingEndEvent():
                yield Token("}", "", offset)


class _Anchor(NamedTuple):
    value: Tree
    size: int
    height: int


class _Composer:
    """Builds the tree of one document.

    ``_values`` counts the values so far, and ``_reach`` is the deepest level seen inside the
    collection being read, both with aliases counted as what they stand for.
    """

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._next: Callable[[], Any] = _Loader(text).get_event
        self._anchors: dict[str, _Anchor | None] = {}
        self._values = 0
        self._reach = 0

    def document(self) -> Tree:
        self._next()  # the start of the stream
        if isinstance(event := self._next(), StreamEndEvent):
            raise InputError("the file is empty", fix="it must hold keys, such as X", place=Place(self._name))
        assert isinstance(event, DocumentStartEvent)
        tree = self._node(self._next(), 0)
        self._next()  # the end of the document
        if isinstance(event := self._next(), DocumentStartEvent):
            raise self._fault(
                event,
                "a second document starts here",
                "a YAML file holds one problem: keep one document of it",
            )
        return tree

    def _node(self, event: Any, depth: int) -> Tree:
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        values = self._values
        if event.anchor is not None:
            self._anchors[event.anchor] = None  # until it is whole
        node, height = (
            (self._scalar(event), 0) if isinstance(event, ScalarEvent) else self._collection(event, depth + 1)
        )
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(node, self._values - values, height)
        return node

    def _scalar(self, event: Any) -> str:
        value: str = event.value
        if event.tag is not None and event.tag not in _SCALAR_TAGS | _TEXT_TAGS:
            raise self._unknown_tag(event)
        if event.tag in _TEXT_TAGS:
            return value
        if event.tag in _SCALAR_TAGS or not event.style:
            return Plain(value)
        folded = event.style == ">" or (event.style != "|" and event.start_mark.line != event.end_mark.line)
        return Folded(value) if folded else value

    def _collection(self, event: Any, depth: int) -> tuple[Tree, int]:
        """Return a list or dict, and how many levels it has."""
        if depth > MAX_DEPTH:
            raise too_deep(self._place(event))
        is_list = isinstance(event, SequenceStartEvent)
        if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
            raise self._unknown_tag(event)
        outer, self._reach = self._reach, depth
        node: Tree = self._sequence(depth) if is_list else self._mapping(depth)
        self._count(len(node), event)
        height = self._reach - depth + 1
        self._reach = max(outer, self._reach)
        return node, height

    def _sequence(self, depth: int) -> list[Tree]:
        items: list[Tree] = []
        append, following = items.append, self._next
        while True:
            event = following()
            kind = type(event)
            # Nearly every event of a large file is such a number, so it gets no call of its own.
            if kind is ScalarEvent and event.tag is None and event.anchor is None and not event.style:
                append(Plain(event.value))
            elif kind is SequenceEndEvent:
                return items
            else:
                append(self._node(event, depth))

    def _mapping(self, depth: int) -> dict[str, Tree]:
        entries: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        merged: Tree = []
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(event)
            if key in lines:
                raise self._fault(
                    event,
                    f"the key {quote(key)} is given twice; line {lines[key]} has it already",
                    "keep one of the two",
                )
            lines[key] = event.start_mark.line + 1
            value = self._node(self._next(), depth)
            if key == "<<" and not event.style:
                merged = self._merge_sources(value, event)
            else:
                entries[key] = value
        for source in merged:
            entries = {**entries, **{key: value for key, value in source.items() if key not in entries}}
        return entries

    def _key(self, event: Any) -> str:
        if isinstance(event, ScalarEvent):
            return str(self._scalar(event))
        raise self._fault(event, "a key must be text", "put what stands before the colon in quotes")

    def _merge_sources(self, value: Tree, event: Any) -> list[dict[str, Tree]]:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._fault(
                event, "<< merges mappings, and this is none", 'write "<<" in quotes if it is a key'
            )
        return sources

    def _alias(self, event: Any, depth: int) -> Tree:
        name = event.anchor
        if name not in self._anchors:
            raise self._fault(
                event,
                f"the alias *{quote(name, marks='')} is not defined above this line",
                f"write &{quote(name, marks='')} before the value that it stands for",
            )
        anchor = self._anchors[name]
        if anchor is None:
            raise self._fault(
                event,
                f"the alias *{quote(name, marks='')} stands inside the value that it names, which would never end",
                "write the inner value out",
            )
        if depth + anchor.height > MAX_DEPTH:
            raise too_deep(self._place(event))
        self._reach = max(self._reach, depth + anchor.height)
        self._count(anchor.size, event)
        return anchor.value

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise too_many(self._place(event))

    def _unknown_tag(self, event: Any) -> InputError:
        kind = "collection" if isinstance(event, CollectionStartEvent) else "value"
        tag = str(event.tag).replace(_TAG, "!!")
        return self._fault(event, f"the tag {quote(tag)} of this {kind} is not known here", "take it away")

    def _place(self, event: Any) -> Place:
        return Place(self._name, *place_at(self._text, event.start_mark.index))

    def _fault(self, event: Any, message: str, fix: str) -> InputError:
        return InputError(message, fix=fix, place=self._place(event))
