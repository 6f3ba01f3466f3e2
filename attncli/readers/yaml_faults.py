"""What the YAML parser's complaints mean in a file of matrices and labels."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import yaml

from attncli.errors import InputError, Place
from attncli.readers.places import place_at
from attncli.readers.tree import too_deep
from attncli.readers.yaml_lines import line_fault
from attncli.text import quote

__all__ = ["explain"]


class _Advice(NamedTuple):
    complaint: str
    message: str
    fix: str


_IS_KEY = re.compile(r"\s*[\w.\"'-]+\s*:(\s|$)", re.MULTILINE)

_ADVICE = (
    _Advice(
        "cannot start any token",
        "an unquoted text cannot start with {char}",
        "put it in quotes",
    ),
    _Advice(
        "node content",
        "a value is missing before {char}",
        "fill it in, or take the extra comma away",
    ),
    _Advice(
        "mapping values are not allowed",
        "a colon stands where no key can end",
        "check the line before and the indentation, or put text with a colon in quotes",
    ),
    _Advice(
        "could not find expected ':'",
        "this is text where a key and its colon were expected",
        "write KEY: VALUE, and indent what belongs to a value",
    ),
    _Advice(
        "did not find expected key",
        "this does not continue the mapping above it",
        "indent all keys of a mapping equally",
    ),
    _Advice(
        "did not find expected '-'",
        "this does not continue the list above it",
        "start each item with a dash, all equally indented",
    ),
    _Advice(
        "found unexpected end of stream",
        "a quote is opened and never closed",
        "close it on the line where the text ends",
    ),
    _Advice(
        "block sequence entries are not allowed",
        "a dash starts a list on the line of its key",
        "start the list on a new line, or write it in brackets: [a, b]",
    ),
    _Advice(
        "expected <document start>",
        "a key is indented less than the first key of the file",
        "indent all keys equally",
    ),
    _Advice(
        "while scanning a tag",
        "an unquoted text cannot start with !",
        "put it in quotes",
    ),
    _Advice(
        "found undefined tag handle",
        "the tag is not known here",
        "take it away, or put text with an exclamation mark in quotes",
    ),
    _Advice(
        "while scanning an anchor",
        "an unquoted text cannot start with & or *",
        "put it in quotes",
    ),
    _Advice(
        "while scanning an alias",
        "an unquoted text cannot start with & or *",
        "put it in quotes",
    ),
    _Advice(
        "did not find expected alphabetic or numeric character",
        "an unquoted text cannot start with & or *",
        "put it in quotes",
    ),
    _Advice(
        "unknown escape character",
        "the text in double quotes has an escape that YAML does not know",
        "write \\\\ for a backslash, or use single quotes",
    ),
    _Advice(
        "found a tab character",
        "a tab is used for indentation",
        "indent with blanks",
    ),
    _Advice(
        "incompatible YAML document",
        "the file asks for another YAML version",
        "take the %YAML line away",
    ),
)


def explain(error: yaml.YAMLError, text: str, name: str) -> InputError:
    """Turn a parser's error into one that says what to do.

    Args:
        error: What PyYAML or libyaml raised.
        text: The whole file.
        name: What the message calls it.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return _forbidden_character(text, name)
    complaint = f"{getattr(error, 'problem', error)} {getattr(error, 'context', '')}"
    marks = [mark for each in ("context_mark", "problem_mark") if (mark := getattr(error, each, None))]
    offsets = [min(mark.index, len(text)) for mark in marks] or [0]
    if "cannot start any token" in complaint and text[offsets[-1] : offsets[-1] + 1] in {"@", "`"}:
        return _advised(error, complaint, text, offsets, name)  # whatever else is odd, this is refused
    return (
        _tab(text, offsets[-1], name)
        or _in_brackets(complaint, text, offsets, name)
        or line_fault(text, _lines(text, offsets), name)
        or _advised(error, complaint, text, offsets, name)
    )


def _tab(text: str, offset: int, name: str) -> InputError | None:
    margin = _margin(text, offset)
    if "\t" not in margin and (text[offset : offset + 1] != "\t" or margin.strip()):
        return None
    return InputError(
        "a tab is used for indentation", fix="indent with blanks", place=Place(name, *place_at(text, offset))
    )


def _advised(error: yaml.YAMLError, complaint: str, text: str, offsets: list[int], name: str) -> InputError:
    """Say in other words what the parser complains about."""
    offset = offsets[0 if "found unexpected end of stream" in complaint else -1]  # where a quote opens
    place = Place(name, *place_at(text, offset))
    if "nesting depth" in complaint:  # libyaml looks ahead, and meets its own limit first
        return too_deep(place)
    for advice in _ADVICE:
        if advice.complaint in complaint:
            message = advice.message.format(char=_spoken(text[offset : offset + 1]))
            return InputError(message, fix=advice.fix.format(), place=place)
    return InputError(f"this is not YAML: {getattr(error, 'problem', None) or error}", place=place)


def _in_brackets(complaint: str, text: str, offsets: list[int], name: str) -> InputError | None:
    """Tell a missing comma from a missing bracket: the comma is missing before what is no key and no end."""
    found = re.search(r"expected ',' or '([\]}])'", complaint)
    if not found:
        return None
    start, end = offsets[0], offsets[-1]
    inside = [line for line in _lines(text, offsets) if line >= text.count("\n", 0, start)]
    if fault := line_fault(text, inside, name, in_brackets=True):
        return fault
    closing, rest = found[1], text[end:].split("\n", 1)[0].strip()
    what, example = ("list", "[[1, 2], [3, 4]]") if closing == "]" else ("mapping", "{a: 1, b: 2}")
    key = _IS_KEY.match(text, text.rfind("\n", 0, end) + 1)
    if text[end:].strip() and not (key and key.end() > end):
        return InputError(
            f"a comma or a closing bracket is missing before {quote(rest, limit=20)}",
            fix=f"write {example}, with a comma between two items",
            place=Place(name, *place_at(text, end)),
        )
    return InputError(
        f"the {what} that starts here is never closed",
        fix=f"write {example}, with a {closing} for each {'[' if closing == ']' else '{'}",
        place=Place(name, *place_at(text, start)),
    )


def _lines(text: str, offsets: list[int]) -> list[int]:
    """Number the lines to be looked at, from 0: where it began, where the parser was lost, and the one above."""
    lines = [text.count("\n", 0, offset) for offset in offsets]
    return [*lines, max(lines[-1] - 1, 0)]


def _margin(text: str, offset: int) -> str:
    """Return the blanks and tabs at the start of the line that holds ``offset``."""
    line = text[text.rfind("\n", 0, offset) + 1 :].split("\n", 1)[0]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _spoken(char: str) -> str:
    return quote(char) if char else "the end of the file"


def _forbidden_character(text: str, name: str) -> InputError:
    """Find the character that YAML does not allow; libyaml gives its place in bytes."""
    offset = next((i for i, char in enumerate(text) if _forbidden(char)), 0)
    char = text[offset : offset + 1]
    return InputError(
        f"the control character U+{ord(char or chr(0)):04X} cannot stand in a YAML file",
        fix='take it away, or write it as an escape in double quotes, such as "\\e"',
        place=Place(name, *place_at(text, offset)),
    )


def _forbidden(char: str) -> bool:
    return (unicodedata.category(char) in {"Cc", "Cs"} and char not in "\t\n\r\x85") or char in "\ufffe\uffff"
