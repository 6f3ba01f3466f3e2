"""A problem whose matrices are drawn at random: all from one generator, in one order."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attncli.draw import draw
from attncli.errors import InputError
from attncli.frozen import Frozen
from attncli.memory import require
from attncli.problem import Problem, Source

__all__ = ["Sizes", "draw_problem"]


class Sizes(Frozen, kw_only=True):
    """How large a drawn problem is.

    Args:
        seq: Number of tokens.
        dim: Width of a token's vector.
        heads: Number of query heads.
        kv_heads: Number of key-value heads; None is one for each query head.
        head_dim: Width of a head; None shares ``dim`` among the heads.
        batch: Number of items; None draws a single one, without a batch axis.
        context_seq: Number of tokens that keys and values come from; None takes them from X.
    """

    seq: int
    dim: int
    heads: int = 1
    kv_heads: int | None = None
    head_dim: int | None = None
    batch: int | None = None
    context_seq: int | None = None

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield name and shape of each array, in the order in which they are drawn.

        Raises:
            InputError: The heads do not divide what they share.
        """
        kv_heads = self.kv_heads or self.heads
        if self.heads % kv_heads:
            raise InputError(f"{self.heads} heads cannot share {kv_heads} key-value heads evenly")
        if self.head_dim is None and self.dim % self.heads:
            raise InputError(
                f"{self.heads} heads cannot share a width of {self.dim} evenly", fix="say --head-dim"
            )
        width = self.head_dim or self.dim // self.heads
        items = () if self.batch is None else (self.batch,)
        yield "X", (*items, self.seq, self.dim)
        if self.context_seq is not None:
            yield "context", (*items, self.context_seq, self.dim)
        yield "W_Q", (self.dim, self.heads * width)
        yield "W_K", (self.dim, kv_heads * width)
        yield "W_V", (self.dim, kv_heads * width)
        if self.heads > 1:
            yield "W_O", (self.heads * width, self.dim)


def draw_problem(sizes: Sizes, seed: int, distribution: str = "uniform") -> Problem:
    """Draw X, and a context, from a distribution, and weights as nn.Linear starts.

    Args:
        sizes: How large it is.
        seed: The same seed gives the same matrices on every backend and device.
        distribution: What X and the context are drawn from, ``uniform`` or ``normal``.

    Raises:
        InputError: The sizes do not go together.
        UnavailableError: The matrices would not fit in memory.
    """
    shapes = dict(sizes.shapes())
    numbers = sum(math.prod(shape) for shape in shapes.values())
    require(8 * numbers, f"{numbers} numbers are to be drawn", fix="a smaller --seq or --dim")
    generator = np.random.default_rng(seed)
    arrays = {
        name: draw(shape, generator, "linear_init" if name.startswith("W_") else distribution)
        for name, shape in shapes.items()
    }
    return Problem(
        name=f"drawn with seed {seed}",
        num_heads=sizes.heads if sizes.heads > 1 else None,
        num_kv_heads=sizes.kv_heads,
        weight_layout="in out",  # a square weight leaves that open
        origin=Source(name="<random>"),
        **arrays,  # type: ignore[arg-type]  # names of arrays
    )
