"""At the ends of the range and beyond them, the streamed way still gives what the full way gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attncli.backends import BACKENDS
from attncli.compute import compute
from attncli.core.inputs import Dropout, Inputs
from attncli.core.masks import Rules
from attncli.problem import Alibi, Mask, Problem, Variant
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


def close_to(got: Any, wanted: Any, rtol: float, atol: float = 0.0) -> None:
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


SHAPES = [(1, 1), (5, 1), (1, 513), (513, 513), (7, 1025), (1025, 3)]
"""Queries and keys: at the edges of tiles of 512, and one key only."""
MASKS: dict[str, dict[str, Any]] = {
    "all": {},
    "causal": {"mask": Mask(causal=True, align="bottom_right")},
    "window and offset": {"kv_head_map": "tile", "mask": Mask(causal=True, window={"left": 5}, offset=2)},
    "alibi": {
        "mask": Mask(causal=True, window={"left": 300, "right": 0}, offset=-3),
        "bias": Variant("alibi", Alibi()),
    },
    "sinks": {"kv_head_map": "tile", "sink": (0.5, -1e300, 3.0, -1.0), "softcap": 2.0},
    "lengths": {"mask": Mask(lengths=(0, 1)), "fully_masked": "nan"},
}


def plainly(p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Compute output and log-sums head by head from the formulas, in float64."""
    q, k, v = (np.asarray(getattr(p, name), dtype=p.dtype).astype(float) for name in "QKV")
    (batch, heads, seq_q, dim), seq_k = q.shape, k.shape[2]
    served = [h % 2 if p.kv_head_map == "tile" else h // 2 for h in range(heads)]
    z = q @ k[:, served].swapaxes(-1, -2) / math.sqrt(dim)
    z = p.softcap * np.tanh(z / p.softcap) if p.softcap else z
    at, key, mask = np.arange(seq_q)[:, None], np.arange(seq_k), p.mask or Mask()
    if isinstance(p.bias, Variant):
        slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
        z = z - slopes[:, None, None] * np.abs(at + (mask.offset or 0) - key)
    at = at + (seq_k - seq_q if mask.align == "bottom_right" else mask.offset or 0)
    seen = np.ones((batch, 1, seq_q, seq_k), dtype=bool)
    seen &= (key <= at) | (not mask.causal)
    if mask.window:
        seen &= at - key <= mask.window["left"]
    if mask.lengths is not None:
        seen &= key < np.reshape(mask.lengths, (-1, 1, 1, 1))
    e = np.where(seen, np.exp(z), 0.0)
    total = e.sum(axis=-1)
    with_sink = total + (np.exp(np.reshape(p.sink, (-1, 1))) if p.sink else 0.0)
    nothing = np.nan if p.fully_masked == "nan" else 1.0
    with np.errstate(divide="ignore"):
        return e / np.where(with_sink == 0, nothing, with_sink)[..., None] @ v[:, served], np.log(total)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_edges_of_tiles(shape: tuple[int, int], name: str, backend: str) -> None:
    """Float64 numbers in float32, grouped heads, a batch and any lengths come to what plain formulas say."""
    if backend != "numpy":
        pytest.importorskip(backend, reason=f'needs {backend}: pip install "attncli[{backend}]"')
    draw = np.random.default_rng(shape).normal
    vectors = {"Q": (2, 4, shape[0], 8), "K": (2, 2, shape[1], 8), "V": (2, 2, shape[1], 5)}
    arrays_of: dict[str, Any] = {each: draw(size=size) for each, size in vectors.items()}
    problem = Problem(**arrays_of, **MASKS[name], dtype="float32")
    result = compute(problem, backend=backend, keep=("head_output", "output"))
    assert result.path == "streamed"
    output, lse = plainly(problem)
    close_to(result["head_output"].array, output, rtol=1e-5, atol=3e-6)
    if not result.kernel:
        close_to(result["weights"].details["lse"], lse, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e6])
def test_no_scale_is_lost(scale: float, backend: str) -> None:
    """A scale so far from 1 that queries are not scaled first counts wherever the tiles are worked off."""
    if backend != "numpy":
        pytest.importorskip(backend, reason=f'needs {backend}: pip install "attncli[{backend}]"')
    q, k, v = np.random.default_rng(0).normal(size=(3, 4, 4)) / scale**0.5
    scores = q @ k.T * scale
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    result = compute(Problem(Q=q, K=k, V=v, scale=scale), backend=backend, keep=("output",))
    close_to(result["output"].array, weights @ v, rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan, 3e38])
def test_every_library_is_odd_in_the_same_places(odd: float, backend: str) -> None:
    """What is not finite, or nearly so, comes out of tiles of each library as out of its full way."""
    if backend != "numpy":
        pytest.importorskip(backend, reason=f'needs {backend}: pip install "attncli[{backend}]"')
    q, k, v = np.random.default_rng(1).normal(size=(3, 600, 4))
    v[::7, 1], k[530, 0], q[40, 1] = odd, odd, odd
    problem = Problem(Q=q, K=k, V=v, dtype="float32", mask=Mask(causal=True))
    full, tiles = (compute(problem, backend=backend, keep=keep) for keep in (None, ("output",)))
    wanted = full["output"].array
    assert wanted is not None
    got = tiles["output"].array
    assert got is not None
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(wanted))
    close_to(got, wanted, rtol=1e-4, atol=1e-5)
