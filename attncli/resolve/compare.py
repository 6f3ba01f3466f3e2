"""How queries and keys are compared."""

from __future__ import annotations

from attncli.core.inputs import Similarity
from attncli.errors import InputError
from attncli.problem import Variant
from attncli.resolve.draft import Draft, Numbers, counted, needs_vectors, real
from attncli.resolve.layouts import say_shape
from attncli.trace import Value

__all__ = ["compared", "similarity"]


def compared(score: Variant | str, width_q: int, width_k: int) -> tuple[int, int]:
    """Return the widths of queries and keys at which they are compared, number by number.

    Raises:
        InputError: A weight between them has another shape.
    """
    if not isinstance(score, Variant):
        return width_q, width_k
    if score.name == "general":
        _fits("general", score.value, (width_q, width_k), ("q", "k"))
        return width_k, width_k
    network = score.value
    hidden_q, hidden_k = width_q, width_k
    if network.W_q is not None:
        _fits("additive.W_q", network.W_q, (width_q, None), ("q", "hidden"))
        hidden_q = network.W_q.shape[1]
    if network.W_k is not None:
        _fits("additive.W_k", network.W_k, (width_k, None), ("k", "hidden"))
        hidden_k = network.W_k.shape[1]
    return hidden_q, hidden_k


def _fits(name: str, weight: Numbers, shape: tuple[int, int | None], axes: tuple[str, str]) -> None:
    rows, columns = shape
    if weight.ndim != 2 or weight.shape[0] != rows or columns not in (None, weight.shape[1]):  # noqa: PLR2004
        wanted = f"{rows}×{columns or axes[1]}"
        raise InputError(
            f"score.{name} is {say_shape(weight)}, where {wanted} is expected",
            path=("score", *name.split(".")),
            context=f"its axes are ({', '.join(axes)}), and a query of a head is {rows} wide"
            if axes[0] == "q"
            else f"its axes are ({', '.join(axes)}), and a key of a head is {rows} wide",
        )


def similarity(draft: Draft, begin: str) -> None:
    """Take how scores are made of queries and keys."""
    score = draft.problem.score
    if score == "dot":
        return
    needs_vectors("score", begin)
    name = score.name if isinstance(score, Variant) else score
    arrays: tuple[Value | None, ...] = ()
    if isinstance(score, Variant) and name == "general":
        arrays = (Value(real(score.value), "W"),)
    elif isinstance(score, Variant):
        given = ((score.value.W_q, "W_q"), (score.value.W_k, "W_k"), (score.value.v, "v"))
        arrays = tuple(None if array is None else Value(real(array), symbol) for array, symbol in given)
        _hidden(draft, score)
    draft.values["similarity"] = Similarity(kind=name, weights=arrays)
    p = draft.problem
    if p.scale is None and p.divide_by is None:
        draft.notes.append(f"score: {name} is divided by √d_k like any other; scale: none leaves it as it is")


def _hidden(draft: Draft, score: Variant) -> None:
    v = score.value.v
    if v is None:
        return
    width = draft.sizes["compared"]
    if v.shape != (width,):
        raise InputError(
            f"score.additive.v is {say_shape(v)}, but the hidden layer is {width} wide",
            path=("score", "additive", "v"),
            fix=f"give {counted(width, 'number')}",
        )
