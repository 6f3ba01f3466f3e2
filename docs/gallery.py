"""Draw the pictures of the gallery and of the README: what a terminal shows, as SVG.

python docs/gallery.py makes them all again.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len  # noqa: TID251  (no part of attn: it reads what a terminal is sent)
from rich.console import Console  # noqa: TID251
from rich.style import Style  # noqa: TID251
from rich.text import Text  # noqa: TID251

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURE = re.compile(r"^!\[(attn .+)\]\(([\w/.]+)\)$", re.MULTILINE)
"""A picture in the page: the command that it shows is its description."""

CELL, LINE, SIZE, EDGE = 8.4, 18, 14, 14  # pixels
FONTS = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"
PAPER = {"dark": ("#16181d", "#d8dade"), "light": ("#ffffff", "#24292f")}
CONSOLE = Console(color_system="truecolor")
BLOCKS = {"▀": (0, 0.5), "▄": (0.5, 0.5)}
"""Characters that are drawn as rectangles, so that no font leaves gaps: top and height in lines."""


@dataclass(frozen=True)
class Piece:
    """Characters of one style, and the column where they start."""

    column: int
    text: str
    style: Style


def draw(ansi: str, title: str, theme: str) -> str:
    """Draw what a program wrote to a terminal.

    Args:
        ansi: Its output, with colours.
        title: What a screen reader says.
        theme: Whether the background is ``dark`` or ``light``.
    """
    lines = [Text.from_ansi(line) for line in ansi.rstrip("\n").split("\n")]
    columns = max(cell_len(line.plain) for line in lines)
    width, height = columns * CELL + 2 * EDGE, len(lines) * LINE + 2 * EDGE
    paper, ink = PAPER[theme]
    body = "".join(
        _rectangle(piece, row, paper, ink) + _text(piece, row, paper, ink)
        for row, line in enumerate(lines)
        for piece in _pieces(line)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" fill="{ink}" '
        f'font-family="{FONTS}" font-size="{SIZE}"><title>{escape(title)}</title>'
        "<style>rect{shape-rendering:crispEdges}text{white-space:pre}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{paper}"/>{body}</svg>\n'
    )


def _pieces(line: Text) -> Iterator[Piece]:
    """Part a line where its style changes, and at spaces, which fonts stretch differently."""
    column = 0
    styled = [(char, line.get_style_at_offset(CONSOLE, i)) for i, char in enumerate(line.plain)]
    for (style, _), run in groupby(styled, key=lambda one: (one[1], one[0] == " ")):
        text = "".join(char for char, _ in run)
        yield Piece(column, text, style)
        column += cell_len(text)


def _colors(style: Style, paper: str, ink: str) -> tuple[str | None, str]:
    back = style.bgcolor.get_truecolor().hex if style.bgcolor else None
    front = style.color.get_truecolor().hex if style.color else ink
    return (front, back or paper) if style.reverse else (back, front)


def _rectangle(piece: Piece, row: int, paper: str, ink: str) -> str:
    back, front = _colors(piece.style, paper, ink)
    drawn = _block(piece, row, 0, 1, back) if back else ""
    if piece.text[0] in BLOCKS:
        drawn += _block(piece, row, *BLOCKS[piece.text[0]], front)
    return drawn


def _block(piece: Piece, row: int, top: float, part: float, color: str) -> str:
    x, y = EDGE + piece.column * CELL, EDGE + (row + top) * LINE
    return (
        f'<rect x="{x:.4g}" y="{y:g}" width="{cell_len(piece.text) * CELL:.4g}" '
        f'height="{part * LINE:g}" fill="{color}"/>'
    )


def _text(piece: Piece, row: int, paper: str, ink: str) -> str:
    if not piece.text.strip() or piece.text[0] in BLOCKS:
        return ""
    _, front = _colors(piece.style, paper, ink)
    x, y = EDGE + piece.column * CELL, EDGE + row * LINE + SIZE
    bold = ' font-weight="bold"' if piece.style.bold else ""
    fill = "" if front == ink else f' fill="{front}"'
    return f'<text x="{x:.4g}" y="{y}"{fill}{bold}>{escape(piece.text)}</text>'


def shown(command: str) -> str:
    """Run a command on a terminal of its own, and return what that was sent."""
    options = dict(re.findall(r"--(width|theme) (\w+)", command))
    screen, terminal = os.openpty()
    environment = os.environ | {
        "COLUMNS": options.get("width", "80"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONPATH": str(ROOT),
    }
    environment.pop("NO_COLOR", None)
    words = [sys.executable, "-m", "attncli", *shlex.split(command)[1:], "--quiet"]
    with subprocess.Popen(words, stdout=terminal, env=environment, cwd=ROOT):
        os.close(terminal)
        sent = b"".join(iter(lambda: _read(screen), b""))
    os.close(screen)
    return sent.decode().replace("\r\n", "\n")


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield each picture of the page, and what it should be."""
    for command, name in PICTURE.findall(PAGE.read_text("utf-8")):
        theme = "light" if "--theme light" in command else "dark"
        yield PAGE.parent / name, draw(shown(command), command, theme)


if __name__ == "__main__":
    for path, drawing in pictures():
        path.write_text(drawing, encoding="utf-8")
