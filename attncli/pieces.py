"""Stages on NumPy some rows at a time: what they make on the way stays small, and in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attncli.core.inputs import Drawn
from attncli.core.tiles import ALL, cut, spans
from attncli.trace import Call

__all__ = ["Pieces", "pieces"]

PIECE = 2**16
"""Numbers in a piece: a few arrays of them fit in a processor's second cache."""


class Pieces:
    """Runs stages, those that go by row in pieces.

    A result that is not kept is needed by the next stage only, which writes its own result over it.
    """

    def __init__(self) -> None:
        self._spare: np.ndarray | None = None

    def __call__(self, call: Call) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Run a stage; return its result and its details."""
        given = [each for each in call.inputs.values() if isinstance(each, np.ndarray)]
        result, details = self._run(call, given)
        fresh = result.base is None and all(result is not each for each in given)
        ours = fresh or result is self._spare
        self._spare = result if ours and not call.kept else None
        return result, details

    def _run(self, call: Call, given: list[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        shape = np.broadcast_shapes(*(each.shape for each in given)) if call.stage.by_row else ()
        if math.prod(shape) <= PIECE:
            return call(call.inputs)
        result = shape, np.result_type(*given)
        fits = [each for each in given if each is self._spare and (each.shape, each.dtype) == result]
        made = {"": fits[0]} if fits else {}
        for piece in pieces(shape):
            rows, details = call({name: _part(each, piece) for name, each in call.inputs.items()})
            for name, part in {"": rows, **details}.items():
                if name not in made:
                    made[name] = np.empty(shape[:-1] + part.shape[len(piece) :], part.dtype)
                made[name][piece] = part
        return made.pop(""), made


def pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut an array into pieces of whole rows, as many as there is room for."""
    room = max(1, PIECE // max((1, *shape[-1:])))
    steps: list[int] = []
    for length in reversed(shape[:-1]):
        steps.insert(0, min(length, room))
        room = max(1, room // length)
    return product(*(spans(length, step) for length, step in zip(shape[:-1], steps, strict=True)))


def _part(value: Any, piece: tuple[slice, ...]) -> Any:
    return cut(value, *piece, ALL) if isinstance(value, np.ndarray | Drawn) else value
