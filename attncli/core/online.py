"""Softmax, and what it mixes, brought up from one tile of scores to the next.

Source:
    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

import math
from collections.abc import Callable

from attncli.core.inputs import Inputs
from attncli.core.mixing import mixture
from attncli.core.namespace import namespace
from attncli.core.softmax import dropped, masked_weights, unnormalized
from attncli.trace import Array

__all__ = ["ROW_DETAILS", "Exp", "Online", "exp_shifted"]

ROW_DETAILS = ("lse", "lse2", "lse_with_sink")
"""Details of softmax that are known in the end."""

Exp = Callable[[Array, Array | None], Array]
"""Takes exp(z − shift), or exp(z) without a shift."""


def exp_shifted(z: Array, shift: Array | None) -> Array:
    """Take exp(z − shift), and leave z as it is."""
    return namespace(z).exp(z if shift is None else z - shift)


class Online:
    """The largest score so far, the sum of the exponentials, and the values mixed by them.

    Args:
        exp: Takes the exponentials.
        shifts: Whether the largest score is taken off first, so that no exponential overflows.
    """

    def __init__(self, exp: Exp = exp_shifted, *, shifts: bool = True) -> None:
        self._exp = exp
        self._shifts = shifts
        self._largest: Array | None = None
        self._total: Array | None = None
        self._mixed: Array | None = None

    def add(self, p: Inputs, z: Array, keep: Array | None, v: Array) -> None:
        """Take in a tile.

        Args:
            p: The inputs, cut down to the tile.
            z: Its scores, scaled and masked, ``(…, queries, keys)``.
            keep: True where a query sees a key; None where all do.
            v: Its values, ``(…, keys, value_dim)``.
        """
        xp = namespace(z)
        shares = self._exponentials(z) if p.normalize == "softmax" else unnormalized(z)
        total = shares @ xp.ones((z.shape[-1], 1), dtype=z.dtype, device=z.device)
        if keep is not None and p.mask_when == "after_softmax":
            shares = masked_weights(shares, keep)
        if p.dropout:
            rate = p.dropout.keep_rate
            shares = dropped(shares, p.dropout.drawn.array, rate and rate.array)
        mixed = mixture(shares, v)
        if self._total is None or self._mixed is None:
            self._total, self._mixed = total, mixed
        else:  # in place, where a library can
            self._total += total
            self._mixed += mixed

    def _exponentials(self, z: Array) -> Array:
        """Take the exponentials of a tile, and bring what was summed up before to the same shift."""
        if not self._shifts:
            return self._exp(z, None)
        xp, before = namespace(z), self._largest
        now = xp.max(z, axis=-1, keepdims=True)
        self._largest = now if before is None else xp.maximum(before, now)
        shift = _finite(self._largest)
        if before is not None:
            fade = xp.exp(before - shift)
            self._total, self._mixed = self._total * fade, self._mixed * fade
        return self._exp(z, shift)

    def end(self, p: Inputs) -> tuple[Array, dict[str, Array]]:
        """Return the output, and the details of softmax that have a number for each query.

        Args:
            p: The inputs, cut down to any of the tiles.
        """
        assert self._total is not None
        assert self._mixed is not None
        xp, total, mixed = namespace(self._total), self._total, self._mixed
        if p.normalize == "none":
            return _real(p, mixed), {}
        largest = xp.zeros_like(total) if self._largest is None else self._largest
        lse = _log(total, largest)
        details = {"lse": lse, "lse2": lse / math.log(2)}
        if p.sink is not None:  # one more score, which mixes nothing in
            top = xp.maximum(largest, p.sink.array + xp.zeros_like(largest))
            fade = xp.exp(largest - _finite(top))
            total, mixed = total * fade + xp.exp(p.sink.array - _finite(top)), mixed * fade
            details["lse_with_sink"] = _log(total, top)
        # As in `weights`, a total of 0 is one of zeros.
        output = mixed / xp.where(total == 0, p.empty or 1.0, total)
        return _real(p, output), {name: rows[..., 0] for name, rows in details.items()}


def _real(p: Inputs, output: Array) -> Array:
    return output if p.real_queries is None else namespace(output).where(p.real_queries.array, output, 0.0)


def _finite(largest: Array) -> Array:
    # −∞ − −∞ is NaN: a row that has seen no key yet is shifted by 0, and stays at exp(−∞) = 0.
    return namespace(largest).where(largest == -math.inf, 0.0, largest)


def _log(total: Array, largest: Array) -> Array:
    xp = namespace(total)
    return xp.where(total == 0, -math.inf, _finite(largest) + xp.log(xp.where(total == 0, 1.0, total)))
