"""Signs that input methods and word processors put in place of ASCII ones: no parser takes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["SIGNS", "Seen", "wide_sign", "wide_signs"]

SIGNS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("，、", ","),
        **dict.fromkeys("：", ":"),
        **dict.fromkeys("；", ";"),
        **dict.fromkeys("［【〔「（", "["),
        **dict.fromkeys("］】〕」）", "]"),
        **dict.fromkeys("｛", "{"),
        **dict.fromkeys("｝", "}"),
        **dict.fromkeys("“”„‟«»＂‘‚＇", '"'),  # ’ is an apostrophe more often than a quote
        **dict.fromkeys("\u3000\u00a0\u2003\u2002\u2009", " "),
    }
)
"""Each sign, and the ASCII one that is meant."""

_CALLED = {
    '"': "quote",
    ",": "comma",
    ":": "colon",
    ";": "semicolon",
    " ": "blank",
    "{": "brace",
    "}": "brace",
}
_FIXES = {
    ":": "write : and a blank after it",
    ";": "write rows in brackets, with commas between them: [[1, 2], [3, 4]]",
    " ": "write a plain blank, as the space bar does",
    '"': 'write the plain quote "',
}


class Seen(NamedTuple):
    """What can be seen in a text that no parser says.

    Args:
        offset: Where it stands.
        what: What is wrong with it.
        fix: What to write instead.
    """

    offset: int
    what: str
    fix: str


def wide_signs(text: str) -> Iterator[Seen]:
    """Yield each such sign in a text that a parser could not take."""
    for found in () if text.isascii() else _PATTERN.finditer(text):
        sign = found[0]
        plain = SIGNS[sign]
        code = f"U+{ord(sign):04X} {unicodedata.name(sign)}"
        shown = code if sign.isspace() else f"{sign} ({code})"
        yield Seen(
            found.start(),
            f"{shown} is no {_CALLED.get(plain, 'bracket')} here",
            _FIXES.get(plain, f"write {plain} instead of {sign}"),
        )


def wide_sign(text: str) -> Seen | None:
    """Find the first such sign in a text, if there is any."""
    return next(wide_signs(text), None)


_PATTERN = re.compile("[" + "".join(map(re.escape, SIGNS)) + "]")
