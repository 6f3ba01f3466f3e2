"""A sheet as SVG: the lines that a terminal shows, drawn, and each cell's full number as its title."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from xml.sax.saxutils import escape

from attncli.cells import spell_cell, stand
from attncli.render.box import Box, indent, stacked
from attncli.render.colors import RGB, ink
from attncli.render.ink import ROLES, Line, Place, Span, cells
from attncli.render.page import NARROWEST, closing, heading, steps
from attncli.render.terminal import Terminal, Theme
from attncli.sheet import Kind, Sheet
from attncli.text import visible

__all__ = ["draw", "lay_out", "render_svg", "size_of"]

_LEAST = 60  # columns of the lines above and below steps that are narrower
_COLUMN, _LINE, _EDGE = 8, 18, 16  # pixels
_WIDE = 14  # pixels of a character that takes two columns
_SPACE = 2 * _COLUMN - _WIDE
_FONTS = {
    # Narrow characters are at most a column wide in each of these.
    "text": "13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace",
    # Twice as wide with the space between them, and named first: resvg takes any font for what one lacks.
    ".wide": f"{_WIDE}px 'Noto Sans Mono CJK SC','Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif",
}
_BASELINE = 13
_PAPER = {"light": ("#ffffff", "#1f2328"), "dark": ("#16181d", "#e6e8eb")}
"""Background and text."""

_HALVES = (0, _LINE // 2)
"""Where in a line its upper and its lower half start."""

_ALIKE = re.compile("2[02]*|R[01R]*(?: R[01R]*)*|[01]+(?: [01]+)*")
"""Wide characters, words written from right to left, or other words, in the kinds of a text's characters."""


