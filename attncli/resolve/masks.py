"""From the mask key to the rules and arrays that `attend` takes, each checked against the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from attncli.core.masks import Rules
from attncli.errors import InputError, Path
from attncli.problem import Mask, Problem
from attncli.resolve.draft import Numbers, real
from attncli.resolve.layouts import no_empty_axis, say_shape
from attncli.trace import Value

__all__ = ["mask_inputs"]

Window: TypeAlias = tuple[int | None, int | None]

_AXES = ("batch", "head", "query", "key")


def mask_inputs(
    problem: Problem, begin: str, axes: tuple[str, ...], sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Bring a mask into the form of `attncli.core.attention.Inputs`.

    Args:
        problem: Says the mask and its layout.
        begin: The key that the data starts with.
        axes: The axes of the scores before queries and keys.
        sizes: Lengths of the axes by name.

    Returns:
        The fields ``mask``, ``additive``, ``real_queries`` and ``fill``, as far as they are called for.

    Raises:
        InputError: An array does not fit the scores, or the rules leave a choice open.
    """
    mask = problem.mask
    if mask is None:
        return {}
    if begin == "masked":
        raise InputError(
            "mask is given, but the scores are masked already",
            path=("mask",),
            fix="remove mask, or call the scores scaled",
        )
    full = (*axes, "query", "key")
    found: dict[str, Any] = {"mask": _rules(problem, mask, full, sizes), "fill": _fill(problem)}
    if mask.additive is not None:
        additive = _fit(problem, "additive", mask.additive, full, sizes)
        found["additive"] = Value(real(additive), "mask")
    if mask.query_padding is not None:
        rows = _per_item("query_padding", mask.query_padding, "query", axes, sizes)
        found["real_queries"] = Value(np.swapaxes(rows, -1, -2), "real")
    return found


def _rules(problem: Problem, mask: Mask, full: tuple[str, ...], sizes: Mapping[str, int]) -> Rules | None:
    axes = full[:-2]
    kept = []
    if mask.keep is not None:
        kept.append(_truth(_fit(problem, "keep", mask.keep, full, sizes)))
    if mask.drop is not None:
        kept.append(~_truth(_fit(problem, "drop", mask.drop, full, sizes)))
    if mask.key_padding is not None:
        kept.append(_per_item("key_padding", mask.key_padding, "key", axes, sizes))
    lengths = None if mask.lengths is None else _lengths(mask.lengths, axes, sizes)
    windows = _windows(mask)
    if not (mask.causal or windows):
        _no_diagonal(mask)
    if not (mask.causal or windows or kept) and lengths is None:
        return None
    return Rules(
        causal=mask.causal,
        windows=windows,
        keep_first=mask.keep_first or 0,
        offset=_offset(mask, lengths, sizes) if mask.causal or windows else 0,
        lengths=lengths,
        arrays=tuple(kept),
        symbol=_symbol(mask, windows, plain=bool(kept) or lengths is not None),
    )


def _truth(array: Numbers) -> Numbers:
    """Read 1 as true and 0 as false."""
    return array.astype(bool)


def _no_diagonal(mask: Mask) -> None:
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


def _offset(mask: Mask, lengths: Numbers | None, sizes: Mapping[str, int]) -> Numbers | int:
    """Find the position of the first query among the keys."""
    if mask.offset is not None and mask.align is not None:
        raise InputError("align and offset are both given", path=("mask", "offset"), fix="keep one of them")
    if mask.offset is not None:
        return mask.offset
    seq_q, seq_k = sizes["query"], sizes["key"]
    if mask.align is None and seq_q != seq_k:
        rule, key = ("causal", "causal: true") if mask.causal else ("a window", "window: …")
        raise InputError(
            f"{rule} is not clear with {seq_q} queries and {seq_k} keys: which key is the first query's own?",
            path=("mask",),
            context=f"top_left puts it at key 0 (torch, JAX, Keras), bottom_right at key {seq_k - seq_q} "
            "(FlashAttention, MLX, decoding with a cache)",
            fix=f"mask: {{{key}, align: bottom_right}}, or top_left, or offset: n",
        )
    if mask.align != "bottom_right":
        return 0
    return seq_k - seq_q if lengths is None else lengths - seq_q


def _lengths(lengths: tuple[int, ...], axes: tuple[str, ...], sizes: Mapping[str, int]) -> Numbers:
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


