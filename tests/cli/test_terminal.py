"""What a terminal, a pipe and the environment decide: colours, width and form."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from attncli.terminal import background, color_depth, text_width

from .conftest import ROOT, Shell


@pytest.mark.parametrize(
    ("choice", "tty", "environment", "depth"),
    [
        ("auto", True, {}, "16"),
        ("auto", True, {"TERM": "xterm-256color"}, "256"),
        ("auto", True, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ("auto", False, {"TERM": "xterm-256color"}, None),
        ("auto", True, {"TERM": "xterm"}, "16"),
        ("auto", True, {"TERM": "linux"}, "8"),
        ("auto", True, {"TERM": "linux", "COLORTERM": "truecolor"}, "truecolor"),
        ("auto", True, {"TERM": "dumb"}, None),
        ("auto", True, {"NO_COLOR": "1"}, None),
        ("auto", True, {"NO_COLOR": ""}, "16"),
        ("auto", False, {"FORCE_COLOR": "1"}, "16"),
        ("auto", True, {"FORCE_COLOR": "0"}, None),
        ("auto", False, {"FORCE_COLOR": "1", "TERM": "dumb"}, "16"),
        ("auto", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, None),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, "16"),
        ("never", True, {"FORCE_COLOR": "1"}, None),
    ],
)
def test_colors_in_their_order(
    choice: str, tty: bool, environment: dict[str, str], depth: str | None
) -> None:
    """The option decides first, then NO_COLOR, FORCE_COLOR, TERM and whether a terminal is there."""
    assert color_depth(choice, tty=tty, environment=environment) == depth


@pytest.mark.parametrize(
    ("said", "theme"), [("", "dark"), ("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light")]
)
def test_light_and_dark(said: str, theme: str) -> None:
    """COLORFGBG ends in the number of the background's colour; a terminal that says nothing is dark."""
    assert background({"COLORFGBG": said}) == theme


@pytest.mark.parametrize(
    ("choice", "columns", "width"),
    [
        (None, "300", 300),
        (None, "0300", 300),
        (None, "1", 1),
        (None, "0", 100),
        (None, "abc", 100),
        (None, "-5", 100),
        (None, "٣٠", 100),
        (None, "9" * 5000, 100),
        (None, "", 100),
        (60, "300", 60),
    ],
)
def test_width_of_a_terminal(choice: int | None, columns: str, width: int) -> None:
    """--width decides, then a COLUMNS that is a number, then the terminal itself."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as stream:
        assert text_width(choice, stream, {"COLUMNS": columns}) == width


def test_width_of_a_terminal_without_a_size() -> None:
    """A terminal that does not know its width has 80 columns."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as stream:
        assert text_width(None, stream, {}) == 80


def test_a_pipe_has_no_width(tmp_path: Path) -> None:
    """COLUMNS belongs to the terminal; what goes to a file is not folded unless --width says so."""
    with (tmp_path / "file").open("w") as stream:
        assert text_width(None, stream, {"COLUMNS": "20"}) is None
        assert text_width(60, stream, {"COLUMNS": "20"}) == 60


def in_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run attn with a pseudo-terminal of 80 columns as its standard output."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    command = [sys.executable, "-m", "attncli", *arguments]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environment}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        with os.fdopen(theirs) as end:
            process = subprocess.Popen(command, cwd=folder, env=variables, stdout=end, stderr=end)
        shown = b""
        while True:
            try:
                shown += screen.read(65536)
            except OSError:  # the other end is closed
                break
    return process.wait(), shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colors_and_its_width(folder: Path) -> None:
    """On a terminal a table is coloured and no wider than the terminal."""
    status, shown = in_terminal(folder, "compute", "cat.yaml", TERM="xterm-256color")
    assert status == 0
    assert "\x1b[" in shown
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 80


def test_json_on_a_terminal_is_indented_and_plain(folder: Path) -> None:
    """JSON for people has one row of numbers in a line, no colour, and no end at the terminal's width."""
    status, shown = in_terminal(folder, "compute", "cat.yaml", "--json", FORCE_COLOR="1", COLUMNS="20")
    assert status == 0
    assert "\n    [1.0, 0.0, 1.0],\n" in shown
    assert "\x1b" not in shown
    assert json.loads(shown)["schema"] == "attn/1"


def test_a_terminal_is_spared_binary_data(folder: Path) -> None:
    """Binary npz goes to a file or a pipe, and is refused on a terminal."""
    status, shown = in_terminal(folder, "compute", "cat.yaml", "--format", "npz")
    assert status == 2
    assert shown.startswith("error: npz is binary")


def test_a_pipe_gets_neither_colors_nor_folds(sh: Shell) -> None:
    """A pipe gets every number of a wide table, whatever COLUMNS says, and npz as it is."""
    done = sh("attn random --seq 24 --dim 4 --seed 1 -q --stages weights --full --precision 3", COLUMNS="20")
    assert b"\x1b" not in done.stdout
    assert len(re.findall(rb"\d\.\d", done.stdout)) >= 24 * 24
    assert sh("attn compute cat.yaml --format npz").stdout.startswith(b"PK\x03\x04")
