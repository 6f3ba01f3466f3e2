"""What is pasted from elsewhere or typed wrongly: the message points at the sign that makes the fault."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import pytest

from attncli.errors import InputError
from attncli.readers import load
from attncli.readers.signs import SIGNS, wide_sign
from tests.readers.conftest import Read

NEVER = "the list that starts here is never closed"

YAML = {
    # signs of Chinese and Japanese pages
    "X: [[1，2]，[3，4]]": (1, 7, "FULLWIDTH COMMA. is no comma here", "write , instead of ，"),
    "X: [[1, 2]，[3, 4]]": (1, 11, "FULLWIDTH COMMA. is no comma here", "write ,"),
    "X: [[1，2], [3，4]]": (1, 6, "X row 1, column 1 .*FULLWIDTH COMMA", "write ,"),
    "X: [[1、2], [3、4]]": (1, 6, "IDEOGRAPHIC COMMA. is no comma", "write ,"),
    "X: [[1, 2］, [3, 4]]": (1, 10, "RIGHT SQUARE BRACKET. is no bracket", "write ]"),
    "X: ［［1, 2］, ［3, 4］］": (1, 1, "LEFT SQUARE BRACKET. is no bracket", r"write \["),
    "X: |\n  [[1, 2],\n  [3，4]]": (1, 1, r'X line 2, "\[3，4\]\]": .*FULLWIDTH COMMA', "write ,"),
    "X：[[1, 2]]": (1, 2, "FULLWIDTH COLON. is no colon", "write : and a blank"),
    "X: [[1]]\nmask: {causal：true}": (2, 8, "FULLWIDTH COLON", r"did you mean causal\? write :"),
    "X: [[1]]\nmask: ｛causal: true｝": (2, 7, "CURLY BRACKET. is no brace", "write {"),
    "X: [[1]]\nmask:\n　causal: true": (3, 1, "IDEOGRAPHIC SPACE", "write a plain blank"),
    "X:\n　- [1, 2]\n　- [3, 4]": (2, 1, "IDEOGRAPHIC SPACE is no blank", "write a plain blank"),
    "X:　[[1, 2]]": (1, 3, "IDEOGRAPHIC SPACE is no blank", "write a plain blank"),
    "name: “a: b”\nX: [[1]]": (1, 7, "LEFT DOUBLE QUOTATION MARK. is no quote", 'plain quote "'),
    "X: “x.npy”": (1, 1, "LEFT DOUBLE QUOTATION MARK. is no quote", 'plain quote "'),
    # dashes, commas, brackets, colons
    "X:\n  - [1, 2]\n  [3, 4]": (3, 3, "lacks its dash", "write - before it"),
    "X:\n  - [1, 2]\n    [3, 4]": (3, 5, "lacks its dash", "write - before it"),
    "tokens:\n- a\nb\nX: [[1], [2]]": (3, 1, "lacks its dash", "write - before it"),
    "X:\n  - [1, 2]\n  -[3, 4]": (3, 3, "a blank is missing after the dash", r"write - \[3, 4\]"),
    "X:\n  -[1, 2]\n  -[3, 4]": (2, 3, "a blank is missing after the dash", r"write - \[1, 2\]"),
    "X:\n  - [1, 2]\n - [3, 4]": (3, 2, "further in or out", "equally"),
    "X:\n  [1, 2]\n  [3, 4]": (3, 3, "a second row follows the first", "start each row with a dash"),
    "X:\n1 2\n3 4": (2, 1, "rows of numbers stand where a key", "put | after the key's colon"),
    "X: [1 2]": (1, 5, "more than one number", "put commas between numbers"),
    "X:\n  - 1, 2\n  - 3, 4": (2, 5, "a row without its brackets", r"\[1, 2\]"),
    "X: [[1,2] [3,4]]": (1, 11, r'missing before "\[3,4\]\]"', "a comma between two items"),
    "X: [[1, 2],\n  [3, 4]\n  [5, 6]]": (3, 3, r'missing before "\[5, 6\]\]"', "a comma between"),
    "X: [[1]]\nrope: {pairing: half base: 1}": (2, 26, "missing before", "a comma between two items"),
    "X: [[1, 2], [3, 4]": (1, 4, NEVER, r"a \] for each \["),
    "X: [[1, 2], [3, 4\nV: [[1]]": (1, 13, NEVER, r"a \] for each \["),
    "X: [1, 2], [3, 4]]": (1, 10, "a list ends here, and more follows", "one pair of brackets"),
    "X: [[1, 2], [3, 4]]]": (1, 20, "a closing bracket too many", r"a \] for each \["),
    "X: [[1, 2]]\nX: [[1, 2]]": (2, 1, "given twice; line 1", "keep one"),
    "X:[[1, 2]]\nnum_heads: 1": (1, 2, "a blank is missing after the colon", "write KEY: VALUE"),
    "X = [[1, 2]]": (1, 3, "an equals sign stands where", "write KEY: VALUE"),
    "num_heads: 1\nX [[1, 2]]": (2, 3, "a colon is missing after the key", "write KEY: VALUE"),
    "X: [[1]]\nmask: causal: true": (2, 13, "a second key stands on the line", r"mask: \{causal: true\}"),
    "X: [[1]]\nmask: {causal:true}": (2, 8, "unknown key", "put a blank after the colon: causal: true"),
    "X: {1, 2}": (1, 1, "in braces, which hold keys", r"write X: \[\[1, 2\], \[3, 4\]\]"),
    "X: [(1, 2), (3, 4)]": (1, 5, "is in round brackets", "write square ones"),
    "tokens: - a": (1, 9, "a dash starts a list on the line of its key", "on a new line"),
    "X: - [1, 2]": (1, 4, "a dash starts a list on the line of its key", "on a new line"),
    "  X: [[1]]\ntokens: [a]": (2, 1, "indented less than the first key", "indent all keys equally"),
    "X: [[1]]\ntokens: [?, !]": (2, 14, "cannot start with !", "put it in quotes"),
    "X: [[- 1]]": (1, 6, "between a sign and its number", "write -1"),
    "X: [[1, - 1]]": (1, 9, "between a sign and its number", "write -1"),
    # comments
    "X: [[1, 2]] // c": (1, 13, "a comment, which starts with # in YAML", "write #"),
    "// c\nX: [[1]]": (1, 1, "a comment, which starts with # in YAML", "write #"),
    "% c\nX: [[1]]": (1, 1, "a comment, which starts with # in YAML", "write #"),
    "X: [[1, 2], // c\n  [3, 4]]": (1, 13, "a comment, which starts with # in YAML", "write #"),
    "X: [[1]]\nnum_heads: 1 // c": (2, 1, "has a comment behind it", "#"),
    "X:\n  - [1, 2]\n# weights\nname: @a": (4, 7, "cannot start with", "put it in quotes"),
    "X:\n  - [1, 2]\n# c\n  [3, 4]": (4, 3, "lacks its dash", "write - before it"),
    # quotes, and signs that are no fault beside one that is
    'X: [[1],[2]]\nname: "abc': (2, 7, "a quote is opened and never closed", "close it"),
    "X: [[1],[2]]\ntokens: [a, 'b]\n": (2, 13, "a quote is opened and never closed", "close it"),
    "X: [[1, 2], [3, 4]]\nname: it's 1，2\nmask: @": (3, 7, "cannot start with", "put it in quotes"),
    "tokens: [1，2, @]": (1, 15, "cannot start with", "put it in quotes"),
    "tokens: [a，1, b]\nX: [[1] [2]]": (2, 9, "missing before", "a comma between two items"),
    'tokens: ["1，\n 2", @]': (2, 6, "cannot start with", "put it in quotes"),
    "notes: |\n  x ; y\n  1；2\n @": (4, 2, "cannot start with", "put it in quotes"),
    # Python, NumPy, torch, MATLAB, LaTeX
    "X: [tensor([1, 2]), tensor([3, 4])]": (1, 5, "a printout inside a list", "rows of numbers only"),
    "X: [np.float64(1.0), 2]": (1, 5, "as NumPy shows it in a list", "what stands in its brackets"),
    "X: |\n  [[np.float64(1.0), 2]]": (1, 1, "as NumPy 2 shows them", "legacy"),
    "X: |\n  [tensor([1]), tensor([3])]": (1, 1, "a list of arrays", "stack them"),
    "X: |\n  >>> x\n  tensor([[1, 2]])": (1, 1, "more than the printout of one array", "paste only"),
    "X: torch.randn(3, 4)": (1, 1, "X is text", r"write X: \{random: .*normal"),
    "X: np.random.rand(3, 4)": (1, 1, "X is text", r"write X: \{random: \{shape: \[3, 4\], seed: 0\}\}"),
    "X: np.eye(3)": (1, 1, "X is text", "write X: identity"),
    "X: [[-np.inf, 1]]": (1, 6, "is written as in Python", "write inf, -inf or nan"),
    "X: [1 2; 3 4]": (1, 5, "a semicolon, as MATLAB parts rows", r"\[\[1, 2\], \[3, 4\]\]"),
    "X: [[1, 2]; [3, 4]]": (1, 11, "a semicolon stands between rows", "commas between rows"),
    "X: |\n  1 2\n  3 4; 5 6": (3, 3, 'X line 2, "3 4; 5 6": .*MATLAB', "on a line of its own"),
    "X: |\n  1 & 2 \\\\\n  3 & 4": (2, 3, "this is LaTeX", "with blanks or commas"),
}  # fmt: skip

JSON = {
    '{"X"：[[1]]}': (1, 5, "FULLWIDTH COLON. is no colon", "write :"),
    '{"X": [[1，2]，[3，4]]}': (1, 10, "FULLWIDTH COMMA. is no comma", "write ,"),
    '{"X": ［[1]]}': (1, 7, "LEFT SQUARE BRACKET. is no bracket", r"write \["),
    '{\n　"X": [[1]]}': (2, 1, "IDEOGRAPHIC SPACE is no blank", "plain blank"),
    '{"tokens": [‘a’]}': (1, 13, "LEFT SINGLE QUOTATION MARK. is no quote", 'plain quote "'),
    '{"tokens": ["a”]}': (1, 13, "a typographic quote does not close", 'plain double quote "'),
    '{"tokens": ["a”, "b”]}': (1, 19, "a typographic quote does not close", 'plain double quote "'),
    '{"X": [[1,2] [3,4]]}': (1, 14, "a comma is missing before this", "between two items"),
    '{"X": [[1,2], [3,4]}': (1, 7, NEVER, r"write a \] for each \["),
    '{"X": [[1,2],\n [3,4]\n "V": [[1]]}': (1, 7, NEVER, r"write a \] for each \["),
    '{"X": [[1,2]]': (1, 1, "mapping that starts here is never closed, and there the file ends", "copy all"),
    '{"X": [[1,2]]]}': (1, 14, "a closing bracket too many", "for each"),
    '{"X": [[1]],\n "X": [[1]]}': (2, 2, 'key "X" is given twice; line 1', "keep one"),
    '{"X": [[1, 2], [3, 4],]}': (1, 22, "a comma after the last item", "take it away"),
    '{"X": [[1, 2]],\n}': (1, 15, "a comma after the last item", "take it away"),
    '{"X" = [[1]]}': (1, 6, "an equals sign", 'write "X": …'),
    '"X": [[1]]': (1, 4, "the braces around the keys are missing", "write {"),
    '{"X": [[1]]}\n// c': (2, 1, "a comment, which JSON does not have", "take it away"),
    '{"X": (1, 2)}': (1, 7, "a round bracket", "write square ones"),
    '{"X": [[1/2]]}': (1, 10, "a fraction", 'double quotes: "1/3"'),
    '{"X": [[1, Inf]]}': (1, 12, "a non-finite number", "write NaN, Infinity"),
    '{"X": [[1, -np.inf]]}': (1, 12, "a non-finite number", "write NaN, Infinity"),
    '{"X": [[1, −2]]}': (1, 12, "a minus sign that is not ASCII", "write -1"),
    '{"X": torch.tensor([[1, 2]])}': (1, 7, "a printout pasted as it is", "put it in double quotes"),
    '{"X": [[np.float64(1.0)]]}': (1, 9, "as NumPy shows it in a list", "what stands in its brackets"),
    '{"X": torch.randn(2)}': (1, 7, "a call, and nothing is called here", "random"),
    '{"X": [1 2; 3 4]}': (1, 10, "rows parted by semicolons, as in MATLAB", r"\[\[1, 2\], \[3, 4\]\]"),
    '{"X": [[1]], "mask": causal}': (1, 22, "a word without quotes", "double quotes"),
    '{"X": "[1, 2\n"}': (1, 13, "a raw line break", r"\\n; or write YAML"),
}  # fmt: skip


BLOCKS = {
    "name: a\nX: |\n  1 2\n  3 x\n": (4, 5),
    "X: |\n\n  1, , 2\n": (3, 8),
    "X: |\n  1 2\n  3\n": (3, 3),
    "X: |\n  1 2\n  3；4\n": (3, 3),
    "X: |\n  tensor([[1, 2],\n          [3, None]])\n": (3, 15),
    "X: |\n  [[[1, 2],\n    [3, 4]],\n\n   [[1, 2],\n    [x, 4]]]\n": (6, 6),
    "X: |\n  [[1, 2],\n   [3]]\n": (3, 4),
    "X: [[1]]\nexpected:\n  weights: |\n    1 2\n    3 y\n": (5, 7),
    "X: |\n  [[1,, 2]]\n": (1, 1),
    "X: |\nV: [[1]]\n": (1, 1),
}
"""Blocks of text, and the place of the cell or row at fault; of the key, where no cell is."""


@pytest.mark.parametrize("text", BLOCKS)
def test_a_cell_of_a_block(read: Read, text: str) -> None:
    """Inside a block of text, the line and column of the cell are those of the file."""
    with pytest.raises(InputError, match=r"\w") as caught:
        read(text)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == BLOCKS[text]


def check(error: InputError, expected: tuple[int, int, str, str]) -> None:
    line, column, message, fix = expected
    assert re.search(message, error.message)
    assert re.search(fix, error.fix)
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)


@pytest.mark.parametrize("text", YAML)
def test_yaml(read: Read, text: str) -> None:
    """In YAML: line, column, what is wrong and what to write."""
    with pytest.raises(InputError, match=r"\w") as caught:
        read(text)
    check(caught.value, YAML[text])


@pytest.mark.parametrize("text", JSON)
def test_json(read: Read, text: str) -> None:
    """In JSON, which is stricter, likewise."""
    with pytest.raises(InputError, match=r"\w") as caught:
        read(text, name="p.json")
    check(caught.value, JSON[text])


@pytest.mark.parametrize("text", ["X: [[1, 2]，[3, 4]]", '{"X": [[1,2], [3,4]}', "X:\n  - [1, 2]\n  [3, 4]"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """What comes from standard input gets the same answer, under its own name."""

    class Stdin:
        buffer: Any = io.BytesIO(text.encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(InputError, match=r"\w") as caught:
        load("-")
    check(caught.value, JSON[text] if text.startswith("{") else YAML[text])
    assert caught.value.place is not None
    assert caught.value.place.file == "<stdin>"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("X=[[1，2]，[3，4]]", "FULLWIDTH COMMA. is no comma"),
        ("X=[[1,2] [3,4]]", "a comma or a closing bracket is missing"),
        ("X=[[1, 2", NEVER),
        ("mask={causal:true}", "unknown key"),
        ("X=[1 2; 3 4]", "as MATLAB parts rows"),
    ],
)
def test_a_setting(read: Read, setting: str, message: str) -> None:
    """So does what --set says."""
    with pytest.raises(InputError, match=message) as caught:
        read("X: [[1]]", setting)
    assert str(caught.value.place).startswith(f"--set {setting}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name: "a，[1": 2\nX: [[1]]', "a second key"),
        ("name: 注意，这里: 二\nX: [[1]]", "a colon stands|a second key"),
        ("name: it’s: x\nX: [[1]]", "a colon stands|a second key"),
        ("X: [[1], # 2，3\n@", "cannot start with"),
        ("tokens: [don’t, @b]\nX: [[1]]", "cannot start with"),
        ("X:\n- [1]\nname: @a", "cannot start with"),
    ],
)
def test_what_somebody_wrote_is_not_blamed(read: Read, text: str, message: str) -> None:
    """Signs in quotes, in comments and inside words are no fault, and another one is named."""
    with pytest.raises(InputError, match=message):
        read(text)


def test_printouts_are_still_taken(read: Read) -> None:
    """Whatever is no fault is read as before: full-width digits and blanks, a printout with its semicolon."""
    assert read("X: |\n  １　２\n  3　4\n").X.tolist() == [[1, 2], [3, 4]]  # type: ignore[union-attr]
    assert read("X: |\n  tensor([[1, 2]]);\n").X.tolist() == [[1, 2]]  # type: ignore[union-attr]
    assert read("tokens: [“a”, 我，你]\nX: [[1], [2]]").tokens == ("“a”", "我，你")


@pytest.mark.parametrize("sign", SIGNS)
def test_every_sign_is_named(sign: str) -> None:
    """By its code point, with what is to stand there."""
    seen = wide_sign(f"1{sign}2")
    assert seen is not None
    assert seen.offset == 1
    assert f"U+{ord(sign):04X}" in seen.what
    assert SIGNS[sign].strip(" ;") in seen.fix
    assert wide_sign("[1, 2]") is None
