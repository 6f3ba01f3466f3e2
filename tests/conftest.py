"""Fixtures for more than one room of tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import array_api_strict
import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("default", deadline=None, max_examples=40)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def _left_out(report: Any) -> Any:
    """Fail what was skipped, where ATTN_NO_SKIPS says that nothing is missing that a test needs."""
    if os.environ.get("ATTN_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Report on a test."""
    return _left_out((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Report on collecting a module, which may be skipped as a whole."""
    return _left_out((yield))


@dataclass(frozen=True)
class Namespace:
    """An array library, as tests see it.

    Args:
        name: What it is called.
        asarray: Takes a NumPy array there.
        to_numpy: Brings an array back.
    """

    name: str
    asarray: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]


def _numpy() -> Namespace:
    return Namespace("numpy", np.asarray, np.asarray)


def _read_only() -> Namespace:
    """Make a namespace whose inputs nobody can write to, such as those of a memory-mapped file."""

    def frozen(array: np.ndarray) -> np.ndarray:
        copy = array.copy()
        copy.flags.writeable = False
        return copy

    return Namespace("read-only numpy", frozen, np.asarray)


def _strict() -> Namespace:
    return Namespace("array_api_strict", array_api_strict.asarray, np.asarray)


def _torch() -> Namespace:
    torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    return Namespace("torch", lambda array: torch.from_numpy(array.copy()), lambda tensor: tensor.numpy())


NAMESPACES = {"numpy": _numpy, "read-only": _read_only, "array_api_strict": _strict, "torch": _torch}


@pytest.fixture(params=NAMESPACES)
def xp(request: pytest.FixtureRequest) -> Namespace:
    """Give each array library in turn."""
    return NAMESPACES[request.param]()
