"""A result as safetensors: its arrays by name, and its document among the metadata."""

from __future__ import annotations

from collections.abc import Iterator

from safetensors.numpy import save

from attncli.archive import DOCUMENT
from attncli.compute import Result
from attncli.render.npy import plain
from attncli.render.npz import parts

__all__ = ["render_safetensors"]


def render_safetensors(result: Result) -> Iterator[bytes]:
    """Write a result as one safetensors file."""
    text, arrays = parts(result)
    tensors = {name: plain(array) for name, array in arrays.items()}
    yield save(tensors, metadata={DOCUMENT: text})  # of several keys, the order would change
