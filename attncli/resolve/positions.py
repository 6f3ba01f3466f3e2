"""Where tokens stand: the encoding that is added to X, and the rotation of queries and keys."""

from __future__ import annotations

import numpy as np

from attncli.core.inputs import Norm, Rotation
from attncli.core.positions import rotation_angles, rotation_frequencies, sinusoidal
from attncli.errors import InputError
from attncli.problem import Rope, Variant
from attncli.resolve.draft import Draft, Numbers, counted, needs_vectors, real
from attncli.resolve.layouts import say_shape
from attncli.trace import Value

__all__ = ["encoding", "norm", "rotation"]


def encoding(draft: Draft, begin: str) -> None:
    """Make the array that is added to X."""
    given = draft.problem.position_encoding
    if given is None:
        return
    if begin != "X":
        raise InputError(
            f"position_encoding is added to X, but the problem starts with {begin}",
            path=("position_encoding",),
            fix="remove it, or start with X",
        )
    seq, dim = draft.sizes["query"], draft.sizes["d_model"]
    if isinstance(given, Variant):
        rule = given.value
        positions = np.arange(seq, dtype=np.float64) + rule.offset
        draft.put(
            "encoding", sinusoidal(positions, dim, rule.base, interleaved=rule.layout == "interleaved"), "PE"
        )
        return
    if given.shape not in {(seq, dim), draft.values["x"].array.shape}:
        raise InputError(
            f"position_encoding is {say_shape(given)}, but X has {counted(seq, 'token')} of {counted(dim, 'number')}",
            path=("position_encoding",),
            fix=f"give one row per token: {seq}×{dim}",
        )
    draft.put("encoding", given, "PE")


def norm(draft: Draft, begin: str) -> None:
    """Take the weights of the norm of queries and keys."""
    given = draft.problem.qk_norm
    if given is None:
        return
    needs_vectors("qk_norm", begin)
    head_dim, rms = draft.sizes["head_dim"], given.value
    weights = {}
    for name in ("weight_Q", "weight_K"):
        weight = getattr(rms, name)
        if weight is not None and weight.shape != (head_dim,):
            raise InputError(
                f"qk_norm.rms.{name} is {say_shape(weight)}, but a head is {head_dim} wide",
                path=("qk_norm", "rms", name),
                fix=f"give {counted(head_dim, 'number')}",
            )
        weights[name.lower()] = None if weight is None else Value(real(weight), "g")
    draft.values["norm"] = Norm(eps=rms.eps, **weights)


def rotation(draft: Draft, begin: str) -> None:
    """Make the cosines and sines that rotate queries and keys."""
    rope = draft.problem.rope
    if rope is None:
        return
    needs_vectors("rope", begin)
    if rope.pairing is None:
        raise InputError(
            "rope has no pairing, and the two give different numbers",
            path=("rope",),
            context="half pairs number i with i + dim/2 (Llama in Hugging Face), interleaved 2i with 2i + 1 "
            "(the paper, Meta's Llama, GPT-J)",
            fix="rope: {pairing: half} or {pairing: interleaved}",
        )
    pairs = _pairs(rope, draft.sizes["head_dim"])
    query, key = _positions(draft, rope)
    cos_q, sin_q = _turns(rope, query, pairs)
    cos_k, sin_k = _turns(rope, key, pairs)
    draft.values["rotation"] = Rotation(
        pairing=rope.pairing,
        cos_q=Value(cos_q, "cos"),
        sin_q=Value(sin_q, "sin"),
        cos_k=Value(cos_k, "cos"),
        sin_k=Value(sin_k, "sin"),
    )


def _pairs(rope: Rope, head_dim: int) -> int:
    """Find how many pairs are rotated."""
    if head_dim < 2:  # noqa: PLR2004  (of a pair)
        raise InputError(
            "a head is 1 wide, and has no pair of numbers to rotate",
            path=("rope",),
            fix="leave rope out, or make heads at least 2 wide",
        )
    dim = rope.dim or head_dim - head_dim % 2
    if rope.dim is None and head_dim % 2:
        raise InputError(
            f"a head is {head_dim} wide, and an odd number has no pairs",
            path=("rope",),
            fix=f"rope: {{pairing: {rope.pairing}, dim: {dim}}} rotates the first {dim}",
        )
    if dim % 2 or dim > head_dim:
        raise InputError(
            f"rope.dim is {dim}, and must be even and at most {head_dim}, the width of a head",
            path=("rope", "dim"),
        )
    return dim // 2


