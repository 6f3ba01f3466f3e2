"""A sheet as SVG: every matrix as a grid of coloured cells, each with its full number as a title."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from xml.sax.saxutils import escape

import numpy as np

from attncli.frozen import Frozen
from attncli.render.block import setting_of
from attncli.render.chart import Cell, Chart, chart_of, document_terminal
from attncli.render.checks import check_line
from attncli.render.colors import RGB, ink
from attncli.render.columns import Setting
from attncli.render.heads import draw, is_drawn
from attncli.render.ink import cells
from attncli.render.picture import OF_WEIGHTS, scale_said
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Matrix, Sheet
from attncli.text import visible

__all__ = ["render_svg"]

_PAPER = {"light": ("#ffffff", "#1f2328", "#656d76"), "dark": ("#16181d", "#e6e8eb", "#8f959e")}
"""Background, text, and text that stands back."""

_FONTS = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC','Noto Sans CJK SC',monospace"
_SIZE, _COLUMN, _ROW = 13, 7.9, 20  # pixels: of the font, of a character and of a row
_SQUARE, _SMALL = 6, 150  # pixels of a weight without its number, and of a picture of few of them
_WIDTH, _EDGE, _GAP = 960, 16, 28


class _Drawing(Frozen):
    """A part of the page: its size in pixels, and its elements with a corner at (0, 0)."""

    width: float
    height: float
    body: str


def render_svg(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Draw a sheet as one SVG document."""
    page = document_terminal(terminal)
    paper, text, faint = _PAPER[page.theme]
    y, parts = float(_EDGE), []
    for part in _parts(sheet, page):
        parts.append(f'<g transform="translate({_EDGE},{y:g})">{part.body}</g>')
        y += part.height + _GAP / 2
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y:g}" '
        f'viewBox="0 0 {_WIDTH} {y:g}" font-family="{_FONTS}" font-size="{_SIZE}" fill="{text}">'
        f"<title>{_text(sheet.title)}</title><style>.f{{fill:{faint}}}.b{{font-weight:bold}}.e{{text-anchor:end}}"
        f'text{{white-space:pre}}</style><rect width="100%" height="100%" fill="{paper}"/>'
    )
    yield from parts
    yield "</svg>\n"


def _parts(sheet: Sheet, page: Terminal) -> Iterator[_Drawing]:
    said = " · ".join(filter(None, (*sheet.facts, scale_said(page.scale or "linear", page))))
    yield _line([(sheet.title, "b"), (sheet.formula, ""), (said, "f")])
    for number, block in enumerate(sheet.blocks, 1):
        facts = [(part, "f") for part in (block.shape, *block.remarks, _scale(block, sheet, page)) if part]
        yield _line([(f"{number} {block.title}", "b"), *((f, "") for f in block.formulas), *facts])
        yield _flow(list(_matrices(block, sheet, page)))
    if sheet.elided:
        yield _line([(sheet.elided, "f")])
    if sheet.checks is not None:
        yield _line([("".join(s.text for s in item), "f") for item in check_line(sheet.checks, page)])


def _scale(block: Block, sheet: Sheet, page: Terminal) -> str:
    """Say how weights are drawn, where the head of the page does not."""
    drawn = any(m.kind is Kind.WEIGHTS and is_drawn(m, page, full=sheet.full) for m in block.matrices)
    said = page.scale is None and (drawn or block.heads)
    return f"pictures: {scale_said(OF_WEIGHTS, page, 'weight')}" if said else ""


def _matrices(block: Block, sheet: Sheet, page: Terminal) -> Iterator[_Drawing]:
    setting = setting_of(block, sheet, page, page.width)
    for matrix in block.matrices:
        if is_drawn(matrix, page, full=sheet.full):
            yield _squares(matrix, setting)
        else:
            yield _table(chart_of(matrix, setting), matrix)
    yield from (_squares(matrix, setting) for matrix in block.heads)


def _flow(drawings: Sequence[_Drawing]) -> _Drawing:
    """Set drawings side by side, and go on below where the page ends."""
    x = y = height = 0.0
    body = []
    for each in drawings:
        if x and x + each.width > _WIDTH - 2 * _EDGE:
            x, y, height = 0.0, y + height + _GAP / 2, 0.0
        body.append(f'<g transform="translate({x:g},{y:g})">{each.body}</g>')
        x += each.width + _GAP
        height = max(height, each.height)
    return _Drawing(_WIDTH, y + height, "".join(body))


