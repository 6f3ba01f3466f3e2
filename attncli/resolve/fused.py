"""Fused weights, taken apart into those of queries, keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve.draft import Numbers, counted
from attncli.resolve.heads import layout_of
from attncli.resolve.layouts import arrange, say_shape, weight_matrix

__all__ = ["unfused"]


def unfused(p: Problem) -> Problem:
    """Return the problem with W_Q, W_K and W_V in place of W_QKV, and likewise the biases.

    Raises:
        InputError: Nothing says how the weight lies, or the heads do not share its columns.
    """
    given = next((name for name in ("W_QKV", "b_QKV") if getattr(p, name) is not None), None)
    if given is None:
        if p.fused is not None:
            raise InputError("fused is given, but W_QKV is not", path=("fused",), fix="remove fused")
        return p
    for part in "QKV":
        for name in (f"W_{part}", f"b_{part}"):
            if getattr(p, name) is not None and (name[0] == "W" or p.b_QKV is not None):
                raise InputError(f"{given} and {name} are both given", path=(name,), fix="keep one of them")
    if p.W_QKV is None:
        raise InputError("b_QKV is given, but W_QKV is not", path=("b_QKV",), fix="give b_Q, b_K and b_V")
    if p.fused is None:
        raise InputError(
            "W_QKV is given, but nothing says how it lies",
            path=("W_QKV",),
            context="block is [Q|K|V], per_head [q|k|v] for each head, per_group [q…|k|v] for each "
            "key-value head: the shapes are the same",
            fix="fused: block, per_head or per_group",
        )
    weight, _ = weight_matrix("W_QKV", p.W_QKV, layout_of(p, "W_QKV"))
    _fits_x(p, weight)
    w_q, w_k, w_v = _apart(p, "W_QKV", weight)
    plain = replace(p, W_QKV=None, fused=None, weight_layout=_layouts(p), W_Q=w_q, W_K=w_k, W_V=w_v)
    if p.b_QKV is None:
        return plain
    b_q, b_k, b_v = _apart(p, "b_QKV", p.b_QKV)
    return replace(plain, b_QKV=None, b_Q=b_q, b_K=b_k, b_V=b_v)


def _fits_x(p: Problem, weight: Numbers) -> None:
    """Hold the weight against X under its own name; its parts go by names that the file lacks."""
    if p.X is None:
        raise InputError(
            "W_QKV makes Q, K and V of X, but there is no X",
            path=("W_QKV",),
            fix="add X, or remove W_QKV and what belongs to it",
        )
    if isinstance(p.X, str):
        return
    x, _ = arrange("X", p.X, p.x_layout, ("seq dim", "batch seq dim"))
    rows, columns = weight.shape
    if rows != x.shape[-1]:
        other = "in out" if layout_of(p, "W_QKV") == "out in" else "out in"
        raise InputError(
            f"W_QKV has {counted(rows, 'row')}, but X has {counted(x.shape[-1], 'column')}",
            path=("W_QKV",),
            fix=f"it would fit transposed: weight_layout: {{W_QKV: {other}}}"
            if columns == x.shape[-1]
            else f"give W_QKV {counted(x.shape[-1], 'row')}",
        )


def _layouts(p: Problem) -> Mapping[str, str]:
    output = {} if p.W_O is None else {"W_O": layout_of(p, "W_O") or "in out"}
    return {"W_Q": "in out", "W_K": "in out", "W_V": "in out"} | output


def _apart(p: Problem, name: str, fused: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Cut the last axis into the columns of queries, keys and values."""
    num_heads = p.num_heads or 1
    num_kv = p.num_kv_heads or num_heads
    columns = fused.shape[-1]
    head_dim, rest = divmod(columns, num_heads + 2 * num_kv)
    if fused.ndim > 2 or rest or num_heads % num_kv:  # noqa: PLR2004
        raise InputError(
            f"{name} is {say_shape(fused)}, and {counted(columns, 'column')} cannot be shared by "
            f"{counted(num_heads, 'query head')} and {counted(num_kv, 'key-value head')} for K and for V",
            path=(name,),
            context=f"(num_heads + 2 · num_kv_heads) · head_dim columns are needed: a multiple of {num_heads + 2 * num_kv}",
        )
    if p.fused == "per_head" and num_kv != num_heads:
        raise InputError(
            "fused: per_head has a key and a value for every query head, but num_kv_heads is smaller",
            path=("fused",),
            fix="fused: per_group",
        )
    if p.fused == "block":
        cuts = np.cumsum([num_heads * head_dim, num_kv * head_dim])
        q, k, v = np.split(fused, cuts, axis=-1)
        return q, k, v
    # per_head is per_group with one query head in each group
    group = num_heads // num_kv
    slots = fused.reshape(*fused.shape[:-1], num_kv, group + 2, head_dim)
    pieces = slots[..., :group, :], slots[..., group, :], slots[..., group + 1, :]
    q, k, v = (piece.reshape(*fused.shape[:-1], -1) for piece in pieces)
    return q, k, v
