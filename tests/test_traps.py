"""Inputs, terminals and pipes that have hurt other programs: each case of a table, through the command.

``data/traps/cases.tsv`` says of each case the command, how it may end, what must be true then, and the
public report that it was learned from. Where two ends are fair, both pass.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .streams import call

ROOT = Path(__file__).parents[1]
TRAPS = ROOT / "tests" / "data" / "traps"

with (TRAPS / "cases.tsv").open(encoding="utf-8") as table:
    CASES = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))

ENDS = {
    "OK": {0},
    "INPUT": {2},
    "INPUTQ": {2},
    "IO": {3},
    "MEM": {3},
    "PIPE": {0},
    "INT": {130},
}
"""The exit statuses of each end that the table knows."""

SPOKEN = {"INPUT", "IO", "MEM"}

STAGES = {"W": "weights", "O": "output", "S": "scaled", "Q": "Q", "K": "K", "V": "V"}
"""What the letters of the table stand for; scores that are divided already are our stage ``scaled`` (N10)."""

BY_COMMAND = re.compile(r"attn compute (\S+)( --format json)?")
"""What needs no shell, and so no process of its own."""


@dataclass(frozen=True)
class Seen:
    """What a case left behind."""

    statuses: list[int]
    out: str
    err: str
    seconds: float
    folder: Path

    def document(self) -> Any:
        """Return standard output as strict JSON."""
        return strict(self.out)


def strict(text: str) -> Any:
    """Read JSON, refusing what the standard does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _said(seen: Seen, stream: str, absent: str, pattern: str) -> bool:
    flags = re.MULTILINE | (re.IGNORECASE if stream == "err" else 0)
    return bool(re.search(pattern, getattr(seen, stream), flags)) != bool(absent)


def _cell(seen: Seen, key: str, row: str, column: str) -> bool:
    return bool(re.search(rf"\brow {row}, column {column} \({key}\[", seen.err))


def _array(seen: Seen, letter: str, row: str, equals: str, wanted: str) -> bool:
    document = seen.document()
    name = STAGES[letter]
    found = document["stages"].get(name, document.get(name))
    numbers = np.asarray(found[int(row)] if row else found, dtype=float)
    tolerance = 0 if equals == "==" else 1e-9
    expected = np.asarray(json.loads(wanted), dtype=float)
    return numbers.shape == expected.shape and np.allclose(numbers, expected, rtol=tolerance, atol=0)


def _tokens(seen: Seen, wanted: str) -> bool:
    return bool(seen.document()["tokens"] == json.loads(wanted))


def _json(seen: Seen) -> bool:
    return isinstance(seen.document(), dict)


def _clean(seen: Seen) -> bool:
    return not any(unicodedata.category(char) in {"Cc", "Cf"} for char in seen.out if char != "\n")


def _lossless(seen: Seen, side: str) -> bool:
    numbers = len(re.findall(r"\d+\.\d+", seen.out))
    return numbers >= int(side) ** 2 or "not shown" in seen.out + seen.err or "hidden" in seen.out + seen.err


def _file(seen: Seen, name: str, pattern: str) -> bool:
    return bool(re.search(pattern, (seen.folder / name).read_text("utf-8"), re.MULTILINE))


def _json_file(seen: Seen, name: str) -> bool:
    return isinstance(strict((seen.folder / name).read_text("utf-8")), dict)


def _mode(seen: Seen, name: str, mode: str) -> bool:
    return stat.S_IMODE((seen.folder / name).stat().st_mode) == int(mode, 8)


def _rows(seen: Seen, tolerance: str) -> bool:
    sums = np.sum(seen.document()["stages"]["weights"], axis=-1)
    return bool(np.all(abs(sums - 1) <= float(tolerance)))