def _line(parts: Sequence[tuple[str, str]]) -> _Drawing:
    x, body = 0.0, []
    for text, style in parts:
        body.append(_label(x, _SIZE, text, style))
        x += (cells(text) + 2) * _COLUMN
    return _Drawing(x, _ROW, "".join(body))


def _table(chart: Chart, matrix: Matrix) -> _Drawing:
    margin = (max(map(cells, (chart.caption, *(row.name for row in chart.rows)))) + 1) * _COLUMN
    columns = zip(*(row.cells for row in chart.rows), strict=True)
    texts = (
        (name, *(cell.text for cell in column)) for name, column in zip(chart.columns, columns, strict=True)
    )
    ends = list(accumulate([margin, *((max(map(cells, each)) + 1.5) * _COLUMN for each in texts)]))
    body = [_label(margin - _COLUMN, 14, chart.caption, "be")]
    body += [_label(end - 5, 14, name, "be") for name, end in zip(chart.columns, ends[1:], strict=True)]
    for i, row in enumerate(chart.rows, 1):
        body.append(_label(margin - _COLUMN, i * _ROW + 14, row.name, "be"))
        for cell, place, start, end in zip(row.cells, row.places, ends, ends[1:], strict=False):
            named = _name(matrix, place) if place and not matrix.blank else ""
            body.append(_cell(cell, start, i * _ROW, end - start, named))
    return _Drawing(ends[-1], (len(chart.rows) + 1) * _ROW, "".join(body))


def _cell(cell: Cell, x: float, y: float, width: float, named: str) -> str:
    style = ("b" if cell.best else "") + ("f" if cell.faint and cell.color is None else "")
    front = f' fill="{_hex(ink(cell.color))}"' if cell.color else ""
    text = _label(x + width - 5, y + 14, cell.text, style + "e", front)
    back = _rectangle((x, y), (width, _ROW), cell.color) if cell.color else ""
    return f"<g>{named}{back}{text}</g>" if named else back + text


def _squares(matrix: Matrix, setting: Setting) -> _Drawing:
    """Draw a matrix without numbers, the largest of each square where there are very many."""
    picture = draw(matrix, setting.limits.get(matrix.name, 0.0))
    size = max(_SQUARE, _SMALL // max(picture.numbers.shape))
    ends = "" if picture.limit is None else f"±{setting.forms[matrix.name](picture.limit)}"
    said = " · ".join(filter(None, (f"{matrix.symbol} {matrix.part}".strip(), ends, picture.squares())))
    body = [_label(0, 14, said, "b")]
    for (i, j), number in np.ndenumerate(picture.numbers):
        color = picture.color(float(number), setting.terminal)
        if color is not None:
            named = _title(matrix, i, j, float(number)) if picture.side == 1 else ""
            body.append(_rectangle((j * size, _ROW + i * size), (size, size), color, named))
    rows, columns = picture.numbers.shape
    return _Drawing(max(columns * size, cells(said) * _COLUMN), _ROW + rows * size, "".join(body))


def _name(matrix: Matrix, place: tuple[int, int]) -> str:
    return _title(matrix, *place, float(matrix.array[place]))


def _title(matrix: Matrix, i: int, j: int, number: float) -> str:
    """Name a cell and its number for whoever points at it."""
    row = matrix.rows[i] if matrix.rows else str(matrix.first_row + i)
    column = matrix.columns[j] if matrix.columns else str(matrix.first_column + j)
    return f"<title>{_text(f'{matrix.name}[{row},{column}] = {number + 0.0!r}')}</title>"


def _label(x: float, y: float, text: str, style: str = "", more: str = "") -> str:
    """Write text; b in the style is bold, f is faint, and e ends at x instead of starting there."""
    classes = f' class="{" ".join(style)}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:g}"{classes}{more}>{_text(text)}</text>'


def _rectangle(corner: tuple[float, float], size: tuple[float, float], color: RGB, inside: str = "") -> str:
    (x, y), (width, height) = corner, size
    shape = f'x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{_hex(color)}"'
    return f"<rect {shape}>{inside}</rect>" if inside else f"<rect {shape}/>"


def _hex(color: RGB) -> str:
    return f"#{bytes(color).hex()}"


def _text(text: str) -> str:
    return escape(visible(text))