def _positions(draft: Draft, rope: Rope) -> tuple[Numbers, Numbers]:
    """Find the positions of queries and of new keys; those of a cache are rotated already."""
    seq_q, past = draft.sizes["query"], draft.sizes.get("past", 0)
    seq_k = draft.sizes["key"] - past
    if rope.positions is not None:
        if len(rope.positions) != seq_q:
            raise InputError(
                f"rope.positions has {counted(len(rope.positions), 'number')} for {counted(seq_q, 'query', 'queries')}",
                path=("rope", "positions"),
                fix="give one position per query",
            )
        if rope.offset is not None:
            raise InputError(
                "rope.positions and rope.offset both say where the queries stand",
                path=("rope", "offset"),
                fix="keep one of them",
            )
        query = np.asarray(rope.positions)
    else:
        query = np.arange(seq_q) + (past if rope.offset is None else rope.offset)
    if seq_q == seq_k:
        return query, query
    key = np.arange(seq_k) + past
    draft.notes.append(
        f"rope: queries stand at {query[0]} to {query[-1]}, keys at {key[0]} to {key[-1]}; "
        "rope.offset or rope.positions moves the queries"
    )
    return query, key


def _turns(rope: Rope, positions: Numbers, pairs: int) -> tuple[Numbers, Numbers]:
    """Return cosines and sines, ``(seq, pairs)``, from what the problem gives."""
    given = [name for name in ("angles", "cos", "inv_freq") if getattr(rope, name) is not None]
    if len(given) > 1 or (rope.cos is None) != (rope.sin is None):
        raise InputError(
            "rope takes one of inv_freq, angles, or cos with sin",
            path=("rope", given[-1] if given else "sin"),
        )
    if given and rope.base is not None:
        raise InputError(
            f"rope.base makes frequencies, and rope.{given[0]} gives {'them' if given[0] == 'inv_freq' else 'the angles'}",
            path=("rope", "base"),
            fix="keep one of them",
        )
    if rope.unit != "radians" and rope.angles is None:
        raise InputError("rope.unit says what angles are in, but there are none", path=("rope", "unit"))
    if rope.cos is not None and rope.sin is not None:
        return _rows(rope, "cos", rope.cos, positions, pairs), _rows(rope, "sin", rope.sin, positions, pairs)
    if rope.angles is not None:
        angles = _rows(rope, "angles", rope.angles, positions, pairs)
        angles = np.deg2rad(angles) if rope.unit == "degrees" else angles
    else:
        angles = rotation_angles(positions.astype(np.float64), _frequencies(rope, pairs))
    return np.cos(angles), np.sin(angles)


def _frequencies(rope: Rope, pairs: int) -> Numbers:
    if rope.inv_freq is None:
        base = {} if rope.base is None else {"base": rope.base}
        frequencies: Numbers = rotation_frequencies(np.zeros(1), 2 * pairs, **base)
        return frequencies
    if len(rope.inv_freq) != pairs:
        raise InputError(
            f"rope.inv_freq has {counted(len(rope.inv_freq), 'number')} for {counted(pairs, 'pair')}",
            path=("rope", "inv_freq"),
        )
    return np.asarray(rope.inv_freq)


def _rows(rope: Rope, name: str, table: Numbers, positions: Numbers, pairs: int) -> Numbers:
    """Look up the row of each position, with one column for each pair."""
    path = ("rope", name)
    if table.ndim != 2 or table.shape[1] not in (pairs, 2 * pairs):  # noqa: PLR2004
        raise InputError(
            f"rope.{name} is {say_shape(table)}, where rows of {counted(pairs, 'pair')} are expected",
            path=path,
        )
    if positions.min() < 0 or positions.max() >= table.shape[0]:
        raise InputError(
            f"rope.{name} has {counted(table.shape[0], 'row')}, but positions run from "
            f"{positions.min()} to {positions.max()}",
            path=path,
            fix="give one row per position, from 0",
        )
    wide: Numbers = real(table)[positions]
    if table.shape[1] == pairs:
        return wide
    # Hugging Face writes every angle twice: once for each number of a pair
    first: Numbers
    first, second = (
        (wide[:, :pairs], wide[:, pairs:]) if rope.pairing == "half" else (wide[:, 0::2], wide[:, 1::2])
    )
    if not np.array_equal(first, second):
        raise InputError(
            f"rope.{name} has a column for each number, but those of a pair differ",
            path=path,
            context=f"pairing is {rope.pairing}",
            fix="give one column per pair",
        )
    return first
