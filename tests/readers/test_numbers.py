"""How single numbers are written."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.readers.numbers import NotANumber, number
from attncli.readers.tree import Plain

READ = {
    "1": 1,
    "-2": -2,
    "+1": 1,
    "010": 10,
    "0.50": 0.5,
    ".5": 0.5,
    "-.5": -0.5,
    "1.": 1,
    "1e-3": 0.001,
    "1E+3": 1000,
    "1_000": 1000,
    "1/3": 1 / 3,
    "-2/4": -0.5,
    "sqrt(2)/2": math.sqrt(2) / 2,
    "-sqrt(4)": -2,
    "inf": math.inf,
    "-inf": -math.inf,
    ".inf": math.inf,
    "-.Inf": -math.inf,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "−0.5": -0.5,
    "−∞": -math.inf,
    "１２．５": 12.5,
    "\u00a01.5\u200b": 1.5,
    "5e-324": 5e-324,
}

REFUSED = {
    "": "is empty",
    "~": "is null",
    "Null": "is null",
    "True": "truth value",
    "no": "truth value",
    "...": "left out",
    "0x10": "not a decimal number",
    "0o17": "not a decimal number",
    "1+2j": "complex number",
    "2.j": "complex number",
    "1，5": r"U\+FF0C FULLWIDTH COMMA. is no comma here",
    "1,5": "has a comma",
    "1,000,000": "has commas",
    "1 2": "more than one number",
    "50%": "percentage",
    "1:30": "time or a ratio",
    "1__0": "not a number",
    "1/0": "divides by zero",
    "1/2/3": "not a number",
    "1e400": "too large",
    "1/1e400": "too large",
    "–1": r"U\+2013 EN DASH",
    "abc": 'not a number: "abc"',
    "2024-01-01": "not a number",
    "sqrt(-1)": "not a number",
    "tensor(1.5)": "a printout where one number was expected",
    "np.array([1, 2])": "a printout where one number was expected",
    "np.float32(1.5)": "as NumPy shows it in a list",
    "float('-inf')": "written as in Python",
    "1/math.sqrt(2)": "a formula",
    "2**-0.5": "a formula",
    "64^-0.5": "a formula",
    "1/√2": "a formula",
    "2; 3": "a semicolon, as MATLAB parts rows",
    "1, 2": "a row without its brackets",
    "(1": "in round brackets",
    "1 // one": "a comment behind it",
    "50 %": "percentage",
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    """Every usual spelling gives its number, quoted or not."""
    assert number(text) == number(Plain(text)) == READ[text]


@pytest.mark.parametrize("text", ["nan", "NaN", ".nan", ".NaN", "-nan"])
def test_nan(text: str) -> None:
    """A spelled NaN is one."""
    assert math.isnan(number(text))


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """What is no number is refused, with what it is."""
    with pytest.raises(NotANumber, match=REFUSED[text]):
        number(text)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (True, "truth value, true"),
        (None, "null"),
        ([1], "a list"),
        ({}, "a mapping"),
        (10**400, "too large"),
        (math.inf, "too large"),
    ],
)
def test_values_of_json_refused(value: Any, what: str) -> None:
    """Values that JSON types are not coerced either."""
    with pytest.raises(NotANumber, match=what):
        number(value)


@given(st.floats(allow_nan=False))
def test_round_trip(value: float) -> None:
    """What Python prints is read back exactly."""
    assert number(repr(value)) == value


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text leads to another error than the one meant for it."""
    with contextlib.suppress(NotANumber):
        number(text)
