"""Signs of formulas and labels, in the characters that the other end takes."""

from __future__ import annotations

import re

from attncli.render.terminal import Terminal
from attncli.text import shown

__all__ = ["label", "spell"]

# A program that reads the text parses -1.5 and -inf as numbers, but neither −1.5 nor −∞.
_FOR_PROGRAMS = {"−∞": "-inf", "∞": "inf", "−": "-"}

_ASCII = {
    "·": ".",
    "×": "x",
    "÷": "/",
    "ᵀ": "^T",
    "Σ": "Sum",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∧": "and",
    "→": "->",
    "╲": "\\",
    "√": "sqrt",
    "′": "'",
    "±": "+-",
    "∝": "as",
    "✓": "ok",
    "✗": "WRONG:",
    "…": "~",
    "⋯": "..",
    "⏎": "\\n",
    "⇥": "\\t",
    "␣": "_",
    "τ": "tau",
    "θ": "theta",
    "₂": "2",
}


def spell(text: str, terminal: Terminal) -> str:
    """Write what attn itself says, such as a formula or a number."""
    if text.isascii() or (terminal.interactive and terminal.unicode):
        return text
    for sign, plain in _FOR_PROGRAMS.items():
        text = text.replace(sign, plain)
    return text if terminal.unicode else _ascii(re.sub(r"√(\w+)", r"√(\1)", text))


def label(text: str, terminal: Terminal) -> str:
    """Write a label, which is data: nothing in it acts on the terminal."""
    return shown(text) if terminal.unicode else _ascii(shown(text))


def _ascii(text: str) -> str:
    def one(char: str) -> str:
        return char if char.isascii() else _ASCII.get(char, f"<U+{ord(char):04X}>")

    return text if text.isascii() else "".join(map(one, text))
