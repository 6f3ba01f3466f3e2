"""How many digits a table shows, and a number with that many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attncli.sheet import Numbers

__all__ = ["Form", "percentages", "suited"]

_LONGEST = 6  # digits on either side of the point, before scientific notation reads better
_SIGNIFICANT = 3
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True)
class Form:
    """How numbers are written.

    Args:
        decimals: Digits after the point.
        scientific: Whether a power of ten follows.
        percent: Whether they are written as hundredths.
        sign: What follows the digits.
    """

    decimals: int
    scientific: bool = False
    percent: bool = False
    sign: str = ""

    def __call__(self, number: float) -> str:
        """Write a number; zero has no sign."""
        if not math.isfinite(number):
            return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
        if self.scientific:
            return _scientific(number, self.decimals)
        text = f"{100 * number if self.percent else number:.{self.decimals}f}"
        if text.startswith("-"):
            text = "−" + text[1:] if float(text) else text[1:]
        return text + self.sign


def _scientific(number: float, decimals: int) -> str:
    if number == 0:
        return "0"
    mantissa, _, exponent = f"{number:.{decimals}e}".partition("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def percentages(keys: int, precision: int | None = None) -> Form:
    """Choose the form of weights: one decimal for up to six keys, whole and without a sign beyond."""
    few = keys <= 6
    decimals = precision if precision is not None else int(few)
    return Form(decimals, percent=True, sign="%" if few else "")


def suited(arrays: Sequence[Numbers], usual: int, precision: int | None = None) -> Form:
    """Choose a form for numbers that are read together.

    The largest number gets at least three significant digits, and none that is a thousandth of
    it or more looks like zero.

    Args:
        arrays: The numbers; those that are not finite do not count.
        usual: Decimals when nothing asks for more.
        precision: Decimals that the reader asked for.
    """
    sizes = [(float(largest), float(least)) for largest, least in map(_range, arrays) if largest]
    if not sizes:
        return Form(usual if precision is None else precision)
    largest = max(size for size, _ in sizes)
    least = min((small for _, small in sizes if small >= largest * _NEGLIGIBLE), default=largest)
    needed = max(_SIGNIFICANT - 1 - _power(largest), -_power(least))
    scientific = needed > _LONGEST or _power(largest) >= _LONGEST
    if precision is not None:
        return Form(precision, scientific)
    return Form(usual if scientific else max(usual, needed), scientific)


def _power(number: float) -> int:
    return math.floor(math.log10(number))


def _range(array: Numbers) -> tuple[float, float]:
    """Find the largest size, and the least that still matters beside it."""
    sizes = np.abs(array[np.isfinite(array)])
    if not sizes.size or not sizes.max():
        return 0.0, 0.0
    largest = sizes.max()
    return largest, sizes[sizes >= largest * _NEGLIGIBLE].min()
