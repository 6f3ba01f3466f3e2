"""Softmax, and what it mixes, brought up from one tile of scores to the next.

Source:
    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

import math
from collections.abc import Callable

from attncli.core.inputs import Drawn, Inputs
from attncli.core.mixing import mixture
from attncli.core.namespace import namespace
from attncli.core.softmax import dropped, share, unnormalized
from attncli.trace import Array

__all__ = ["Exp", "Online", "exp_shifted"]

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
        self._some: Array | bool = False  # whether a weight of the row is left, where some are taken out

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
        counted, left = shares, None
        if keep is not None and p.mask_when != "before_softmax":
            shares, left = xp.where(keep, shares, 0.0), keep
            counted = shares if p.mask_when == "after_softmax_renormalized" else counted
        total = counted @ xp.ones((z.shape[-1], 1), dtype=z.dtype, device=z.device)
        if p.dropout:
            drawn, rate = p.dropout.drawn.array, p.dropout.keep_rate
            drawn = drawn.now() if isinstance(drawn, Drawn) else drawn
            shares = dropped(shares, drawn, rate and rate.array)
            left = drawn if left is None else drawn & left
        self._some = self._some | (True if left is None else xp.any(left, axis=-1, keepdims=True))
        mixed = mixture(shares, v, keep if p.exclude else None)
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
            self._total, self._mixed = self._total * fade, self._where_some(self._mixed * fade)
        return self._exp(z, shift)

    def end(self, p: Inputs) -> tuple[Array, dict[str, Array]]:
        """Return the output, and the details of softmax that have a number for each query.

        Args:
            p: The inputs, cut down to any of the tiles.
        """
        assert self._total is not None
        assert self._mixed is not None
        xp, total, mixed = namespace(self._total), self._total, self._mixed
        details = {}
        if p.normalize == "softmax" and p.mask_when != "after_softmax_renormalized":
            largest = xp.zeros_like(total) if self._largest is None else self._largest
            details["lse"] = _log(total, largest)
            details["lse2"] = details["lse"] / math.log(2)
            if p.sink is not None:  # one more score, which mixes nothing in
                top = xp.maximum(largest, p.sink.array + xp.zeros_like(largest))
                fade = xp.exp(largest - top)
                total, mixed = total * fade + xp.exp(p.sink.array - top), mixed * fade
                details["lse_with_sink"] = _log(total, top)
        output = mixed
        if p.normalize == "sum":
            # Of a total of 0 every weight is 0, and 0·NaN is NaN.
            output = xp.where(total == 0, mixed * 0.0, share(mixed, total))
        elif p.normalize == "softmax":  # as in `weights`, a total of 0 is one of zeros
            output = mixed / xp.where(total == 0, (details and p.empty) or 1.0, total)
        output = self._where_some(output)
        if p.real_queries is not None:
            output = xp.where(p.real_queries.array, output, 0.0)
        return output, {name: rows[..., 0] for name, rows in details.items()}

    def _where_some(self, mixed: Array) -> Array:
        """Leave what is mixed as it was where no weight is left: one that is taken out is 0, even of NaN."""
        return mixed if self._some is True else namespace(mixed).where(self._some, mixed, self._mixed)


def _finite(largest: Array) -> Array:
    # −∞ − −∞ is NaN: a row that has seen no key yet is shifted by 0, and stays at exp(−∞) = 0.
    return namespace(largest).where(largest == -math.inf, 0.0, largest)


def _log(total: Array, largest: Array) -> Array:
    xp = namespace(total)
    return xp.where(total == 0, -math.inf, _finite(largest) + xp.log(xp.where(total == 0, 1.0, total)))