CHECKS: dict[str, Callable[..., bool]] = {
    r"(err|out)(!?)~(.*)": _said,
    r"cell\((\w),(\d+),(.+)\)": _cell,
    r"([WOSQKV])(?:\[(\d)\])?(==?)(.*)": _array,
    r"tokens=(.*)": _tokens,
    r"json": _json,
    r"clean": _clean,
    r"nolossy\((\d+)\)": _lossless,
    r"quiet": lambda seen: seen.err == "",
    r"fast\((\d+)\)": lambda seen, most: seen.seconds < float(most),
    r"nofile\((.*)\)": lambda seen, name: not (seen.folder / name).exists(),
    r"file\((.*?)\)~(.*)": _file,
    r"file\((.*?)\)json": _json_file,
    r"mode\((.*)\)=(\d+)": _mode,
    r"rowsum\((.*)\)": _rows,
}
"""What the table may state, and what holds it."""


def holds(statement: str, seen: Seen) -> bool:
    """Tell whether a statement of the table is true."""
    for pattern, check in CHECKS.items():
        if match := re.fullmatch(pattern, statement, re.DOTALL):
            return check(seen, *match.groups())
    raise AssertionError(f"{statement} is no statement that this test knows")


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of all files, with the large one and the empty folder that a repository cannot hold."""
    folder = tmp_path_factory.mktemp("traps") / "c"
    shutil.copytree(TRAPS, folder)
    (folder / "deep.json").write_text('{"X": ' + "[" * 100_000 + "]" * 100_000 + "}")
    (folder / "sub").mkdir()
    return folder


@pytest.fixture
def shell(traps: Path, tmp_path: Path) -> Callable[[str], Seen]:
    """Run a command line as it stands, in a copy of the folder, with ``attn`` in reach."""
    folder, statuses = tmp_path / "c", tmp_path / "statuses"
    shutil.copytree(traps, folder)
    command = tmp_path / "attn"
    command.write_text(
        f'#!/bin/bash\ntrap : INT\nPYTHONPATH="{ROOT}" "{sys.executable}" -W error -m attncli "$@"\nstatus=$?\n'
        f'echo $status >> "{statuses}"\nexit $status\n'
    )
    command.chmod(0o755)
    left = {"PYTHONUNBUFFERED", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "PYTHONUTF8"}
    environment = {name: value for name, value in os.environ.items() if name not in left}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def run(line: str) -> Seen:
        start = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=90,
            check=False,
        )
        seconds = time.monotonic() - start
        found = [int(each) for each in statuses.read_text().split()]
        return Seen(found, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"), seconds, folder)

    return run


def _in_process(case: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Seen | None:
    """Run a case in this process, where that is all that it asks for."""
    match = BY_COMMAND.fullmatch(case["command"])
    if case["area"] in {"proc", "term"} or match is None:
        return None
    monkeypatch.chdir(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "ATTN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    start = time.monotonic()
    done = call(["compute", match[1], *(match[2] or "").split()])
    return Seen([done.status], done.out.decode(), done.err.decode(), time.monotonic() - start, folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_trap(
    case: dict[str, str], traps: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Each trap ends as the table says, and nothing acts on the terminal or shows a traceback."""
    seen = _in_process(case, traps, monkeypatch) or request.getfixturevalue("shell")(case["command"])
    ends = [end for end in case["class"].split("|") if set(seen.statuses) <= ENDS[end]]
    assert ends, f"{case['class']} was expected, and it ended with {seen.statuses}: {seen.err}"
    (end,) = ends
    if end in SPOKEN and "2>" not in case["command"]:
        assert seen.err.startswith("error: ")
    assert not re.search(r"Traceback|Exception ignored|internal error", seen.err), seen.err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", seen.err)
    for statement in filter(None, case["expect"].split(" ;; ")):
        only, _, rest = statement.partition(":")
        if only not in ENDS:
            only, rest = end, statement
        assert only != end or holds(rest, seen), f"{rest}\n{seen.err or seen.out}"


def test_the_table_is_whole() -> None:
    """All cases are there, each with a name of its own."""
    assert len({case["id"] for case in CASES}) == len(CASES) == 112
