"""Axes by name: from the layout that a file states to the one that the mathematics uses."""

from __future__ import annotations

import numpy as np

from attncli.errors import InputError, Path

__all__ = ["arrange", "say_shape", "weight_matrix"]

Numbers = np.ndarray


def say_shape(array: Numbers) -> str:
    """Say a shape as people write it: ``3×2``, or ``a list of 3``."""
    if array.ndim == 1:
        return f"a list of {array.shape[0]}"
    return "×".join(map(str, array.shape)) if array.ndim else "a single number"


def arrange(
    name: str, array: Numbers, layout: str | None, canonical: tuple[str, ...]
) -> tuple[Numbers, tuple[str, ...]]:
    """Transpose an array from its layout to the canonical order of axes.

    Args:
        name: The key, for messages.
        array: Numbers in the layout of the file.
        layout: Names of the array's axes; None takes the first canonical layout of its rank.
        canonical: Layouts in canonical order, one for each set of axes.

    Returns:
        The array, as a view, and the names of its axes.

    Raises:
        InputError: The array has another rank, or an axis of length 0.
    """
    stated = layout or next((each for each in canonical if len(each.split()) == array.ndim), None)
    if stated is None or len(stated.split()) != array.ndim:
        wanted = stated or " or ".join(f"{len(each.split())}-D ({each})" for each in canonical)
        raise InputError(
            f"{name} is {array.ndim}-D ({say_shape(array)}), where {wanted} is expected",
            path=(name,),
            context="a layout names every axis once" if layout else "",
            fix=f"write one row per token: {name}: [[…], […]]" if array.ndim < 2 else "state the layout",  # noqa: PLR2004
        )
    no_empty_axis(name, array)
    axes = stated.split()
    order = next(each.split() for each in canonical if sorted(each.split()) == sorted(axes))
    return array.transpose([axes.index(axis) for axis in order]), tuple(order)


def no_empty_axis(name: str, array: Numbers, path: Path | None = None) -> None:
    """Refuse an array without any number."""
    if 0 in array.shape:
        raise InputError(f"{name} is empty: its shape is {say_shape(array)}", path=path or (name,))


def weight_matrix(name: str, weight: Numbers, layout: str | None) -> tuple[Numbers, int | None]:
    """Bring a weight to ``(in, out)``, with the heads side by side.

    Args:
        name: The key; the axis that W_O sums over is the heads', that of the others is the model's.
        weight: Numbers in the layout of the file.
        layout: ``in out``, ``out in``, ``head in dim`` or ``in head dim``; None is ``in out``.

    Returns:
        The matrix, and the number of heads where the weight shows it.

    Raises:
        InputError: The weight has another rank than its layout, or an axis of length 0.
    """
    by_head = layout is not None and "head" in layout
    if weight.ndim == 3 and layout is None:  # noqa: PLR2004
        raise InputError(
            f"{name} is 3-D ({say_shape(weight)}), and nothing says which axis is which",
            path=(name,),
            fix="weight_layout: head in dim, or in head dim",
        )
    # A file may state one 3-D layout for all and still give W_O as the plain matrix it is.
    plain_output = name == "W_O" and weight.ndim == 2  # noqa: PLR2004
    if weight.ndim != (3 if by_head and not plain_output else 2):
        raise InputError(
            f"{name} is {weight.ndim}-D ({say_shape(weight)}), but its layout is {layout or 'in out'}",
            path=(name,),
            fix="write a weight as rows: [[…], […]]" if weight.ndim < 2 else "correct weight_layout",  # noqa: PLR2004
        )
    no_empty_axis(name, weight)
    if layout == "out in":
        return weight.T, None
    if not by_head or plain_output:
        return weight, None
    if name == "W_O":  # both 3-D layouts give it as (head, dim, out): Keras and per-head alike
        heads, dim, out = weight.shape
        return weight.reshape(heads * dim, out), heads
    in_head_dim = weight if layout == "in head dim" else weight.transpose(1, 0, 2)
    wide, heads, dim = in_head_dim.shape
    return in_head_dim.reshape(wide, heads * dim), heads
