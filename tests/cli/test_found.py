"""What searching has found: each of these once ended in a traceback, a wrong number or a lost one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

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
    (folder / "again.json").write_text(once.out)
    assert attn("compute", "again.json", "--json") == once
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
