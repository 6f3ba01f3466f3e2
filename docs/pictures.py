"""Draw the pictures of the gallery: what a terminal shows, as SVG.

python docs/pictures.py        writes docs/pictures/*.svg and docs/sheet.svg again
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from attncli import cli

HERE = Path(__file__).parent

CELL, LINE, SIZE, EDGE = 8.4, 18, 14, 14  # pixels
FONTS = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"
PAPER = {"dark": ("#16181d", "#d8dade"), "light": ("#ffffff", "#24292f")}
BLOCKS = {"▀": (0, 0.5), "▄": (0.5, 0.5), "█": (0, 1)}
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
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'font-family="{FONTS}" font-size="{SIZE}"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" rx="8" fill="{paper}"/>{body}</svg>\n'
    )


def _pieces(line: Text) -> Iterator[Piece]:
    """Part a line where its style changes, and at spaces, which fonts stretch differently."""
    column = 0
    styled = [(char, line.get_style_at_offset(_console(), i)) for i, char in enumerate(line.plain)]
    for (style, _), run in groupby(styled, key=lambda one: (one[1], one[0] == " ")):
        text = "".join(char for char, _ in run)
        yield Piece(column, text, style)
        column += cell_len(text)


def _console() -> object:
    from rich.console import Console

    return Console(color_system="truecolor")


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
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell_len(piece.text) * CELL:.1f}" '
        f'height="{part * LINE:.1f}" fill="{color}" shape-rendering="crispEdges"/>'
    )


def _text(piece: Piece, row: int, paper: str, ink: str) -> str:
    if not piece.text.strip() or piece.text[0] in BLOCKS:
        return ""
    _, front = _colors(piece.style, paper, ink)
    x, y = EDGE + piece.column * CELL, EDGE + row * LINE + SIZE
    bold = ' font-weight="bold"' if piece.style.bold else ""
    fill = f' fill="{front}"'
    return f'<text x="{x:.1f}" y="{y}"{fill}{bold}>{escape(piece.text)}</text>'
