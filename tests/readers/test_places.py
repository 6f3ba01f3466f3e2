"""Errors point to the line and column of what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.readers import json_tree, load, located, yaml_tree
from attncli.readers.places import TextSource, place_at

Read = Callable[..., Problem]

YAML = """\
name: a
W: &w
- [1, 2]
- [3, 4]
X: *w
Y: {keep: [[1, 2],
           [3, 4]]}
w: &w [9]
V: *w
"""
JSON = '{"name": "[,{\\"}",\n "X": [[1, 2],\n  [3, 4]]}'


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("name",), 1, 1),
        (("W", 1), 4, 3),
        (("W", 1, 1), 4, 7),
        (("X",), 5, 1),
        (("X", 1, 0), 4, 4),
        (("Y", "keep"), 6, 5),
        (("Y", "keep", 1, 1), 7, 16),
        (("Y", "keep", 9), 6, 5),
        (("V", 0), 8, 8),
        (("nowhere",), 1, 1),
    ],
)
def test_yaml(path: tuple[str | int, ...], line: int, column: int) -> None:
    """A key's place is its own; a cell's is where its text stands, through aliases too."""
    found = TextSource(name="p", text=YAML, tokens=yaml_tree.tokens).locate(path)
    assert found is not None
    assert found[:2] == (line, column)


@pytest.mark.parametrize(("path", "line", "column"), [(("X",), 2, 2), (("X", 1), 3, 3), (("X", 1, 1), 3, 7)])
def test_json(read: Read, path: tuple[str | int, ...], line: int, column: int) -> None:
    """JSON's strings may hold brackets."""
    found = read(JSON, name="p.json").origin.locate(path)
    assert found is not None
    assert found[:2] == (line, column)


TEXTS = st.text(st.sampled_from('[]{}",:\\ \n\u4f60a1'), max_size=6)
TREES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def paths(tree: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a tree, and of something that is not there."""
    yield ()
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for part, inner in items:
        yield from ((part, *rest) for rest in paths(inner))
    yield ("nowhere",)


@given(TREES, st.sampled_from([None, 1]))
def test_json_is_skipped_to_where_reading_it_comes_out(tree: Any, indent: int | None) -> None:
    """What is not asked for is passed over, however many brackets its texts hold."""
    text = " " + json.dumps(tree, indent=indent, ensure_ascii=False)
    read, skipped = (
        TextSource(name="p", text=text, tokens=json_tree.tokens, end=end) for end in (None, json_tree.end)
    )
    for path in paths(tree):
        assert skipped.locate(path) == read.locate(path)


def test_json_lines(tmp_path: Path) -> None:
    """A problem further down a file is located in its own line."""
    path = tmp_path / "p.jsonl"
    path.write_text('{"X": [[1]]}\n{"name": "b", "X": [[2]]}\n')
    problems = load(str(path))
    assert problems[1].origin.locate(("X", 0, 0)) == (2, 22, '{"name": "b", "X": [[2]]}')


def test_later_errors_are_located(read: Read) -> None:
    """An error of a later check gets its place from the problem's origin."""
    problem = read("name: a\nX: [[1, 2],\n    [3, 4]]\n")
    with pytest.raises(InputError, match="too wide") as caught, located(problem.origin):
        raise InputError("too wide", path=("X", 1, 1))
    assert str(caught.value.place).endswith("p.yaml:3:9")
    assert caught.value.place is not None
    assert caught.value.place.text == "    [3, 4]]"


def test_long_lines_are_cut_around_the_place() -> None:
    """The excerpt of a long line shows the part that is meant."""
    text = "a\n" + "x" * 500 + "HERE" + "y" * 500
    line, column, excerpt = place_at(text, text.index("HERE"))
    assert (line, column) == (2, 501)
    assert "HERE" in excerpt
    assert len(excerpt) < 72


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("X: [[1]]\nmask:\n  causal：true", 3, 3),
        ("X: [[1]]\nrope:\n  # as Llama\n  pairing：half", 4, 3),
        ("X: [[1]]\nmask: causal：true", 2, 1),
        ("X: [[1]]\nmask: {causal:\n  tru}", 3, 3),
        ('{"X": [[1]],\n "scale":\n  "big"}', 3, 3),
        ("X:\n  - [1, 2]\n  - [3]", 3, 5),
        ("X: [[1]]\nrope:\n  - half", 2, 1),
    ],
)
def test_a_value_below_its_key(read: Read, text: str, line: int, column: int) -> None:
    """A text or number that stands on a line of its own is pointed at there, and what it belongs to is not."""
    with pytest.raises(InputError, match=r"\b(is|has|holds)\b") as caught:
        read(text)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("X: [[1]]\nname： a\ntokens: [b]", 2, 5),
        ("name： a\nX: [[1]]", 1, 5),
        ("mask:\n  causal： true\n  align: top_left", 2, 9),
        ("X： [[1]]", 1, 2),
        ("X： |\n  1 2\n", 1, 2),
    ],
)
def test_a_fullwidth_colon(read: Read, text: str, line: int, column: int) -> None:
    """The message points at the colon, and not at the line where the parser was lost."""
    with pytest.raises(
        InputError, match=r"FULLWIDTH COLON. is no colon here\n.*\n  fix: write : and a blank"
    ) as caught:
        read(text)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (line, column)


def test_a_fullwidth_colon_in_a_text(read: Read) -> None:
    """A text may hold one, and is not blamed for another fault."""
    assert read('name: "a：b"\nX: [[1]]').name == "a：b"
    assert read("name: a：b\nX: [[1]]").name == "a：b"
    with pytest.raises(InputError, match="the list that starts here is never closed"):
        read('name: "a：b"\nX: [[1]')
