"""Masks and biases against the scores: which axis is which, and whether the lengths agree."""

from __future__ import annotations

from collections.abc import Mapping

from attncli.errors import InputError, Path
from attncli.resolve.draft import Draft, Numbers
from attncli.resolve.layouts import no_empty_axis, say_shape

__all__ = ["fit_scores"]

_AXES = ("batch", "head", "query", "key")


def fit_scores(path: Path, array: Numbers, draft: Draft) -> Numbers:
    """Bring an array to the axes of the scores, with length one where it broadcasts.

    Args:
        path: The array's key, for messages.
        array: A mask or a bias, in the layout that the problem states.
        draft: Knows the axes of the scores and their lengths.

    Raises:
        InputError: The array does not fit, or its axes could be read in two ways.
    """
    name, full, sizes = ".".join(map(str, path)), (*draft.axes, "query", "key"), draft.sizes
    no_empty_axis(name, array, path)
    own = _own_axes(path, array, draft)
    ordered = [axis for axis in _AXES if axis in own]
    arranged = array.transpose([own.index(axis) for axis in ordered])
    for axis, length in zip(ordered, arranged.shape, strict=True):
        if length not in (1, sizes.get(axis, 1)):
            raise InputError(
                _misfit(name, array, ordered, draft), path=path, fix=_padding_hint(arranged, sizes)
            )
    lengths = dict(zip(ordered, arranged.shape, strict=True))
    return arranged.reshape([lengths.get(axis, 1) for axis in full])


def _own_axes(path: Path, array: Numbers, draft: Draft) -> list[str]:
    """Find the axes of an array: as stated, or by its rank."""
    name, full, sizes = ".".join(map(str, path)), (*draft.axes, "query", "key"), draft.sizes
    layout = draft.problem.mask_layout
    stated = layout.split() if layout else None
    if stated and len(stated) == array.ndim:
        return stated
    if array.ndim == 2:  # noqa: PLR2004
        if "batch" in full and array.shape == (sizes["batch"], sizes["key"]) and array.shape[0] > 1:
            raise InputError(
                f"{name} is {say_shape(array)}: is that (batch, keys) or (queries, keys)?"
                if sizes["batch"] == sizes["query"]
                else f"{name} is {say_shape(array)}, one row per item of the batch rather than per query",
                path=path,
                fix="mask: {key_padding: …} for (batch, keys); mask_layout: query key for (queries, keys)",
            )
        return ["query", "key"]
    if array.ndim == len(_AXES):
        return list(_AXES)
    if array.ndim == 3 and len(full) == 3:  # noqa: PLR2004
        return list(full)
    raise InputError(
        f"{name} is {array.ndim}-D ({say_shape(array)}), and nothing says which axis is which",
        path=path,
        fix="mask_layout: batch query key, or head query key"
        if array.ndim == 3  # noqa: PLR2004
        else "give it the axes (queries, keys) or (batch, head, queries, keys)",
    )


def _misfit(name: str, array: Numbers, own: list[str], draft: Draft) -> str:
    full = (*draft.axes, "query", "key")
    fits = "×".join(str(draft.sizes[axis]) for axis in full)
    return f"{name} is {say_shape(array)} ({', '.join(own)}), but the scores are {fits} ({', '.join(full)})"


def _padding_hint(array: Numbers, sizes: Mapping[str, int]) -> str:
    if array.ndim == 2 and array.shape[1] == sizes["key"] and array.shape[0] == sizes.get("batch", 1):  # noqa: PLR2004
        return "mask: {key_padding: …} takes one row per item of the batch"
    return "give every axis the length of the scores, or 1"
