"""Which convention would make wrong numbers right: every reading is tried, alone and then in pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from attncli.check.printed import Numbers, Truth
from attncli.check.readings import Reading, readings
from attncli.compute import Recast, Result
from attncli.errors import AttnError
from attncli.frozen import Frozen
from attncli.problem import Problem

__all__ = ["Diagnosis", "Evidence", "Tell", "diagnose"]

SECONDS = 10.0
"""How long a search may take."""

_ENOUGH = 3
"""So few wrong numbers are a slip, whatever else they may be."""

_SPARE_BITS = 7
"""Chance is held to one false match in so many bits."""

Tell = Callable[[float], None]
"""Hears which share of the readings is tried."""


class Evidence(Frozen):
    """What numbers somebody has, and how one reading of the problem holds against them.

    Args:
        holds: For each of the numbers, whether the reading gives it.
        right: What the reading gives, as it would have been printed.
        bits: How unlikely it is that a number is met by chance, in bits.
    """

    holds: Truth
    right: Numbers
    bits: Numbers


Trial = Callable[[Problem, Recast | None], Evidence]
"""Computes a problem, some stages changed, and holds it against the numbers that somebody has."""


class Diagnosis(Frozen, kw_only=True):
    """What a search for another reading found.

    Args:
        matches: The readings that make every number right, each after the word *if*.
        stage: Where the numbers first part from the problem as it is written.
        decided: How many numbers decided: those that are wrong as the problem is written.
        tried: How many readings were tried.
        finished: Whether all were, within the time.
        enough: Whether the numbers could tell a reading from chance.
    """

    matches: tuple[str, ...] = ()
    stage: str = ""
    decided: int
    tried: int = 0
    finished: bool = True
    enough: bool = True

    def __str__(self) -> str:
        wrong = f"{self.decided} wrong number{'s' * (self.decided != 1)}"
        if not self.enough:
            return f"{wrong}: too few to tell another convention from a slip"
        if not self.matches:
            ended = "" if self.finished else ", and time ran out"
            return f"no other convention makes them right: {self.tried} readings tried{ended}"
        found = ", or if ".join(self.matches)
        if len(self.matches) > 1:
            return f"matches if {found}: the numbers do not tell these apart ({wrong} decide)"
        return f"matches if {found}; parts from it at {self.stage}, {wrong} decide"


def diagnose(result: Result, trial: Trial, stage: str, tell: Tell | None = None) -> Diagnosis:
    """Look for the reading of a problem that makes every number right.

    Args:
        result: What the problem computes to as it is written.
        trial: Holds a reading against the numbers.
        stage: Where they first part from the result.
        tell: Hears of progress.
    """
    written = trial(result.problem, None)
    decided = int((~written.holds).sum())
    if decided < _ENOUGH:
        return Diagnosis(decided=decided, stage=stage, enough=False)
    search = _Search(result.problem, trial, written, tell)
    singles = readings(result)
    found = search.over(singles, len(singles))
    if not found and search.finished:
        pairs = [(a, b) for a, b in combinations(search.telling, 2) if a.apart(b)]
        found = search.over((a & b for a, b in pairs), len(pairs))
    return Diagnosis(
        matches=tuple(found),
        stage=stage,
        decided=decided,
        tried=search.tried,
        finished=search.finished,
    )


class _Search:
    """Tries readings until the time is up."""

    def __init__(self, problem: Problem, trial: Trial, written: Evidence, tell: Tell | None) -> None:
        self._problem = problem
        self._trial = trial
        self._written = written
        self._tell = tell
        self._end = time.monotonic() + SECONDS
        self.tried = 0
        self.finished = True
        self.telling: list[Reading] = []

    def over(self, some: Iterator[Reading] | Sequence[Reading], count: int) -> list[str]:
        """Return what those readings say that make every number right."""
        found = []
        for number, reading in enumerate(some, 1):
            if time.monotonic() > self._end:
                self.finished = False
                break
            if self._tell:
                self._tell(number / count)
            if self._matches(reading):
                found.append(reading.said)
        return found

    def _matches(self, reading: Reading) -> bool:
        recast = reading.recast and reading.recast()
        try:
            evidence = self._trial(reading.problem(self._problem), recast)
        except AttnError:  # the problem cannot be read that way
            return False
        self.tried += 1
        if np.array_equal(evidence.right, self._written.right, equal_nan=True):
            return False
        self.telling.append(reading)
        if not evidence.holds.all():
            return False
        told = float(evidence.bits[~self._written.holds].sum())
        return told >= math.log2(self.tried) + _SPARE_BITS
