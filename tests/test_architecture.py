"""Who may import whom: one table, held against the imports that the files really have."""

from __future__ import annotations

import ast
import pathlib
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter

import pytest

import attncli

ROOT = pathlib.Path(attncli.__file__).parent

MAY_IMPORT = {
    # what everything stands on
    "version": "",
    "__init__": "python version",  # python when somebody asks for what is in it
    "frozen": "",
    "text": "",
    "errors": "text",
    "stage": "",
    "trace": "stage",
    "meant": "stage",
    "namesakes": "meant",
    "keys": "",
    "presets": "",
    "records": "keys",
    "problem": "keys records presets errors",
    # the mathematics: no NumPy, no files, no terminal
    "core": "trace problem errors",
    "resolve": "core trace problem presets errors text",
    "backends": "trace errors",
    "memory": "errors",
    "plan": "core memory trace",
    "streamed": "core backends trace",
    "pieces": "core trace",
    "observe": "core pieces trace problem errors text",
    "compute": "resolve core backends observe pieces plan streamed trace problem errors",
    # the edge where problems come in
    "draw": "errors",
    "drawn": "draw memory problem errors",
    "archive": "errors text",
    "readers": "archive draw problem errors text meant namesakes",
    "stored": "readers compute resolve core problem trace errors text version",
    # what a result shows, before anything is text
    "cells": "errors text meant",  # as they are named
    "sheet": "cells",
    "headline": "compute core",
    "parts": "compute exhibits sheet errors",
    "exhibits": "compute sheet core trace",
    "selfcheck": "compute observe pieces sheet trace",
    # how a single number came about
    "arithmetic": "",
    "provenance": "arithmetic",
    "explain": "arithmetic provenance cells exhibits observe compute backends core trace errors",
    "worksheet": "exhibits trace",
    "matrices": "cells observe exhibits parts sheet worksheet compute core trace errors text",
    "blocks": "matrices cells exhibits headline parts selfcheck sheet compute core trace errors text",
    "check": "compute core readers problem trace errors text meant",
    # the edge where text goes out
    "render": "archive blocks cells check explain arithmetic exhibits headline errors sheet selfcheck compute problem trace text version",
    "streams": "errors text",
    "files": "streams errors text",
    "terminal": "errors text",
    # what attn says of itself
    "describe": "core readers trace problem errors text meant",
    "listing": "describe keys",
    "schema": "draw problem",
    # attn for Python
    "seen": "render sheet errors text",
    "python": "seen deliver options stored sheet render readers explain compute problem trace errors text meant",
    # the command line
    "options": "describe render compute sheet backends core trace problem errors text meant",
    "deliver": "render sheet files streams terminal options compute errors text",
    "faults": "problem errors text version",
    "progress": "",
    "checking": "check progress stored readers problem trace errors text",
    "command": "text",
    "about": "schema listing describe render files streams terminal problem errors text",
    "showing": "deliver options explain stored readers compute render errors",
    "judging": "checking check deliver options readers render sheet backends errors",
    "computing": "deliver options progress streams drawn readers render sheet compute problem errors",
    "cli": "command streams faults errors version about judging showing computing",
    "__main__": "cli",
}
"""Rooms, a module or a folder each, and the rooms that each may import."""

WITHOUT_LIBRARIES = ("frozen", "text", "errors", "stage", "trace", "problem", "core")
"""Rooms that are imported before anybody knows whether an array library will be needed."""


def files() -> dict[str, list[pathlib.Path]]:
    rooms: dict[str, list[pathlib.Path]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        first = path.relative_to(ROOT).parts[0]
        rooms.setdefault(first.removesuffix(".py"), []).append(path)
    return rooms


ROOMS = files()


def modules(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each import that is carried out, also those inside functions."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports relatively"
            assert node.module
            # `from attncli import files` names a room, `from attncli import __version__` does not
            deeper = [a.name for a in node.names if node.module == "attncli" and a.name in MAY_IMPORT]
            yield from ((node.lineno, f"{node.module}.{name}") for name in deeper)
            if not deeper:
                yield node.lineno, node.module


def rooms_of(room: str) -> Iterator[tuple[str, str]]:
    """Yield where a room imports another one, and which."""
    for path in ROOMS[room]:
        for line, name in modules(path):
            package, _, inner = name.partition(".")
            other = inner.partition(".")[0] or "__init__"
            if package == "attncli" and other != room:
                yield f"{path.relative_to(ROOT.parent)}:{line}", other


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    """Imports point one way; a new room takes a line in the table, and a reason to be."""
    assert room in MAY_IMPORT, f"{room} is not in the table"
    allowed = ["frozen", *MAY_IMPORT[room].split()]  # everybody declares values
    assert not [f"{where} imports {other}" for where, other in rooms_of(room) if other not in allowed]


def test_the_table_allows_no_circle() -> None:
    """Whatever is allowed, no room can come to import itself through others."""
    graph = {room: allowed.split() for room, allowed in MAY_IMPORT.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(MAY_IMPORT)


@pytest.mark.parametrize("room", WITHOUT_LIBRARIES)
def test_the_middle_knows_no_array_library(room: str) -> None:
    """The mathematics meets a library through array_api_compat alone, NumPy included."""
    outside = {
        (f"{path.relative_to(ROOT.parent)}:{line}", name)
        for path in ROOMS[room]
        for line, name in modules(path)
        if name.partition(".")[0] not in {"attncli", *sys.stdlib_module_names}
    }
    assert {name for _, name in outside} <= {"array_api_compat"}, outside
