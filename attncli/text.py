"""Text that came from outside, made safe and measurable for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["quote", "shown", "visible"]

_NAMED = {"\n": "⏎", "\t": "⇥"}
_SPACE_MARKS = str.maketrans("Ġ▁", "␣␣")

# Format characters that join what people see as one sign: the emoji joiner, and the marks that
# Indic and Persian writing need.
_JOINERS = "\u200c\u200d"


def _hidden(char: str) -> bool:
    """Tell whether a character would act on the terminal, or reorder the line, rather than show.

    Unicode's categories: Cc is C0, DEL and C1; Cf holds the bidirectional controls and other
    characters without a shape; Zl and Zp break lines; Cs is half of a pair.
    """
    category = unicodedata.category(char)
    return category in {"Cc", "Zl", "Zp", "Cs"} or (category == "Cf" and char not in _JOINERS)


def visible(text: str) -> str:
    """Show control, bidirectional and line-breaking characters instead of sending them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_NAMED.get(char, f"<U+{ord(char):04X}>") if _hidden(char) else char for char in text)


def shown(label: str) -> str:
    """Write a label as it is shown.

    Byte-pair and SentencePiece tokens carry their space as Ġ and ▁; both are shown as ␣.
    """
    return visible(label).translate(_SPACE_MARKS)


def quote(text: str, *, limit: int = 40, marks: str = '"') -> str:
    """Quote a culprit in a message: cleaned, and cut to ``limit`` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"{marks}{visible(cut)}{marks}"
