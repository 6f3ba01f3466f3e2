"""The test cases that the onnx package ships for its operators, stated as problems.

The operators' attributes and inputs become keys; what an operator does without being told, it does
here under ``like: onnx``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from attncli.problem import Mask, Problem, Rope

onnx = pytest.importorskip("onnx", reason="needs onnx: pip install onnx")
reference = pytest.importorskip("onnx.reference")
node = pytest.importorskip("onnx.backend.test.case.node")
pytest.importorskip("onnx.backend.test.case.node.attention")
pytest.importorskip("onnx.backend.test.case.node.rotaryembedding")

__all__ = ["ATTENTION", "ROTARY", "Case", "attention_problem", "evaluated", "rotary_problems"]

MODES = {0: "scaled", 1: "softcapped", 2: "masked", 3: "weights"}
"""The stage that ``qk_matmul_output_mode`` asks for."""


@dataclass(frozen=True)
class Case:
    """One case: a node, what goes into it and what must come out.

    Args:
        name: As onnx has it.
        attributes: Of the node.
        inputs: By name, those that are there.
        outputs: By name.
    """

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]

    @property
    def dtype(self) -> str:
        """The precision of the numbers."""
        return str(next(iter(self.inputs.values())).dtype)


def _cases(op_type: str) -> Iterator[Case]:
    for case in node._NodeTestCases:
        (made, *more) = case.model.graph.node
        if more or made.op_type != op_type or case.name.endswith("_expanded"):
            continue
        (given, wanted) = case.data_sets[0]
        yield Case(
            case.name.removeprefix("test_"),
            {each.name: onnx.helper.get_attribute_value(each) for each in made.attribute},
            dict(zip(filter(None, made.input), given, strict=True)),
            dict(zip(filter(None, made.output), wanted, strict=True)),
        )


def evaluated(attributes: dict[str, Any], inputs: dict[str, np.ndarray]) -> Case:
    """Make a case of what onnx's reference evaluator gives for an ``Attention`` node."""
    slots = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
    names = [name if name in inputs else "" for name in slots]
    outputs = [
        "Y",
        *(["present_key", "present_value"] if "past_key" in inputs else ["", ""]),
        "qk_matmul_output",
    ]
    made = onnx.helper.make_node("Attention", names, outputs, **attributes)
    results = reference.ReferenceEvaluator(made).run(None, inputs)
    return Case(
        "", attributes, inputs, {name: array for name, array in zip(outputs, results, strict=True) if name}
    )


ATTENTION = tuple(_cases("Attention"))
ROTARY = tuple(_cases("RotaryEmbedding"))


def attention_problem(case: Case) -> tuple[Problem, dict[str, str]]:
    """State an ``Attention`` node as a problem.

    Returns:
        The problem, and the stage that each output of the node is.
    """
    says, given = case.attributes, case.inputs
    cached = {name[5:6].upper(): _wide(array) for name, array in given.items() if name.startswith("past_")}
    problem = Problem(
        Q=_wide(given["Q"]),
        K=_wide(given["K"]),
        V=_wide(given["V"]),
        num_heads=says.get("q_num_heads"),
        num_kv_heads=says.get("kv_num_heads"),
        past=cached or None,
        scale=says.get("scale"),
        softcap=says.get("softcap") or None,
        mask=_mask(case),
        mask_layout=" ".join(("batch", "head", "query", "key")[-max(2, _rank(case)) :]),
        dtype=_dtype(case),
        like="onnx",
    )
    stages = {
        "Y": "head_output" if given["Q"].ndim == 4 else "output",
        "present_key": "K_all",
        "present_value": "V_all",
        "qk_matmul_output": _mode(case),
    }
    return problem, {name: stages[name] for name in case.outputs}


def _wide(array: np.ndarray) -> np.ndarray:
    """Widen halves, as a reader does: the dtype is said in a key."""
    return array if array.dtype == np.bool_ else array.astype(np.float64)


def _rank(case: Case) -> int:
    return case.inputs["attn_mask"].ndim if "attn_mask" in case.inputs else 2


def _mode(case: Case) -> str:
    """Name the stage of a mode; where there is no mask, the scores before it are what it would be."""
    stage = MODES[case.attributes.get("qk_matmul_output_mode", 0)]
    return "scaled" if stage == "masked" and _mask(case) is None else stage


def _dtype(case: Case) -> str | dict[str, str]:
    if "softmax_precision" not in case.attributes:
        return case.dtype
    softmax = onnx.helper.tensor_dtype_to_np_dtype(case.attributes["softmax_precision"])
    return {"qk": case.dtype, "softmax": str(softmax), "pv": case.dtype}


def _mask(case: Case) -> Mask | None:
    says, given = case.attributes, case.inputs
    keys: dict[str, Any] = {"causal": bool(says.get("is_causal"))}
    if "attn_mask" in given:
        array = _padded(np.atleast_2d(given["attn_mask"]), _keys(given))
        keys["keep" if array.dtype == np.bool_ else "additive"] = _wide(array)
    if "nonpad_kv_seqlen" in given:
        keys["lengths"] = tuple(map(int, given["nonpad_kv_seqlen"]))
    sides = {side: says.get(f"{side}_window_size", -1) for side in ("left", "right")}
    keys["window"] = {side: keys for side, keys in sides.items() if keys >= 0} or None
    return Mask(**keys) if any(value is not None and value is not False for value in keys.values()) else None


def _keys(given: dict[str, np.ndarray]) -> int:
    return int(given["K"].shape[-2] + (given["past_key"].shape[-2] if "past_key" in given else 0))


def _padded(mask: np.ndarray, keys: int) -> np.ndarray:
    """Hide the keys that a mask which is too short says nothing about, as the operator does."""
    short = keys - mask.shape[-1]
    hidden: Any = False if mask.dtype == np.bool_ else -np.inf
    return np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, short)], constant_values=hidden)


def rotary_problems(case: Case) -> Iterator[tuple[Problem, np.ndarray]]:
    """State a ``RotaryEmbedding`` node as problems, one for each item: positions may differ by item.

    Yields:
        A problem, and what its ``Q_rot`` must be.
    """
    says, given = case.attributes, case.inputs
    x, wanted = given["input"], case.outputs["output"]
    if x.ndim == 3:
        split = (*x.shape[:2], says["num_heads"], -1)
        x, wanted = (array.reshape(split).swapaxes(1, 2) for array in (x, wanted))
    for item, rotated in enumerate(wanted):
        own = "position_ids" not in given
        cos, sin = (
            given[f"{each}_cache"][item] if own else given[f"{each}_cache"] for each in ("cos", "sin")
        )
        rope = Rope(
            pairing="interleaved" if says.get("interleaved") else "half",
            dim=says.get("rotary_embedding_dim") or None,
            positions=None if own else tuple(map(int, given["position_ids"][item])),
            cos=cos,
            sin=sin,
        )
        yield Problem(Q=x[item], K=x[item], qkv_layout="head seq dim", rope=rope, dtype=case.dtype), rotated
