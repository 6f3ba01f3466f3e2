"""Single arrays of a result, for tests that look at one stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.compute import Result, compute
from attncli.problem import Problem

__all__ = ["array_of", "detail", "stage"]


def array_of(result: Result, name: str) -> np.ndarray:
    """Return what a stage returned."""
    array = result[name].array
    assert array is not None
    return np.asarray(array)


def stage(name: str, **keys: Any) -> np.ndarray:
    """Compute the problem that has these keys, and return what one stage returned."""
    return array_of(compute(Problem(**keys)), name)


def detail(name: str, **keys: Any) -> np.ndarray:
    """Compute the problem that has these keys, and return one detail of its weights."""
    return np.asarray(compute(Problem(**keys), large_details=True)["weights"].details[name])
