"""YAML: nothing is interpreted, and nothing gets lost."""

from __future__ import annotations

import pytest
import yaml

from attncli.errors import InputError
from attncli.readers import yaml_tree
from attncli.readers.tree import Folded, Plain

BOMB = "\n".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 10 if i else ['1'] * 10)}]" for i in range(9))
CHAIN = "\n".join(f"k{i}: &k{i} [{f'*k{i - 1}' if i else '1'}]" for i in range(100))

REFUSED = {
    "X: [[1]]\n---\nX: [[2]]\n": r"a second document[\s\S]*p\.yaml:2:1",
    "X: 1\nW_Q: 2\nX: 3\n": r'key "X" is given twice; line 1[\s\S]*p\.yaml:3:1',
    "a: {b: 1, b: 2}": r'key "b" is given twice',
    "a: !!python/object/apply:os.system [1]": r"tag .*python.* is not known",
    "a: !!binary aGk=": "tag .*!!binary.* is not known",
    "a: !mine 1": "tag .*!mine.* is not known",
    "a: !!set {1}": "tag .*!!set.* is not known",
    "a: *b": r"alias \*b is not defined above this line",
    "a: &a [1, *a]": r"alias \*a stands inside the value",
    "a: &a {b: *a}": r"alias \*a stands inside the value",
    BOMB: "more than 50,000,000 values",
    CHAIN: "nested more than 64 levels",
    "[" * 70 + "]" * 70: "nested more than 64 levels",
    "[" * 5000: "nested more than 64 levels",
    "- " * 70 + "1": "nested more than 64 levels",
    "a:\n\t- 1\n": r"a tab is used for indentation[\s\S]*p\.yaml:2:",
    "a: b: c": r"second key stands on the line[\s\S]*p\.yaml:1:5",
    "a: [1, 2\nb: 3": r"the list that starts here is never closed[\s\S]*p\.yaml:1:4",
    "a: {b: 1\n": r"the mapping that starts here is never closed[\s\S]*p\.yaml:1:4",
    "a: [1,, 2]": r'a value is missing before ","',
    "a: @b": 'cannot start with "@"',
    "a: `b`": 'cannot start with "`"',
    'a: "b': "a quote is opened and never closed",
    'a: "\\q"': "an escape that YAML does not know",
    "a: 1\nb\nc: 2": "text where a key and its colon were expected",
    "a: 1\n  b: 2": "colon stands where no key can end",
    "- 1\nb: 2": "does not continue the list",
    "a: 1\n- 2": "does not continue the mapping",
    "a: !x!y 1": "the tag is not known",
    "a: x\x07y": r"U\+0007 cannot stand",
    "X: [[1]]\nW：2\nY: 3": r"U\+FF1A FULLWIDTH COLON",
    "? [a, b]\n: 1": "a key must be text",
    "<<: 3": "<< merges mappings",
    "%YAML 3.0\n---\na: 1": "another YAML version",
    "": "the file is empty",
    "# only a comment\n": "the file is empty",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:24]))
def test_refused(text: str) -> None:
    """Each fault is named, with its line."""
    with pytest.raises(InputError, match=REFUSED[text]) as caught:
        yaml_tree.parse(text, "p.yaml")
    assert caught.value.place is not None


@pytest.mark.parametrize(
    "word", ["no", "null", "~", "1:30", "010", "1e-3", "2024-01-01", "0x1F", "=", "<<", "1_0"]
)
def test_scalars_stay_text(word: str) -> None:
    """No unquoted word turns into a value of its own."""
    assert yaml_tree.parse(f"[{word}]", "p") == [word]
    assert type(yaml_tree.parse(f"[{word}]", "p")[0]) is Plain


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("a", Plain, "a"),
        ("!!int 5", Plain, "5"),
        ("'a'", str, "a"),
        ("!!str a", str, "a"),
        ("! a", str, "a"),
        ("|\n 1 2\n 3", str, "1 2\n3"),
        (">\n 1 2\n 3", Folded, "1 2 3"),
        ("'1 2\n 3'", Folded, "1 2 3"),
    ],
)
def test_quoting_is_remembered(text: str, kind: type, value: str) -> None:
    """A tree tells unquoted, quoted and folded text apart."""
    (read,) = yaml_tree.parse(f"- {text}", "p")
    assert type(read) is kind
    assert read == value


def test_merge_keys() -> None:
    """What a mapping says itself wins over what it merges, and earlier sources over later ones."""
    tree = yaml_tree.parse("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {<<: [*a, *b], x: 5}", "p")
    assert tree["c"] == {"x": "5", "y": "2", "z": "4"}


def test_marks_and_directives() -> None:
    """Directives and document marks around one document change nothing."""
    assert yaml_tree.parse("%YAML 1.2\n---\na: 1\n...\n", "p") == {"a": "1"}


def test_pure_python_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libyaml is missing, PyYAML's own parser gives the same trees and faults."""
    monkeypatch.setattr(yaml_tree, "_Loader", yaml.SafeLoader)
    assert yaml_tree.parse("a: &x [1, '2']\nb: *x", "p") == {"a": ["1", "2"], "b": ["1", "2"]}
    assert type(yaml_tree.parse("[1]", "p")[0]) is Plain
    with pytest.raises(InputError, match=r"a value is missing"):
        yaml_tree.parse("a: [1,, 2]", "p")
    with pytest.raises(InputError, match=r"U\+0007 cannot stand"):
        yaml_tree.parse("a: \x07", "p")
    with pytest.raises(InputError, match="a tab is used"):
        yaml_tree.parse("a:\n\t- 1\n", "p")
