"""How tiles are worked off: strips of them, what a strip comes to, and what an array library can do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from attncli.core.inputs import Inputs
from attncli.core.namespace import namespace
from attncli.core.online import Exp, exp_shifted
from attncli.frozen import Frozen
from attncli.trace import Array

__all__ = ["Engine", "Mixed", "Strip", "Work", "joined"]


class Strip(NamedTuple):
    """The tiles of some queries, for some heads: what is worked on by itself, from first to last key."""

    lead: tuple[slice, ...]
    queries: slice
    inputs: Inputs


class Mixed(NamedTuple):
    """What a strip comes to: its rows of the output, and of the details of softmax."""

    output: Array
    details: dict[str, Array]

    def rows(self, rows: slice) -> Mixed:
        """Return what some of the queries come to."""
        return Mixed(
            self.output[..., rows, :], {name: each[..., rows] for name, each in self.details.items()}
        )


Work = Callable[[Strip], Mixed]
"""Works a strip off."""


def one_by_one(work: Work, todo: Sequence[Strip]) -> Generator[Mixed, None, None]:
    """Work strips off, one after the other."""
    yield from map(work, todo)


class Engine(Frozen, kw_only=True):
    """How tiles are worked off, where an array library can do more than the standard says.

    Args:
        queries: Queries in a tile.
        keys: Keys in a tile.
        apart: Whether each head of each item of the batch is a strip of its own.
        run: Works strips off, and yields what each comes to, in their order.
        exp: Takes exp(z − shift); it may write over z, which nobody else holds.
        looks: Whether looking at values is cheap, so that what they make needless can be left out.
        fused: The library's own kernel for softmax(Q·Kᵀ)·V, causal or not; None where it has none.
    """

    queries: int = 512
    keys: int = 512
    apart: bool = False
    run: Callable[[Work, Sequence[Strip]], Generator[Mixed, None, None]] = one_by_one
    exp: Exp = exp_shifted
    looks: bool = False
    fused: Callable[[Array, Array, Array, bool], Array] | None = None


def joined(parts: Sequence[Mixed]) -> Mixed:
    """Put rows one below the other."""
    xp, names = namespace(parts[0].output), parts[0].details
    details = {name: xp.concat([part.details[name] for part in parts], axis=-1) for name in names}
    return Mixed(xp.concat([part.output for part in parts], axis=-2), details)
