"""Other ways to read a problem: what people do where attn does what the problem says.

One table says for each key which other values are worth a try. A few readings have no key, since
nobody asks for them: the wrong axis of softmax, heads cut the wrong way. They change a stage instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from attncli.check.changes import changed, current
from attncli.check.mistakes import OverQueries, leaking, transposed_scores, unmoved, viewed
from attncli.check.printed import printed
from attncli.compute import Recast, Result
from attncli.core.attention import ORDER
from attncli.frozen import Frozen
from attncli.problem import Alibi, Problem, Variant, keys

__all__ = ["READINGS", "Reading", "readings"]


class Reading(Frozen):
    """One way, or two at a time, in which a problem could have been meant.

    Args:
        said: What would be so, after the word *if*: ``weight_layout were "out in"``.
        changes: Values of keys, by dotted name.
        recast: Makes what changes a stage's result; a new one for each run.
    """

    said: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    recast: Callable[[], Recast] | None = None

    def __and__(self, other: Reading) -> Reading:
        """Return both at once."""
        return Reading(
            f"{self.said} and {other.said}",
            {**self.changes, **other.changes},
            _both(self.recast, other.recast),
        )

    def apart(self, other: Reading) -> bool:
        """Tell whether the two change different things."""
        same = self.recast is not None and self.recast is other.recast
        return not (same or _touched(self) & _touched(other))

    def problem(self, problem: Problem) -> Problem:
        """Return the problem as it would have been meant."""
        return changed(problem, self.changes)


Rule: TypeAlias = Callable[[Result], Iterator[Reading]]
"""Yields the other readings of a problem that there are under one key."""


def readings(result: Result) -> list[Reading]:
    """List the readings of a problem, one change each, in the order of the table."""
    return [reading for rule in READINGS.values() for reading in rule(result)]


def _touched(reading: Reading) -> set[str]:
    return {path if path.startswith("weight_layout.") else path.split(".")[0] for path in reading.changes}


def _both(
    one: Callable[[], Recast] | None, other: Callable[[], Recast] | None
) -> Callable[[], Recast] | None:
    if one is None or other is None:
        return one or other

    def made() -> Recast:
        first, second = one(), other()
        return lambda stage, array: second(stage, first(stage, array))

    return made


def _said(path: str, value: Any) -> str:
    shown = f'"{value}"' if isinstance(value, str) and " " in value else value
    return f"{path} were {'left out' if value is None else shown}"


def _one_of(path: str) -> Rule:
    """Try the other choices that are declared for a key."""
    *outer, name = path.split(".")

    def rule(result: Result) -> Iterator[Reading]:
        holder = current(result.problem, ".".join(outer)) if outer else result.problem
        if holder is None:
            return
        now = getattr(holder, name)
        choices = next(key.choices for key in keys(type(holder)) if key.name == name)
        yield from (Reading(_said(path, choice), {path: choice}) for choice in choices if choice != now)

    return rule


def _without(path: str) -> Rule:
    """Try what is there without a key."""

    def rule(result: Result) -> Iterator[Reading]:
        if current(result.problem, path) is not None:
            yield Reading(_said(path, None), {path: None})

    return rule


def _weight_layouts(result: Result) -> Iterator[Reading]:
    """Try weights transposed: all of them, and each by itself."""
    p = result.problem
    matrices = [name for name in ("W_Q", "W_K", "W_V", "W_QKV", "W_O") if _axes(getattr(p, name)) == 2]  # noqa: PLR2004
    others = {name: "in out" if _layout(p, name) == "out in" else "out in" for name in matrices}
    if len(matrices) > 1 and len(set(others.values())) == 1:
        other = others[matrices[0]]
        yield Reading(_said("weight_layout", other), {f"weight_layout.{name}": other for name in matrices})
    for name, other in others.items():
        yield Reading(f'weight_layout of {name} were "{other}"', {f"weight_layout.{name}": other})


def _axes(array: Any) -> int:
    return getattr(array, "ndim", 0)


def _layout(problem: Problem, name: str) -> str:
    stated = problem.weight_layout
    return (stated.get(name) if isinstance(stated, Mapping) else stated) or "in out"


def _scales(result: Result) -> Iterator[Reading]:
    """Try no scale, the model's width, the key's, and the key's without the root."""
    for scale, said in ((None, "1/√d_k"), ("none", "none"), ("d_model", "1/√d_model")):
        if scale != result.problem.scale or result.problem.divide_by is not None:
            yield Reading(f"scale were {said}", {"scale": scale, "divide_by": None})
    width = _key_width(result)
    if width:
        yield Reading("scale were 1/d_k, without the root", {"scale": None, "divide_by": float(width)})


