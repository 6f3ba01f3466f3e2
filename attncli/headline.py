"""The head of a sheet: the whole computation as one formula, and how it was run."""

from __future__ import annotations

from attncli.compute import Result
from attncli.core.inputs import Inputs

__all__ = ["facts", "formula"]


_COMPARED = {"dot": "QKᵀ", "cosine": "cos(Q, K)", "general": "QWKᵀ", "additive": "tanh(Q + K)·v"}


def formula(result: Result) -> str:
    """Write the computation from its start to its end, as far as it goes: softmax(QKᵀ/√d + mask)·V.

    Where stages came without a problem, nothing is known of it, and that is said.
    """
    if not result.start:
        return "stages without a problem"
    p = result.inputs
    stages = {record.stage.name for record in result.records}
    whole = _weights(p, _logits(p)) + "·V" * ("output" in stages)
    if "concat" in stages:
        whole = f"concat({whole})"
    return whole + "·W_O" * (p.w_o is not None) + " + b_O" * (p.b_o is not None)


def _logits(p: Inputs) -> str:
    """Write what softmax is taken of: the scores with all that is done to them."""
    given = p.scores or p.scaled or p.masked

    def biased(logits: str, position: str) -> str:
        return f"{logits} + B" if p.biased and p.bias_position == position else logits

    start = biased(given.symbol if given else _COMPARED[p.similarity.kind], "before_scale")
    scale = _scale(p)
    scaled = f"({start}){scale}" if scale and " + " in start else start + scale
    logits = biased(scaled, "before_softcap")
    if p.softcap:
        logits = f"{p.softcap.symbol}·tanh({logits})"
    logits = biased(logits, "after_softcap")
    masked = (p.mask is not None or p.additive is not None) and p.mask_when == "before_softmax"
    return logits + " + mask" * masked


def _weights(p: Inputs, logits: str) -> str:
    """Write what becomes of the scores before they mix the values."""
    if p.normalize == "softmax":
        weights = f"softmax({logits}{'; sink' if p.sink else ''})"
    else:
        weights = (f"({logits})" if " " in logits else logits) + "/Σ" * (p.normalize == "sum")
    if p.mask_when != "before_softmax":
        weights = f"mask({weights})" + "/Σ" * (p.mask_when == "after_softmax_renormalized")
    return f"dropout({weights})" if p.dropout else weights


def _scale(p: Inputs) -> str:
    multiplier = f"·{p.multiplier.symbol}" if p.multiplier else ""
    divisor = p.divisor.symbol if p.divisor else ""
    by_width = "√d" if divisor.startswith("√") else divisor
    temperature = p.temperature.symbol if p.temperature else ""
    return multiplier + "".join(f"/{part}" for part in (by_width, temperature) if part)


def facts(result: Result) -> tuple[str, ...]:
    """List backend, precision and sizes; sizes and mask are the problem's."""
    of_problem = (*_sizes(result), *_mask(result.inputs)) if result.start else ()
    return tuple(fact for fact in (*_run(result), *of_problem) if fact)


def _run(result: Result) -> tuple[str, ...]:
    device = "" if result.device == "cpu" else f" {result.device}"
    return (f"{result.backend}{device}", result.dtype, "streamed" if result.path == "streamed" else "")


def _sizes(result: Result) -> tuple[str, ...]:
    p = result.inputs
    shapes = {record.stage.name: record.shape for record in result.records}
    if result.query_labels == result.key_labels:
        tokens = [_counted(p.seq_q, "token", "tokens")]
    else:
        tokens = [_counted(p.seq_q, "query", "queries"), _counted(p.seq_k, "key", "keys")]
    batch = shapes["weights"][0] if p.batch else 1
    heads = _counted(p.num_heads, "head", "heads")
    if p.num_kv_heads != p.num_heads:
        heads += f" on {p.num_kv_heads}"
    return (
        *tokens,
        f"d={width}" if (width := _key_width(result)) else "",
        heads if p.heads else "",
        f"batch {batch}" if batch > 1 else "",
    )


def _key_width(result: Result) -> int | None:
    keys = [record for record in result.records if record.stage.name in {"K", "K_heads"}]
    if keys:
        return keys[-1].shape[-1]
    return result.inputs.k.array.shape[-1] if result.inputs.k else result.problem.d_k


def _mask(p: Inputs) -> tuple[str, ...]:
    turned = ("rope",) if p.rotation else ()
    if p.mask is None and p.additive is None:
        return turned
    return (*turned, "causal" if p.mask is not None and p.mask.causal else "masked")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
