"""From the mask key to the rules and arrays that `attend` takes, each checked against the scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from attncli.core.masks import Rules
from attncli.errors import InputError
from attncli.problem import Mask, Problem, Variant
from attncli.resolve.broadcast import fit_scores
from attncli.resolve.draft import Draft, Numbers
from attncli.resolve.layouts import say_shape
from attncli.resolve.presets import is_said
from attncli.trace import Value

__all__ = ["first_query", "mask_inputs", "truth"]

Window: TypeAlias = tuple[int | None, int | None]


def mask_inputs(draft: Draft, begin: str) -> None:
    """Bring the mask into the form of `attncli.core.inputs.Inputs`.

    Raises:
        InputError: An array does not fit the scores, or the rules leave a choice open.
    """
    problem, mask = draft.problem, draft.problem.mask
    if mask is None:
        _note_unused(draft, begin)
        return
    if begin == "masked":
        raise InputError(
            "mask is given, but the scores are masked already",
            path=("mask",),
            fix="remove mask, or call the scores scaled",
        )
    draft.values |= {"mask": _rules(draft, mask), "fill": _fill(problem)}
    if mask.additive is not None:
        draft.put("additive", fit_scores(("mask", "additive"), mask.additive, draft), "mask")
    if mask.query_padding is not None:
        rows = _per_item("query_padding", mask.query_padding, "query", draft)
        draft.values["real_queries"] = Value(np.swapaxes(rows, -1, -2), "real")


def _note_unused(draft: Draft, begin: str) -> None:
    """Say which keys wait for a mask; scores that come masked may hide all keys of a query, too."""
    waiting = ("mask_fill",) if begin == "masked" else ("mask_fill", "fully_masked")
    unused = [name for name in waiting if is_said(draft.problem, name)]
    if unused:
        draft.notes.append(f"there is no mask for {' and '.join(unused)} to act on")


def _rules(draft: Draft, mask: Mask) -> Rules | None:
    kept = []
    if mask.keep is not None:
        kept.append(truth(fit_scores(("mask", "keep"), mask.keep, draft)))
    if mask.drop is not None:
        kept.append(~truth(fit_scores(("mask", "drop"), mask.drop, draft)))
    if mask.key_padding is not None:
        kept.append(_per_item("key_padding", mask.key_padding, "key", draft))
    lengths = None if mask.lengths is None else _lengths(mask.lengths, draft)
    windows = _windows(mask)
    if not (mask.causal or windows):
        _no_diagonal(draft, mask)
    if not (mask.causal or windows or kept) and lengths is None:
        return None
    diagonal = "causal" if mask.causal else "a window" if windows else None
    rules = Rules(
        causal=mask.causal,
        windows=windows,
        keep_first=mask.keep_first or 0,
        offset=first_query(draft, diagonal, lengths) if diagonal else 0,
        lengths=lengths,
        arrays=tuple(kept),
    )
    return replace(rules, symbol=_symbol(rules))


def truth(array: Numbers) -> Numbers:
    """Read 1 as true and 0 as false."""
    return array.astype(bool)


def _no_diagonal(draft: Draft, mask: Mask) -> None:
    biases = draft.problem.bias if isinstance(draft.problem.bias, tuple) else (draft.problem.bias,)
    if any(isinstance(bias, Variant) for bias in biases):
        return  # a bias by distance has a diagonal too
    for key in ("align", "offset"):
        if getattr(mask, key) is not None:
            raise InputError(
                f"{key} says where a diagonal runs, but there is neither causal nor a window",
                path=("mask", key),
                fix=f"add causal: true, or remove {key}",
            )


def _windows(mask: Mask) -> tuple[Window, ...]:
    """List the windows as keys to the left and right, the query's own not counted."""
    windows: list[Window] = []
    if mask.window is not None:
        windows.append((mask.window.get("left"), mask.window.get("right")))
    if mask.sliding_window is not None:
        windows.append((mask.sliding_window - 1, mask.sliding_window - 1))
    if mask.keep_first is not None and not windows:
        raise InputError(
            "keep_first keeps keys in sight of a window, but there is no window",
            path=("mask", "keep_first"),
            fix="add window or sliding_window",
        )
    return tuple(windows)


