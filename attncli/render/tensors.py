"""A result as safetensors: inputs and stages as arrays by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from safetensors.numpy import save

from attncli.compute import Result
from attncli.render.npz import arrays
from attncli.version import __version__

__all__ = ["render_safetensors"]


def render_safetensors(result: Result) -> Iterator[bytes]:
    """Write inputs and kept stages as one safetensors file."""
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays(result).items()}
    yield save(tensors, metadata={"attn": __version__})
