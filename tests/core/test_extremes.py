"""At the ends of the range and beyond them, the streamed way still gives what the full way gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attncli.core.inputs import Dropout, Inputs
from attncli.core.masks import Rules
from attncli.trace import Value
from tests.core.test_streaming import ENGINES, full, streamed

HEADS = 2
WIDTH = 1
"""Of queries and keys: what a library makes of a sum that overflows on its way depends on its size."""

few = st.integers(-12, 12).map(lambda n: n / 4)
"""Numbers of so few bits that their products are exact."""
powers = st.sampled_from([2.0**-100, 2.0**-20, 0.25, 0.5, 2.0, 2.0**20, 2.0**100])
rules = st.builds(
    Rules,
    causal=st.booleans(),
    windows=st.just(()) | st.just(((1, None),)),
    offset=st.integers(-2, 4),
    lengths=st.none() | st.just(np.array([[[2]]])),
)


def ends(dtype: str, *, large: bool) -> st.SearchStrategy[float]:
    """Draw what a precision has at its ends, and what lies beyond them; large numbers only when asked."""
    limits = np.finfo(dtype)
    top, tiny = 1.75 * 2.0 ** (limits.maxexp - 1), float(limits.smallest_normal)
    numbers = [tiny, tiny / 8, float(limits.smallest_subnormal)]
    numbers += [top, top / 4, math.sqrt(top)] if large else []
    return st.sampled_from([*numbers, *(-n for n in numbers), -0.0, math.inf, -math.inf, math.nan])


@st.composite
def problems(draw: st.DrawFn) -> Inputs:
    """Draw a problem of any conventions, and numbers of any size in some of its arrays."""
    dtype = draw(st.sampled_from(["float32", "float64"]))
    seq_q, seq_k = draw(st.integers(1, 4)), draw(st.integers(1, 5))

    # Weights that are large, or of both signs, can add up to more than there is on the way to a finite sum.
    normalize = draw(st.sampled_from(["softmax"] * 3 + ["sum", "none"]))

    def numbers(symbol: str, *shape: int, large: bool = normalize != "none") -> Value:
        extreme = ends(dtype, large=large)
        cells = draw(st.sampled_from([few, few | extreme, extreme]))
        return Value(draw(arrays(dtype, shape, elements=cells)), symbol)

    def maybe(symbol: str, *shape: int) -> Value | None:
        return numbers(symbol, *shape) if draw(st.integers(0, 4)) == 4 else None

    def factor(symbol: str) -> Value | None:
        return Value(np.dtype(dtype).type(draw(powers)), symbol) if draw(st.booleans()) else None

    rate = Value(np.dtype(dtype).type(0.5), "r")
    pairs = (HEADS, seq_q, seq_k)
    if draw(st.booleans()):
        start: dict[str, Any] = {
            "q": numbers("Q", HEADS, seq_q, WIDTH),
            "k": numbers("K", HEADS, seq_k, WIDTH),
        }
    else:
        start = {draw(st.sampled_from(["scores", "scaled"])): numbers("S", *pairs)}
    lowest = -1e9 if normalize == "none" else float(np.finfo(dtype).min)
    dropped = draw(
        st.none() | arrays(bool, pairs).map(lambda a: Dropout(drawn=Value(a, "kept"), keep_rate=rate))
    )
    return Inputs(
        **start,
        v=numbers("V", HEADS, seq_k, draw(st.integers(1, 3)), large=normalize == "softmax" and not dropped),
        by_head=True,
        num_heads=HEADS,
        num_kv_heads=HEADS,
        seq_q=seq_q,
        seq_k=seq_k,
        multiplier=factor("c"),
        divisor=factor("d"),
        temperature=factor("t"),
        softcap=factor("cap"),
        bias=maybe("B", *pairs),
        by_distance=maybe("D", HEADS, seq_q + seq_k - 1),
        bias_position=draw(st.sampled_from(["after_softcap", "before_softcap", "before_scale"])),
        mask=draw(st.none() | rules),
        additive=maybe("A", *pairs),
        real_queries=draw(st.none() | arrays(bool, (1, seq_q, 1)).map(lambda a: Value(a, "real"))),
        fill=draw(st.sampled_from([-math.inf, -math.inf, -1e9, lowest])),
        empty=draw(st.sampled_from([0.0, math.nan])) if normalize == "softmax" else 0.0,
        mask_when=draw(
            st.sampled_from(["before_softmax"] * 2 + ["after_softmax", "after_softmax_renormalized"])
            if normalize == "softmax"
            else st.just("before_softmax")
        ),
        normalize=normalize,
        sink=maybe("s", HEADS, 1, 1) if normalize == "softmax" else None,
        dropout=dropped,
        exclude=draw(st.booleans()),
    )


@pytest.mark.parametrize("engine", [*ENGINES])
@settings(max_examples=150)
@given(p=problems())
def test_the_ways_agree_on_what_is_not_finite(engine: str, p: Inputs) -> None:
    """NaN and infinities stand in the same places, and what is finite is the same, for all conventions."""
    wanted, got = full(p).records, streamed(p, ENGINES[engine]).records
    value = wanted["head_output"].array
    assert value is not None
    assert p.v is not None
    limits = np.finfo(value.dtype)
    sizes = np.where(np.isfinite(p.v.array), np.abs(p.v.array), 0)
    slack = 16 * limits.eps * sizes.max(axis=-2, keepdims=True) + 16 * limits.smallest_subnormal
    close(got["head_output"].array, value, slack)
    details = wanted["weights"].details
    for name, rows in got["weights"].details.items():
        close(rows, details[name], 16 * limits.eps)


def close(got: Any, wanted: np.ndarray, slack: Any) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        off = np.abs(got - wanted) > slack + 64 * np.finfo(wanted.dtype).eps * np.abs(wanted)
    odd = ~np.isfinite(wanted)
    np.testing.assert_array_equal(got[odd], wanted[odd])
    assert not (off & ~odd).any(), (got, wanted)