def _per_item(
    name: str, array: Numbers, axis: str, axes: tuple[str, ...], sizes: Mapping[str, int]
) -> Numbers:
    """Spread a (batch, positions) padding mask over the axes of the scores, its positions last."""
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
    return _truth(rows).reshape((*batch, *between, 1, rows.shape[1]))


def _fit(
    problem: Problem, name: str, array: Numbers, full: tuple[str, ...], sizes: Mapping[str, int]
) -> Numbers:
    """Bring a mask's array to the axes of the scores, with length one where it broadcasts."""
    path = ("mask", name)
    no_empty_axis(f"mask.{name}", array, path)
    own = _own_axes(problem, name, array, full, sizes)
    ordered = [axis for axis in _AXES if axis in own]
    arranged = array.transpose([own.index(axis) for axis in ordered])
    for axis, length in zip(ordered, arranged.shape, strict=True):
        if length not in (1, sizes.get(axis, 1)):
            raise InputError(
                _misfit(name, array, ordered, full, sizes), path=path, fix=_padding_hint(arranged, sizes)
            )
    lengths = dict(zip(ordered, arranged.shape, strict=True))
    return arranged.reshape([lengths.get(axis, 1) for axis in full])


def _own_axes(
    problem: Problem, name: str, array: Numbers, full: tuple[str, ...], sizes: Mapping[str, int]
) -> list[str]:
    """Find the axes of a mask's array: as stated, or by its rank."""
    path: Path = ("mask", name)
    stated = problem.mask_layout.split() if problem.mask_layout else None
    if stated and len(stated) == array.ndim:
        return stated
    if array.ndim == 2:  # noqa: PLR2004
        if "batch" in full and array.shape == (sizes["batch"], sizes["key"]) and array.shape[0] > 1:
            raise InputError(
                f"mask.{name} is {say_shape(array)}: is that (batch, keys) or (queries, keys)?"
                if sizes["batch"] == sizes["query"]
                else f"mask.{name} is {say_shape(array)}, one row per item of the batch rather than per query",
                path=path,
                fix="mask: {key_padding: …} for (batch, keys); mask_layout: query key for (queries, keys)",
            )
        return ["query", "key"]
    if array.ndim == len(_AXES):
        return list(_AXES)
    if array.ndim == 3 and len(full) == 3:  # noqa: PLR2004
        return list(full)
    raise InputError(
        f"mask.{name} is {array.ndim}-D ({say_shape(array)}), and nothing says which axis is which",
        path=path,
        fix="mask_layout: batch query key, or head query key"
        if array.ndim == 3  # noqa: PLR2004
        else "give it the axes (queries, keys) or (batch, head, queries, keys)",
    )


def _misfit(
    name: str, array: Numbers, own: list[str], full: tuple[str, ...], sizes: Mapping[str, int]
) -> str:
    fits = "×".join(str(sizes[axis]) for axis in full)
    return (
        f"mask.{name} is {say_shape(array)} ({', '.join(own)}), but the scores are {fits} ({', '.join(full)})"
    )


def _padding_hint(array: Numbers, sizes: Mapping[str, int]) -> str:
    if array.ndim == 2 and array.shape[1] == sizes["key"] and array.shape[0] == sizes.get("batch", 1):  # noqa: PLR2004
        return "mask: {key_padding: …} takes one row per item of the batch"
    return "give every axis the length of the scores, or 1"


def _fill(problem: Problem) -> float:
    """Turn ``finfo_min`` into the number that it is for the precision."""
    if not isinstance(problem.mask_fill, str):
        return problem.mask_fill
    if problem.dtype == "bfloat16":
        return -3.3895313892515355e38  # -(2 − 2⁻⁷)·2¹²⁷: NumPy has no bfloat16 to ask
    return float(np.finfo(problem.dtype).min)


def _symbol(mask: Mask, windows: tuple[Window, ...], *, plain: bool) -> str:
    """Say the rules as a formula does: ``k ≤ q``."""
    parts = ["k ≤ q"] if mask.causal else []
    parts += [_window_symbol(left, right, causal=mask.causal) for left, right in windows]
    if plain or not parts:
        parts.append("kept")
    return " and ".join(parts)


def _window_symbol(left: int | None, right: int | None, *, causal: bool) -> str:
    low = f"q − {left} ≤ " if left is not None else ""
    high = f" ≤ q + {right}" if right is not None and not causal else ""
    return f"{low}k{high}" if low or high else "any k"
