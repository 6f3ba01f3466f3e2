"""A key-value cache: keys and values of earlier tokens, before the new ones."""

from __future__ import annotations

from attncli.core.heads import split_heads
from attncli.errors import InputError
from attncli.resolve.draft import Draft, Numbers, needs_vectors
from attncli.resolve.layouts import arrange, say_shape

__all__ = ["cache"]

_LAYOUTS = ("seq dim", "batch seq dim", "batch head seq dim", "head seq dim")


def cache(draft: Draft, begin: str) -> None:
    """Bring past keys and values to the axes of the new ones, and count them as keys.

    Raises:
        InputError: They do not fit the new ones, or each other.
    """
    past = draft.problem.past
    if past is None:
        return
    needs_vectors("past", begin)
    wanted = ("K", "V") if begin == "X" or "v" in draft.values else ("K",)
    for name in wanted:
        if name not in past:
            raise InputError(f"past has no {name}", path=("past",), fix=f"add {name} to past")
    for name in past:
        if name not in wanted:
            raise InputError(f"past has {name}, but the problem has no {name}", path=("past", name))
    arrays = {name: _by_head(draft, name, past[name]) for name in wanted}
    lengths = {name: array.shape[-2] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"past has {lengths['K']} keys but {lengths['V']} values",
            path=("past", "V"),
            fix="every key needs a value",
        )
    for name, array in arrays.items():
        draft.put(f"past_{name.lower()}", array, f"{name}_past")
    draft.sizes["past"] = lengths["K"]
    draft.sizes["key"] += lengths["K"]


def _by_head(draft: Draft, name: str, array: Numbers) -> Numbers:
    heads, axes = draft.values["num_kv_heads"], draft.axes
    merged = "head" in axes and array.ndim == len(axes) + 1
    own = tuple(axis for axis in axes if not (merged and axis == "head"))
    stated = draft.problem.qkv_layout if not merged and draft.values.get("by_head") else None
    found, _ = arrange(f"past.{name}", array, stated or " ".join((*own, "seq", "dim")), _LAYOUTS)
    split: Numbers = split_heads(found, heads) if merged and found.shape[-1] % heads == 0 else found
    sizes = draft.sizes | {"head": heads}
    width = draft.sizes["head_dim"] if name == "K" else draft.sizes["mixed"] // draft.values["num_heads"]
    if split.shape[:-2] != tuple(sizes[axis] for axis in axes) or split.shape[-1] != width:
        fits = "×".join([*(str(sizes[axis]) for axis in axes), "past", str(width)])
        raise InputError(
            f"past.{name} is {say_shape(array)}, where {fits} is expected",
            path=("past", name),
            context=f"its axes are ({', '.join((*axes, 'seq', 'dim'))}), those of the new {name}",
        )
    return split
