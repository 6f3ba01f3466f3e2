"""What searching has found: each of these once ended in a traceback, a wrong number or a lost one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from attncli.render.ink import cells

from .conftest import Attn, Shell

REFUSED = {
    "X: [[1, 2], [3, 4]]\nbias: {t5: {table: [[1], [2]]}}": "bias.t5.table has 2 rows, too few to tell near from far",
    "X: [[1, 2], [3, 4]]\nbias: {t5: {table: [[1], [2], [3], [4]], max_distance: 1}}": "max_distance is 1, and must be more than 1",
    "X: [[1, 2], [3, 4]]\nbias: {t5: {table: zeros}}": 'bias.t5.table is text, "zeros"',
    "X: [[1, 2], [3, 4]]\nscore: {additive: {v: ones}}": 'score.additive.v is text, "ones"',
    "X: [[1, 2], [3, 4]]\nrope: {pairing: half, cos: ones, sin: zeros}": 'rope.cos is text, "ones"',
    "X: [[1, 2], [3, 4]]\nmask: {additive: zeros}": 'mask.additive is text, "zeros"',
    'X: "a\\0.npy"': 'X: "a<U+0000>.npy" holds a character that no file name has',
    '{"X": [[1]], "notes": 1e400}': "notes is too large for float64",
    "X: [[1/1e400]]": "X row 1, column 1 (X[0][0]) is too large for float64",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused_in_one_message(attn: Attn, folder: Path, text: str) -> None:
    """What cannot be computed is refused as bad input, at its place."""
    (folder / "found").write_text(text)
    done = attn("compute", "found", "--json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert REFUSED[text] in done.err
    assert "\n   --> found:" in done.err


KEPT = {
    "a scale of minus zero": '{"X": [[-0.5]], "scale": -0.0}',
    "a seed beyond 2⁵³": '{"X": [[1], [2]], "dropout": {"p": 0.5, "seed": 9007199254740993}}',
    "a cap of given scores": '{"scaled": [[1, 2]], "softcap": 0.5}',
}


@pytest.mark.parametrize("name", KEPT)
def test_computed_again_to_the_same_bytes(attn: Attn, folder: Path, name: str) -> None:
    """What a result says of its problem is what was computed."""
    (folder / "found.json").write_text(KEPT[name])
    once = attn("compute", "found.json", "--json")
    (folder / "found.json").write_text(once.out)
    assert attn("compute", "found.json", "--json") == once
    written = json.loads(once.out)
    assert all(written[key] == value for key, value in json.loads(KEPT[name]).items())


def test_the_smallest_numbers_have_a_table(attn: Attn, folder: Path) -> None:
    """Numbers beside which a thousandth is zero are written as they are."""
    (folder / "tiny.yaml").write_text("scores: [[5e-324, 1e-323], [0, 5e-324]]\nd_k: 1\n")
    done = attn("compute", "tiny.yaml")
    assert done.status == 0
    assert re.search(r"\b9\.88\d?e[-−]324\b", done.out)


def test_a_folder_that_is_gone(sh: Shell) -> None:
    """Where the working directory was removed, nothing can be written, and that is said."""
    done = sh("mkdir gone; cd gone; rmdir ../gone; attn compute ../cat.yaml -o r.json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b'error: cannot write to "r.json": no such file or directory\n' in done.stderr


def test_a_file_that_does_not_fit_into_the_address_space(sh: Shell) -> None:
    """A file that cannot be mapped under ulimit -v is a lack of memory, not bad input."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000), }\\n"
    done = sh(
        f'printf "\\x93NUMPY\\x01\\x00\\x{len(header) - 1:02x}\\x00{header}" > x.npy; truncate -s 9G x.npy;'
        "echo 'X: x.npy' > x.yaml; ulimit -v 4000000; attn compute x.yaml"
    )
    assert done.returncode == 3
    assert b"error: X: cannot read x.npy: cannot allocate memory\n" in done.stderr


RESULTS = {
    '{"stages": []}': "stages is no mapping",
    '{"stages": {"weights": 1}}': "weights is no array of numbers",
    '{"stages": {"weights": [[1, 2], [3]]}}': "has 1 column",
    '{"stages": {"weights": [[true]]}}': "is a truth value",
}


@pytest.mark.parametrize("text", RESULTS)
def test_a_result_with_a_fault_names_itself(attn: Attn, folder: Path, text: str) -> None:
    """What another program wrote is refused at its own place, and not at the problem's."""
    (folder / "p.json").write_text('{"X": [[1, 2]]}')
    (folder / "theirs.json").write_text(text)
    done = attn("check", "p.json", "theirs.json")
    assert (done.status, done.out) == (2, "")
    assert RESULTS[text] in done.err
    assert "--> theirs.json" in done.err


