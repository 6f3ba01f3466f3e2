"""What the JSON parser's complaints mean, and how people come to them."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from attncli.errors import InputError, Place
from attncli.readers.places import place_at
from attncli.readers.signs import wide_sign
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
    _Advice(r"", r",\s*[\]}]", "a comma after the last item, which JSON does not allow", "take it away"),
    _Advice(r"[\[,]\s*$", r",", "an empty item between two commas", "fill it in, or take a comma away"),
    _Advice(r"", r"None\b", "None, as Python prints it; JSON says null", "give a number, or leave the key out"),
    _Advice(r"", r"(True|False)\b", "a truth value as Python prints it", "write true or false"),
    _Advice(r"", r"-?((np|numpy|jnp|torch|math)\.|float\([\"'][+-]?)?(?i:nan|inf)", "a non-finite number that JSON does not know", "write NaN, Infinity or -Infinity"),
    _Advice(r"", r"-?\.\d", "a number without its zero", "write 0.5, not .5"),
    _Advice(r"", r"\+\d", "a number with a plus sign, which JSON does not allow", "write 1, not +1"),
    _Advice(r"", r"[−–]\s*[\d.]", "a minus sign that is not ASCII", "write -1"),
    _Advice(r"\d$", r"\.(?!\d)", "a number that ends in its point", "write 1.0, not 1."),
    _Advice(r"(?<![\d.])-?0$", r"\d", "a number that starts with zero", "write 10, not 010"),
    _Advice(r"\d$", r"_\d", "a number with an underscore, which JSON does not allow", "write 1000, not 1_000"),
    _Advice(r"\d\s*$", r"/\s*\d", "a fraction, which JSON does not have", 'put it in double quotes: "1/3"'),
    _Advice(r"", r"-\s", "a sign without a number", "write -1 without a blank"),
    _Advice(r"", r"\"[^\"\n]*”", "a text that a typographic quote does not close", 'write the plain double quote "'),
    _Advice(r"”[^\"]*\"$", r"", "a text that a typographic quote does not close", 'write the plain double quote "'),
    _Advice(r"\"\s*$", r"=", "an equals sign where a colon ends a key", 'write "X": …'),
    _Advice(r"[\d\]]\s*$", r"[^\],]*;", "rows parted by semicolons, as in MATLAB", "write [[1, 2], [3, 4]]"),
    _Advice(r"", r"((torch|np|numpy|jnp)\.)?(tensor|array)\(", "a printout pasted as it is", "put it in double quotes, with \\n for a new line; in YAML it may stand as it is"),
    _Advice(r"", r"(np|numpy)\.(float|int)\d+\(", "a number as NumPy shows it in a list", "write what stands in its brackets"),
    _Advice(r"", r"[A-Za-z_][\w.]*\(", "a call, and nothing is called here", 'write numbers, {"random": {"shape": [3, 4]}} or a word such as "identity"'),
    _Advice(r"", r"\(", "a round bracket", "write square ones: [[1, 2], [3, 4]]"),
    _Advice(r"^\s*$", r"[A-Za-z_]", "text where a brace was expected", "name the file .yaml if it is YAML"),
    _Advice(r"[{,]\s*$", r"[A-Za-z_][\w.]*\s*[:=]", "a key without quotes", 'write "X": …; without quotes it would be YAML'),
    _Advice(r"[:\[,]\s*$", r"[A-Za-z_]", "a word without quotes", 'put it in double quotes, such as "causal"'),
    _Advice(r"", r"\.\.\.|…", "an ellipsis where numbers were left out", "write all numbers"),
)  # fmt: skip

_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_A_KEY = re.compile(r'"(?:[^"\\]|\\.)*"\s*:')

_PLAIN_WORDS = {
    "Expecting ',' delimiter": ("a comma is missing before this", "put one between two items"),
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
    offset = error.pos
    if fault := _never_closed(text, offset, name):
        return fault
    if text[offset : offset + 1] in {"]", "}"} and text[:offset].rstrip().endswith(","):
        offset = text.rindex(",", 0, offset)  # some versions of Python point at the bracket after it
    place = Place(name, *place_at(text, offset))
    if error.msg.startswith("Invalid control character"):
        return _control(text[offset], place)
    if sign := wide_sign(text[offset]):
        return InputError(f"not JSON: {sign.what}", fix=sign.fix, place=place)
    before, after = text[max(0, offset - 32) : offset], text[offset : offset + 64]
    for advice in () if error.msg.startswith("Invalid") else _ADVICE:
        if re.match(advice.found, after) and re.search(advice.before, before):
            return InputError(f"not JSON: {advice.message}", fix=advice.fix, place=place)
    message, fix = next(
        (words for start, words in _PLAIN_WORDS.items() if error.msg.startswith(start)), (error.msg, "")
    )
    return InputError(f"not JSON: {message}; found {quote(after[:12])}", fix=fix, place=place)


def _control(char: str, place: Place) -> InputError:
    kind = {"\t": "a raw tab", "\n": "a raw line break"}.get(char, "a raw control character")
    rather = "; or write YAML, where rows may stand below X: |" if char == "\n" else ""
    return InputError(
        f"{kind} (U+{ord(char):04X}) in a text",
        fix=f"write it as an escape: {json.dumps(char)[1:-1]}{rather}",
        place=place,
    )


def _never_closed(text: str, offset: int, name: str) -> InputError | None:
    """Make the error for a list or mapping that is open where the file, or what is around it, ends."""
    opened = _still_open(text, offset)
    cut = not text[offset:].strip()
    if not opened or text[:offset].rstrip().endswith((",", ":")) > cut:
        return None
    start, found = opened[-1], text[offset : offset + 1]
    kind, closing = ("list", "]") if text[start] == "[" else ("mapping", "}")
    if found == "]" != closing:
        return InputError(
            "not JSON: a closing bracket too many, or a closing brace too few",
            fix="write a ] for each [, and a } for each {",
            place=Place(name, *place_at(text, offset)),
        )
    if cut or (kind == "list" and (found == "}" or _A_KEY.match(text, offset))):
        return InputError(
            f"not JSON: the {kind} that starts here is never closed{', and there the file ends' if cut else ''}",
            fix=f"write a {closing} for each {text[start]}{', or copy all of it' if cut else ''}",
            place=Place(name, *place_at(text, start)),
        )
    return None


def _still_open(text: str, end: int) -> list[int]:
    """Return where each bracket starts that has no partner before ``end``."""
    opened: list[int] = []
    for match in _BRACKET.finditer(text, 0, end):
        if match[0] in "[{":
            opened.append(match.start())
        elif match[0] in "]}" and opened:
            opened.pop()
    return opened
