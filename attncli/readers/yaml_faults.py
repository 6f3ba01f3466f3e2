"""What the YAML parser's complaints mean in a file of matrices and labels."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import yaml

from attncli.errors import InputError, Place
from attncli.readers.places import place_at
from attncli.readers.tree import too_deep
from attncli.text import quote

__all__ = ["explain", "wide_colon"]

_WIDE_COLON = re.compile(r"^[ \t]*(?:- +)?[\w.\"']+[ \t]*(\uff1a)", re.MULTILINE)


class _Advice(NamedTuple):
    complaint: str
    message: str
    fix: str


_ADVICE = (
    _Advice(
        "cannot start any token",
        "an unquoted text cannot start with {char}",
        "put it in quotes",
    ),
    _Advice(
        "expected ',' or ']'",
        "a list is not closed, or lacks a comma, before this place",
        "write [1, 2] with commas between the items and a closing bracket",
    ),
    _Advice(
        "expected ',' or '}'",
        "a mapping in braces is not closed, or lacks a comma, before this place",
        "write {{a: 1, b: 2}} with commas between the entries and a closing brace",
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
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    offset = min(mark.index, len(text)) if mark else 0
    place = Place(name, *place_at(text, offset))
    char = text[offset : offset + 1]
    if "\t" in _margin(text, offset) or (char == "\t" and not _margin(text, offset).strip()):
        return InputError("a tab is used for indentation", fix="indent with blanks", place=place)
    if fault := wide_colon(text[: text.find("\n", offset) if "\n" in text[offset:] else None], name):
        return fault
    if "nesting depth" in complaint:  # libyaml looks ahead, and meets its own limit first
        return too_deep(place)
    for advice in _ADVICE:
        if advice.complaint in complaint:
            message = advice.message.format(char=_spoken(char))
            return InputError(message, fix=advice.fix.format(), place=place)
    return InputError(f"this is not YAML: {getattr(error, 'problem', None) or error}", place=place)


def wide_colon(text: str, name: str) -> InputError | None:
    """Make the error for the last key that ends in a fullwidth colon, if any does.

    Args:
        text: The file, up to the end of the line where the parser was lost.
        name: What the message calls it.
    """
    found = [each.start(1) for each in _WIDE_COLON.finditer(text)]
    if not found:
        return None
    return InputError(
        "a fullwidth colon (U+FF1A FULLWIDTH COLON) ends no key",
        fix="use : and a blank after it",
        place=Place(name, *place_at(text, found[-1])),
    )


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
