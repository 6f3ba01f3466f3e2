"""The head of a sheet: the whole computation as one formula, and how it was run."""

from __future__ import annotations

from attncli.compute import Result
from attncli.core.attention import Inputs

__all__ = ["facts", "formula"]


def formula(result: Result) -> str:
    """Write the computation from its start to its end, as far as it goes: softmax(QKᵀ/√d + mask)·V."""
    p = result.inputs
    given = p.scores or p.scaled or p.masked
    inner = f"{given.symbol if given else 'QKᵀ'}{_scale(p)}"
    if p.mask is not None or p.additive is not None:
        inner += " + mask"
    stages = {record.stage.name for record in result.records}
    whole = f"softmax({inner})" + "·V" * ("output" in stages)
    if "concat" in stages:
        whole = f"concat({whole})"
    return whole + "·W_O" * (p.w_o is not None) + " + b_O" * (p.b_o is not None)


def _scale(p: Inputs) -> str:
    multiplier = f"·{p.multiplier.symbol}" if p.multiplier else ""
    divisor = p.divisor.symbol if p.divisor else ""
    by_width = "√d" if divisor.startswith("√") else divisor
    temperature = p.temperature.symbol if p.temperature else ""
    return multiplier + "".join(f"/{part}" for part in (by_width, temperature) if part)


def facts(result: Result) -> tuple[str, ...]:
    """List backend, precision and sizes."""
    return tuple(fact for fact in (*_run(result), *_sizes(result), *_mask(result.inputs)) if fact)


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
    if p.mask is None and p.additive is None:
        return ()
    return ("causal" if p.mask is not None and p.mask.causal else "masked",)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
