"""What other programs call a key: never accepted, always answered with what to write."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from attncli.errors import InputError
from attncli.namesakes import KEYS, WORDS, Namesake, bare, namesake
from attncli.problem import Key, Kind, Mask, Problem, keys
from attncli.readers import load

TOP = {key.name: key for key in keys(Problem)}
NAMES = [name for each in dict.fromkeys(KEYS.values()) for name in each.names.split()]

MEANT = {
    "q_proj": "W_Q", "k_proj": "W_K", "v_proj": "W_V", "o_proj": "W_O", "out_proj": "W_O", "wq": "W_Q", "Wq": "W_Q",
    "W_q": "W_Q", "query": "Q", "queries": "Q", "key": "K", "values": "V", "is_causal": "mask: {causal: true}",
    "attn_mask": "mask: …", "attention_mask": "mask: …", "key_padding_mask": "mask: {key_padding: …}",
    "num_key_value_heads": "num_kv_heads", "n_heads": "num_heads", "n_head": "num_heads", "nhead": "num_heads",
    "embed_dim": "leave it out", "d_model": "leave it out", "head_dim": "leave it out", "hidden_size": "leave it out",
    "dropout_p": "dropout: {p: …}", "softmax_scale": "scale: …", "logits_soft_cap": "softcap: …",
    "window_size": "mask: {window: {left: …, right: …}}", "alibi_slopes": "bias: {alibi: {slopes: …}}",
    "enable_gqa": "num_kv_heads: …", "rope_theta": "rope: {pairing: …, base: …}", "numHeads": "num_heads",
    "rotary_dim": "rope: {pairing: …, dim: …}", "past_key": "past: {K: …, V: …}", "weights": "expected: {weights: …}",
    "attn_weights": "expected: {weights: …}", "output": "expected: {output: …}", "logits": "scores: …",
    "model.layers.0.self_attn.q_proj.weight": "W_Q: …", "encoder.0.self_attn.k_proj.bias": "b_K: …", "Ｘ": "X: …",
}  # fmt: skip
"""Names, and what the fix must say."""


def refusal(folder: pathlib.Path, text: str, name: str = "p.yaml") -> InputError:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"unknown key|is a key of mask") as caught:
        load(str(path))
    return caught.value


@pytest.mark.parametrize("name", MEANT)
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_is_meant(name: str, form: str, tmp_path: pathlib.Path) -> None:
    """YAML and JSON get the same answer, at the place where the name stands."""
    text = f"{name}: 1\nX: [[1]]" if form == "yaml" else f'{{"{name}": 1, "X": [[1]]}}'
    error = refusal(tmp_path, text, f"p.{form}")
    assert MEANT[name] in error.fix
    assert error.place is not None
    assert error.place.line == 1


@pytest.mark.parametrize("name", [name for name in MEANT if "." not in name])
def test_what_is_meant_by_a_setting(name: str, tmp_path: pathlib.Path) -> None:
    """So does --set, which points at the option."""
    (tmp_path / "p.yaml").write_text("X: [[1]]", encoding="utf-8")
    with pytest.raises(InputError, match="unknown key") as caught:
        load(str(tmp_path / "p.yaml"), [f"{name}=1"])
    assert MEANT[name] in caught.value.fix
    assert str(caught.value.place) == f"--set {name}=1"


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_accepted(name: str, tmp_path: pathlib.Path) -> None:
    """Each name is refused, and the answer is its own row of the table."""
    inside, _, last = name.rpartition(".")
    if inside in TOP:
        error = refusal(tmp_path, f"{inside}: {{{last}: 1}}\nX: [[1]]")
    elif name in {key.name for key in keys(Mask)}:
        return
    else:
        error = refusal(tmp_path, f"{name}: 1\nX: [[1]]")
    row = KEYS[bare(name)]
    assert error.context == row.note
    assert error.fix == (f"write {' and '.join(row.write.splitlines())}" if row.write else "leave it out")


@pytest.mark.parametrize("row", dict.fromkeys(KEYS.values()), ids=lambda row: row.names.split()[0])
def test_what_is_to_be_written_is_known(row: Namesake) -> None:
    """Every key of every fix is one that the problem file has, in the mapping in which it has it."""
    if row.write:
        tree = yaml.safe_load(row.write)
        assert isinstance(tree, dict)
        for name, value in tree.items():
            assert list(unknown(value, TOP[name])) == []


def unknown(value: Any, key: Key) -> Iterator[str]:
    """Yield the keys inside a value that the declaration does not have."""
    inner: Mapping[str, Any] = key.records
    if not isinstance(value, dict) or key.kind is Kind.ARRAY:
        yield from () if value != "sinusoidal" or value in key.records else (value,)
    elif key.kind in {Kind.CACHE, Kind.SOURCES}:
        yield from value.keys() - {"K", "V"}
    elif key.kind is Kind.WINDOW:
        yield from value.keys() - {"left", "right"}
    elif key.kind is Kind.VARIANT:
        for name, settings in value.items():
            yield from _in(settings, inner[name]) if name in inner else (name,)
    elif key.kind is Kind.MASK:
        yield from _in(value, Mask)
    elif key.kind is Kind.EXPECTED:
        return
    else:
        yield from _in(value, inner[""])


def _in(value: Mapping[str, Any], declaration: type) -> Iterator[str]:
    known = {key.name: key for key in keys(declaration)}
    for name, each in value.items():
        yield from unknown(each, known[name]) if name in known else (name,)


def test_no_name_is_given_two_meanings() -> None:
    """A name stands in one row only, and is no key itself."""
    rows = [{bare(name) for name in row.names.split()} for row in dict.fromkeys(KEYS.values())]
    assert sum(map(len, rows)) == len(KEYS)
    assert TOP.keys().isdisjoint(NAMES)


def test_inside_a_mapping_only_what_belongs_there_is_meant() -> None:
    """What others write inside a mask, a rope, a cache."""
    assert namesake("theta", "rope") == KEYS["theta"]
    assert namesake("theta", "mask") is None
    assert namesake("key", "past") == KEYS["pastkey"]
    assert namesake("weights", "mask") is None
    assert namesake("nothing of the kind") is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("dtype: fp32", "float32"),
        ("dtype: half", "float16"),
        ("dtype: {qk: bf16}", "bfloat16"),
        ("dtype: torch.float32", "float32"),
        ("score: bahdanau", "additive"),
        ("score: luong", "general"),
        ("normalize: L1", "sum"),
        ("kv_head_map: repeat_interleave", "repeat"),
        ("weight_layout: transposed", "out in"),
        ("like: huggingface", "hf"),
        ("mask_fill: min", "finfo_min"),
        ("mask: tril", "causal"),
        ("x_layout: batch time features", "seq"),
        ("qkv_layout: bshd", "batch seq head dim"),
    ],
)
def test_words_of_others(text: str, meant: str, tmp_path: pathlib.Path) -> None:
    """A choice by what others call it is refused, with the choice that is meant."""
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"is|unknown") as caught:
        load(str(path))
    assert caught.value.fix == f"did you mean {meant}?"


def test_words_stand_for_choices() -> None:
    """Each stands for a word that some key takes."""
    choices = {word for key in (*TOP.values(), *keys(Mask)) for word in (*key.choices, *key.records)}
    choices |= {"half", "interleaved", "causal"} | {axis for each in choices for axis in each.split()}
    assert set(WORDS.values()) - choices <= {"batch seq head dim", "seq batch dim"}


@pytest.mark.parametrize("value", ["false", "null", "no"])
def test_what_is_switched_off_is_left_out(value: str, tmp_path: pathlib.Path) -> None:
    """Who says no to a mask is not told to write one."""
    assert refusal(tmp_path, f"X: [[1]]\nis_causal: {value}\n").fix == "leave it out"
