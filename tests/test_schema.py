"""The schema that editors check a problem file with: it takes what attn takes, and refuses slips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from attncli.compute import compute
from attncli.problem import Kind, Mask, keys
from attncli.readers import load
from attncli.readers.scalars import flag
from attncli.readers.yaml_tree import parse
from attncli.render.json_document import render_json
from attncli.schema import FRAGMENTS, problem_schema
from tests import worked

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
SCHEMA = problem_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

by_config = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)


def faults(document: Any) -> list[str]:
    return [f"{fault.json_path}: {fault.message[:80]}" for fault in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one() -> None:
    """The document is itself a valid schema of draft 2020-12, with a fragment for every kind of key."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(FRAGMENTS) == set(Kind)


@by_config
def test_it_takes_the_examples(path: Path) -> None:
    """Every example passes, whether the editor's YAML makes numbers of text or leaves it as it is."""
    text = path.read_text("utf-8")
    assert not faults(yaml.safe_load(text))
    assert not faults(parse(text, path.name))


@pytest.mark.parametrize("path", worked.FILES, ids=lambda path: path.stem)
def test_it_takes_published_examples(path: Path) -> None:
    """Every published example passes."""
    assert not faults(json.loads(path.read_text("utf-8")))


@by_config
def test_it_takes_results(path: Path) -> None:
    """A result, which is a problem file again, passes with its stages and its NaN and infinities."""
    (problem,) = load(str(path))
    assert not faults(json.loads("".join(render_json(compute(problem)))))


def properties(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of the schema that lists the keys of a mapping."""
    if isinstance(schema, dict):
        if schema.get("properties") and "additionalProperties" in schema:
            yield path, schema
        for name, inner in schema.items():
            yield from properties(inner, f"{path}/{name}")
    elif isinstance(schema, list):
        for index, inner in enumerate(schema):
            yield from properties(inner, f"{path}/{index}")


def test_no_mapping_takes_a_misspelt_key() -> None:
    """Wherever keys are listed, at the top and inside, no other is taken."""
    mappings = dict(properties(SCHEMA))
    assert len(mappings) >= 15
    for path, mapping in mappings.items():
        assert mapping["additionalProperties"] is False, path


@pytest.mark.parametrize(
    "document",
    [
        "{W_q: [[1]]}",
        "{causal: true}",
        "{mask: {casual: true}}",
        "{mask: casual}",
        "{mask: [[1, 0]]}",
        "{mask: {window: {lefft: 1}}}",
        "{mask: {sliding_window: 0}}",
        "{rope: {paring: half}}",
        "{rope: {pairing: halves}}",
        "{rope: {base: 0}}",
        "{bias: {alibi: {slope: author}}}",
        "{bias: alibbi}",
        "{bias: [{alibi: {}}, {t6: {}}]}",
        "{position_encoding: {sinusoidal: {}, rope: {}}}",
        "{score: {general: {}}}",
        "{past: {Q: [[1]]}}",
        "{X: {random: {seed: 1}}}",
        "{X: {random: {shape: [2], distribution: gauss}}}",
        "{X: hello}",
        "{W_V: identiy}",
        "{X: [[1, true]]}",
        "{X: [[1, null]]}",
        "{X: 5}",
        "{num_heads: 0}",
        "{num_heads: 1.5}",
        "{num_heads: two}",
        "{temperature: 0}",
        "{dropout: {p: -1}}",
        "{kv_head_map: Repeat}",
        "{x_layout: seq width}",
        "{weight_layout: {W_X: in out}}",
        "{dtype: {qk: float}}",
        "{tokens: the cat}",
        "{expected: {weights: {a: 1}}}",
        "{expected: {'weights[0': 1}}",
        "{}",
    ],
)
def test_it_refuses_what_the_reader_refuses(document: str) -> None:
    """Slips of the pen and values of the wrong kind are marked before attn ever runs."""
    assert faults(yaml.safe_load(document))


@pytest.mark.parametrize(
    "document",
    [
        "{X: '1 2\\n3 4'}",
        "{X: [[1/3, .5], [sqrt(2)/2, -.inf], ['−1', '１']]}",
        "{X: dump.npz#q, W_Q: zeros, W_V: 'tensor([[1., 2.]])'}",
        "{context: {K: [[1]], V: x.npy}}",
        "{tokens: [no, null, 1, 1.10, the]}",
        "{qkv_layout: 'batch, seq head dim', x_layout: [dim, seq]}",
        "{mask: causal}",
        "{mask: [[true, false]]}",
        "{mask: {keep: [[1, 0]], causal: yes, window: {left: 2}, lengths: [2, 1]}}",
        "{bias: [{alibi: {slopes: geometric}}, [[0, 1]], alibi]}",
        "{bias: [[0, 1]], position_encoding: sinusoidal, score: additive}",
        "{score: {general: [[1]]}, qk_norm: {rms: }}",
        "{sink: [0, 1], mask_fill: -inf, scale: 1/8}",
        "{dtype: {qk: float16, pv: float32}, weight_layout: {W_O: out in}}",
        "{name: , notes: [a, {b: c}]}",
    ],
)
def test_it_takes_every_form_of_a_value(document: str) -> None:
    """Words, blocks, file names, fractions, orders of axes, lists of biases: what the reader reads passes."""
    assert not faults(yaml.safe_load(document))


def test_truth_has_the_words_of_the_reader() -> None:
    """What the schema takes as true or false, the reader does."""
    causal = next(key for key in keys(Mask) if key.name == "causal")
    for word in FRAGMENTS[Kind.FLAG](causal)["enum"]:
        assert flag(word, ()) is (word in {True, "true", "yes", "on"})


def test_what_help_says_is_in_the_editor() -> None:
    """Each key shows its help, its limits and its default."""
    shown = SCHEMA["properties"]
    assert shown["kv_head_map"]["default"] == "repeat"
    assert shown["temperature"] | {"anyOf": []} == {
        "description": "Divides the scaled scores.",
        "anyOf": [],
        "default": 1,
    }
    assert shown["temperature"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
    assert shown["num_heads"]["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert shown["scale"]["description"].endswith("Default: 1/√d_k.")
