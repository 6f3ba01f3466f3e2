"""Problem files: from a path or standard input to `Problem`, or to one error that says where.

`load` finds the format, a parser makes a tree in which nothing is interpreted yet, and the keys'
own parsers read what each value means.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from attncli.errors import InputError, Place
from attncli.problem import Problem, Source
from attncli.readers.files import FORMATS, referenced
from attncli.readers.keys import to_problem
from attncli.readers.opening import STDIN, decode, read_bytes
from attncli.readers.places import TextSource
from attncli.readers.settings import Overridden, apply, parse_setting
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["READERS", "load", "located"]

Documents: TypeAlias = Iterator[tuple[Tree, Source]]
ProblemReader: TypeAlias = Callable[[str, str], Documents]
"""Takes text and the file's name; yields each document with its source."""


def _yaml(text: str, name: str) -> Documents:
    from attncli.readers import yaml_lines, yaml_tree  # noqa: PLC0415

    tree = yaml_tree.parse(text, name)
    if isinstance(tree, str) and (fault := yaml_lines.line_fault(text, range(text.count("\n") + 1), name)):
        raise fault
    yield tree, TextSource(name=name, text=text, tokens=yaml_tree.tokens)


def _json(text: str, name: str, *, several: bool = False) -> Documents:
    from attncli.readers import json_tree  # noqa: PLC0415

    for tree, start in json_tree.documents(text, name, several=several):
        yield tree, TextSource(name=name, text=text, tokens=json_tree.tokens, end=json_tree.end, start=start)


def _json_lines(text: str, name: str) -> Documents:
    return _json(text, name, several=True)


def _by_content(text: str, name: str) -> Documents:
    """Read what has no telling name: JSON if it starts like JSON, one document or several."""
    return _json_lines(text, name) if text.lstrip()[:1] in {"{", "["} else _yaml(text, name)


READERS: Mapping[str, ProblemReader] = MappingProxyType(
    {
        ".yaml": _yaml,
        ".yml": _yaml,
        ".json": _json,
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
    }
)
"""Formats of problem files, by suffix; anything else is told by its content. Each loads its own library."""


def load(name: str, settings: Sequence[str] = ()) -> list[Problem]:
    """Read the problems of a file.

    Args:
        name: A path, or ``-`` for standard input; pipes are read once, to their end. A result in an
            archive is a problem too.
        settings: ``KEY=VALUE`` texts that replace what the file says.

    Returns:
        One problem, or one for each document of JSON Lines.

    Raises:
        InputError: If anything in it cannot be taken as it is; says where.
    """
    parsed = tuple(parse_setting(setting) for setting in settings)
    path = pathlib.Path(name)
    problems = []
    for tree, origin in _documents(name, path):
        source = Overridden(name=origin.name, base=origin, settings=parsed) if parsed else origin
        with located(source):
            whole = apply(tree, parsed)
            known = dataclasses.replace(source, files=tuple(referenced(whole, path.parent)))
            problems.append(to_problem(whole, known, path.parent))
    return problems


def _documents(name: str, path: pathlib.Path) -> Documents:
    suffix = path.suffix.lower()
    if name == STDIN or suffix not in FORMATS:
        label = "<stdin>" if name == STDIN else name
        yield from READERS.get(suffix, _by_content)(decode(read_bytes(name), label), label)
        return
    from attncli.readers import archived  # noqa: PLC0415  (text needs no library for arrays)

    if archived.has_document(name):
        yield archived.whole(name)
        return
    raise (
        archived.only_arrays(name)
        if suffix in archived.ARCHIVES
        else InputError(
            f"{quote(name, limit=200, marks='')} holds an array, not a problem",
            fix=f"name it in a problem file: X: {quote(path.name, marks='')}",
            place=Place(name),
        )
    )


@contextlib.contextmanager
def located(origin: Source) -> Iterator[None]:
    """Give errors that pass through the place in the file of the value that they are about.

    Args:
        origin: `Problem.origin` of the problem at work.
    """
    try:
        yield
    except InputError as error:  # what the machine lacks is nowhere in the file
        if error.place is None:
            error.place = origin.place(error.path)
        raise