def render_svg(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Draw a sheet as one SVG document, no wider than it must be."""
    yield from draw(lay_out(sheet, terminal), sheet.title, terminal.theme)


def size_of(box: Box) -> tuple[int, int]:
    """Return how wide and how high lines are that are drawn, in pixels."""
    return box.width * _COLUMN + 2 * _EDGE, len(box.lines) * _LINE + 2 * _EDGE


def draw(box: Box, title: str, theme: Theme, *, titled: bool = True) -> Iterator[str]:
    """Draw lines.

    Args:
        box: From `lay_out`.
        title: What the document is called.
        theme: Whether its background is dark or light.
        titled: Whether each number has its cell and all of its digits as its title.
    """
    width, height = size_of(box)
    paper, text = _PAPER[theme]
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" fill="{text}"><title>{_text(title)}</title><style>{_style(theme)}</style>'
        f'<rect width="100%" height="100%" fill="{paper}"/>'
    )
    for i, line in enumerate(box.lines):
        yield from _draw(line, _EDGE + i * _LINE, titled=titled)
    yield "</svg>\n"


def lay_out(sheet: Sheet, terminal: Terminal) -> Box:
    """Set a sheet in lines for a page of paper, no wider than it must be."""
    page = replace(
        terminal,
        width=max(terminal.width, NARROWEST),
        color="truecolor",
        unicode=True,
        interactive=True,
        paper=True,
    )
    body = stacked(steps(sheet, page, page.width, page.width), apart=1)
    width = min(max(body.width, _LEAST), page.width)
    last = indent(stacked(closing(sheet, page, width - 1)), 1)
    parts = [heading(sheet, page, width), body, last]
    return stacked((part for part in parts if part.lines), apart=1)


def _style(theme: str) -> str:
    paper, text = _PAPER[theme]
    rules = {name: f"font:{font}" for name, font in _FONTS.items()}
    rules[".wide"] += f";letter-spacing:{_SPACE}px"
    rules |= {f".{role}": f"fill:{color}" for role, color in ROLES[theme].items()}
    rules |= {".bold": "font-weight:bold", ".end": "text-anchor:end"}
    rules |= {".badge": f"fill:{paper}", "rect.badge": f"fill:{text}", "rect": "shape-rendering:crispEdges"}
    return "".join(f"{name}{{{rule}}}" for name, rule in rules.items())


def _draw(line: Line, y: int, *, titled: bool) -> Iterator[str]:
    x = _EDGE
    for span in line:
        width = cells(span.text) * _COLUMN
        if len(span.of) == len(_HALVES):
            yield from _halves(span, x, y, width, titled=titled)
        elif titled and span.of and span.of[0]:
            yield f"<g>{_title(span.of[0])}{_back(span, x, y, width)}{_words(span, x, y)}</g>"
        else:
            yield _back(span, x, y, width) + _words(span, x, y)
        x += width


def _halves(span: Span, x: int, y: int, width: int, *, titled: bool) -> Iterator[str]:
    """Draw the two squares of a picture that stand in one line."""
    colors = (span.front, span.heat) if span.of[0] else (None, span.front)
    for top, place, color in zip(_HALVES, span.of, colors, strict=True):
        if place and color:
            title = _title(place) if titled else ""
            yield _rectangle((x, y + top), (width, _LINE // 2), f'fill="{_hex(color)}"', title)


def _back(span: Span, x: int, y: int, width: int) -> str:
    """Draw what is behind a text; numbers, which end at the right, stand in the middle of it."""
    if span.role == "badge":
        return _rectangle((x, y), (width, _LINE), 'class="badge"')
    if span.heat is None:
        return ""
    shift = _COLUMN // 2 if span.text.strip() else 0
    return _rectangle((x + shift, y), (width, _LINE), f'fill="{_hex(span.heat)}"')


def _words(span: Span, x: int, y: int) -> str:
    """Write a text, each part in the columns where it belongs, however wide the font is."""
    parts = ((x + cells(span.text[:start]) * _COLUMN, part) for start, part in _parts(span.text))
    return "".join(_word(part, at, y + _BASELINE, span) for at, part in parts)


@lru_cache(maxsize=4096)  # many numbers are written alike
def _parts(text: str) -> tuple[tuple[int, str], ...]:
    """Part a text, with where each part starts, at two spaces and where wide characters begin or end.

    What is read from right to left is a part, too: beside it, numbers would change places with it.
    """
    kinds = "".join(map(_kind, text))
    return tuple((found.start(), text[found.start() : found.end()]) for found in _ALIKE.finditer(kinds))


def _kind(char: str) -> str:
    """Tell in a letter how a character is set: a space, from the right, or its width; marks have none."""
    if char == " ":
        return char
    return "R" if unicodedata.bidirectional(char) in {"R", "AL"} else str(cells(char))


def _word(text: str, x: int, y: int, span: Span) -> str:
    wide = cells(text[0]) > 1
    right = not wide and " " not in text and span.text[0] == " " and span.text.endswith(text)
    x += _SPACE // 2 if wide else cells(text) * _COLUMN if right else 0
    looks = {span.role: span.role != "plain", "bold": span.bold, "wide": wide, "end": right}
    named = " ".join(name for name, there in looks.items() if there)
    front = f' fill="{_hex(ink(span.heat))}"' if span.heat else ""
    return f'<text x="{x}" y="{y}"' + (f' class="{named}"' if named else "") + f"{front}>{_text(text)}</text>"


def _title(place: Place) -> str:
    """Name a number, or the square that it stands for, as `attn explain` does."""
    matrix = place.matrix
    rows = _positions(matrix.first_row, place.row, place.side, matrix.array.shape[0])
    columns = _positions(matrix.first_column, place.column, place.side, matrix.array.shape[1])
    index = stand((*matrix.lead, rows, columns), matrix.axes.shape)
    what = ("max of ", "furthest from 0 of ")[matrix.kind is not Kind.WEIGHTS] if place.side > 1 else ""
    what += "mean of " if any(isinstance(each, range) for each in matrix.lead) else ""
    cell = spell_cell(matrix.name, index, matrix.axes)
    if place.side > 1 and not math.isfinite(place.number):
        return f"<title>{_text(cell)} holds NaN or ∞</title>"
    return f"<title>{_text(f'{what}{cell} = {place.number + 0.0!r}')}</title>"


def _positions(first: int, start: int, side: int, count: int) -> int | range:
    if side == 1:
        return first + start
    return range(first + start, first + min(start + side, count))


def _rectangle(corner: tuple[int, int], size: tuple[int, int], look: str, inside: str = "") -> str:
    (x, y), (width, height) = corner, size
    shape = f'x="{x}" y="{y}" width="{width}" height="{height}" {look}'
    return f"<rect {shape}>{inside}</rect>" if inside else f"<rect {shape}/>"


def _hex(color: RGB) -> str:
    return f"#{bytes(color).hex()}"


def _text(text: str) -> str:
    return escape(visible(text))
