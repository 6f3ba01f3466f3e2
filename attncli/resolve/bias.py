"""What is added to the scores: arrays, and rules about distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attncli.core.positions import alibi, alibi_slopes, t5_bias
from attncli.errors import InputError, Path, cell_name
from attncli.problem import T5, Alibi, Mask, Variant
from attncli.resolve.broadcast import fit_scores
from attncli.resolve.draft import Draft, Numbers, counted, real
from attncli.resolve.layouts import say_shape
from attncli.resolve.masks import first_query

__all__ = ["bias"]


def bias(draft: Draft, begin: str) -> None:
    """Add up what is added to the scores."""
    p = draft.problem
    if p.bias is None:
        if p.bias_position != "after_softcap":
            raise InputError("bias_position is given, but bias is not", path=("bias_position",))
        return
    if begin == "masked" or (begin == "scaled" and p.bias_position == "before_scale"):
        raise InputError(f"bias comes before {begin}, which is where this problem starts", path=("bias",))
    parts = p.bias if isinstance(p.bias, tuple) else (p.bias,)
    paths: list[Path] = [("bias", i) for i in range(len(parts))]
    if not isinstance(p.bias, tuple):
        paths = [("bias",)]
    for part, path in zip(parts, paths, strict=True):
        if not isinstance(part, Variant):
            _add(draft, "bias", real(fit_scores(path, part, draft)))
        elif isinstance(part.value, Alibi) and part.value.form == "m*j":  # the one that is no distance
            rule = _alibi(draft, part.value, path)
            _add(draft, "bias", _headed(draft, rule(np.zeros(1, int), np.arange(draft.sizes["key"]))))
        else:
            _add(draft, "by_distance", _by_distance(draft, part.value, path))


def _add(draft: Draft, name: str, numbers: Numbers) -> None:
    before = draft.values.get(name)
    draft.put(name, numbers if before is None else before.array + numbers, "B")


def _by_distance(draft: Draft, rule: Alibi | T5, path: Path) -> Numbers:
    """Find the bias of every distance that there is, which takes far less room than one of every pair."""
    made = _alibi(draft, rule, path) if isinstance(rule, Alibi) else _t5(draft, rule, path)
    distances = np.arange(1 - draft.sizes["query"], draft.sizes["key"]) - _first_query(draft, path)
    return _headed(draft, made(np.zeros(1, int), distances))[..., 0, :]


def _headed(draft: Draft, by_head: Numbers) -> Numbers:
    return by_head if "head" in draft.axes else by_head[0]


def _first_query(draft: Draft, path: Path) -> int:
    """Find where the first query stands; unlike a mask, a bias by distance starts at key 0 unless told."""
    mask, sizes = draft.problem.mask or Mask(), draft.sizes
    if mask.lengths is not None and mask.align == "bottom_right":
        raise InputError(
            "the first query of each item stands elsewhere, and a bias by distance has one place for all",
            path=path,
            fix="mask: {offset: n}, or one item at a time",
        )
    said = mask.align or mask.offset is not None or "past" in sizes
    if not said and sizes["query"] != sizes["key"]:
        draft.notes.append(
            "bias: query 0 stands at key 0; with a cache it would not: mask.offset or past says where"
        )
        return 0
    start = first_query(draft, "a bias by distance")
    assert isinstance(start, int)
    return start


Positional = Callable[[Numbers, Numbers], Numbers]
"""A bias for each head, from the positions of queries and keys."""


def _alibi(draft: Draft, rule: Alibi, path: Path) -> Positional:
    heads = draft.values["num_heads"]
    slopes = alibi_slopes(heads, rule.slopes) if isinstance(rule.slopes, str) else list(rule.slopes)
    if len(slopes) != heads:
        path = (*path, "alibi", "slopes")
        raise InputError(
            f"{cell_name(path)} has {counted(len(slopes), 'number')} for {counted(heads, 'head')}",
            path=path,
            fix="give one slope per head",
        )
    return partial(alibi, np.asarray(slopes, dtype=np.float64), form=rule.form)


def _t5(draft: Draft, rule: T5, path: Path) -> Positional:
    heads = draft.values["num_heads"]
    table = rule.table
    if table is None:
        raise InputError(
            f"{cell_name((*path, 't5'))} needs a table: one row per bucket, one column per head", path=path
        )
    path = (*path, "t5")
    if table.ndim != 2 or table.shape[1] != heads or rule.buckets not in (None, table.shape[0]):  # noqa: PLR2004
        raise InputError(
            f"{cell_name((*path, 'table'))} is {say_shape(table)}, "
            f"where {rule.buckets or 'buckets'}×{heads} is expected",
            path=(*path, "table"),
            context="one row per bucket, one column per head",
        )
    _spread(rule, table.shape[0], path)
    return partial(t5_bias, real(table), bidirectional=rule.bidirectional, max_distance=rule.max_distance)


def _spread(rule: T5, buckets: int, path: Path) -> None:
    """Refuse buckets that leave none for a distance of its own, or none for those far away."""
    exact = buckets // (4 if rule.bidirectional else 2)
    if not exact:
        raise InputError(
            f"{cell_name((*path, 'table'))} has {counted(buckets, 'row')}, too few to tell near from far",
            path=(*path, "table"),
            fix="give at least 4 buckets, or 2 with bidirectional: false",
        )
    if rule.max_distance <= exact:
        raise InputError(
            f"{cell_name((*path, 'max_distance'))} is {rule.max_distance}, and must be more than {exact}: "
            "so many distances have a bucket each",
            path=(*path, "max_distance"),
        )
