"""The self-check as items of a line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.render.glyphs import spell
from attncli.render.ink import Line, Span
from attncli.render.terminal import Terminal
from attncli.sheet import Checks, Numbers

__all__ = ["check_line"]

_FEW_ROWS = 6
_READ = 0.01  # errors from here on are read without a power of ten


def check_line(checks: Checks, terminal: Terminal) -> list[Line]:
    """Say whether rows sum to 1 and numbers are finite, what the mask kept, and how spread rows are."""

    def item(good: bool, text: str) -> Line:
        mark = Span(spell("✓" if good else "✗", terminal), "good" if good else "bad")
        return (mark, Span(" " + spell(text, terminal)))

    return [item(good, text) for good, text in _findings(checks)] + [
        (Span(spell(text, terminal), "faint"),) for text in _facts(checks)
    ]


def _findings(checks: Checks) -> Iterator[tuple[bool, str]]:
    if checks.row_sum_error is not None:
        good = checks.row_sum_error <= checks.allowed
        rows = "rows and sink" if checks.sink else "rows"
        error = _short(checks.row_sum_error)
        yield good, f"{rows} sum to 1 ± {error}" if good else f"{rows} do not sum to 1: off by {error}"
    bad = [
        f"{count:,} {name}" for count, name in ((checks.nan, "NaN"), (checks.infinite, "infinite")) if count
    ]
    yield not bad, " and ".join(bad) or "no NaN"
    if checks.pairs:
        yield True, f"{checks.kept:,} of {checks.pairs:,} pairs kept"


def _short(error: float) -> str:
    if error >= _READ:
        return f"{error:.2g}"
    mantissa, _, exponent = f"{error:.0e}".partition("e")
    return f"{mantissa}e{int(exponent)}" if error else "0"


def _facts(checks: Checks) -> Iterator[str]:
    if checks.blind_rows:
        yield f"{checks.blind_rows:,} {'query sees' if checks.blind_rows == 1 else 'queries see'} no key"
    finite = checks.entropies[np.isfinite(checks.entropies)]
    if finite.size:
        yield f"H {_entropies(finite)}"


def _entropies(bits: Numbers) -> str:
    ordered: list[float] = np.sort(bits, axis=None).tolist()
    median = (ordered[(bits.size - 1) // 2] + ordered[bits.size // 2]) / 2  # np.median loads masked arrays
    low, middle, high = map(_bits, (ordered[0], median, ordered[-1]))
    if low == high:
        return f"{low} bit" + " in each row" * (bits.size > 1)
    if bits.size <= _FEW_ROWS:
        return " / ".join(map(_bits, bits)) + " bit"
    return f"{low} … {high}, median {middle} bit"


def _bits(number: float) -> str:
    return f"{abs(number):.2f}".rstrip("0").rstrip(".")  # −0.0 is the entropy of a sure row
