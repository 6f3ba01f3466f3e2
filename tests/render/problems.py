"""Problems whose sheets the tests look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.blocks import make_sheet
from attncli.compute import compute
from attncli.problem import Mask, Problem, Source
from attncli.render.table import render_table
from attncli.render.terminal import Terminal
from attncli.sheet import Sheet, View

CAUSAL = Mask(causal=True)


def cat(**changes: Any) -> Problem:
    """Return the example that the design shows: three tokens under a causal mask."""
    values: dict[str, Any] = {
        "tokens": ("the", "cat", "sat"),
        "X": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "W_Q": np.eye(2),
        "W_K": np.array([[1.0, 1.0], [0.0, 1.0]]),
        "W_V": np.array([[2.0, 0.0], [0.0, 1.0]]),
        "mask": CAUSAL,
        "origin": Source(name="lessons/cat.yaml"),
    }
    return Problem(**(values | changes))


def drawn(count: int, dim: int = 4, *, batch: int | None = None, seed: int = 0, **keys: Any) -> Problem:
    """Return a problem with numbers that a generator of a known seed has drawn."""
    draw = np.random.default_rng(seed)
    shape = (count, dim) if batch is None else (batch, count, dim)
    weights: dict[str, Any] = {name: draw.normal(size=(dim, dim)) / 2 for name in ("W_Q", "W_K", "W_V")}
    return Problem(X=draw.normal(size=shape), **weights, **keys)


def sheet(problem: Problem, **view: Any) -> Sheet:
    """Compute a problem and arrange it."""
    return make_sheet(compute(problem, large_details=bool(view.get("detail"))), View(**view))


def table_text(shown: Sheet, terminal: Terminal) -> str:
    """Render a sheet as the text of a terminal or a pipe."""
    return "".join(render_table(shown, terminal))
