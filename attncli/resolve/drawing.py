"""Which weights dropout keeps: a draw from a seed that can be begun anywhere.

The whole draw is as large as the scores. PCG64 can skip any number of draws at once, so that the part
for a tile is the same as it would be in the whole.
"""

from __future__ import annotations

import numpy as np

from attncli.core.inputs import Drawn

__all__ = ["drawn_to_stay"]


def drawn_to_stay(seed: int, p: float, shape: tuple[int, ...]) -> Drawn:
    """Draw which weights stay.

    Args:
        seed: Any.
        p: The probability that a weight is dropped.
        shape: ``(batch, heads, seq_q, seq_k)``, as far as the problem has these axes.

    Returns:
        The same as ``numpy.random.default_rng(seed).random(shape) >= p``, part by part.
    """

    def draw(part: tuple[range, ...]) -> np.ndarray:
        source, at = np.random.PCG64(seed), 0
        generator = np.random.Generator(source)
        rows, keys = np.ravel_multi_index(np.ix_(*part[:-1]), shape[:-1]), part[-1]
        stays = np.empty(tuple(map(len, part)), dtype=bool)
        for index, row in np.ndenumerate(rows):
            start = int(row) * shape[-1] + keys.start
            source.advance(start - at)
            stays[index] = generator.random(len(keys)) >= p
            at = start + len(keys)
        return stays

    return Drawn(draw=draw, part=tuple(map(range, shape)))
