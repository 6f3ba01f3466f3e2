"""Spans of text with a role, their width in cells, and their way to ANSI codes.

The one module that Rich is used in: for the width of characters and the codes of colours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.style import Style

from attncli.render.colors import RGB, ink
from attncli.render.terminal import Terminal
from attncli.sheet import Matrix

__all__ = ["ROLES", "Line", "Place", "Role", "Span", "cells", "cut", "pad", "paint", "widest"]

Role = Literal["plain", "faint", "formula", "badge", "good", "bad"]


class Place(NamedTuple):
    """Where a number that is shown stands.

    Args:
        matrix: What it is of.
        row: Its row there; of a square of numbers, the first.
        column: Its column.
        number: The number itself.
        side: Rows, and columns, that it stands for.
    """

    matrix: Matrix
    row: int
    column: int
    number: float
    side: int = 1


class Span(NamedTuple):
    """A piece of a line.

    Args:
        text: Printable text; whoever makes a span has cleaned it.
        role: What it is there for.
        bold: Whether it stands out.
        heat: Background that shows the size of a number.
        front: Colour of the text where it, too, shows one.
        of: The number that it shows, or the one in its upper half and the one in its lower half.
    """

    text: str
    role: Role = "plain"
    bold: bool = False
    heat: RGB | None = None
    front: RGB | None = None
    of: tuple[Place | None, ...] = ()


Line: TypeAlias = tuple[Span, ...]

ROLES: dict[str, dict[Role, str]] = {
    "dark": {"faint": "#8f8f8f", "formula": "#6fb3c9", "good": "#a8c34a", "bad": "#ff7b72"},
    "light": {"faint": "#666666", "formula": "#0a7078", "good": "#3b7a00", "bad": "#b3261e"},
}
"""Colours of text on a dark and on a light background."""

_FEW_COLORS: dict[str, dict[Role, Style]] = {
    # Sixteen colours are the reader's own, and so is the background, which few terminals tell: cyan and
    # green vanish on white, blue on black. What can be read on both is red, and letters without a colour.
    "16": {"faint": Style(dim=True), "good": Style(bold=True), "bad": Style(color="red", bold=True)},
    # The console of Linux has no dim letters: it writes them in a grey that is hard to read on black.
    "8": {"good": Style(bold=True), "bad": Style(color="red", bold=True)},
}
_SYSTEMS = {
    "8": ColorSystem.STANDARD,
    "16": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
}

_SIGN = re.compile(r"<U\+[0-9A-F]{4,6}>|.", re.DOTALL)
"""A character, or the name of one that does not show: half a name would be of another."""


def cells(what: str | Line) -> int:
    """Count the terminal cells that a text or a line takes."""
    text = what if isinstance(what, str) else "".join([span.text for span in what])
    if text.isascii():
        return len(text)
    return cell_len(what) if isinstance(what, str) else sum(cell_len(span.text) for span in what)


def widest(texts: Sequence[str]) -> int:
    """Count the terminal cells that the widest of texts takes; 0 of none."""
    return max(map(len if "".join(texts).isascii() else cell_len, texts), default=0)


def cut(text: str, width: int, mark: str = "…") -> str:
    """Shorten a label to a width in cells, between two signs, with a mark where something is gone."""
    if cell_len(text) <= width:
        return text
    end, room = 0, width - cell_len(mark)
    for sign in _SIGN.finditer(text):
        if cell_len(text[: sign.end()]) > room:
            break
        end = sign.end()
    return text[:end].rstrip("\u200d") + mark  # a joiner would draw the mark into the sign before it


def pad(line: Line, width: int) -> Line:
    """Fill a line with spaces up to a width."""
    missing = width - cells(line)
    return (*line, Span(" " * missing)) if missing > 0 else line


def paint(line: Line, terminal: Terminal) -> str:
    """Write a line for a terminal, without spaces that nobody sees at its end."""
    spans = _without_trailing_spaces(line)
    if terminal.color is None:
        return "".join([span.text for span in spans])
    color, theme = terminal.color, terminal.theme
    system = _SYSTEMS[color]
    return "".join(
        _style((role, bold, heat, front), color, theme).render(text, color_system=system)
        for text, role, bold, heat, front, _ in spans
    )


def _without_trailing_spaces(line: Line) -> list[Span]:
    spans = list(line)
    while spans and not spans[-1].heat and not spans[-1].text.strip(" "):
        spans.pop()
    if spans and not spans[-1].heat and spans[-1].role != "badge":
        last = spans[-1]
        spans[-1] = last._replace(text=last.text.rstrip(" "))
    return spans


@lru_cache(maxsize=4096)
def _style(look: tuple[Role, bool, RGB | None, RGB | None], color: str, theme: str) -> Style:
    role, bold, heat, front = look
    if role == "badge":
        return Style(bold=True, reverse=True)
    style = _role(role, color, theme) + Style(bold=bold or None)
    if color in _FEW_COLORS or not (heat or front):
        return style
    background = heat and _available(heat, color)
    ink_color = front and _available(front, color)
    if background and not ink_color:  # ink for what is shown, not for what was asked for
        ink_color = Color.from_rgb(*ink(RGB(*background.get_truecolor())))
    return style + Style(bgcolor=background, color=ink_color)


def _role(role: Role, color: str, theme: str) -> Style:
    if color in _FEW_COLORS:
        return _FEW_COLORS[color].get(role, Style.null())
    if role not in ROLES[theme]:
        return Style.null()
    # A style keeps the codes that it was first written in: each depth of colours has its own.
    shown = _available(RGB(*bytes.fromhex(ROLES[theme][role][1:])), color)
    return Style(color=shown, bold=role == "bad" or None)


def _available(rgb: RGB, color: str) -> Color:
    return Color.from_rgb(*rgb).downgrade(_SYSTEMS[color])