def test_truth_values_are_no_weights(attn: Attn, folder: Path) -> None:
    """A mask that has the name of a stage is not compared as ones and zeros."""
    (folder / "p.json").write_text('{"X": [[1, 2]]}')
    np.savez(folder / "mask.npz", weights=np.ones((1, 1), dtype=bool))
    done = attn("check", "p.json", "mask.npz")
    assert (done.status, done.out) == (2, "")
    assert '"weights" holds truth values' in done.err


OPTIONS = {
    ("explain", "p.json", f"weights[{'9' * 5001},0]"): "there is no query 9999",
    ("check", "p.json", "--set", "expected={X: 1}", "--set", "expected_decimals=999999"): "at most 300",
    ("compute", "p.json", "--plan", "--json"): "--plan is text on standard output",
    ("compute", "p.json", "--mean-heads", "--head", "0"): "contradict each other",
    ("compute", "p.json", "--blank", ""): "there is no stage",
}


@pytest.mark.parametrize("arguments", OPTIONS, ids=lambda each: " ".join(each)[:40])
def test_options_that_cannot_be_met(attn: Attn, folder: Path, arguments: tuple[str, ...]) -> None:
    """What an option asks for is done, or refused."""
    (folder / "p.json").write_text('{"X": [[1, 2]]}')
    done = attn(*arguments)
    assert (done.status, done.out) == (2, "")
    assert OPTIONS[arguments] in done.err


def test_a_shown_result_sends_no_control_characters(attn: Attn, folder: Path) -> None:
    """What an edited result says of its backend is text, and as such shown."""
    (folder / "p.json").write_text('{"X": [[1, 2]]}')
    document = json.loads(attn("compute", "p.json", "--json").out)
    document["meta"]["backend"] = "\x1b[31mred"
    (folder / "edited.json").write_text(json.dumps(document))
    done = attn("show", "edited.json")
    assert done.status == 0
    assert "<U+001B>[31mred" in done.out
    assert "\x1b" not in done.out


def test_a_shown_result_is_an_array_too(attn: Attn, folder: Path) -> None:
    """A form that holds one stage takes it from a kept result, the output where none is asked for."""
    (folder / "p.json").write_text('{"X": [[1, 2]]}')
    attn("compute", "p.json", "-o", "r.json")
    assert attn("show", "r.json", "-o", "r.npy").status == 0
    np.testing.assert_array_equal(np.load(folder / "r.npy"), [[1, 2]])


WIDE = """{"X": [[0.8221235111, 2], [3, 4]], "tokens": ["%s", "苹果苹果苹果苹果苹果苹果"],
"expected": {"scores[0]": [0.123456789123456789, 0], "weights[0]": [0.999999999, 0]}}"""
COMMANDS = [
    "check p.json",
    "check p.json --full",
    "diff p.json",
    "explain p.json output[0,0]",
    "compute p.json",
]


@pytest.mark.parametrize(
    "arguments", [*COMMANDS, "compute p.json --heads-view --heads 2", "compute p.json --detail"]
)
def test_no_line_is_wider_than_what_was_asked_for(attn: Attn, folder: Path, arguments: str) -> None:
    """Whatever the labels, only what is one word, as a cell with long labels, goes beyond the width."""
    (folder / "p.json").write_text(WIDE % ("x" * 100))
    lines = attn(*arguments.split(), "--width", "40").out.splitlines()
    assert len(lines) > 10
    assert not [line for line in lines if cells(line) > 40 and " " in line.strip()]


@pytest.mark.parametrize("number", ["inf", "-1e308", "1e30", "-1e-300", "nan"])
def test_numbers_of_any_size_are_judged(attn: Attn, folder: Path, number: str) -> None:
    """Whatever others printed or saved, it is wrong, and nothing overflows on the way to saying so."""
    expected = f"{{exp: [[{number}, -3], [1/3, 1e30]], weights: [[{number}, -3.8], [1.0, -1e-270]]}}"
    (folder / "p.yaml").write_text(f"X: [[7.25, 0], [0, 3.98]]\nexpected: {expected}\n")
    with np.errstate(over="ignore"):
        np.savez(folder / "r.npz", weights=[[float(number), 1e308], [-1e308, 1.0]])
    for arguments in ("check p.yaml", "check p.yaml r.npz", "diff p.yaml r.npz", "diff r.npz p.yaml"):
        done = attn(*arguments.split(), "-q")
        assert (done.status, done.err) == (1, ""), arguments
