"""``attn keys``, ``attn stages`` and ``attn schema``: all that the declarations say, in any stream."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from attncli.core.attention import ORDER
from attncli.problem import Mask, Problem, keys
from attncli.records import T5, AdditiveScore, Alibi, Dropout, Rms, Rope, Sinusoidal
from attncli.schema import problem_schema
from attncli.trace import STAGES

from .conftest import Attn, Shell

INSIDE = {
    "mask": Mask,
    "rope": Rope,
    "dropout": Dropout,
    "qk_norm.rms": Rms,
    "bias.t5": T5,
    "bias.alibi": Alibi,
    "score.additive": AdditiveScore,
    "position_encoding.sinusoidal": Sinusoidal,
}


def test_keys_are_all_there(attn: Attn) -> None:
    """Every key, and every key inside one, has its row, with help, default and choices as declared."""
    rows = {row["name"]: row for row in json.loads(attn("keys", "--json").out)}
    declared = {key.name: key for key in keys(Problem)}
    for outer, record in INSIDE.items():
        declared |= {f"{outer}.{key.name}": key for key in keys(record)}
    choices = {"qk_norm.rms", "bias.t5", "bias.alibi", "score.additive", "score.general"}
    assert set(rows) == {*declared, *choices, "position_encoding.sinusoidal"}
    for name, key in declared.items():
        assert (rows[name]["help"], rows[name]["default"]) == (key.help, key.default)
        assert set(rows[name]["choices"]) == {*key.choices, *key.records} - {""}


def test_stages_are_all_there(attn: Attn) -> None:
    """Every stage has its row, in the order of the computation, with all ways to it and its details."""
    rows = json.loads(attn("stages", "--json").out)
    assert [row["name"] for row in rows] == [name for part in ORDER.values() for name in part]
    for row in rows:
        stage = STAGES[row["name"]]
        ways = [row, *row["variants"]]
        assert [way["source"] for way in ways] == [way.source for way in (stage, *stage.variants)]
        assert [detail["name"] for detail in row["details"]] == list(stage.details)
        assert all(part["summary"] for part in (*ways, *row["details"]))


@pytest.mark.parametrize("command", ["keys", "stages"])
def test_text_fits_80_columns_and_says_it_all(attn: Attn, command: str) -> None:
    """In a pipe no line is longer than 80, none ends in a blank, and every row of the JSON is in it."""
    text = attn(command).out
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    words = " ".join(text.split())
    for row in json.loads(attn(command, "--json").out):
        said = row.get("help", row.get("summary")).replace("−", "-")
        assert " ".join(said.split()) in words


def test_keys_stand_under_their_key(attn: Attn) -> None:
    """A key inside another one is indented under it; alone, it is named in full."""
    assert re.search(r"^mask  .*\n( {20}.*\n)+  causal  ", attn("keys").out, re.MULTILINE)
    assert re.search(r"^  rms  .*\n( {20}.*\n)+    eps  ", attn("keys").out, re.MULTILINE)
    assert attn("keys", "mask.causal").out.startswith("mask.causal  ")
    assert attn("keys", "position_encoding").out.startswith("position_encoding  ")


def test_a_name_picks_a_key_and_what_is_inside(attn: Attn) -> None:
    """A dotted name means that key, and a last part means every key that ends so."""

    def names(name: str) -> list[str]:
        return [row["name"] for row in json.loads(attn("keys", name, "--json").out)]

    assert names("bias.alibi") == ["bias.alibi", "bias.alibi.slopes", "bias.alibi.form"]
    assert names("offset") == ["position_encoding.sinusoidal.offset", "rope.offset", "mask.offset"]
    assert names("X") == ["X"]
    assert names("keep") == ["mask.keep", "dropout.keep"]
    assert names("W_q") == ["W_Q", "score.additive.W_q"]
    assert names("w_o") == ["W_O"]


def test_a_detail_picks_its_stage(attn: Attn) -> None:
    """The name of a stage's number leads to the stage."""
    assert attn("stages", "lse") == attn("stages", "weights")
    assert attn("stages", "scaled").out.startswith("scaled  ")


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("keys W_q_", "did you mean W_Q"),
        ("keys mask.casual", "did you mean mask.causal"),
        ("keys zzzzzz", "see: attn keys"),
        ("stages weigths", "did you mean weights"),
        ("stages entropie", "did you mean entropy"),
        ("stages A", "did you mean weights"),
        ("stages softmax", "did you mean weights"),
        ("stages zzzzzz", "see: attn stages"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(attn: Attn, command: str, fix: str) -> None:
    """A slip is an error of one message that names what was meant."""
    done = attn(*command.split())
    assert (done.status, done.out) == (2, "")
    assert re.fullmatch(rf'error: there is no (key|stage) "\S+"\n  fix: {re.escape(fix)}\??\n', done.err)


def test_any_stream_can_show_them(sh: Shell) -> None:
    """Where a stream takes ASCII only, every sign has a form in ASCII."""
    done = sh("attn keys; attn stages", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert not re.search(rb"<U\+|\\u|\\x", done.stdout)


def test_the_schema_goes_to_a_stream_or_a_file(attn: Attn, folder: Path) -> None:
    """The schema is JSON, on standard output and, whole, in a file."""
    done = attn("schema")
    assert json.loads(done.out) == problem_schema()
    assert attn("schema", "-o", "attn.schema.json") == (0, "", "")
    assert (folder / "attn.schema.json").read_text("utf-8") == done.out
    assert attn("schema", "-o", "no/attn.schema.json").status == 3


def test_names_are_completed(sh: Shell) -> None:
    """The shell completes keys and stages."""
    for command, completed in (("attn keys rope.b", b"rope.base"), ("attn stages wei", b"weights")):
        done = sh("attn", _ATTN_COMPLETE="complete_bash", COMP_WORDS=command, COMP_CWORD="2")
        assert completed in done.stdout.split()
