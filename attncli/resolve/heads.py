"""How queries, keys and values are shared among heads, and what follows the heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve.compare import compared
from attncli.resolve.draft import Draft, Numbers, counted, word
from attncli.resolve.layouts import say_shape, weight_matrix

__all__ = ["Part", "bias_row", "given_heads", "layout_of", "output_weight", "split_columns"]


class Part(NamedTuple):
    """The key that gives queries, keys or values, and how wide they are.

    Args:
        name: The key, for messages: W_Q, or Q.
        columns: Numbers per token, all heads together; 0 where there are only scores.
        heads: Heads that the array itself shows, by an axis of its own.
    """

    name: str
    columns: int = 0
    heads: int | None = None


def layout_of(problem: Problem, weight: str) -> str | None:
    """Find the layout that a problem states for one of its weights."""
    layout = problem.weight_layout
    return layout.get(weight) if isinstance(layout, Mapping) else layout


def split_columns(draft: Draft, q: Part, k: Part, v: Part | None) -> None:
    """Share the columns of queries, keys and values evenly among the heads."""
    p = draft.problem
    num_heads = p.num_heads or q.heads or 1
    num_kv = p.num_kv_heads or k.heads or num_heads
    _set_heads(draft, (num_heads, num_kv), (q, k, v))
    if num_heads > 1:
        draft.axes = (*draft.axes, "head")
        draft.sizes["head"] = num_heads
    for part, heads in ((q, num_heads), (k, num_kv), (v, num_kv)):
        if part and part.columns % heads:
            raise InputError(
                f"{part.name} has {counted(part.columns, 'column')}, "
                f"which {counted(heads, 'head')} cannot share evenly",
                path=(part.name,),
                fix=f"num_heads must divide {part.columns}",
            )
    _same_head_width(draft, q, k)


def given_heads(draft: Draft, q: Part, k: Part, v: Part | None) -> None:
    """Take the heads that arrays show by an axis of their own."""
    assert q.heads
    assert k.heads
    draft.values["by_head"] = True
    _set_heads(draft, (q.heads, k.heads), (q, k, v))
    _same_head_width(draft, q, k)


def _set_heads(draft: Draft, heads: tuple[int, int], parts: tuple[Part, Part, Part | None]) -> None:
    """Set the numbers of query heads and of key-value heads, once every array agrees with them."""
    p = draft.problem
    num_heads, num_kv = heads
    _, k, v = parts
    stated = (("num_heads", p.num_heads or num_heads), *(("num_kv_heads", p.num_kv_heads or num_kv),) * 2)
    for part, (key, number) in zip(parts, stated, strict=True):
        if part and part.heads not in (None, number):
            raise InputError(
                f"{part.name} has {counted(part.heads or 0, 'head')}, where {number} are expected",
                path=(key if getattr(p, key) else part.name,),
                context=f"{key} is {number}" + _layout_read(draft),
                fix=_OTHER_LAYOUT,
            )
    if num_heads % num_kv:
        raise InputError(
            f"{counted(num_kv, 'key-value head')} cannot serve {counted(num_heads, 'query head')} evenly",
            path=("num_kv_heads",) if p.num_kv_heads else (k.name,),
            context="num_heads must be a multiple of num_kv_heads" + _layout_read(draft),
            fix=_OTHER_LAYOUT
            if draft.values.get("by_head")
            else "num_heads must be a multiple of num_kv_heads",
        )
    draft.values |= {"num_heads": num_heads, "num_kv_heads": num_kv}
    draft.sizes["head_dim"] = k.columns // num_kv
    if v:
        draft.sizes["mixed"] = v.columns // num_kv * num_heads


_OTHER_LAYOUT = "if the heads stand elsewhere, say so: qkv_layout: batch seq head dim"


def _layout_read(draft: Draft) -> str:
    read = draft.problem.qkv_layout or " ".join((*draft.axes, "seq", "dim"))
    return f"; the arrays were read as ({', '.join(read.split())})" if draft.values.get("by_head") else ""


def _same_head_width(draft: Draft, q: Part, k: Part) -> None:
    num_heads, num_kv = draft.values["num_heads"], draft.values["num_kv_heads"]
    wide, narrow = compared(draft.problem.score, q.columns // num_heads, k.columns // num_kv)
    if wide == narrow:
        draft.sizes["compared"] = wide
        return
    if q.name == k.name:  # without weights, one array is both
        raise InputError(
            f"{counted(num_heads, 'query head')} and {counted(num_kv, 'key-value head')} would share "
            f"the {counted(q.columns, 'column')} of {q.name}, and be of different widths",
            path=("num_kv_heads",),
            fix="add W_Q, W_K and W_V, or leave num_kv_heads out",
        )
    per_head = f" ({wide} against {narrow} per head)" if num_heads > 1 else ""
    grouped = num_kv == num_heads > 1 and k.columns % wide == 0
    raise InputError(
        f"{q.name} has {counted(q.columns, 'column')}, but {k.name} has {k.columns}{per_head}",
        path=(k.name,),
        context="a query and a key are compared number by number, so they must be equally wide",
        fix=f"for grouped heads say num_kv_heads: {k.columns // wide}"
        if grouped
        else f"give {q.name} and {k.name} the same number of columns",
    )


def output_weight(draft: Draft) -> None:
    """Check W_O and b_O against the width of the heads side by side."""
    p = draft.problem
    given = next((name for name in ("W_O", "b_O") if getattr(p, name) is not None), None)
    if given is None:
        return
    width = draft.sizes.get("mixed")
    if width is None:
        raise InputError(f"{given} is given, but there are no values to project", path=(given,), fix="add V")
    out = width
    if p.W_O is not None:
        weight = _output_matrix(draft, width)
        draft.put("w_o", weight, "W_O")
        out = weight.shape[1]
    if p.b_O is not None:
        draft.put("b_o", bias_row("b_O", p.b_O, out, "W_O"), "b_O")


def _output_matrix(draft: Draft, width: int) -> Numbers:
    p = draft.problem
    if isinstance(p.W_O, str):
        return word("W_O", p.W_O, width, width)
    assert p.W_O is not None
    layout, num_heads = layout_of(p, "W_O"), draft.values["num_heads"]
    weight, heads = weight_matrix("W_O", p.W_O, layout)
    if heads not in (None, num_heads):
        raise InputError(
            f"W_O has {counted(heads or 0, 'head')}, where {num_heads} {'is' if num_heads == 1 else 'are'} expected",
            path=("W_O",),
            context="a 3-D W_O has the axes (head, dim, out)",
        )
    if weight.shape[0] != width:
        raise InputError(
            f"W_O has {counted(weight.shape[0], 'row')}, "
            f"but the heads side by side have {counted(width, 'column')}",
            path=("W_O",),
            fix=f"it would fit transposed: weight_layout: {{W_O: {'in out' if layout == 'out in' else 'out in'}}}"
            if weight.shape[1] == width
            else f"give W_O {counted(width, 'row')}",
        )
    return weight


def bias_row(name: str, bias: Numbers | str, out: int, partner: str, heads: int = 1) -> Numbers:
    """Bring a bias to one axis: ``(out,)``, the heads side by side.

    Args:
        name: The key.
        bias: Numbers, ``(out,)`` or ``(heads, dim)``; or ``zeros`` or ``ones``.
        out: How many numbers there must be.
        partner: The weight that the bias goes with.
        heads: How many heads share the numbers.
    """
    if isinstance(bias, str) and bias == "identity":
        raise InputError(
            f"{name} is a list of numbers, and identity is a matrix", path=(name,), fix=f"{name}: zeros"
        )
    if isinstance(bias, str):
        return word(name, bias, 1, out).reshape(out)
    if bias.shape not in {(out,), (1, out), (heads, out // heads)}:
        raise InputError(
            f"{name} is {say_shape(bias)}, but {partner} makes {counted(out, 'column')}",
            path=(name,),
            fix=f"give {name} {counted(out, 'number')}: [b_0, b_1, …]",
        )
    return bias.reshape(out)
