"""What the JSON parser's complaints mean, and how people come to them."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from attncli.errors import InputError, Place
from attncli.readers.places import place_at
from attncli.text import quote

__all__ = ["explain"]


class _Advice(NamedTuple):
    """A look at the text from the place of the complaint on, and what it then means."""

    before: str
    found: str
    message: str
    fix: str


# The first row whose patterns match before and from the place of the complaint is the answer.
_ADVICE = (
    _Advice(r"", r"'", "single quotes, as Python prints them; JSON wants double quotes", 'write "X", not \'X\''),
    _Advice(r"", r"//|/\*|#", "a comment, which JSON does not have", "take it away, or write the file as YAML"),
    _Advice(r",\s*$", r"[\]}]", "a comma after the last item, which JSON does not allow", "take it away"),
    _Advice(r"", r",\s*[\]}]", "a comma after the last item, which JSON does not allow", "take it away"),
    _Advice(r"[\[,]\s*$", r",", "an empty item between two commas", "fill it in, or take a comma away"),
    _Advice(r"", r"None\b", "None, as Python prints it; JSON says null", "give a number, or leave the key out"),
    _Advice(r"", r"(True|False)\b", "a truth value as Python prints it", "write true or false"),
    _Advice(r"", r"-?(nan|inf)", "a non-finite number that JSON does not know", "write NaN, Infinity or -Infinity"),
    _Advice(r"", r"-?\.\d", "a number without its zero", "write 0.5, not .5"),
    _Advice(r"", r"\+\d", "a number with a plus sign, which JSON does not allow", "write 1, not +1"),
    _Advice(r"\d$", r"\.(?!\d)", "a number that ends in its point", "write 1.0, not 1."),
    _Advice(r"(?<![\d.])-?0$", r"\d", "a number that starts with zero", "write 10, not 010"),
    _Advice(r"\d$", r"_\d", "a number with an underscore, which JSON does not allow", "write 1000, not 1_000"),
    _Advice(r"", r"-\s", "a sign without a number", "write -1 without a blank"),
    _Advice(r"", r"[“”„]", "a typographic quote", 'write the plain double quote "'),
    _Advice(r"", r"[，：；、]", "a full-width sign", "write the ASCII comma or colon"),
    _Advice(r"[{,]\s*$", r"[A-Za-z_]", "a key without quotes", 'write "X": …; without quotes it would be YAML'),
    _Advice(r"^\s*$", r"[A-Za-z_]", "text where a brace was expected", "name the file .yaml if it is YAML"),
    _Advice(r"", r"(tensor|array)\(", "a printout pasted as it is", "put it in double quotes, with \\n for a new line"),
    _Advice(r"", r"\.\.\.|…", "an ellipsis where numbers were left out", "write all numbers"),
)  # fmt: skip

_PLAIN_WORDS = {
    "Expecting ',' delimiter": (
        "a comma or a closing bracket is missing before this",
        "put a comma between items, and close what is open",
    ),
    "Expecting ':' delimiter": ("a colon is missing after the key", 'write "X": …'),
    "Expecting property name enclosed in double quotes": (
        "a key in double quotes is missing here",
        'write "X": …, and close what is open',
    ),
    "Expecting value": ("a value is missing here", "give a number, a list or a text in double quotes"),
    "Unterminated string starting at": ("a quote is opened and never closed", "close it on the same line"),
    "Invalid \\escape": ("a backslash that escapes nothing", "write \\\\ for a backslash"),
    "Invalid \\uXXXX escape": (
        "\\u must be followed by four hexadecimal digits",
        "write \\\\ for a backslash",
    ),
}


def explain(error: json.JSONDecodeError, text: str, name: str) -> InputError:
    """Turn the standard library's error into one that says what to do.

    Args:
        error: What `json` raised.
        text: The whole file.
        name: What the message calls it.
    """
    offset, place = error.pos, Place(name, *place_at(text, error.pos))
    if error.msg.startswith("Invalid control character"):
        char = text[offset]
        kind = {"\t": "a raw tab", "\n": "a raw line break"}.get(char, "a raw control character")
        return InputError(
            f"{kind} (U+{ord(char):04X}) in a text",
            fix=f"write it as an escape: {json.dumps(char)[1:-1]}",
            place=place,
        )
    if offset >= len(text.rstrip()):
        return InputError(
            "the file ends in the middle of a value", fix="close what is open, or copy all of it", place=place
        )
    if not error.msg.startswith(("Invalid", "Unterminated")):
        before = text[max(0, offset - 32) : offset]
        for advice in _ADVICE:
            if re.match(advice.found, text[offset : offset + 32]) and re.search(advice.before, before):
                return InputError(f"not JSON: {advice.message}", fix=advice.fix, place=place)
    message, fix = next(
        (words for start, words in _PLAIN_WORDS.items() if error.msg.startswith(start)), (error.msg, "")
    )
    return InputError(f"not JSON: {message}; found {quote(text[offset : offset + 12])}", fix=fix, place=place)
