"""The command line from outside: a shell for what processes do, and a quick call for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from attncli import cli

ROOT = Path(__file__).parents[2]

CAT = """\
tokens: [the, cat, sat]
X: [[1, 0, 1], [0, 2, 0], [1, 1, 1]]
W_Q: &W [[1, 0], [0, 1], [1, 1]]
W_K: *W
W_V: *W
"""

Shell = Callable[..., subprocess.CompletedProcess[bytes]]


class Done(NamedTuple):
    """What a call left behind."""

    status: int
    out: str
    err: str


Attn = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, with a problem in it and nothing set that colours a test."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "COLORTERM", "ATTN_DEBUG", "PYTHONUTF8"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat.yaml").write_text(CAT)
    return tmp_path


@pytest.fixture
def attn(folder: Path, capfd: pytest.CaptureFixture[str]) -> Attn:
    """Run a command line in this process."""
    del folder

    def call(*arguments: str) -> Done:
        capfd.readouterr()
        return Done(cli.run(arguments), *capfd.readouterr())

    return call


@pytest.fixture
def sh(folder: Path) -> Shell:
    """Run a shell script in which ``attn`` is this attn, and warnings are errors."""
    command = folder / ".bin" / "attn"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attncli "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "error",
        "LC_ALL": "C.UTF-8",
    }

    def run(script: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env=environment | changes,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run
