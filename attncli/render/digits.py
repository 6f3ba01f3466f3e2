"""How many digits a table shows, and a number with that many."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from attncli.frozen import Frozen
from attncli.sheet import Numbers

__all__ = ["BLANK", "FEW", "PERCENT", "Form", "percentages", "suited"]

BLANK = "____"
"""What stands for a number that the reader is to find."""

FEW = 6
"""So many columns are read number by number, and so many names told apart at a glance."""

_LONGEST = 6  # digits on either side of the point, before scientific notation reads better
_LARGE = 10.0**_LONGEST  # such a number is written so by itself, as a mask's −1e9 among scores
_MINUS_ZERO = re.compile(r"-(?=0(?:\.0*)?(?![\d.]))")
_SMALL_TABLE = 64  # so many numbers are read one by one


class Form(Frozen):
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
        if not self._is_plain(abs(number)):
            return self._long(number)
        text = f"{100 * number if self.percent else number:.{self.decimals}f}"
        if text[0] == "-":
            text = "−" + text[1:] if float(text) else text[1:]
        return text + self.sign

    def line(self, numbers: Numbers) -> str:
        """Write numbers with a space between two of them, a row of a table in the time of a few."""
        if not self._is_plain(float(np.max(np.abs(numbers), initial=0))):
            return " ".join(map(self, numbers.tolist()))
        wide = numbers.astype(np.float64)
        one = f"%.{self.decimals}f{self.sign.replace('%', '%%')}"
        text = " ".join([one] * len(wide)) % tuple((100 * wide if self.percent else wide).tolist())
        return _MINUS_ZERO.sub("", text).replace("-", "−")

    def _is_plain(self, size: float) -> bool:
        """Tell whether a number of a size is written in digits alone; one that is NaN is not."""
        return not self.scientific and size < (_LARGE / 100 if self.percent else _LARGE)

    def _long(self, number: float) -> str:
        """Write a number that plain digits are not for."""
        if not math.isfinite(number):
            return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
        if self.percent:  # a hundred times a large number may be infinite
            return _scientific(number, self.decimals, shift=2) + self.sign
        return _scientific(number, self.decimals)


def _scientific(number: float, decimals: int, *, shift: int = 0) -> str:
    if number == 0:
        return "0"
    mantissa, _, exponent = f"{number:.{decimals}e}".partition("e")
    return f"{mantissa}e{int(exponent) + shift}".replace("-", "−")


PERCENT = Form(1, percent=True, sign="%")
"""A weight by itself."""


def percentages(keys: int, precision: int | None = None) -> Form:
    """Choose the form of weights: one decimal for up to six keys, whole and without a sign beyond."""
    few = keys <= FEW
    decimals = precision if precision is not None else int(few)
    return Form(decimals, percent=True, sign="%" if few else "")


def suited(
    arrays: Sequence[Numbers], usual: int, precision: int | None = None, *, significant: int = 3
) -> Form:
    """Choose a form for numbers that are read together.

    The largest number gets enough significant digits, and none that matters beside it looks like
    zero: with three digits a thousandth where numbers are few, a hundredth where they are many.

    Args:
        arrays: The numbers; those that are not finite do not count.
        usual: Decimals when nothing asks for more.
        precision: Decimals that the reader asked for.
        significant: Digits that the largest number has at least.
    """
    finite = [np.abs(array[np.isfinite(array)]) for array in arrays]
    if any(np.any((sizes > 0) & (sizes < _LARGE)) for sizes in finite):
        finite = [sizes[sizes < _LARGE] for sizes in finite]
    largest = max((float(np.max(sizes, initial=0)) for sizes in finite), default=0.0)
    if not largest:
        return Form(usual if precision is None else precision)
    few = sum(sizes.size for sizes in finite) <= _SMALL_TABLE
    # Beside the smallest numbers that there are, this would be zero.
    matters = max(largest * 10.0 ** -(significant - (0 if few else 1)), math.ulp(0))
    least = min(float(np.min(sizes, initial=largest, where=sizes >= matters)) for sizes in finite)
    needed = max(significant - 1 - _power(largest), -_power(least))
    scientific = needed > _LONGEST or _power(largest) >= _LONGEST
    if precision is not None:
        return Form(precision, scientific)
    return Form(usual if scientific else max(usual, needed), scientific)


def _power(number: float) -> int:
    return math.floor(math.log10(number))
