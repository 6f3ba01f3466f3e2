"""A problem that starts with tokens' vectors: what queries, keys and values are made from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.resolve.draft import Draft, Numbers, counted, word
from attncli.resolve.heads import Part, bias_row, layout_of, split_columns
from attncli.resolve.layouts import arrange, say_shape, weight_matrix

__all__ = ["from_x"]

_WEIGHTS = ("W_Q", "W_K", "W_V")


def from_x(draft: Draft) -> None:
    """Take tokens' vectors, and the weights that make queries, keys and values of them."""
    p = draft.problem
    weights, heads = _read_weights(p)
    x = _x(p, weights)
    x, draft.axes = _tokens_first(p, "X", x)
    sources = _sources(p, x, draft.axes, weights)
    widths = {name: source.shape[-1] for name, source in zip(_WEIGHTS, (x, *sources), strict=True)}
    draft.sizes = {"query": x.shape[-2], "key": sources[0].shape[-2], "d_model": x.shape[-1]}
    if "batch" in draft.axes:
        draft.sizes["batch"] = x.shape[0]
    symbols = ("X", *(_source_symbol(p, name) for name in ("K", "V")))
    for low, source, symbol in zip("qkv", (x, *sources), symbols, strict=True):
        if low == "q" or p.context is not None:
            draft.put("x" if low == "q" else f"x_{low}", source, symbol)
    made = _expand_words(weights, widths)
    for name, weight in made.items():
        _fits_source(p, name, weight, widths[name], x if name == "W_Q" else sources["KV".index(name[-1])])
        draft.put(name.lower(), weight, name)
    outs = {name: made[name].shape[1] if name in made else widths[name] for name in _WEIGHTS}
    origins = {name: "X" if name == "W_Q" or p.context is None else "context" for name in _WEIGHTS}
    split_columns(
        draft,
        *(Part(name if name in made else origins[name], out, heads.get(name)) for name, out in outs.items()),
    )
    _biases(draft, outs)
    _note_square(draft, weights)


def _read_weights(p: Problem) -> tuple[dict[str, Numbers | str], dict[str, int]]:
    """Bring the projections to ``(in, out)``; words stay words."""
    given = {name: getattr(p, name) for name in _WEIGHTS if getattr(p, name) is not None}
    if given and len(given) < len(_WEIGHTS):
        missing = next(name for name in _WEIGHTS if name not in given)
        raise InputError(
            f"{missing} is missing, though {' and '.join(given)} {'are' if len(given) > 1 else 'is'} given",
            path=(next(iter(given)),),
            context="either all three weights are given, or none (then Q = K = V = X)",
            fix=f"add {missing}; {missing}: identity takes the vectors as they are",
        )
    weights: dict[str, Numbers | str] = {}
    heads: dict[str, int] = {}
    for name, weight in given.items():
        if isinstance(weight, str):
            weights[name] = weight
            continue
        weights[name], found = weight_matrix(name, weight, layout_of(p, name))
        if found:
            heads[name] = found
    return weights, heads


def _x(p: Problem, weights: Mapping[str, Numbers | str]) -> Numbers:
    if not isinstance(p.X, str):
        assert p.X is not None
        return np.asarray(p.X)
    w_q = weights.get("W_Q")
    return _vectors("X", p.X, p.tokens, w_q)


def _vectors(name: str, given: str, labels: tuple[str, ...] | None, weight: Numbers | str | None) -> Numbers:
    """Make the vectors that a word stands for: one per label, as wide as the weight takes."""
    rows = len(labels or ()) or None
    columns = weight.shape[0] if isinstance(weight, np.ndarray) else None
    if given == "identity":
        rows = columns = columns or rows
    return word(name, given, rows, columns)


def _tokens_first(p: Problem, name: str, array: Numbers) -> tuple[Numbers, tuple[str, ...]]:
    x, axes = arrange(name, array, p.x_layout, ("seq dim", "batch seq dim"))
    return x, axes[:-2]


def _sources(
    p: Problem, x: Numbers, axes: tuple[str, ...], weights: Mapping[str, Numbers | str]
) -> tuple[Numbers, Numbers]:
    """Find where keys and values come from: the context, or X itself."""
    context = p.context
    if context is None:
        return x, x
    if isinstance(context, str):
        context = _vectors("context", context, p.context_tokens, weights.get("W_K"))
    given = context if isinstance(context, Mapping) else {"K": context, "V": context}
    found = []
    for name in ("K", "V"):
        if name not in given:
            raise InputError(
                f"context has no {name}", path=("context",), fix=f"add {name} to context, or give one array"
            )
        array, other_axes = _tokens_first(p, "context", np.asarray(given[name]))
        if other_axes != axes or (axes and array.shape[0] != x.shape[0]):
            raise InputError(
                f"context is {say_shape(array)}, but X is {say_shape(x)}: their batches differ",
                path=("context",),
            )
        found.append(array)
    k, v = found
    if k.shape[-2] != v.shape[-2]:
        raise InputError(
            f"context gives {k.shape[-2]} keys but {v.shape[-2]} values",
            path=("context", "V"),
            fix="every key needs a value",
        )
    return k, v


def _source_symbol(p: Problem, which: str) -> str:
    return f"C_{which}" if isinstance(p.context, Mapping) else "C"


def _expand_words(weights: Mapping[str, Numbers | str], widths: Mapping[str, int]) -> dict[str, Numbers]:
    """Give ``identity``, ``zeros`` and ``ones`` the shape of a projection that keeps the width."""
    return {
        name: word(name, weight, widths[name], widths[name]) if isinstance(weight, str) else weight
        for name, weight in weights.items()
    }


def _fits_source(p: Problem, name: str, weight: Numbers, width: int, source: Numbers) -> None:
    if weight.shape[0] == width:
        return
    origin = "X" if name == "W_Q" or p.context is None else "context"
    transposed = weight.shape[1] == width
    raise InputError(
        f"{name} has {counted(weight.shape[0], 'row')}, but {origin} has {counted(width, 'column')}",
        path=(name,),
        context=f"{origin} is {say_shape(source)} ({counted(source.shape[-2], 'token')}, d = {width}), "
        f"so {name} must be {width}×d_{'v' if name == 'W_V' else 'k'}; it is {say_shape(weight)}",
        fix=f"it would fit transposed: weight_layout: {{{name}: {'in out' if layout_of(p, name) == 'out in' else 'out in'}}}"
        if transposed
        else f"give {name} {counted(width, 'row')}, or {origin} {counted(weight.shape[0], 'column')}",
    )


def _biases(draft: Draft, outs: Mapping[str, int]) -> None:
    for weight, out in outs.items():
        name = "b" + weight[1:]
        bias = getattr(draft.problem, name)
        if bias is not None:
            heads = draft.values["num_heads" if weight == "W_Q" else "num_kv_heads"]
            draft.put(name.lower(), bias_row(name, bias, out, weight, heads), name)


def _note_square(draft: Draft, weights: Mapping[str, Numbers | str]) -> None:
    """Say how a square weight was read, since its shape cannot tell; a symmetric one reads the same."""
    p = draft.problem
    unsaid = [
        name
        for name, weight in weights.items()
        if not isinstance(weight, str)
        and layout_of(p, name) is None
        and weight.shape[0] == weight.shape[1]
        and not np.array_equal(weight, weight.T, equal_nan=True)
    ]
    if unsaid:
        draft.notes.append(
            f"{', '.join(unsaid)} {'are' if len(unsaid) > 1 else 'is'} square and read as y = xW; "
            "for nn.Linear's y = xWᵀ say weight_layout: out in"
        )
