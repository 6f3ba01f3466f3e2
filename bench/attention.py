"""One size of attention, by everybody: ``python -m bench.attention TOKENS`` prints JSON.

Heads of 64 numbers; eight of them, and float32, unless said otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from attncli.compute import compute
from attncli.problem import Mask, Problem
from bench.pairs import RUNS, ratio, times

__all__ = ["PRODUCTS", "contenders", "main"]

OUTPUT = ("output",)
PRODUCTS = "products of the tiles alone"

PAUSE = 0.3
"""Seconds before each run: threads that others left waiting busily fall asleep meanwhile."""

HOLDS_ALL_SCORES = {
    "attn, every stage": 2048,
    "three lines of NumPy": 4096,
    "the same with scipy's softmax": 4096,
    "onnxruntime's MultiHeadAttention": 4096,
    "jax.nn.dot_product_attention, compiled": 4096,
}
"""Up to how many tokens, of eight heads, those are measured that hold all scores at once."""


def tutorial(q: Any, k: Any, v: Any) -> Any:
    """Compute attention as tutorials teach it."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def contenders(
    tokens: int, heads: int = 8, dtype: Any = "float32", width: int = 64, *, libraries: bool = True
) -> dict[str, Callable[[], object]]:
    """Return everybody who is installed, by name; NumPy alone needs no copies of the inputs."""
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((heads, tokens, width), dtype=dtype) for _ in "QKV")

    def problem(**more: Any) -> Problem:
        return Problem(Q=q, K=k, V=v, qkv_layout="head seq dim", dtype=dtype, **more)

    found: dict[str, Callable[[], object]] = {
        "attn": lambda: compute(problem(), keep=OUTPUT),
        "attn, causal": lambda: compute(problem(mask=Mask(causal=True)), keep=OUTPUT),
        "attn, every stage": lambda: compute(problem()),
        "three lines of NumPy": lambda: tutorial(q, k, v),
        PRODUCTS: lambda: _products(q, k, v),
    }
    if libraries:
        found |= _libraries(q, k, v)
    small = tokens * heads / 8
    return {name: run for name, run in found.items() if small <= HOLDS_ALL_SCORES.get(name, small)}


def _libraries(q: Any, k: Any, v: Any) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {}
    if find_spec("scipy"):
        found["the same with scipy's softmax"] = lambda: _scipy(q, k, v)
    if find_spec("torch"):
        found |= _torch(q, k, v)
    if find_spec("jax") and q.dtype == np.float32:
        found |= _jax(q, k, v)
    if find_spec("onnxruntime") and find_spec("onnx") and q.dtype == np.float32:
        found |= _onnxruntime(q, k, v)
    return found


def _products(q: Any, k: Any, v: Any, rows: int = 512, columns: int = 512) -> None:
    """Make the products of attn's tiles and nothing else, which no way through tiles can do without."""

    def strip(place: tuple[int, int]) -> None:
        head, i = place
        for j in range(0, k.shape[1], columns):
            (q[head, i : i + rows] @ k[head, j : j + columns].T) @ v[head, j : j + columns]

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(strip, product(range(q.shape[0]), range(0, q.shape[1], rows))))


def _scipy(q: Any, k: Any, v: Any) -> Any:
    from scipy.special import softmax  # noqa: PLC0415

    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), axis=-1) @ v


def _torch(q: Any, k: Any, v: Any) -> dict[str, Callable[[], object]]:
    import torch  # noqa: PLC0415, TID251  (measured beside attn)

    tq, tk, tv = (torch.from_numpy(each)[None] for each in (q, k, v))
    whole = torch.from_numpy(_heads_side_by_side(q))
    layer = torch.nn.MultiheadAttention(whole.shape[-1], q.shape[0], batch_first=True, dtype=whole.dtype)
    layer.eval()

    def sdpa(*, causal: bool) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(tq, tk, tv, is_causal=causal)

    def multihead() -> Any:
        with torch.inference_mode():
            return layer(whole, whole, whole, need_weights=False)

    return {
        "torch SDPA": lambda: sdpa(causal=False),
        "torch SDPA, causal": lambda: sdpa(causal=True),
        "nn.MultiheadAttention, with its projections": multihead,
    }


def _jax(q: Any, k: Any, v: Any) -> dict[str, Callable[[], object]]:
    import jax  # noqa: PLC0415, TID251  (measured beside attn)

    there = [jax.numpy.asarray(each.swapaxes(0, 1)[None]) for each in (q, k, v)]
    compiled = jax.jit(jax.nn.dot_product_attention)
    return {"jax.nn.dot_product_attention, compiled": lambda: compiled(*there).block_until_ready()}


def _onnxruntime(q: Any, k: Any, v: Any) -> dict[str, Callable[[], object]]:
    import onnxruntime  # noqa: PLC0415
    from onnx import TensorProto, helper  # noqa: PLC0415

    given = {name: _heads_side_by_side(each) for name, each in zip("qkv", (q, k, v), strict=True)}
    shape = given["q"].shape
    q_, k_, v_, o_ = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "qkvo")
    node = helper.make_node(
        "MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=q.shape[0]
    )
    model = helper.make_model(
        helper.make_graph([node], "attention", [q_, k_, v_], [o_]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return {"onnxruntime's MultiHeadAttention": lambda: session.run(None, given)}


def _heads_side_by_side(heads: Any) -> Any:
    """Lay the heads of each token side by side: ``(1, tokens, heads · width)``."""
    return heads.swapaxes(0, 1).reshape(1, heads.shape[1], -1).copy()


def main() -> None:
    """Measure one size, and print what each took as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokens", type=int)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", action="append", help="a contender; alone, its memory is measured too")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--cold", action="store_true", help="without a run that warms up")
    given = parser.parse_args()
    own = given.only and all(name.startswith("attn") for name in given.only)
    everybody = contenders(given.tokens, given.heads, given.dtype, libraries=not own)
    chosen = {name: run for name, run in everybody.items() if not given.only or name in given.only}
    before = _peak()
    taken = times(chosen, given.runs, pause=PAUSE, warm=not given.cold)
    base = taken.get("torch SDPA") or next(iter(taken.values()))
    report = {
        name: {"seconds": statistics.median(each), "ratio": ratio(each, base)} for name, each in taken.items()
    }
    print(json.dumps({"contenders": report, "mib": (_peak() - before) / 1024}))


def _peak() -> int:
    """Return the most memory that this process has held, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
