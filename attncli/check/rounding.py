"""What rounding may do to sums: a run whose every sum is off by what another order of additions may do.

One run alone can be exact by luck, above all where large products cancel to a small sum: each addition
rounds by the size of what has been added up so far, not of what is left in the end.

Source:
    Higham and Mary 2019, "A New Approach to Probabilistic Rounding Error Analysis": the error of a sum
    of n products grows as √n·u·Σ|a·b|, u being half the distance from 1 to the next number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attncli.trace import Array, Call

__all__ = ["shaken"]


def shaken(call: Call) -> tuple[Array, dict[str, Array]]:
    """Run a stage on NumPy, and where it adds up products, move every sum up or down by what rounding may do."""
    if not call.stage.sums:
        return call(call.inputs)
    terms = next(iter(call.inputs.values())).shape[-1]
    sizes = call.stage.function(**{name: _size(each) for name, each in call.inputs.items()})
    half = np.finfo(sizes.dtype).eps / 4  # of u, as what is measured is doubled
    error = np.sqrt(terms) * half * sizes
    signs = np.random.default_rng(0).choice(np.array([-1, 1], dtype=sizes.dtype), sizes.shape)
    shift = np.where(np.isfinite(error), signs * error, 0).astype(sizes.dtype)
    return replace(call, cast=lambda array: call.cast(array + shift))(call.inputs)


def _size(value: object) -> object:
    return np.abs(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
