"""From a file's tree to a `Problem`: what may stand at the top, and which keys go together."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Mapping

from attncli.errors import InputError
from attncli.problem import SCHEMA, Expected, Mask, Problem, Source, keys
from attncli.readers.records import parse_mapping
from attncli.readers.scalars import unknown_name
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["check_version", "mapping_at_top", "to_problem"]


def to_problem(tree: Tree, origin: Source, folder: pathlib.Path) -> Problem:
    """Read a document as a problem.

    Args:
        tree: The document.
        origin: Where it came from; errors are located with it.
        folder: What file names in it are relative to.

    Raises:
        InputError: If a key is unknown, or its value is not what the key takes.
    """
    mapping_at_top(tree)
    check_version(tree)
    _check_level(tree)
    values = parse_mapping(tree, Problem, (), folder)
    problem = Problem(**values, origin=origin, said=frozenset(values))
    for key in ("expected_decimals", "expected_in"):
        by_stage = getattr(problem, key)
        if isinstance(by_stage, Mapping):
            _check_stages(by_stage, problem.expected or {}, key)
    return problem


def mapping_at_top(tree: Tree) -> None:
    """Refuse a document that is not a mapping of keys, and say what it seems to be.

    Raises:
        InputError: If it is a list, text, or nothing.
    """
    if isinstance(tree, dict) and tree:
        return
    expected = "a mapping of keys, such as X and W_Q, was expected at the top level"
    if tree in ("", None, {}):
        raise InputError("the file is empty", context=expected, fix="write X: [[1, 0], [0, 1]]")
    if isinstance(tree, list):
        raise InputError(f"the file is a list, where {expected}", fix="give it a key: X: [[1, 0], [0, 1]]")
    text = str(tree)
    fix = "write X: [[1, 0], [0, 1]]; of what attn prints, only --json is read again"
    if begun := re.match(r"[\w.]+\s*([:=])", text):
        what = "put a blank after the colon" if begun[1] == ":" else "write a colon for the equals sign"
        fix = f"{what}: X: [[1, 0], [0, 1]]"
    raise InputError(f"the file is one text, {quote(text)}, where {expected}", fix=fix)


def check_version(tree: Mapping[str, Tree]) -> None:
    """Refuse a document of another version before any key of it is taken for a mistake.

    Raises:
        InputError: If it says that it is of one.
    """
    said = tree.get("schema")
    if not isinstance(said, str) or said in {"", SCHEMA}:
        return
    fix = f"write schema: {SCHEMA}"
    if re.fullmatch(r"attn/\d+", said):
        fix = "read it with the attn that wrote it, and have the numbers written again"
    raise InputError(f"schema is {quote(said)}, and this version reads {SCHEMA}", path=("schema",), fix=fix)


def _check_level(tree: Mapping[str, Tree]) -> None:
    """Refuse a key of mask at the top level, where a guess at the nearest key would mislead."""
    inside = {key.name for key in keys(Mask)} - {key.name for key in keys(Problem)}
    for name in tree:
        if name in inside:
            raise InputError(
                f"{name} is a key of mask, not of the problem",
                path=(name,),
                fix=f"write mask: {{{name}: …}}",
            )


def _check_stages(names: Iterable[str], expected: Mapping[str, Expected], key: str) -> None:
    """Refuse what is said about a stage that has no expected numbers: it would have no effect."""
    known = dict.fromkeys([*expected, *(name.partition("[")[0] for name in expected)])
    for name in names:
        if name not in known:
            raise unknown_name(name, known, (key,), what="stage of expected")