def _key_width(result: Result) -> int | None:
    p = result.inputs
    if p.scores is not None or p.scaled is not None or p.masked is not None:
        return result.problem.d_k
    found = {record.stage.name: record.shape[-1] for record in result.records}
    width = found.get("K_heads", found.get("K"))
    if width is None and p.k is not None:
        width = p.k.array.shape[-1]
    return int(width) if width else None


def _masks(result: Result) -> Iterator[Reading]:
    """Try the mask left out, turned round, and added instead of kept."""
    mask = result.problem.mask
    if mask is None:
        return
    yield Reading("mask were left out", {"mask": None})
    for name, other in (("keep", "drop"), ("drop", "keep")):
        array = getattr(mask, name)
        if array is not None:
            yield Reading(f"mask.{name} were mask.{other}", {f"mask.{name}": None, f"mask.{other}": array})
            added = {f"mask.{name}": None, "mask.additive": np.asarray(array, dtype=float)}
            yield Reading(f"mask.{name} were added to the scores as numbers, mask.additive", added)
    if mask.additive is not None and set(np.unique(mask.additive)) <= {0.0, 1.0}:
        for name in ("keep", "drop"):
            truth = {"mask.additive": None, f"mask.{name}": np.asarray(mask.additive) != 0}
            yield Reading(f"mask.additive were mask.{name}", truth)
    for name in ("key_padding", "query_padding"):
        array = getattr(mask, name)
        if array is not None:
            yield Reading(f"mask.{name} were true where it is padding", {f"mask.{name}": ~array.astype(bool)})


def _causal(result: Result) -> Iterator[Reading]:
    """Try a causal mask where there is none, and none, or one turned round, where there is one."""
    mask = result.problem.mask
    if mask is None or not mask.causal:
        yield Reading("mask.causal were true", {"mask.causal": True})
        return
    seq_q, seq_k = next(record.shape for record in result.records if record.stage.name == "weights")[-2:]
    first = seq_k - seq_q if mask.align == "bottom_right" else 0
    seen, own = np.tri(seq_q, seq_k, first, dtype=bool), np.eye(seq_q, seq_k, first, dtype=bool)
    drop = seen if mask.drop is None else seen | mask.drop.astype(bool)
    keep = seen & ~own if mask.keep is None else seen & ~own & mask.keep.astype(bool)
    array = {"mask.causal": False, "mask.align": None, "mask.offset": None}
    yield Reading("the causal mask were the other way round, true dropping", {**array, "mask.drop": drop})
    after = ~seen | own if mask.keep is None else (~seen | own) & mask.keep.astype(bool)
    yield Reading("the causal mask kept the later keys and the query's own", {**array, "mask.keep": after})
    yield Reading("the causal mask hid the query's own key too", {**array, "mask.keep": keep})
    next_too = (first if mask.offset is None else mask.offset) + 1
    yield Reading(
        "the causal mask let each query see the next key too", {"mask.align": None, "mask.offset": next_too}
    )


