"""The streamed way as each array library does it best: NumPy in threads, torch in its own kernel.

NumPy lets go of the interpreter inside a product or an exponential, so that Python's threads share
the tiles among the processors. The products' own threads, which would wait for each other at every
tile, are held to one each meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import threadpoolctl

from attncli.backends import Session
from attncli.core.engine import Engine, Mixed, Strip, Work
from attncli.trace import Array

__all__ = ["Progress", "engine_for"]

Progress = Callable[[float], None]
"""Is told now and then which share of the work is done, from 0 to 1."""


def engine_for(session: Session, progress: Progress | None = None) -> Engine:
    """Return how tiles are worked off on an array library.

    Args:
        session: The library, on its device.
        progress: Is told how far it is.
    """
    if session.backend != "numpy":
        return Engine(fused=session.fused)  # all heads at once, which keeps a device busy

    def run(work: Work, todo: Sequence[Strip]) -> Generator[Mixed, None, None]:
        return _in_threads(work, todo, progress)

    return Engine(apart=True, run=run, exp=_exp_in_place, looks=True)


def _in_threads(work: Work, todo: Sequence[Strip], progress: Progress | None) -> Generator[Mixed, None, None]:
    def quietly(strip: Strip) -> Mixed:
        with np.errstate(all="ignore"):  # set for each thread anew
            return work(strip)

    with _libraries().limit(limits=1, user_api="blas") as before:
        pool = ThreadPoolExecutor(_threads(before))
        try:
            for done, mixed in enumerate(pool.map(quietly, todo), 1):
                if progress:
                    progress(done / len(todo))
                yield mixed
        finally:
            pool.shutdown(cancel_futures=True)  # on Ctrl-C, what has not begun never does


@cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """Find the libraries with threads of their own, which takes a millisecond; NumPy's is there by now."""
    return threadpoolctl.ThreadpoolController()


def _threads(limits: threadpoolctl.threadpool_limits) -> int:
    """Find how many threads the products would have taken, which whoever runs attn can set."""
    return max((n or 1 for n in limits.get_original_num_threads().values()), default=1)


def _exp_in_place(z: Array, shift: Array | None) -> Array:
    if shift is not None:
        np.subtract(z, shift, out=z)
    return np.exp(z, out=z)
