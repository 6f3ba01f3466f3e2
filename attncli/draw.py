"""Matrices drawn at random, the same on every machine for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attncli.errors import InputError

__all__ = ["DISTRIBUTIONS", "draw"]

if TYPE_CHECKING:  # most problems draw nothing, and numpy.random takes its time
    from numpy.typing import NDArray

    _Generator: TypeAlias = np.random.Generator
_Shape: TypeAlias = tuple[int, ...]


def _uniform(generator: _Generator, shape: _Shape) -> NDArray[np.float64]:
    return generator.random(shape)


def _normal(generator: _Generator, shape: _Shape) -> NDArray[np.float64]:
    return generator.standard_normal(shape)


def _linear_init(generator: _Generator, shape: _Shape) -> NDArray[np.float64]:
    """Draw as nn.Linear starts: uniform in ±1/√fan_in, rows being the inputs."""
    fan_in = shape[-2] if len(shape) > 1 else shape[0]
    bound = 1 / math.sqrt(fan_in)
    return generator.uniform(-bound, bound, shape)


DISTRIBUTIONS: Mapping[str, Callable[[_Generator, _Shape], NDArray[np.float64]]] = MappingProxyType(
    {"uniform": _uniform, "normal": _normal, "linear_init": _linear_init}
)


def draw(
    shape: Sequence[int], seed: int | np.random.Generator = 0, distribution: str = "uniform"
) -> NDArray[np.float64]:
    """Draw an array.

    Args:
        shape: Its shape.
        seed: A seed, or a generator to draw from in turn.
        distribution: ``uniform`` in [0, 1), ``normal`` (mean 0, variance 1), or ``linear_init``,
            uniform in ±1/√fan_in, where fan_in is the length of the last axis but one.

    Returns:
        An array of that shape, float64.

    Raises:
        InputError: If the distribution is not known.
    """
    if distribution not in DISTRIBUTIONS:
        raise InputError(
            f"the distribution {distribution!r} is not known",
            fix=f"choose one of: {', '.join(DISTRIBUTIONS)}",
        )
    return DISTRIBUTIONS[distribution](np.random.default_rng(seed), tuple(shape))
