"""Problems with something of everything, and numbers printed as if they had been meant otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attncli.check.readings import Reading
from attncli.compute import Result, compute
from attncli.problem import Alibi, Expected, Mask, Problem, Rms, Rope, Sinusoidal, Variant

__all__ = ["KINDS", "drawn", "expecting", "planted"]

_SEQ, _DIM = 5, 8


def _weights(draw: np.random.Generator, *names: str, out: int = _DIM) -> dict[str, Any]:
    return {name: draw.normal(size=(_DIM, out)) for name in names}


def _plain(draw: np.random.Generator) -> dict[str, Any]:
    biases = {name: draw.normal(size=_DIM) for name in ("b_Q", "b_K", "b_V", "b_O")}
    return {"num_heads": 2, **_weights(draw, "W_Q", "W_K", "W_V", "W_O"), **biases}


def _masked(draw: np.random.Generator) -> dict[str, Any]:
    keep = draw.random((_SEQ, _SEQ)) < 0.6
    keep |= np.eye(_SEQ, dtype=bool)
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(keep=keep)}


def _added(draw: np.random.Generator) -> dict[str, Any]:
    additive = (draw.random((_SEQ, _SEQ)) < 0.5) | np.eye(_SEQ, dtype=bool)
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(additive=additive.astype(float))}


def _padded(draw: np.random.Generator) -> dict[str, Any]:
    padding = np.array([[True, True, True, False, False]])
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(key_padding=padding, query_padding=padding)}


def _causal(draw: np.random.Generator) -> dict[str, Any]:
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(causal=True), "softcap": 2.0}


def _cross(draw: np.random.Generator) -> dict[str, Any]:
    mask = Mask(causal=True, align="bottom_right")
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "context": draw.normal(size=(7, _DIM)), "mask": mask}


def _sliding(draw: np.random.Generator) -> dict[str, Any]:
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(causal=True, sliding_window=2)}


def _window(draw: np.random.Generator) -> dict[str, Any]:
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(window={"left": 2, "right": 1})}


def _grouped(draw: np.random.Generator) -> dict[str, Any]:
    shared = _weights(draw, "W_K", "W_V", out=4)
    return {"num_heads": 4, "num_kv_heads": 2, **_weights(draw, "W_Q"), **shared, "sink": 0.5}


def _rotated(draw: np.random.Generator) -> dict[str, Any]:
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "rope": Rope(pairing="half"), "num_heads": 2}


def _angles(draw: np.random.Generator) -> dict[str, Any]:
    rope = Rope(pairing="half", angles=draw.random((_SEQ, _DIM // 2)), unit="radians")
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "rope": rope}


def _placed(draw: np.random.Generator) -> dict[str, Any]:
    waves = Variant("sinusoidal", Sinusoidal())
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "position_encoding": waves}


def _normed(draw: np.random.Generator) -> dict[str, Any]:
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "qk_norm": Variant("rms", Rms())}


def _biased(draw: np.random.Generator) -> dict[str, Any]:
    bias = draw.normal(size=(_SEQ, _SEQ))
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "bias": bias, "softcap": 1.5}


def _sloped(draw: np.random.Generator) -> dict[str, Any]:
    return {"num_heads": 2, **_weights(draw, "W_Q", "W_K", "W_V"), "bias": Variant("alibi", Alibi())}


def _fused(draw: np.random.Generator) -> dict[str, Any]:
    return {"num_heads": 2, "W_QKV": draw.normal(size=(_DIM, 3 * _DIM)), "fused": "block"}


def _empty(draw: np.random.Generator) -> dict[str, Any]:
    keep = np.ones((_SEQ, _SEQ), dtype=bool)
    keep[:2] = False
    return {**_weights(draw, "W_Q", "W_K", "W_V"), "mask": Mask(keep=keep)}


KINDS = {
    "plain": _plain,
    "masked": _masked,
    "added": _added,
    "padded": _padded,
    "causal": _causal,
    "cross": _cross,
    "sliding": _sliding,
    "window": _window,
    "grouped": _grouped,
    "rotated": _rotated,
    "angles": _angles,
    "placed": _placed,
    "normed": _normed,
    "biased": _biased,
    "sloped": _sloped,
    "fused": _fused,
    "empty": _empty,
}
"""Problems by what is in them."""


def drawn(kind: str, seed: int) -> Problem:
    """Draw a problem of a kind."""
    draw = np.random.default_rng(seed)
    return Problem(X=draw.normal(size=(_SEQ, _DIM)), **KINDS[kind](draw))


def planted(problem: Problem, reading: Reading) -> Result:
    """Compute a problem as a reading has it."""
    return compute(reading.problem(problem), recast=reading.recast and reading.recast())


def expecting(problem: Problem, result: Result, decimals: int = 4) -> Problem:
    """Return a problem that expects the weights and the output of some result, as a table prints them."""
    expected = {}
    for name in ("weights", "output"):
        array = result[name].array
        assert array is not None
        expected[name] = Expected(_text(array.tolist(), decimals))
    return replace(problem, expected=expected)


def _text(value: Any, decimals: int) -> Any:
    return [_text(each, decimals) for each in value] if isinstance(value, list) else f"{value:.{decimals}f}"
