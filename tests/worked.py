"""Published worked examples as problems, and the numbers that were printed with them."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attncli.compute import Result
from attncli.problem import Problem
from attncli.readers import load

FOLDER = pathlib.Path(__file__).parent / "data" / "worked"
FILES = sorted(FOLDER.glob("[0-9]*.json"))
SLIPS: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "slips.json").read_text("utf-8"))
"""Numbers that were printed wrong, by the stem of the file."""


@dataclass(frozen=True)
class Printed:
    """A block of numbers as a source printed them.

    Args:
        part: The stage, or the part of it: ``output[0]``.
        numbers: The numbers.
        decimals: How many decimals they were printed with.
        tolerance: What else the source's own rounded inputs allow for.
    """

    part: str
    numbers: np.ndarray
    decimals: int
    tolerance: float

    @property
    def allowance(self) -> float:
        """How far a right number may be from the printed one.

        Half a unit of the last place is rounding. A whole unit forgives sources that cut digits off
        or round twice, but not where whole numbers were printed: there is no last decimal.
        """
        whole = self.decimals == 0 and self.part != "percent"
        return (0.5 if whole else 1.0) * 10.0**-self.decimals + self.tolerance

    def holds(self, computed: np.ndarray) -> np.ndarray:
        """Tell for each number whether the computed one is what was printed."""
        with np.errstate(invalid="ignore"):  # −∞ − −∞, which is compared as it stands
            near = np.abs(computed - self.numbers) <= self.allowance * (1 + 1e-9)
        return np.asarray(near | (computed == self.numbers))


def problem(path: pathlib.Path) -> Problem:
    """Read a file as the program does."""
    (only,) = load(str(path))
    return only


def printed(p: Problem) -> Iterator[Printed]:
    """List the numbers that a problem expects."""
    decimals = p.expected_decimals
    for part, expected in (p.expected or {}).items():
        places = decimals[part] if isinstance(decimals, Mapping) else decimals
        assert places is not None
        yield Printed(part, np.asarray(expected.digits, dtype=float), places, p.expected_tolerance or 0.0)


def part_of(result: Result, part: str) -> np.ndarray:
    """Pick a stage, a detail, or a part of one by its printed name: ``head_output[:,3]``."""
    name, _, index = part.partition("[")
    array = _named(result, name)
    axes = [slice(None) if each == ":" else int(each) for each in index.rstrip("]").split(",") if each]
    return np.asarray(array[tuple(axes)])


def _named(result: Result, name: str) -> np.ndarray:
    weights = result["weights"]
    assert weights.array is not None
    if name == "percent":
        return np.asarray(100 * weights.array)
    if name == "weights_mean":
        return np.asarray(weights.array.mean(axis=weights.axes.index("head")))
    for record in result.records:
        if record.stage.name == name:
            return np.asarray(record.array)
        if name in record.details:
            return np.asarray(record.details[name] * _unshifted(record.details, name))
    raise KeyError(name)


def _unshifted(details: Mapping[str, np.ndarray], name: str) -> np.ndarray | float:
    """Undo the maximum that ours has subtracted: people print exp(z), and ours is exp(z − m)."""
    if name not in {"exp", "exp_sum"}:
        return 1.0
    highest = np.exp(details["row_max"])
    return np.asarray(highest[..., None] if name == "exp" else highest)
