"""JSON: strict where the standard library is silent, helpful where it is terse."""

from __future__ import annotations

import pytest

from attncli.errors import InputError
from attncli.readers import json_tree
from attncli.readers.tree import Plain, Tree

REFUSED = {
    "": "the file is empty",
    " \n": "the file is empty",
    '{"a": 1, "a": 2}': r'key "a" is given twice[\s\S]*p\.json:1:10',
    '{"a": {"b": 1,\n "b": 2}}': r'key "b" is given twice[\s\S]*p\.json:2:2',
    '{"a": "a", "b": ["a", "a"], "b": 1}': r"p\.json:1:29",
    '{"a": [[1, 2], {"b": 1, "b": 2}': r"p\.json:1:25",
    '{"a": [[1, "{"], [3]], "b": [[{}], ["b"]], "a": 2}': r"p\.json:1:44",
    "{'a': 1}": "double quotes",
    '{"a": [\'b\']}': "double quotes",
    '{"a": 1} // b': r"a comment[\s\S]*p\.json:1:10",
    '{"a": 1} b': "stands after the end",
    '{"a": 1, // b\n "c": 2}': "a comment",
    '{"a": [1, # b\n 2]}': "a comment",
    '{"a": [1, 2,]}': "comma after the last item",
    '{"a": 1,}': "comma after the last item",
    '{"a": [1,,2]}': "empty item between two commas",
    '{"a": [,1]}': "empty item",
    '{"a": None}': "None, as Python prints it",
    '{"a": True}': "truth value as Python prints it",
    '{"a": nan}': "write NaN, Infinity",
    '{"a": .5}': "number without its zero",
    '{"a": -.5}': "number without its zero",
    '{"a": +1}': "plus sign",
    '{"a": 1.}': "ends in its point",
    '{"a": 010}': "starts with zero",
    '{"a": 1_000}': "underscore",
    '{"a": [1 2]}': "a comma is missing before this",
    '{"a" 1}': "a colon is missing",
    "{a: 1}": "a key without quotes",
    "{“a”: 1}": "LEFT DOUBLE QUOTATION MARK. is no quote here",
    '{"a"： 1}': "FULLWIDTH COLON. is no colon here",
    '{"a": "b\tc"}': r"raw tab \(U\+0009\)[\s\S]*\\t",
    '{"a": "b\nc"}': r"raw line break \(U\+000A\)",
    '{"a": "\\q"}': "a backslash that escapes nothing",
    '{"a": "b': "never closed",
    '{"a": [1, 2': r"list that starts here is never closed, and there the file ends[\s\S]*p\.json:1:7",
    '{"a": [1, 2]}\n{"a": 3}': r"second document .*line 2[\s\S]*p\.json:2:1",
    "a: 1": "name the file .yaml",
    '{"a": tensor([[1]])}': "a printout pasted",
    '{"a": [1, ..., 2]}': "an ellipsis",
    "[" * 70 + "]" * 70: "nested more than 64 levels",
    '{"a":' * 100_000: "nested more than 64 levels",
}  # fmt: skip


def parse(text: str) -> Tree:
    ((tree, _),) = json_tree.documents(text, "p.json", several=False)
    return tree


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:24]))
def test_refused(text: str) -> None:
    """Each fault is named in the words of its author, with its line."""
    with pytest.raises(InputError, match=REFUSED[text]) as caught:
        parse(text)
    assert caught.value.place is not None


def test_bare_constants_stay_text() -> None:
    """NaN and Infinity are accepted, and told apart from numbers that overflow."""
    assert parse("[NaN, Infinity, -Infinity]") == ["NaN", "Infinity", "-Infinity"]


def test_digits_are_kept_where_they_matter() -> None:
    """Expected values and labels keep their digits; other numbers are numbers."""
    tree = parse('{"expected": {"weights": [[0.50, 1E-3]]}, "tokens": [1.10], "X": [[0.50]]}')
    assert tree["expected"]["weights"] == [["0.50", "1E-3"]]
    assert tree["tokens"] == ["1.10"]
    assert isinstance(tree["X"][0][0], float)


def test_huge_integers_stay_text() -> None:
    """An integer of more digits than Python converts is left to the number's own check."""
    assert parse(f'{{"X": [[{"1" * 5000}]]}}') == {"X": [[Plain("1" * 5000)]]}


def test_several_documents() -> None:
    """JSON Lines give one tree a line, each with the offset at which it starts."""
    text = '{"a": 1}\n\n{"a": 2}\n'
    assert list(json_tree.documents(text, "p", several=True)) == [({"a": 1}, 0), ({"a": 2}, 10)]
