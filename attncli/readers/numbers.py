"""One number, as people write it: read as it is meant, or refused with the reason."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["NotANumber", "ascii_signs", "number", "odd_characters"]

_BLANK = "\u200b\u200c\u200d\u2060\ufeff"  # without width, and not in str.strip's own list

# Signs that web pages and input methods put in place of ASCII, and that mean one thing only.
_SIGNS = str.maketrans({"−": "-", "－": "-", "＋": "+", "．": ".", "／": "/", "∞": "inf"})

_DECIMAL = re.compile(r"[+-]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)(e[+-]?\d+)?", re.IGNORECASE)
_ROOT = re.compile(r"([+-]?)sqrt\(([^()]+)\)", re.IGNORECASE)
_NONFINITE = re.compile(r"([+-]?)\.?(inf|infinity|nan)", re.IGNORECASE)


class NotANumber(ValueError):
    """A value that is not a number.

    Args:
        what: What it is, to follow its name: ``is null``.
        fix: What to write instead.
        meant: What else it may stand for, where numbers need not be finite.
    """

    def __init__(self, what: str, fix: str = "", meant: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        self.fix_in_array = f"{fix}; {meant}, if that is meant" if meant else fix


class _Reason(NamedTuple):
    pattern: str
    what: str
    fix: str
    meant: str = ""


_ENOUGH = 200  # characters, by which every reason shows; what is tried takes the square of them

_REASONS = (
    _Reason(r"", "is empty", "write a number"),
    _Reason(r"~|null|none", "is null", "write a number", "nan"),
    _Reason(r"true|false|yes|no|on|off", "is a truth value", "write a number", "1 or 0"),
    _Reason(r"\.{2,}|…", "stands for numbers that were left out", "write all of them"),
    _Reason(r"[+-]?0[xob][\da-f_]+", "is not a decimal number", "write it in decimal digits"),
    _Reason(r".*[\d.][ij]\)?", "is a complex number", "attention is computed with real numbers"),
    _Reason(r"[+-]?\s*(float\(.*\)|(np|numpy|jnp|torch|math)\.(inf|nan))", "is written as in Python", "write inf, -inf or nan"),
    _Reason(r"(np|numpy)\.(float|int|uint|bool)\w*\(.*\)", "is a number as NumPy shows it in a list", "write what stands in its brackets"),
    _Reason(r"((torch|np|numpy|jnp)\.)?(tensor|array)\(.*", "is a printout where one number was expected", "write the number alone; a whole matrix may stand as it was printed: X: tensor([[1, 2], [3, 4]])"),
    _Reason(r".*;.*", "holds a semicolon, as MATLAB parts rows", "write each row in brackets, with commas: [[1, 2], [3, 4]]"),
    _Reason(r"(?!-?sqrt\().*[a-z_]\w*\(.*|.*\d\s*(\*|\^).*|.*√.*", "is a formula, and only the like of 1/3 and sqrt(2)/2 is worked out", "write its value"),
    _Reason(r"\(.*|[^(]*\)", "is in round brackets", "write square ones: [[1, 2], [3, 4]]"),
    _Reason(r"[+-]?\d+,\d+(e[+-]?\d+)?", "has a comma", "write a decimal point (1.5), or a comma and a blank between two numbers"),
    _Reason(r".*\d[\d,]*,\d.*", "has commas", "write no thousands separators, and a comma and a blank between two numbers"),
    _Reason(r"[+-]?[\d.]+(e[+-]?\d+)?\s*%", "is a percentage", "write it as a fraction of one: 0.5, not 50%; or as 50 under expected, with expected_in: percent"),
    _Reason(r"\S+\s+(//|/\*|%|--).*", "has a comment behind it", "begin a comment with a blank and #, as YAML does"),
    _Reason(r"[^\s,]+(,\s+[^\s,]+)+", "is a row without its brackets", "write it in brackets: [1, 2]"),
    _Reason(r"[^\s]*\d[^\s]*\s+[^\s]*\d.*", "holds more than one number", "put commas between numbers, and brackets around a row: [1, 2]"),
    _Reason(r"[+-]?\d+:\d[\d:.]*", "is a time or a ratio", "write a decimal number"),
)  # fmt: skip


def number(value: Tree) -> float:
    """Read one value of a tree as a number.

    Args:
        value: Text such as ``-.5``, ``1e-3``, ``1/3`` or ``sqrt(2)/2``, or a number from JSON.

    Raises:
        NotANumber: If it is none, or too large for float64.
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool):
        raise NotANumber(f"is a truth value, {str(value).lower()}", "write a number", "1 or 0")
    if isinstance(value, int | float):
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if math.isinf(result):  # a spelled Infinity arrives as text
            raise _too_large()
        return result
    if value is None:
        raise NotANumber("is null", "write a number", "NaN")
    raise NotANumber(f"is a {'list' if isinstance(value, list) else 'mapping'}", "write one number here")


def ascii_signs(text: str) -> str:
    """Return a number's text without what the web wraps around it: odd signs, and blanks at its ends."""
    return text.translate(_SIGNS).strip().strip(_BLANK).strip()


def odd_characters(text: str) -> str:
    """Name the characters of a text that are not printable ASCII, by code point: ``U+FF0C FULLWIDTH COMMA``."""
    odd = dict.fromkeys(char for char in text if not (char.isascii() and char.isprintable()))
    names = [f"U+{ord(char):04X} {unicodedata.name(char, '').strip()}".strip() for char in odd]
    return ", ".join(names[:3])


def _from_text(text: str) -> float:
    clean = ascii_signs(text)
    if match := _NONFINITE.fullmatch(clean):
        return float(match[1] + match[2])
    top, slash, bottom = clean.partition("/")
    try:
        result = _term(top) / _term(bottom) if slash else _term(clean)
    except ZeroDivisionError:
        raise NotANumber(f"divides by zero: {quote(text)}", "write a number", "inf or nan") from None
    except NotANumber:
        raise
    except ValueError:
        raise _reason(text, clean) from None
    if math.isinf(result):
        raise _too_large(text)
    return result


def _term(text: str) -> float:
    text = text.strip()
    if match := _ROOT.fullmatch(text):
        return float(match[1] + "1") * math.sqrt(_term(match[2]))
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    if math.isinf(result := float(text)):
        raise _too_large(text)
    return result


def _reason(text: str, clean: str) -> NotANumber:
    from attncli.readers.signs import wide_sign  # noqa: PLC0415  (only errors need it)

    if sign := wide_sign(clean):
        return NotANumber(f"is {quote(text)}: {sign.what}", sign.fix)
    for reason in _REASONS:
        if re.fullmatch(reason.pattern, clean[:_ENOUGH], re.IGNORECASE | re.DOTALL):
            what = f"{reason.what}: {quote(text)}" if clean else reason.what
            return NotANumber(_with_odd(what, text), reason.fix, reason.meant)
    return NotANumber(
        _with_odd(f"is not a number: {quote(text)}", text), "write a decimal number, such as -1.5"
    )


def _with_odd(what: str, text: str) -> str:
    odd = odd_characters(text)
    return f"{what} ({odd})" if odd else what


def _too_large(text: str = "") -> NotANumber:
    shown = f": {quote(text)}" if text else ""
    return NotANumber(
        f"is too large for float64, which ends at 1.8e308{shown}", "write a smaller number", "inf"
    )
