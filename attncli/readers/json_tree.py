"""JSON to a tree, with the standard library, made strict where it is silent.

Duplicate keys are refused, bare NaN and Infinity stay text, and where digits matter as they are
printed (expected values, labels), numbers are kept as the file writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attncli.errors import InputError, Place
from attncli.problem import Kind, Problem, keys
from attncli.readers.json_faults import explain
from attncli.readers.places import Token, place_at
from attncli.readers.tree import MAX_DEPTH, Plain, Tree, check_amount, too_deep
from attncli.text import quote

__all__ = ["documents", "end", "tokens"]

_AS_PRINTED = [key.name for key in keys(Problem) if key.kind in {Kind.EXPECTED, Kind.LABELS, Kind.TEXT}]
_COLLECTIONS = frozenset({list, dict})
_BLANK = re.compile(r"[ \t\r\n]*")
_BRACKET = re.compile(r'[^\[\]{}"]*("(?:[^"\\]|\\.)*"|[\[\]{}])')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s,:\[\]{}"]+')


class _DuplicateKey(ValueError):
    """A mapping holds a key twice."""


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _DuplicateKey
    return mapping


_VALUES = json.JSONDecoder(object_pairs_hook=_mapping, parse_constant=Plain)
_PRINTED = json.JSONDecoder(
    object_pairs_hook=_mapping, parse_constant=Plain, parse_float=Plain, parse_int=Plain
)


def documents(text: str, name: str, *, several: bool) -> Iterator[tuple[Tree, int]]:
    """Read the JSON documents of a text.

    Args:
        text: The whole file.
        name: What errors call it.
        several: Whether more than one document may stand in it, as in JSON Lines.

    Yields:
        Each document's tree, and the offset at which it starts.

    Raises:
        InputError: If it is not JSON, or holds what a problem file may not.
    """
    check_amount(text, name)
    start = _after_blanks(text, 0)
    if start == len(text):
        raise InputError("the file is empty", fix="it must hold keys, such as X", place=Place(name))
    while start < len(text):
        tree, end = _document(text, start, name)
        following = _after_blanks(text, end)
        if following < len(text) and not several:
            raise _leftover(text, following, name)
        yield tree, start
        start = following


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the places of everything in a document that `documents` has read before."""
    for match in _TOKEN.finditer(text, start):
        word = match.group()
        kind: Any = word if word in "[]{}" else "scalar"
        value = json.loads(word, strict=False) if word.startswith('"') else word
        yield Token(kind, value, match.start())


def end(text: str, start: int) -> int:
    """Find the end of the list or mapping that starts at an offset: that of the text where it has none."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        sign = match[1]
        depth += (sign in "[{") - (sign in "]}")
        if not depth:
            return match.end()
    return len(text)


def _after_blanks(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    assert match is not None
    return match.end()


def _document(text: str, start: int, name: str) -> tuple[Tree, int]:
    try:
        tree, end = _decode(text, start)
    except json.JSONDecodeError as error:
        raise explain(error, text, name) from error
    except _DuplicateKey as error:
        raise _duplicate(text, start, name) from error
    except RecursionError as error:
        raise too_deep(Place(name, *place_at(text, start))) from error
    if _height(tree) > MAX_DEPTH:
        raise too_deep(Place(name, *place_at(text, start)))
    if isinstance(tree, dict) and any(_holds_number(tree.get(key)) for key in _AS_PRINTED):
        printed, _ = _PRINTED.raw_decode(text, start)
        tree |= {key: printed[key] for key in _AS_PRINTED if key in tree}
    return tree, end


def _decode(text: str, start: int) -> tuple[Tree, int]:
    try:
        return _VALUES.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except _DuplicateKey:
        raise
    except ValueError:  # an integer of more digits than int() takes; as text it meets the number's own check
        return _PRINTED.raw_decode(text, start)


def _height(tree: Tree) -> int:
    """Return how many levels of lists and mappings a tree has, at most one more than may be."""
    level, height = _collections([tree]), 0
    while level and height <= MAX_DEPTH:
        level = [child for node in level for child in _collections(node)]
        height += 1
    return height


def _collections(node: Tree) -> list[Tree]:
    """Return the lists and mappings inside one; a row of numbers, which has none, costs little."""
    children = node.values() if type(node) is dict else node
    if _COLLECTIONS.isdisjoint(map(type, children)):
        return []
    return [child for child in children if type(child) in _COLLECTIONS]


def _holds_number(tree: Tree) -> bool:
    if isinstance(tree, list | dict):
        return any(map(_holds_number, tree.values() if isinstance(tree, dict) else tree))
    return isinstance(tree, int | float) and not isinstance(tree, bool)


def _duplicate(text: str, start: int, name: str) -> InputError:
    """Find the first key that its mapping holds already."""
    seen: list[dict[str, int] | None] = []
    following = tokens(text, start)
    while token := next(following, None):
        if token.kind == "[" and text.find("{", token.offset, past := end(text, token.offset)) < 0:
            following = tokens(text, past)  # a matrix, however large, has no keys
        elif token.kind in "[{":
            seen.append({} if token.kind == "{" else None)
        elif token.kind in "]}":
            seen.pop()
        elif (held := seen[-1]) is not None and _is_key(text, token.offset):
            if token.value in held:
                place = Place(name, *place_at(text, token.offset))
                first, *_ = place_at(text, held[token.value])
                message = f"the key {quote(token.value)} is given twice; line {first} has it already"
                return InputError(message, fix="keep one of the two", place=place)
            held[token.value] = token.offset
    raise AssertionError("a duplicate key was seen and is not there")


def _is_key(text: str, offset: int) -> bool:
    match = _TOKEN.match(text, offset)
    assert match is not None
    return text.startswith(":", _after_blanks(text, match.end()))


def _leftover(text: str, offset: int, name: str) -> InputError:
    place = Place(name, *place_at(text, offset))
    if text[offset] in "[{":
        return InputError(
            f"a second document starts here, on line {place.line}",
            fix="a .json file holds one problem; name the file .jsonl if it holds one on each line",
            place=place,
        )
    if re.match(r"//|/\*|#", text[offset:]):
        return InputError(
            "not JSON: a comment, which JSON does not have",
            fix="take it away, or write the file as YAML",
            place=place,
        )
    if text[offset] == ":":
        return InputError(
            "the braces around the keys are missing", fix='write {"X": [[1, 2], [3, 4]]}', place=place
        )
    return InputError(
        f"{quote(text[offset])} stands after the end of the document",
        fix="take away what follows the last closing bracket",
        place=place,
    )
