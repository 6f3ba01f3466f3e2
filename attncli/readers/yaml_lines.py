"""What can be seen on a line of YAML that the parser stumbles over only later."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from attncli.errors import InputError, Place
from attncli.readers.places import place_at
from attncli.readers.signs import SIGNS, Seen, wide_signs

__all__ = ["line_fault"]

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:^|(?<=\s))#.*")
_KEY = r"[^\W\d][\w.-]*"
_ROWS = r"^[^\[]*:\s+\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*"


class _Sign(NamedTuple):
    """A pattern, whose group is the place of the fault."""

    pattern: str
    message: str
    fix: str


# The first row that matches is the answer. What is quoted or a comment is blanked out before.
_ON_A_LINE = (
    _Sign(r"^\s*(//|/\*|%(?!YAML|TAG)|;)|[^\s:]\s+(//|/\*|%|--\s)", "a comment, which starts with # in YAML", "write # and a blank"),
    _Sign(r"[\[,]\s*((?:\w+\.)?(?:tensor|array)\()", "a printout inside a list", "write rows of numbers only, [[1, 2], [3, 4]], or paste the printout of the whole matrix"),
    _Sign(rf"^\s*(?:- +)?{_KEY}(:)[^\s:/]", "a blank is missing after the colon", "write KEY: VALUE, such as X: [[1, 2], [3, 4]]"),
    _Sign(rf"^\s*{_KEY}\s*(=)[^=]", "an equals sign stands where a colon ends a key", "write KEY: VALUE, such as X: [[1, 2], [3, 4]]"),
    _Sign(rf"^\s*{_KEY} +([\[{{])", "a colon is missing after the key", "write KEY: VALUE, such as X: [[1, 2], [3, 4]]"),
    _Sign(rf"^\s*{_KEY}: +{_KEY}(:) ", "a second key stands on the line of the first", "put it in braces, mask: {causal: true}, or on a line of its own, indented"),
    _Sign(r"\[(?:[^\]]*,)?\s*(-)\s+[\d.]", "a blank stands between a sign and its number", "write -1 without a blank"),
    _Sign(r"\]\s*(;)", "a semicolon stands between rows, as in MATLAB", "write [[1, 2], [3, 4]], with commas between rows"),
    _Sign(_ROWS + r"(,)", "a list ends here, and more follows", "put all rows in one pair of brackets: [[1, 2], [3, 4]]"),
    _Sign(_ROWS + r"(\])", "a closing bracket too many, or an opening one too few", "write [[1, 2], [3, 4]], with a ] for each ["),
)  # fmt: skip
_BELOW_ANOTHER = (
    _Sign(r"^ *-.*\n *(-)[^\s-]", "a blank is missing after the dash", "write - [3, 4]"),
    _Sign(r"^( *)- .*\n(?!\1- ) *()- ", "a dash stands further in or out than the one above", "indent all dashes of a list equally"),
    _Sign(rf"^ *- .*\n(?! *{_KEY}:(?:\s|$)) *()[^\s\-#]", "an item of the list above lacks its dash", "write - before it, indented as the others"),
    _Sign(r"^ *\[.*\]\s*\n *()\[", "a second row follows the first on a line of its own", "start each row with a dash, - [1, 2], or put all in brackets: [[1, 2], [3, 4]]"),
    _Sign(r"^(?:\w+:(?: *\|)?|[-+.]?\d.*)\s*\n()[-+.]?\d", "rows of numbers stand where a key was expected", "put | after the key's colon, and indent the rows below it"),
)  # fmt: skip
"""Over two lines: the one above, and the one that is looked at."""


def line_fault(text: str, lines: Iterable[int], name: str, *, in_brackets: bool = False) -> InputError | None:
    """Make the error for what can be seen on one of some lines.

    Args:
        text: The whole file.
        lines: Their numbers from 0, the likeliest first.
        name: What the message calls the file.
        in_brackets: Whether brackets are open there, so that dashes and indentation mean nothing.
    """
    all_lines = text.split("\n")
    for number in dict.fromkeys(lines):
        others = (_without_quoted(all_lines[i]) for i in range(number - 1, -1, -1))
        above = next((other for other in others if other.strip()), "")
        line = _without_quoted(all_lines[number])
        found = _seen(line) or (None if in_brackets else _seen_below(above, line))
        if found:
            start = sum(len(each) + 1 for each in all_lines[:number])
            place = Place(name, *place_at(text, start + found.offset))
            return InputError(found.what, fix=found.fix, place=place)
    return None


def _seen(line: str) -> Seen | None:
    wide = (each for each in wide_signs(line) if _parts_something(line, each.offset))
    return next(wide, None) or _first(_ON_A_LINE, line)


def _parts_something(line: str, at: int) -> bool:
    """Tell a sign that stands for YAML's or between numbers from one in a text that somebody wrote."""
    before, after = line[:at].rstrip(), line[at + 1 :].lstrip()
    if SIGNS[line[at]] == ":":
        return re.fullmatch(rf"\s*(?:- +)?{_KEY}", before) is not None
    beside = before[-1:] + after[:1]
    return not before or before[-1] in "[{,:-" or any(each.isdigit() or each in "[]" for each in beside)


def _seen_below(above: str, line: str) -> Seen | None:
    found = _first(_BELOW_ANOTHER, f"{above}\n{line}")
    return found and found._replace(offset=found.offset - len(above) - 1)


def _first(signs: Iterable[_Sign], text: str) -> Seen | None:
    for sign in signs:
        if found := re.search(sign.pattern, text):
            return Seen(found.start(found.lastindex or 0), sign.message, sign.fix)
    return None


def _without_quoted(line: str) -> str:
    """Fill what is quoted, so that it still counts as something, and wipe a comment."""
    return _QUOTED.sub(lambda found: (" " if found[0].startswith("#") else "_") * len(found[0]), line)
