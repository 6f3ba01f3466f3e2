"""Text that came from outside, made safe and measurable for a terminal."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["listed", "quote", "shown", "visible"]

_NAMED = {"\n": "⏎", "\t": "⇥", " ": "␣"}
_SPACE_MARKS = str.maketrans("Ġ▁", "␣␣")

# Format characters that join what people see as one sign: the emoji joiner, and the marks that
# Indic and Persian writing need.
_JOINERS = "\u200c\u200d"

_EDGES = re.compile(rf"\A[\s{_JOINERS}]+|[\s{_JOINERS}]+\Z")
_STAND = "◌"
"""What a mark stands on, by Unicode's custom, where there is no letter before it."""


def _hidden(char: str) -> bool:
    """Tell whether a character would act on the terminal, or reorder the line, rather than show.

    Unicode's categories: Cc is C0, DEL and C1; Cf holds the bidirectional controls and other
    characters without a shape; Zl and Zp break lines; Cs is half of a pair. Of Cn, the code points
    that will never be characters, two of which no XML may hold.
    """
    category = unicodedata.category(char)
    if category == "Cn":
        code = ord(char)
        return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004  (Unicode, 23.7)
    return category in {"Cc", "Zl", "Zp", "Cs"} or (category == "Cf" and char not in _JOINERS)


def visible(text: str) -> str:
    """Show control, bidirectional and line-breaking characters instead of sending them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_named(char) if _hidden(char) else char for char in text)


def _named(char: str) -> str:
    return _NAMED.get(char, f"<U+{ord(char):04X}>")


def shown(label: str) -> str:
    """Write a label as it is shown.

    Byte-pair and SentencePiece tokens carry their space as Ġ and ▁; both are shown as ␣, and so is a
    space where it starts or ends a label. Other white space there is named, as is what would join the
    label to the text beside it; and a label of nothing is a pair of quotes.
    """
    text = visible(label).translate(_SPACE_MARKS)
    if text.isascii() and text == text.strip():
        return text or '""'
    text = _EDGES.sub(lambda found: "".join(map(_named, found[0])), text)
    return _STAND + text if unicodedata.category(text[0]).startswith("M") else text


def quote(text: str, *, limit: int = 40, marks: str = '"') -> str:
    """Quote a culprit in a message: cleaned, and cut to ``limit`` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"{marks}{visible(cut)}{marks}"


def listed(text: str) -> tuple[str, ...]:
    """Part names at the commas between them."""
    return tuple(name.strip() for name in text.split(","))