def _windows(result: Result) -> Iterator[Reading]:
    """Try to count the query's own key in a window, or not to."""
    mask = result.problem.mask
    if mask is not None and mask.sliding_window is not None:
        wider = mask.sliding_window + 1
        yield Reading(
            f"sliding_window were {wider}, the query's own key not counted", {"mask.sliding_window": wider}
        )
    if mask is not None and mask.window is not None:
        narrower = {side: max(width - 1, 0) for side, width in mask.window.items()}
        yield Reading(
            f"window were {_sides(narrower)}, the query's own key counted", {"mask.window": narrower}
        )


def _sides(window: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{side}: {width}" for side, width in window.items()) + "}"


def _biases(result: Result) -> Iterator[Reading]:
    """Try the biases of the projections left out: all of them, and each by itself."""
    given = [
        name for name in ("b_Q", "b_K", "b_V", "b_QKV", "b_O") if getattr(result.problem, name) is not None
    ]
    if len(given) > 1:
        yield Reading(f"{', '.join(given)} were left out", dict.fromkeys(given))
    yield from (Reading(_said(name, None), {name: None}) for name in given)


def _alibi(result: Result) -> Iterator[Reading]:
    bias = result.problem.bias
    if isinstance(bias, Variant) and isinstance(bias.value, Alibi):
        yield from _one_of("bias.alibi.form")(result)
        if isinstance(bias.value.slopes, str):
            yield from _one_of("bias.alibi.slopes")(result)


def _stages(result: Result) -> Iterator[Reading]:
    """Try what no key says, since it is never meant."""
    yield Reading("softmax ran over the queries, not the keys", recast=OverQueries)
    yield Reading("scores were K·Qᵀ", recast=lambda: transposed_scores)
    cap, heads = result.problem.softcap, result.inputs.num_heads
    if cap is not None:
        yield Reading("softcap came after the mask, which then leaks", recast=lambda: leaking(cap))
    if heads > 1:
        yield Reading("heads were cut by view(heads, seq, dim), across tokens", recast=lambda: viewed)
        yield Reading("heads were joined without moving their axis", recast=lambda: unmoved(heads))


def _percentages(result: Result) -> Iterator[Reading]:
    """Try weights as percentages, where some of them are printed as more than one."""
    problem = result.problem
    names = [
        block.key
        for block in (printed(problem) if problem.expected else ())
        if block.name in _SHARES and block.factor == 1 and (block.numbers > 1).any()
    ]
    if names:
        stated = problem.expected_in if isinstance(problem.expected_in, Mapping) else {}
        said = ", ".join(f"{name}: percent" for name in names)
        percent = {**stated, **dict.fromkeys(names, "percent")}
        yield Reading(f"expected_in were {{{said}}}", {"expected_in": percent})


_SHARES = (*ORDER["softmax"], "weights_mean")
"""What is printed as percentages."""

READINGS: Mapping[str, Rule] = {
    "weight_layout": _weight_layouts,
    "scale": _scales,
    "mask": _masks,
    "mask.causal": _causal,
    "mask.align": _one_of("mask.align"),
    "mask.window": _windows,
    "kv_head_map": _one_of("kv_head_map"),
    "rope": _without("rope"),
    "rope.pairing": _one_of("rope.pairing"),
    "rope.unit": _one_of("rope.unit"),
    "position_encoding": _without("position_encoding"),
    "position_encoding.sinusoidal.layout": _one_of("position_encoding.sinusoidal.layout"),
    "score": _one_of("score"),
    "qk_norm": _without("qk_norm"),
    "biases": _biases,
    "softcap": _without("softcap"),
    "bias": _without("bias"),
    "bias_position": _one_of("bias_position"),
    "bias.alibi": _alibi,
    "mask_when": _one_of("mask_when"),
    "normalize": _one_of("normalize"),
    "sink": _without("sink"),
    "fully_masked": _one_of("fully_masked"),
    "fused": _one_of("fused"),
    "stages": _stages,
    "expected_in": _percentages,
    "dtype": _one_of("dtype"),
}
"""Where another reading may be found, the likeliest first: a key of the problem file, or several."""
