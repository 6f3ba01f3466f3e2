"""Which way a problem is computed, whole or in tiles, and what that takes, before any of it is done."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import fields

from attncli.core.engine import Engine
from attncli.core.inputs import Drawn, Inputs
from attncli.core.streaming import BY_PAIR
from attncli.frozen import Frozen
from attncli.memory import Room, available, gib, require
from attncli.trace import Value

__all__ = ["Plan", "make_plan"]

PASSING = 2
"""Arrays as large as the scores that masks and softmax make on the way and let go of."""

PASSING_IN_PIECES = 1
"""As many where stages go some rows at a time: the last that was not kept."""

TILES = 6
"""Arrays as large as a tile that are there at once for each strip that is worked on."""


PREFIXES = ("", "K", "M", "G", "T", "P")
BINARY = 1024
"""What a prefix of bytes counts."""


class Plan(Frozen, kw_only=True):
    """How a problem is computed.

    Counted is what has a number for each query and key, and what weights make of the tokens'
    vectors. Everything else is no larger than the inputs, which are in memory already.

    Args:
        path: ``full``, or ``streamed``: tile by tile.
        reason: Why that one.
        memory: Bytes taken on top of inputs and what is as large as they are.
        operations: Multiplications and additions of all products of matrices.
        what: What the bytes are for.
        fixes: What would take less.
        room: How much there is to take.
    """

    path: str
    reason: str
    memory: int
    operations: int
    what: str
    fixes: tuple[str, ...]
    room: Room

    def __str__(self) -> str:
        left, limit = self.room
        return "\n".join(
            [
                f"  path        {self.path}: {self.reason}",
                f"  memory      {_amount(self.memory)}B, of {_amount(left)}B left ({limit})",
                *(f"              {line}" for line in self.what.splitlines()),
                f"  operations  {_amount(self.operations, 1000)}FLOP in products of matrices",
            ]
        )

    def require(self) -> None:
        """Refuse what would not fit in memory.

        Raises:
            UnavailableError: The message says what would.
        """
        require(self.memory, self.what, fix=", or ".join(self.fixes), room=self.room)


def make_plan(
    p: Inputs,
    precision: Mapping[str, str],
    keep: Collection[str] | None,
    *,
    large_details: bool = False,
    pieces: bool = True,
) -> Plan:
    """Choose the way, by what is kept.

    Args:
        p: What is to be computed.
        precision: The precision of each part; float16 and bfloat16 are computed in float32.
        keep: Names of the stages that are kept; None is all.
        large_details: Whether the details with a number for each query and key are kept too.
        pieces: Whether stages go some rows at a time where they can.
    """
    number = 8 if "float64" in precision.values() else 4
    blocked = _blocked(p, precision)
    reason = blocked or _whole(keep, large_details=large_details)
    shape = (_batch(p), p.num_heads, p.seq_q, p.seq_k)
    operations, room = _operations(p, shape), available()
    projected = shape[0] * _projected(p) * number
    if not reason:
        return Plan(
            path="streamed",
            reason="no stage of queries × keys is kept",
            memory=_tiles(shape) * number + projected,
            operations=operations,
            what="tiles of the scores",
            fixes=("a smaller batch",),
            room=room,
        )
    size = math.prod(shape) * number
    passing = PASSING_IN_PIECES if pieces else PASSING
    count = _kept(p, keep) + passing + (_details(p) if large_details else 0)
    drawn = 0 if pieces or not (p.dropout and isinstance(p.dropout.drawn.array, Drawn)) else size // number
    need, left = count * size + drawn + projected, room[0]
    fixes = [f"a sequence of at most {_fitting(max(shape[2:]), left / max(need, 1))} tokens"]
    if projected > left:
        fixes = ["weights with fewer columns"]
    if number > 4 and need / 2 <= left:  # noqa: PLR2004  (bytes)
        fixes.append("--dtype float32, which takes half")
    if not blocked and projected <= left:
        fixes.append("--stages output, which goes tile by tile")
    if large_details:
        fixes.append("leave out --detail")
    what = f"{p.seq_q} queries × {p.seq_k} keys take {gib(size)} in each of {count} stages and steps"
    if projected > size:
        what += f"\nwhat the weights make of them takes {gib(projected)}"
    return Plan(
        path="full",
        reason=reason,
        memory=need,
        operations=operations,
        what=what,
        fixes=tuple(fixes),
        room=room,
    )


def _amount(number: float, step: int = BINARY) -> str:
    """Spell a large number with a prefix: ``1.5 Gi``, or ``1.5 G`` where a step is 1000."""
    power = min(int(math.log(max(number, 1), step)), len(PREFIXES) - 1)
    prefix = PREFIXES[power] + "i" * (step == BINARY and power > 0)
    return f"{number / step**power:.1f} {prefix}"


def _blocked(p: Inputs, precision: Mapping[str, str]) -> str:
    """Say why a problem cannot go tile by tile; empty when it can."""
    if not (p.v or p.w_v or p.x_v or p.x):
        return "without values, the weights are the result"
    found = set(precision.values())
    if len(found) > 1 or not found <= {"float32", "float64"}:
        return "this precision rounds every stage by itself"
    return ""


def _whole(keep: Collection[str] | None, *, large_details: bool) -> str:
    """Say why stages of queries × keys are needed whole; empty when they are not."""
    if keep is None:
        return "every stage is kept"
    large = [name for name in keep if name in BY_PAIR]
    if large:
        return f"{large[0]} has a number for each query and key"
    return "details have a number for each query and key" if large_details else ""


def _fitting(tokens: int, share: float) -> int:
    """Round the number of tokens that fits to two digits; memory grows with its square."""
    fits = int(tokens * math.sqrt(min(share, 1)))
    unit = 10 ** max(0, math.floor(math.log10(max(fits, 1))) - 1)
    return int(fits // unit * unit)


def _batch(inputs: Inputs) -> int:
    if not inputs.batch:
        return 1
    values = (getattr(inputs, each.name) for each in fields(inputs))
    arrays = [value.array for value in values if isinstance(value, Value)]
    shapes = [array.shape for array in arrays if hasattr(array, "shape")]
    return max((shape[0] for shape in shapes if len(shape) > 2), default=1)  # noqa: PLR2004  (batch, seq, dim)


def _kept(inputs: Inputs, keep: Collection[str] | None) -> int:
    """Count the stages that have a number for each query and key and are kept."""
    given = next((name for name in ("scores", "scaled", "masked") if getattr(inputs, name) is not None), "")
    masks = inputs.mask is not None or inputs.additive is not None
    made = {
        "scores": not given,
        "scaled": given in {"", "scores"},
        "softcapped": inputs.softcap is not None,
        "biased": inputs.biased,
        "masked": masks and inputs.mask_when == "before_softmax",
        "weights": True,
        "masked_weights": masks and inputs.mask_when != "before_softmax",
        "dropped": inputs.dropout is not None,
    }
    kept = sum(there for name, there in made.items() if keep is None or name in keep)
    return kept + (_hidden(inputs) if inputs.similarity.kind == "additive" else 0)


def _hidden(inputs: Inputs) -> int:
    """Count the numbers that additive scores take for each pair of query and key, on their way."""
    weights = [each for each in inputs.similarity.weights if each is not None]
    vectors = weights[0] if weights else inputs.q or inputs.w_q or inputs.x
    return 0 if vectors is None else int(vectors.array.shape[-1])


def _details(p: Inputs) -> int:
    """Count the arrays of that size in the details: the exponentials, and each weight times its value."""
    return 1 + _width(p.v or p.w_v or p.x_v or p.x, p, p.num_kv_heads)


def _projected(p: Inputs) -> int:
    """Count the numbers of queries, keys, values and outputs that weights make, for one item of the batch."""
    seq_q, seq_k = p.seq_q, p.seq_k
    made = ((seq_q, p.w_q), (seq_k, p.w_k), (seq_k, p.w_v), (seq_q, p.w_v), (seq_q, p.w_o))
    return sum(rows * int(weight.array.shape[-1]) for rows, weight in made if weight)


def _tiles(shape: tuple[int, ...]) -> int:
    """Count the numbers in the tiles that are there at once."""
    batch, heads, queries, keys = shape
    strips = max(batch * heads, os.cpu_count() or 1)
    return TILES * strips * min(queries, Engine().queries) * min(keys, Engine().keys)


def _operations(p: Inputs, shape: tuple[int, ...]) -> int:
    """Count the multiplications and additions of the products: projections, scores, and the mixture."""
    batch, heads, queries, keys = shape
    weights = ((p.w_q, queries), (p.w_k, keys), (p.w_v, keys), (p.w_o, queries))
    projections = sum(rows * math.prod(weight.array.shape) for weight, rows in weights if weight)
    widths = (
        _width(p.q or p.w_q or p.x, p, p.num_heads),
        _width(p.v or p.w_v or p.x_v or p.x, p, p.num_kv_heads),
    )
    return 2 * batch * int(projections + heads * queries * keys * sum(widths))


def _width(vectors: Value | None, p: Inputs, heads: int) -> int:
    """Find how many numbers of a vector one head takes."""
    if vectors is None:
        return 0
    width = int(vectors.array.shape[-1])
    return width if p.by_head else width // heads
