"""From a problem as it was written to the inputs of `attend`: one layout, every choice made.

Each array that does not fit names itself, its shape and the shape that would.
"""

from __future__ import annotations

import math

from attncli.core.inputs import Inputs
from attncli.frozen import Frozen
from attncli.problem import Problem
from attncli.resolve.bias import bias
from attncli.resolve.cache import cache
from attncli.resolve.compare import similarity
from attncli.resolve.draft import Draft
from attncli.resolve.fused import unfused
from attncli.resolve.given import from_qkv, from_scores
from attncli.resolve.heads import output_weight
from attncli.resolve.labels import labels
from attncli.resolve.masks import mask_inputs
from attncli.resolve.positions import encoding, norm, rotation
from attncli.resolve.presets import expanded
from attncli.resolve.projections import from_x
from attncli.resolve.scale import scale
from attncli.resolve.start import start
from attncli.resolve.weighing import weighing

__all__ = ["Resolved", "resolve"]


class Resolved(Frozen, kw_only=True):
    """A problem that can be computed.

    Args:
        start: The key that the data starts with.
        inputs: What `attend` takes, in NumPy.
        query_labels: One label for each query.
        key_labels: One label for each key.
        notes: Readings that were not the only ones, one sentence each.
        problem: The problem, with what ``like`` stands for filled in.
    """

    start: str
    inputs: Inputs
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    notes: tuple[str, ...]
    problem: Problem


def resolve(problem: Problem) -> Resolved:
    """Bring a problem into the one form that `attend` computes.

    Raises:
        InputError: Something is missing, given twice, or does not fit.
    """
    problem, expansion = expanded(problem)
    problem = unfused(problem)
    draft = Draft(problem, notes=[*expansion])
    begin = start(problem)
    if begin == "X":
        from_x(draft)
    elif begin == "Q":
        from_qkv(draft)
    else:
        from_scores(draft, begin)
    cache(draft, begin)
    for step in (encoding, norm, rotation, similarity, scale, bias, mask_inputs, weighing):
        step(draft, begin)
    output_weight(draft)
    query_labels, key_labels = labels(draft)
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
        problem=problem,
    )
