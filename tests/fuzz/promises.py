"""What is true of every run of every command, whatever it is given.

A run ends in a result, whole and in its form, or in one clear message; nothing acts on a terminal, and
no file but the one that was asked for is touched.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from safetensors.numpy import load

from attncli.readers import READERS
from attncli.render import FORMATS
from attncli.render.ink import cells
from tests.streams import Called, call

__all__ = ["COUNTED", "folder_of", "form_of", "hold", "strict"]

COUNTED: Counter[str] = Counter()
"""Runs by command and exit status."""

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2029\u2066-\u2069]")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_NARROWEST = 40
_JUDGES = {"check", "diff"}


@contextmanager
def folder_of(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Put files into a folder of their own, which is the working directory for as long."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(data)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def hold(arguments: Sequence[str], stdin: bytes = b"", spared: Collection[str] = ()) -> Called:
    """Run a command line in the working directory and hold what is true of every run.

    Args:
        arguments: What follows the program's name.
        stdin: What stands in standard input.
        spared: Files that the inputs name; where nothing was refused, all of them were read.
    """
    before = _contents()
    done = call(arguments, stdin)
    arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments
    after = _contents()
    COUNTED[f"{arguments[0]} {done.status}"] += 1
    assert done.status in ({0, 1, 2, 3} if arguments[0] in _JUDGES else {0, 2, 3}), done
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if done.status > 1 and not (arguments[0] == "check" and (done.out or changed)):
        _hold_message(done)
        assert not changed, changed
        return done
    _hold_notes(done)
    target = _target(arguments)
    assert changed <= {target} - _named(arguments, before), changed
    assert done.status > 1 or "--set" in arguments or not changed & {*spared}, changed
    if target in {None, "-", "/dev/stdout", *changed}:
        assert bool(done.out) != bool(changed), done
        _hold_form(arguments, after[target] if changed and target else done.out)
    return done


def strict(text: bytes | str) -> Any:
    """Read JSON, refusing what the standard does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def form_of(arguments: Sequence[str]) -> str:
    """Tell in which form a result is written: as an option says, or as the name of the file does."""
    if "--json" in arguments or arguments[0] == "schema":
        return "json"
    if "--format" in arguments:
        return _last(arguments, "--format") or ""
    suffix = Path(_target(arguments) or "").suffix.lower()
    return next((name for name, each in FORMATS.items() if suffix in each.suffixes), "table")


def _contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def _last(arguments: Sequence[str], *names: str) -> str | None:
    given = [value for name, value in pairwise(arguments) if name in names]
    return given[-1] if given else None


def _target(arguments: Sequence[str]) -> str | None:
    name = _last(arguments, "-o", "--output")
    return name and os.path.normpath(name)


def _named(arguments: Sequence[str], files: Collection[str]) -> set[str]:
    """List the files that a command line names as inputs, problems by their folder too."""
    words = [word for before, word in pairwise(arguments) if before not in {"-o", "--output"}]
    names = {os.path.normpath(word) for word in words if word}
    inside = (Path(name) for name in files if Path(name).suffix in READERS)
    return names | {str(path) for path in inside if str(path.parent) in names}


def _hold_message(done: Called) -> None:
    """A refusal is one message, clean, on standard error alone."""
    said = done.err.decode("utf-8")
    assert done.out == b""
    assert said.startswith("error: ")
    assert len(re.findall(r"^error:", said, re.MULTILINE)) == 1
    assert not re.search(r"Traceback|internal error|Exception ignored", said), said
    assert not CONTROLS.search(said), said
    assert len(said) < 5000, said


def _hold_notes(done: Called) -> None:
    """Beside a result, standard error has notes and nothing else."""
    said = done.err.decode("utf-8")
    assert all(line.startswith(("note: ", "      ")) for line in said.splitlines()), said
    assert not CONTROLS.search(said), said


def _hold_form(arguments: Sequence[str], data: bytes) -> None:
    """A result can be read by what reads its form, and a text keeps to its width."""
    form = "help" if {"--help", "-h"} & {*arguments} else form_of(arguments)
    if form in _BINARY:
        _BINARY[form](data)
        return
    text = data.decode("utf-8")
    plain = _COLORS.sub("", text) if _last(arguments, "--color") == "always" else text
    assert not CONTROLS.search(plain.replace("\t", "") if form == "tsv" else plain), plain
    assert not text or text.endswith("\n")
    if form in _TEXTS:
        _TEXTS[form](text)
    width = _last(arguments, "--width")
    if width and form == "table" and "--plan" not in arguments:
        _hold_width(plain, max(int(width), _NARROWEST))


def _hold_width(text: str, width: int) -> None:
    for line in text.splitlines():
        alone = " " not in line.strip()  # a single number, say, which is not broken
        assert alone or cells(line) <= width, (width, line, text)


def _read_rows(separator: str) -> Callable[[str], None]:
    def read(text: str) -> None:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
        assert len({len(row) for row in rows}) <= 1, text

    return read


def _read_npz(data: bytes) -> None:
    with np.load(io.BytesIO(data)) as archive:
        assert all(archive[name].dtype != object for name in archive)


def _read_lines(text: str) -> None:
    for line in text.splitlines():
        strict(line)


def _read_png(data: bytes) -> None:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")


_BINARY: dict[str, Callable[[bytes], Any]] = {
    "npz": _read_npz,
    "npy": lambda data: np.load(io.BytesIO(data)),
    "safetensors": load,
    "png": _read_png,
}
_TEXTS: dict[str, Callable[[str], Any]] = {
    "json": lambda text: strict(text) if text.startswith(("[", "{\n")) else _read_lines(text),
    "jsonl": _read_lines,
    "csv": _read_rows(","),
    "tsv": _read_rows("\t"),
    "svg": ET.fromstring,
}
"""What reads the forms that more than people read."""
