"""Which heads and batch items of a result are shown, and where they stand in its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from attncli.compute import Result
from attncli.errors import InputError
from attncli.exhibits import exhibits
from attncli.frozen import Frozen
from attncli.sheet import View

__all__ = ["Part", "Parts"]

MANY = 4
"""So many parts of a stage are still read side by side."""


class Part(Frozen):
    """One matrix of an array with batch and head axes: its name, and its index."""

    name: str
    index: tuple[int, ...]


class Parts:
    """The heads and batch items that a view shows.

    Args:
        result: What was computed.
        view: What the reader wants to see of it.

    Raises:
        InputError: The head or batch item is not there.
    """

    def __init__(self, result: Result, view: View) -> None:
        p = result.inputs
        shape = next(record.shape for record in result.records if record.stage.name == "weights")
        self._inputs = p
        self._all_batches = range(shape[0] if p.batch else 1)
        self._all_heads = range(p.num_heads)
        self.batches = _chosen("batch item", self._all_batches, view.batch)
        self.heads = _chosen("head", self._all_heads, view.head)
        self.elided = ""
        axes = _axes(result, view)
        many = {"batch": self.batches, "head": self.heads}
        many = {name: some for name, some in many.items() if name in axes and len(some) > 1}
        shown = prod(map(len, many.values()))
        if shown > MANY and not view.full:
            self.batches, self.heads = self.batches[:1], self.heads[:1] if "head" in many else self.heads
            names = " · ".join(f"{name} {some[0]} of {len(some)}" for name, some in many.items())
            options = ", ".join(f"--{name} {some[1]}" for name, some in many.items())
            self.elided = f"{names} shown, {shown - 1} more hidden: {options} or --full"

    def of(
        self, axes: tuple[str, ...], shape: tuple[int, ...], *, every_head: bool = False
    ) -> Iterator[Part]:
        """Yield the parts of an array that are shown, one for each matrix of its last two axes.

        Args:
            axes: The axes before the last two.
            shape: Their sizes, and whatever follows.
            every_head: Whether all heads are yielded, whichever are shown.
        """
        heads = tuple(self._all_heads) if every_head else self.heads
        choices = [self._axis(axis, size, heads) for axis, size in zip(axes, shape, strict=False)]
        for some in product(*choices):
            names = (name for name, _ in some if name)
            yield Part(" · ".join(names), tuple(index for _, index in some))

    def _axis(self, axis: str, size: int, heads: tuple[int, ...]) -> list[tuple[str, int]]:
        if axis == "batch":
            return [(f"batch {i}" if len(self._all_batches) > 1 else "", i) for i in self.batches]
        if size == self._inputs.num_heads:
            return [(f"head {i}" if size > 1 else "", i) for i in heads]
        return [(f"kv head {i}", i) for i in sorted({self._serving(head) for head in heads})]

    def _serving(self, head: int) -> int:
        """Find the key-value head that serves a query head."""
        p = self._inputs
        if p.kv_head_map == "tile":
            return head % p.num_kv_heads
        return head // (p.num_heads // p.num_kv_heads)


def _axes(result: Result, view: View) -> set[str]:
    """Name the axes along which there is more than one matrix of anything that is to be seen."""
    wanted = (
        each
        for each in exhibits(result, detail=view.detail)
        if view.stages is None or each.name in view.stages
    )
    axes = {axis for each in wanted for axis in each.axes}
    return axes - {"head"} if view.mean_heads else axes


def _chosen(what: str, there: range, wanted: int | None) -> tuple[int, ...]:
    if wanted is None:
        return tuple(there)
    if wanted not in there:
        valid = "0" if len(there) == 1 else f"0 to {len(there) - 1}"
        raise InputError(f"there is no {what} {wanted}", context=f"{what}s: {valid}")
    return (wanted,)