def first_query(draft: Draft, what: str, lengths: Numbers | None = None) -> Numbers | int:
    """Find the position of the first query among the keys.

    Args:
        draft: Knows the mask, and how many queries, keys and cached keys there are.
        what: What needs to know, for the message.
        lengths: Real keys of each item of the batch.

    Raises:
        InputError: Nothing says how queries and keys line up.
    """
    mask = draft.problem.mask or Mask()
    if mask.offset is not None and mask.align is not None:
        raise InputError("align and offset are both given", path=("mask", "offset"), fix="keep one of them")
    if mask.offset is not None:
        return mask.offset
    seq_q, seq_k, past = (draft.sizes.get(name, 0) for name in ("query", "key", "past"))
    if mask.align is None and past and seq_q + past == seq_k:
        return past
    if mask.align is None and seq_q != seq_k:
        raise InputError(
            f"{what} is not clear with {seq_q} queries and {seq_k} keys: which key is the first query's own?",
            path=("mask",) if draft.problem.mask else (),
            context=f"top_left puts it at key 0 (torch, JAX, Keras), bottom_right at key {seq_k - seq_q} "
            "(FlashAttention, MLX, decoding with a cache)",
            fix=f"mask: {{{_diagonal(mask)}align: bottom_right}}, or top_left, or offset: n",
        )
    if mask.align != "bottom_right":
        return 0
    return seq_k - seq_q if lengths is None else lengths - seq_q


def _diagonal(mask: Mask) -> str:
    return "causal: true, " if mask.causal else "window: …, " if mask.window or mask.sliding_window else ""


def _lengths(lengths: tuple[int, ...], draft: Draft) -> Numbers:
    axes, sizes = draft.axes, draft.sizes
    items = sizes["batch"] if "batch" in axes else 1
    path = ("mask", "lengths")
    if len(lengths) != items:
        raise InputError(
            f"mask.lengths has {len(lengths)} numbers for {items} item{'s' * (items != 1)} in the batch",
            path=path,
            fix="give one length per item",
        )
    for i, length in enumerate(lengths):
        if not 0 <= length <= sizes["key"]:
            raise InputError(
                f"mask.lengths says {length}, but there are {sizes['key']} keys", path=(*path, i)
            )
    shape = [items if axis == "batch" else 1 for axis in (*axes, "query", "key")]
    return np.reshape(np.asarray(lengths), shape)


def _per_item(name: str, array: Numbers, axis: str, draft: Draft) -> Numbers:
    """Spread a (batch, positions) padding mask over the axes of the scores, its positions last."""
    axes, sizes = draft.axes, draft.sizes
    path = ("mask", name)
    items = sizes["batch"] if "batch" in axes else 1
    rows = array[None] if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[0] not in (1, items) or rows.shape[1] != sizes[axis]:  # noqa: PLR2004
        raise InputError(
            f"mask.{name} is {say_shape(array)}, but the problem has {items} item{'s' * (items != 1)} of "
            f"{sizes[axis]} {'keys' if axis == 'key' else 'queries'}",
            path=path,
            fix=f"give one row per item: {items}×{sizes[axis]}",
        )
    between = (1,) * len([each for each in axes if each == "head"])
    batch = rows.shape[:1] if "batch" in axes else ()
    return truth(rows).reshape((*batch, *between, 1, rows.shape[1]))


def _fill(problem: Problem) -> float:
    """Turn ``finfo_min`` into the number that it is for the precision."""
    if not isinstance(problem.mask_fill, str):
        return problem.mask_fill
    dtype = problem.dtype if isinstance(problem.dtype, str) else problem.dtype.get("qk", "float64")
    if dtype == "bfloat16":
        return -3.3895313892515355e38  # -(2 − 2⁻⁷)·2¹²⁷: NumPy has no bfloat16 to ask
    return float(np.finfo(dtype).min)


def _symbol(rules: Rules) -> str:
    """Say the rules as a formula does: ``k ≤ q``, or ``k ≤ q + 2`` where query 0 stands at key 2."""
    parts = [f"k ≤ {_shifted(rules.offset, 0)}"] if rules.causal else []
    parts += [_window_symbol(rules, left, right) for left, right in rules.windows]
    if rules.arrays or rules.lengths is not None or not parts:
        parts.append("kept")
    return " and ".join(parts)


def _window_symbol(rules: Rules, left: int | None, right: int | None) -> str:
    low = f"{_shifted(rules.offset, -left)} ≤ " if left is not None else ""
    high = f" ≤ {_shifted(rules.offset, right)}" if right is not None and not rules.causal else ""
    first = f" or k < {rules.keep_first}" if rules.keep_first else ""
    seen = f"{low}k{high}" if low or high else "any k"
    return f"({seen}{first})" if first else seen


def _shifted(offset: Numbers | int, by: int) -> str:
    """Say a query's position among the keys, moved by some keys."""
    if not isinstance(offset, int):  # each item of the batch has its own
        return "q + offset" + (f" {'+' if by > 0 else '−'} {abs(by)}" if by else "")
    moved = offset + by
    return f"q {'+' if moved > 0 else '−'} {abs(moved)}" if moved else "q"
