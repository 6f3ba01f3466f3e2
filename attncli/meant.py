"""The stage that somebody means who writes its symbol, what another program calls it, or nearly its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from attncli.stage import STAGES

__all__ = ["ALIASES", "by_symbol", "did_you_mean", "meant_stage"]

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "q": ("Q_heads", "Q"),
        "k": ("K_heads", "K"),
        "v": ("V_heads", "V"),
        "queries": ("Q_heads", "Q"),
        "keys": ("K_heads", "K"),
        "values": ("V_heads", "V"),
        "rot_q": ("Q_rot",),
        "rot_k": ("K_rot",),
        "s": ("scores",),
        "qk": ("scores",),
        "qk_matmul_output": ("scores",),
        "attn_scores": ("scores",),
        "raw_scores": ("scores",),
        "scaled_scores": ("scaled",),
        "masked_scores": ("masked",),
        "logits": ("masked", "biased", "softcapped", "scaled"),
        "attn_logits": ("masked", "biased", "softcapped", "scaled"),
        "a": ("weights",),
        "softmax": ("weights",),
        "p": ("weights",),
        "attn": ("weights",),
        "pattern": ("weights",),
        "probs": ("weights",),
        "attn_probs": ("weights",),
        "attn_weights": ("weights",),
        "attention": ("weights",),
        "attention_weights": ("weights",),
        "logsumexp": ("lse",),
        "softmax_lse": ("lse",),
        "z": ("head_output",),
        "heads": ("head_output",),
        "o": ("output",),
        "y": ("output",),
        "out": ("output",),
        "attn_out": ("output",),
        "attn_output": ("output",),
        "attention_output": ("output",),
        "context_vectors": ("output",),
    }
)
"""What other programs call a stage or a detail, in lower case; of several stages, the first that the problem has."""


def by_symbol(symbol: str, known: Collection[str]) -> str | None:
    """Find the only one of the stages and details that are known whose symbol in tables this is."""
    found = [each for each in _symbols().get(symbol, ()) if each in known]
    return found[0] if len(found) == 1 else None


def meant_stage(name: str, known: Collection[str]) -> str | None:
    """Find the stage that is most likely meant by a name that none has.

    Args:
        name: A symbol, such as ``A``, another program's name, or a name misspelt.
        known: Stages, and what else there is to choose from.

    Returns:
        One of those that are known; None where no such name is near.
    """
    symbols = _symbols()
    meant: list[str] = [*symbols.get(name, ()), *ALIASES.get(name.lower(), ())]
    for each in meant:
        if each in known:
            return each
    lowered: dict[str, str] = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), lowered, 1)
    return lowered[near[0]] if near else None


def did_you_mean(name: str, known: Collection[str], otherwise: str = "") -> str:
    """Word the fix for a name that is not among those known."""
    near = meant_stage(name, known)
    return f"did you mean {near}?" if near else otherwise


def _symbols() -> dict[str, list[str]]:
    """List the stages and details of each symbol."""
    found: dict[str, list[str]] = {}
    for stage in STAGES.values():
        found.setdefault(stage.symbol, []).append(stage.name)
        for detail in stage.details.values():
            found.setdefault(detail.symbol, []).append(detail.name)
    return found
