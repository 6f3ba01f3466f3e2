"""Files that have hurt other programs: each is read as meant, or refused with its place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from attncli.errors import InputError
from attncli.readers import load

TRAPS = Path(__file__).parent.parent / "data" / "traps"

REFUSED = {
    "1e400.json": r"X row 2, column 2 .*too large for float64",
    "array.json": r"the file is a list.*keys",
    "attok.yaml": r'cannot start with "@"[\s\S]*attok.yaml:1:17[\s\S]*quotes',
    "b03.yaml": r"obj\.npz#X holds Python objects",
    "b11.yaml": r"cplx\.npy holds complex numbers",
    "b12.yaml": r"str\.npy holds text",
    "b13.yaml": r"date\.npy holds dates",
    "b14.yaml": r"zerod\.npy holds a 0-D array",
    "b15.yaml": r"fived\.npy holds a 5-D array",
    "b19b.yaml": r"lfs\.safetensors .*Git LFS[\s\S]*git lfs pull",
    "b20b.yaml": r"negshape\.npy .*shape \(-",
    "b21.yaml": r'nokey\.npz holds no array named "X"[\s\S]*W_Q, W_K',
    "b27.yaml": r"trunc\.safetensors .*cut short",
    "b32.yaml": r"semi\.csv has semicolons and decimal commas",
    "b33.yaml": r"X row 2, column 2 .*empty[\s\S]*hole\.csv:2",
    "b38.yaml": r"X: cannot read nope\.npy: there is no such file",
    "b47.yaml": r"URL, which is not fetched",
    "badmask.yaml": r'mask is "causall"[\s\S]*did you mean causal\?',
    "cls.yaml": r'token 1 of tokens[\s\S]*in quotes: "\[CLS\]"',
    "cncolon.yaml": r"U\+FF1A FULLWIDTH COLON",
    "cncomma.yaml": r"X row 1, column 1 .*U\+FF0C FULLWIDTH COMMA",
    "comment.json": r"a comment, which JSON does not have[\s\S]*comment.json:1:17",
    "comments.yaml": r"the file is empty",
    "deccomma.yaml": r"X row 1, column 1 .*has a comma[\s\S]*decimal point",
    "deepblock.yaml": r"nested more than 64 levels",
    "deepflow.yaml": r"nested more than 64 levels",
    "doublecomma.yaml": r"value is missing[\s\S]*doublecomma.yaml:1:8",
    "dup.json": r'the key "X" is given twice[\s\S]*dup.json:1:17',
    "empty.json": r"the file is empty",
    "extra.yaml": r'unknown key "maks"[\s\S]*did you mean mask\?',
    "hashblock.yaml": r"token 2 of tokens .*empty[\s\S]*quotes",
    "hugeint5001.yaml": r"X row 1, column 1 .*too large",
    "lines.json": r"second document .*line 2",
    "listroot.yaml": r"the file is a list.*mapping of keys",
    "mixednest.yaml": r"X row 2, column 2 .*is a list where a number was expected",
    "nbspkey.yaml": r"U\+00A0 NO-BREAK SPACE[\s\S]*did you mean X\?",
    "noalias.yaml": r"alias \*W is not defined[\s\S]*noalias.yaml:3:6",
    "null.json": r"X row 2, column 1 .*null",
    "nullcell.yaml": r"X row 2, column 1 .*null",
    "rawtab.json": r"raw tab[\s\S]*rawtab.json:1:",
    "scalar.yaml": r"X is the single number 5.*matrix",
    "selfalias.yaml": r"alias \*X stands inside the value that it names",
    "single.json": r"JSON wants double quotes[\s\S]*single.json:1:2",
    "str.json": r'X row 1, column 2 .*not a number: "abc"',
    "t_err.json": r"X row 1, column 2 .*<U\+001B>\[2Jgone",
    "tabindent.yaml": r"a tab is used for indentation[\s\S]*tabindent.yaml:2:",
    "tildecell.yaml": r"X row 1, column 2 .*null",
    "typo.yaml": r'unknown key "W_q"[\s\S]*did you mean W_Q\?',
}

X = [[1, 0, 1], [0, 2, 0], [1, 1, 1]]
W = [[1, 0], [0, 1], [1, 1]]
SAME_AS_OK = [
    "anchor.yaml",
    "b00.yaml",
    "b05.yaml",
    "b06.yaml",
    "b22.yaml",
    "b31.yaml",
    "bom.json",
    "docmarks.yaml",
    "emoji.json",
    "ok.json",
    "ok.yaml",
    "utf16.json",
    "utf16.yaml",
    "utf8.yaml",
]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """A file with a fault gives one message that names it and its place."""
    with pytest.raises(InputError, match=REFUSED[name]) as caught:
        load(str(TRAPS / name))
    shown = str(caught.value)
    assert caught.value.place is not None
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert len(max(shown.splitlines(), key=len)) < 400


@pytest.mark.parametrize("name", SAME_AS_OK)
def test_same_matrices(name: str) -> None:
    """Encodings, anchors and array files change nothing about the numbers."""
    (problem,) = load(str(TRAPS / name))
    np.testing.assert_array_equal(problem.X, X)
    for key in ("W_Q", "W_K", "W_V"):
        np.testing.assert_array_equal(getattr(problem, key), W)


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("octal.yaml", "V", [[10, 1]]),
        ("negdot.yaml", "X", [[-0.5, 0.25]]),
        ("quotednum.yaml", "V", [[1.5, 2]]),
        ("infstr.json", "V", [[1, -np.inf, np.nan]]),
        ("tabflow.yaml", "X", [[1, 0]]),
        ("n_denorm.yaml", "K", [[0], [-745], [-800]]),
        ("n_nan.yaml", "X", [[1, 0], [np.nan, 1]]),
        ("onedim.yaml", "X", [1, 2]),
    ],
)
def test_numbers_as_meant(name: str, key: str, expected: list[object]) -> None:
    """Spellings that other readers turn into something else are read as what they say."""
    (problem,) = load(str(TRAPS / name))
    np.testing.assert_array_equal(getattr(problem, key), expected)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("norway.yaml", ("no", "yes", "on", "off", "null", "~", "y", "n", "true", "NO", "False")),
        ("equals.yaml", ("=", "<<", "a=b")),
        ("emoji.json", ("😀", "café", "b")),
        ("utf16.yaml", ("the", "café", "sat")),
        ("t_markup.json", ("[red]", "[unused1]", "[bold]x", "[link=http://e]y[/link]", ":smile:", "z\\", "[#ff0000]")),
    ],
)  # fmt: skip
def test_labels_as_written(name: str, tokens: tuple[str, ...]) -> None:
    """A label is text, whatever else it looks like."""
    (problem,) = load(str(TRAPS / name))
    assert problem.tokens == tokens


def test_nothing_runs_or_is_written(tmp_path: Path) -> None:
    """The pickle inside an archive does not run."""
    for name in ("b03.yaml", "obj.npz"):
        shutil.copy(TRAPS / name, tmp_path)
    with pytest.raises(InputError, match="not loaded"):
        load(str(tmp_path / "b03.yaml"))
    assert {path.name for path in tmp_path.iterdir()} == {"b03.yaml", "obj.npz"}
