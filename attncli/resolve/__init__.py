"""From a problem as it was written to the inputs of `attend`: one layout, every choice made.

Each array that does not fit names itself, its shape and the shape that would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attncli.core.attention import Inputs
from attncli.problem import Problem
from attncli.resolve.draft import Draft
from attncli.resolve.given import from_qkv, from_scores
from attncli.resolve.heads import output_weight
from attncli.resolve.labels import labels
from attncli.resolve.masks import mask_inputs
from attncli.resolve.projections import from_x
from attncli.resolve.scale import scale
from attncli.resolve.start import start

__all__ = ["Resolved", "resolve"]


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A problem that can be computed.

    Args:
        start: The key that the data starts with.
        inputs: What `attend` takes, in NumPy.
        query_labels: One label for each query.
        key_labels: One label for each key.
        notes: Readings that were not the only ones, one sentence each.
    """

    start: str
    inputs: Inputs
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    notes: tuple[str, ...]


def resolve(problem: Problem) -> Resolved:
    """Bring a problem into the one form that `attend` computes.

    Raises:
        InputError: Something is missing, given twice, or does not fit.
    """
    draft = Draft(problem)
    begin = start(problem)
    if begin == "X":
        from_x(draft)
    elif begin == "Q":
        from_qkv(draft)
    else:
        from_scores(draft, begin)
    output_weight(draft)
    scale(draft, begin)
    query_labels, key_labels = labels(draft)
    draft.values |= mask_inputs(problem, begin, draft.axes, draft.sizes)
    inputs = Inputs(
        **draft.values,
        batch="batch" in draft.axes,
        kv_head_map=problem.kv_head_map,
        seq_q=draft.sizes["query"],
        seq_k=draft.sizes["key"],
        empty=math.nan if problem.fully_masked == "nan" else 0.0,
        exclude=problem.masked_values == "exclude",
    )
    return Resolved(
        start=begin,
        inputs=inputs,
        query_labels=query_labels,
        key_labels=key_labels,
        notes=tuple(draft.notes),
    )
