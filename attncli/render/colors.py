"""Colours of cells: blues for weights, purple to orange for signed numbers, and ink to read on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "BLACK",
    "BROKEN",
    "FAINTEST",
    "PALETTES",
    "RGB",
    "SCALES",
    "WHITE",
    "contrast",
    "eased",
    "ink",
    "share_color",
    "signed_color",
    "weight_color",
]


class RGB(NamedTuple):
    """A colour, each part from 0 to 255."""

    red: int
    green: int
    blue: int


BLACK = RGB(0, 0, 0)
WHITE = RGB(255, 255, 255)
BROKEN = {"dark": RGB(255, 48, 48), "light": RGB(214, 0, 24)}
"""A red that is on no ramp: for what is NaN or infinite, on each background."""

Ramp = Sequence[tuple[float, RGB]]

FAINTEST = 0.02  # of the scale; what is less has no colour: a table of near-zeros would glow otherwise

SCALES = {"linear": "", "sqrt": "∝ √{}", "log": "∝ log {} over 4 decades"}
"""How the size of a number becomes a colour, and how that is said."""

_DECADES = 4  # from the end of a logarithmic scale down to what looks like 0


def _ramp(**stops: str) -> Ramp:
    """Read a ramp from percentages and hexadecimal colours."""
    return [(int(at[1:]) / 100, RGB(*bytes.fromhex(color))) for at, color in stops.items()]


def _steps(colors: str) -> list[RGB]:
    return [RGB(*bytes.fromhex(color)) for color in colors.split()]


# Purple against orange is told apart with any colour vision; red against green is not.
_WEIGHTS = {
    "dark": _ramp(
        _0="12294a", _14="1a4580", _28="2360a9", _50="3f82d8", _58="5291e4", _80="9bc0f7", _100="e2edfe"
    ),
    "light": _ramp(
        _0="e2edf9", _14="d3e3f3", _28="aacfe6", _50="63a8d3", _58="4a98c9", _80="1c6bb0", _100="08306b"
    ),
}
_POSITIVE = {
    "dark": _ramp(_0="252a36", _33="57370f", _50="7a4c10", _67="a86b1a", _100="edb567"),
    "light": _ramp(_0="ededed", _33="fed8a6", _50="fdbc6d", _67="ec9c3f", _100="b95d06"),
}
_NEGATIVE = {
    "dark": _ramp(_0="252a36", _33="372a5c", _50="4c3a80", _67="6d57a8", _100="bcaaf0"),
    "light": _ramp(_0="ededed", _33="d5d4e9", _50="b4acd3", _67="9488bd", _100="53288a"),
}


def _even(colors: str) -> Ramp:
    steps = _steps(colors)
    return [(i / (len(steps) - 1), color) for i, color in enumerate(steps)]


PALETTES: dict[str, Ramp | None] = {
    "blues": None,  # its own for each background
    # Nine colours each of what matplotlib draws by these names.
    "magma": _even("000004 1d1147 51127c 832681 b73779 e75263 fc8961 fec488 fcfdbf"),
    "viridis": _even("440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725"),
    "cividis": _even("00224e 1a386f 434e6c 61656f 7d7c78 9b9476 bcae6c dec958 fee838"),
    "gray": _even("000000 202020 404040 606060 808080 9f9f9f bfbfbf dfdfdf ffffff"),
}
"""Colours of weights, from little to much on a dark background; on a light one they run backwards."""

_CLEAR = {"dark": 0.18, "light": 0.08}
"""Where they start on each background: a weight of 0 on what is darker, or lighter, would look masked."""

# Of 256 colours, the ones that keep the hue: the nearest to those above turn olive, red and navy.
_WEIGHT_STEPS = {
    "dark": _steps("000087 005f87 005faf 5f87d7 87afff afd7ff d7ffff"),
    "light": _steps("d7d7ff afd7ff 87d7ff 5fafd7 0087d7 005faf 000087"),
}
_POSITIVE_STEPS = {
    "dark": _steps("262626 875f00 af5f00 d78700 ffaf5f"),
    "light": _steps("eeeeee ffd7af ffaf5f ff8700 d75f00"),
}
_NEGATIVE_STEPS = {
    "dark": _steps("262626 5f0087 875faf af87d7 d7afff"),
    "light": _steps("eeeeee d7d7ff afafd7 875faf 5f0087"),
}


def eased(share: float, scale: str) -> float:
    """Place a share of the largest on a scale of colours.

    Args:
        share: From 0 to 1.
        scale: A name of `SCALES`. Of ``log``, what is 10⁻⁴ or less stands at 0.
    """
    if scale == "sqrt":
        return math.sqrt(max(share, 0.0))
    if scale == "log":
        return 0.0 if share <= 0 else max(1 + math.log10(share) / _DECADES, 0.0)
    return share


def weight_color(
    weight: float, theme: str, palette: str = "blues", *, scale: str = "linear", stepped: bool = False
) -> RGB | None:
    """Color a weight on the fixed scale from 0 to 1; None below two percent of the scale, and for NaN.

    Args:
        weight: The weight.
        theme: Whether the background is ``dark`` or ``light``.
        palette: A name of `PALETTES`.
        scale: A name of `SCALES`.
        stepped: Whether only 256 colours are there.
    """
    share = eased(weight, scale)
    return share_color(share, theme, palette, stepped=stepped) if share >= FAINTEST else None


def share_color(share: float, theme: str, palette: str = "blues", *, stepped: bool = False) -> RGB:
    """Color a share of a scale, from nothing to all of it."""
    share = min(max(share, 0.0), 1.0)
    if (ramp := PALETTES[palette]) is not None:
        at = _CLEAR[theme] + (1 - _CLEAR[theme]) * share
        return _between(ramp, at if theme == "dark" else 1 - at)
    return _nearest(_WEIGHT_STEPS[theme], share) if stepped else _between(_WEIGHTS[theme], share)


def signed_color(
    number: float, limit: float, theme: str, *, scale: str = "linear", stepped: bool = False
) -> RGB | None:
    """Color a number on a scale from −limit to limit; None when it is not a finite part of it.

    Its sign chooses the hue; ``scale``, a name of `SCALES`, places its size alike on both sides of 0.
    """
    if not limit or not abs(number) <= limit:
        return None
    share = eased(abs(number) / limit, scale)
    if stepped:
        return _nearest((_POSITIVE_STEPS if number >= 0 else _NEGATIVE_STEPS)[theme], share)
    return _between((_POSITIVE if number >= 0 else _NEGATIVE)[theme], share)


def _nearest(steps: Sequence[RGB], at: float) -> RGB:
    return steps[round(at * (len(steps) - 1))]


def _between(ramp: Ramp, at: float) -> RGB:
    for (low, start), (high, end) in pairwise(ramp):
        if at <= high:
            share = (at - low) / (high - low)
            return RGB(*(round(a + (b - a) * share) for a, b in zip(start, end, strict=True)))
    return ramp[-1][1]


def _luminance(color: RGB) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4  # noqa: PLR2004  (sRGB)

    red, green, blue = map(linear, color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: RGB, other: RGB) -> float:
    """Compute the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=4096)
def ink(background: RGB) -> RGB:
    """Choose black or white, whichever is easier to read; it never falls below 4.5 to 1."""
    return max(BLACK, WHITE, key=lambda color: contrast(color, background))
