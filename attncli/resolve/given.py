"""A problem that starts further on: with queries and keys, or with scores."""

from __future__ import annotations

import numpy as np

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve.draft import Draft, Numbers, counted, word
from attncli.resolve.heads import Part, given_heads, split_columns
from attncli.resolve.layouts import arrange, say_shape
from attncli.trace import STAGES

__all__ = ["from_qkv", "from_scores"]


_LAYOUTS = ("seq dim", "batch seq dim", "batch head seq dim", "head seq dim")


def from_qkv(draft: Draft) -> None:
    """Take queries, keys and values as they are."""
    p = draft.problem
    if p.K is None:
        raise InputError("Q is given, but K is missing", path=("Q",), fix="add K, one row per key")
    q, k, v = _qkv_words(p)
    q, axes = arrange("Q", q, p.qkv_layout, _LAYOUTS)
    draft.axes = axes[:-2]
    k = _beside(draft, "K", k, "Q", q)
    draft.put("q", q, "Q")
    draft.put("k", k, "K")
    if v is not None:
        v = _beside(draft, "V", v, "K", k)
        _as_many_values(v, k.shape[-2])
        draft.put("v", v, "V")
    if len(axes) == 4 and p.qkv_layout is None and q.shape[1] == q.shape[2]:  # noqa: PLR2004
        draft.notes.append(
            f"Q, K and V are read as (batch, head, seq, dim), and {q.shape[1]} heads and as many queries look "
            "alike; for the other order say qkv_layout: batch seq head dim"
        )
    by_query, by_key = _part(draft, "Q", q), _part(draft, "K", k)
    draft.sizes = {"query": q.shape[-2], "key": k.shape[-2], "d_model": by_query.columns}
    draft.sizes |= dict(zip(draft.axes, q.shape, strict=False))
    share = given_heads if "head" in draft.axes else split_columns
    share(draft, by_query, by_key, None if v is None else _part(draft, "V", v))


def _part(draft: Draft, name: str, array: Numbers) -> Part:
    heads = array.shape[-3] if "head" in draft.axes else None
    return Part(name, array.shape[-1] * (heads or 1), heads)


def _qkv_words(p: Problem) -> tuple[Numbers, Numbers, Numbers | None]:
    """Make the arrays that words stand for, from those that are written out."""
    shapes = _word_shapes(p)

    def made(name: str) -> Numbers | None:
        given = getattr(p, name)
        if not isinstance(given, str):
            return None if given is None else np.asarray(given)
        rows, columns = shapes[name]
        if given == "identity":  # square: as wide as what it is compared with, or a value for each key
            side = rows if name == "V" else columns or rows
            rows = columns = side
        array = word(name, given, rows, columns)
        return array.T if p.qkv_layout == "dim seq" else array

    q, k = made("Q"), made("K")
    assert q is not None
    assert k is not None
    return q, k, made("V")


def _word_shapes(p: Problem) -> dict[str, tuple[int | None, int | None]]:
    """Find the rows and columns of Q, K and V, as far as one matrix or the labels tell those of another."""
    given = {name: getattr(p, name) for name in "QKV"}
    matrices = {
        name: arrange(name, array, p.qkv_layout, _LAYOUTS)[0]
        for name, array in given.items()
        if isinstance(array, np.ndarray) and array.ndim == 2  # noqa: PLR2004
    }
    rows = {name: matrix.shape[0] for name, matrix in matrices.items()}
    columns = {name: matrix.shape[1] for name, matrix in matrices.items()}
    queries = rows.get("Q") or len(p.tokens or ()) or None
    keys = rows.get("K") or rows.get("V") or len(p.context_tokens or ()) or queries
    width = columns.get("Q") or columns.get("K")
    return {"Q": (queries, width), "K": (keys, width), "V": (keys, columns.get("V") or width)}


def _beside(draft: Draft, name: str, array: Numbers, partner: str, other: Numbers) -> Numbers:
    """Arrange an array that must have the batch and head axes of another."""
    layout = draft.problem.qkv_layout or " ".join((*draft.axes, "seq", "dim"))
    if array.ndim != other.ndim:
        raise InputError(
            f"{name} is {array.ndim}-D ({say_shape(array)}), but {partner} is {other.ndim}-D ({say_shape(other)})",
            path=(name,),
            fix=f"give {name} the axes of {partner}",
        )
    arranged, _ = arrange(name, array, layout, _LAYOUTS)
    if "batch" in draft.axes and arranged.shape[0] != other.shape[0]:
        raise InputError(
            f"{name} has {counted(arranged.shape[0], 'item')} in its batch, but {partner} has {other.shape[0]}",
            path=(name,),
        )
    return arranged


def _as_many_values(v: Numbers, seq_k: int) -> None:
    if v.shape[-2] != seq_k:
        raise InputError(
            f"V has {counted(v.shape[-2], 'row')}, but there {'are' if seq_k > 1 else 'is'} {counted(seq_k, 'key')}",
            path=("V",),
            context="every key has one value",
            fix=f"give V {counted(seq_k, 'row')}",
        )


def from_scores(draft: Draft, begin: str) -> None:
    """Take scores, scaled or masked scores as they are."""
    p = draft.problem
    three = "head query key" if "head" in (p.qkv_layout or "") else "batch query key"
    given = np.asarray(getattr(p, begin))
    s, axes = arrange(begin, given, None, ("query key", three, "batch head query key"))
    draft.axes = axes[:-2]
    draft.put(begin, s, STAGES[begin].symbol)
    draft.sizes = {"query": s.shape[-2], "key": s.shape[-1]} | dict(zip(draft.axes, s.shape, strict=False))
    v = _values_of_scores(draft, begin, s)
    heads = draft.sizes.get("head")
    if heads is None and (p.num_heads or 1) > 1:
        raise InputError(
            f"num_heads is {p.num_heads}, but {begin} has no head axis",
            path=("num_heads",),
            fix=f"give {begin} as (head, query, key) and say qkv_layout: head seq dim",
        )
    kv_heads = v.heads if v else heads
    share = given_heads if heads else split_columns
    share(draft, Part(begin, heads=heads), Part(begin, heads=kv_heads), v)


def _values_of_scores(draft: Draft, begin: str, s: Numbers) -> Part | None:
    v = draft.problem.V
    if v is None:
        return None
    seq_k = s.shape[-1]
    if isinstance(v, str):
        v = word("V", v, seq_k, seq_k if v == "identity" else None)
    v = _beside(draft, "V", np.asarray(v), begin, s)
    _as_many_values(v, seq_k)
    draft.put("v", v, "V")
    return _part(draft, "V", v)
