"""Every key that states a convention, written as JSON and read again."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import pytest

from attncli.compute import Result, compute
from attncli.keys import Kind
from attncli.problem import Problem, keys
from attncli.readers import load
from attncli.render.json_document import problem_keys, render_json

X = "X: [[1, 2, 3, 4], [5, 6, 7, 8]]\nnum_heads: 2\nscale: 0.01\n"
QKV = "Q: [[1, 2], [3, 4]]\nK: [[1, 0], [0, 1], [1, 1]]\nV: [[1], [2], [3]]\n"
SQUARE = "Q: [[1, 2], [3, 4]]\nK: [[1, 0], [0, 1]]\nV: [[1], [2]]\n"
FUSED = "W_QKV: [[1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1], [1, 1, 1, 0, 0, 0], [2, 2, 2, 1, 1, 1]]\n"

PROBLEMS = (
    X + "position_encoding: sinusoidal",
    X + "position_encoding: {sinusoidal: {base: 100, layout: half, offset: 3}}",
    X + "position_encoding: [[1, 0, 0, 0], [0, 1, 0, 0]]",
    X + "rope: {pairing: half, base: 500000, dim: 2, offset: 4}",
    X + "rope: {pairing: interleaved, positions: [3, 5], inv_freq: [0.1]}",
    X + "rope: {pairing: half, angles: [[0], [30]], unit: degrees}",
    X + "rope: {pairing: half, cos: [[1, 1], [0.5, 0.5]], sin: [[0, 0], [0.8, 0.8]]}",
    X + "qk_norm: rms",
    X + "qk_norm: {rms: {eps: 0, weight_Q: [1, 2], weight_K: [0.1, 3]}}",
    QKV + "score: cosine",
    QKV + "score: {additive: {W_q: [[1], [2]], W_k: [[0], [1]], v: [3]}}",
    QKV + "score: additive",
    QKV + "score: {general: [[1, 0.1], [0, 1]]}",
    QKV + "softcap: 30",
    QKV + "bias: [[0.1, 0, 1e-3], [1, 2, 3]]\nbias_position: before_scale",
    X + "bias: {alibi: {slopes: [0.5, 0.25], form: m*j}}\nbias_position: before_softcap\nsoftcap: 2",
    X + "bias: alibi",
    X + "bias: {alibi: {slopes: geometric}}",
    X
    + "bias: {t5: {table: [[0, 1], [2, 3], [4, 5], [6, 7]], bidirectional: false, buckets: 4, max_distance: 9}}",
    X + "bias: [alibi: {}, [[1, 2], [3, 4]], t5: {table: [[0, 1], [2, 3], [4, 5], [6, 7]]}]",
    X + "bias: [alibi, [[1, 2], [3, 4]]]",
    SQUARE + "mask: causal\nmask_when: after_softmax",
    SQUARE + "mask: causal\nmask_when: after_softmax_renormalized",
    QKV + "sink: 0",
    X + "sink: [1.5, -2]",
    QKV + "normalize: sum",
    QKV + "normalize: none",
    QKV + "dropout: {p: 0.1, seed: 3}",
    QKV + "dropout: {p: 0.5, keep: [[true, false, true], [1, 1, 0]]}",
    QKV + "dtype: {qk: bfloat16, softmax: float32, pv: float16}",
    SQUARE + "past: {K: [[0.5, 0.5]], V: [[9]]}\nmask: causal\nrope: {pairing: half}",
    X + "past: {K: [[[1, 2]], [[3, 4]]], V: [[[1, 0]], [[0, 1]]]}",
    X + FUSED + "fused: block\nb_QKV: [1, 2, 3, 4, 5, 6]",
    X.replace("2\nscale", "1\nscale") + FUSED + "fused: per_head",
    X.replace("2\nscale", "4\nscale") + FUSED + "num_kv_heads: 1\nfused: per_group",
    SQUARE + "mask: causal\nmask_fill: finfo_min\nlike: torch_mha\nfully_masked: zeros",
    QKV + "mask: causal\nlike: flash",
)


def read(path: pathlib.Path) -> Problem:
    (problem,) = load(str(path))
    return problem


def text_of(result: Result) -> str:
    return "".join(render_json(result))


@pytest.mark.parametrize("text", PROBLEMS, ids=lambda text: text.splitlines()[-1])
def test_a_key_comes_back_as_it_was(text: str, tmp_path: pathlib.Path) -> None:
    """A result, read and computed again, is the same bytes, and no key of the file is missing in it."""
    said = tmp_path / "p.yaml"
    said.write_text(text, encoding="utf-8")
    problem = read(said)
    once = text_of(compute(problem))
    again = tmp_path / "p.json"
    again.write_text(once, encoding="utf-8")
    assert set(problem_keys(problem)) == set(problem.said)
    assert text_of(replace(compute(read(again)), file=str(said))) == once


def names(declared: Any, before: str = "") -> set[str]:
    """List the keys that are declared, those of records and choices too."""
    found = set()
    for key in keys(declared):
        found.add(before + key.name)
        for choice, record in key.records.items():
            inner = f"{before}{key.name}{'.' * bool(choice)}{choice}"
            found |= {inner} if isinstance(record, Kind) else names(record, inner + ".")
    return found


def spelled(value: Any, before: str = "") -> set[str]:
    """List the keys that a document has, as paths."""
    if isinstance(value, list):
        return set().union(*(spelled(each, before) for each in value))
    if not isinstance(value, dict):
        return set()
    inner = (spelled(item, f"{before}{name}.") for name, item in value.items())
    return {f"{before}{name}" for name in value}.union(*inner)


def test_no_key_of_a_record_is_left_out(tmp_path: pathlib.Path) -> None:
    """Each key of a record, and each choice with settings, is in one of the problems above."""
    seen: set[str] = set()
    for text in PROBLEMS:
        path = tmp_path / "p.yaml"
        path.write_text(text, encoding="utf-8")
        seen |= spelled(problem_keys(read(path)))
    records = {name for name in names(Problem) if "." in name}
    assert records <= seen | {"rope", "dropout"}, records - seen
