"""A sheet set in lines: its head, its steps packed side by side, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from attncli.render.block import CELLS, block_box
from attncli.render.box import Box, in_rows, stacked, wrapped
from attncli.render.checks import check_line
from attncli.render.glyphs import label, spell
from attncli.render.heads import is_drawn
from attncli.render.ink import Span, cells, cut
from attncli.render.picture import scale_said
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Sheet

__all__ = ["NARROWEST", "closing", "header", "heading", "steps"]

NARROWEST = 40  # columns: in fewer, a name and a number no longer stand in one line
_GAP = 4


def heading(sheet: Sheet, terminal: Terminal, page: int) -> Box:
    """Say what is shown, and how colours are to be read where that is not the usual way."""
    scale = scale_said(terminal.scale or "linear", terminal)
    facts = (*sheet.facts, scale) if scale and terminal.shaded else sheet.facts
    return header(sheet.title, sheet.formula, facts, terminal, page)


def header(title: str, what: str, facts: Sequence[str], terminal: Terminal, page: int) -> Box:
    """Say in one line, or as few as it takes, what is shown, and how it was computed."""
    name = cut(label(title, terminal), page // 2, spell("…", terminal))
    left = (Span(name, bold=True), Span("  "), Span(spell(what, terminal), "formula"))
    right = (Span(spell(" · ".join(facts), terminal), "faint"),)
    missing = page - cells(left) - cells(right)
    gap = missing if terminal.interactive else _GAP
    if missing > 1 and cells(left) + gap + cells(right) <= terminal.width:
        return Box(((*left, Span(" " * gap), *right),))
    separator = spell(" ·", terminal)
    said = [
        (Span(spell(fact, terminal) + separator * (i < len(facts)), "faint"),)
        for i, fact in enumerate(facts, 1)
    ]
    return stacked([wrapped([left[:1], left[2:]], page), _closed(wrapped(said, page, gap=1), separator)])


def _closed(box: Box, separator: str) -> Box:
    """Take the separator from where a line ends: it has nothing to separate there."""
    ends = ((*line[:-1], line[-1]._replace(text=line[-1].text.removesuffix(separator))) for line in box.lines)
    return Box(tuple(ends))


def steps(sheet: Sheet, terminal: Terminal, width: int, page: int) -> Iterator[Box]:
    """Set the steps in rows, from left to right; one with several matrices has a row for itself.

    Args:
        sheet: What to show.
        terminal: What to show it on.
        width: Cells that a step may take.
        page: Cells that steps side by side may take.
    """
    boxes = (block_box(block, i, sheet, terminal, width) for i, block in enumerate(sheet.blocks, 1))

    def is_wide(pair: tuple[Box, Block]) -> bool:
        return len(pair[1].matrices) > 1

    for alone, run in groupby(zip(boxes, sheet.blocks, strict=True), is_wide):
        some = (box for box, _ in run)
        yield from some if alone else in_rows(some, page, gap=_GAP)


def closing(sheet: Sheet, terminal: Terminal, page: int) -> Iterator[Box]:
    """Close with what is hidden, and what the result says of itself."""
    if drawn := _drawn_cells(sheet, terminal):
        text = f"{drawn:,} cells drawn: {CELLS} shows numbers"
        yield wrapped([(Span(text, "faint"),)], page)
    if sheet.elided:
        yield wrapped([(Span(spell(sheet.elided, terminal), "faint"),)], page)
    if sheet.checks is not None:
        yield wrapped(check_line(sheet.checks, terminal), page)
    if terminal.color is None:
        said = (Span(spell(text, terminal), "faint") for text in _signs(sheet))
        yield wrapped([(span,) for span in said], page)


def _signs(sheet: Sheet) -> Iterator[str]:
    """Say what the signs mean that stand for colours, for emptiness and for a word."""
    written = (block for block in sheet.blocks if not (sheet.heads_view and block.heads))
    weights = [m for block in written for m in block.matrices if m.kind is Kind.WEIGHTS]
    if any(not matrix.blank for matrix in weights):
        yield "* largest in its row"
    if any(matrix.hidden is not None for matrix in weights):
        yield "· masked"
    if sheet.checks is not None and np.isfinite(sheet.checks.entropies).any():
        yield "H entropy of a row's weights"


def _drawn_cells(sheet: Sheet, terminal: Terminal) -> int:
    """Count the cells that pictures stand for."""
    blocks = (block for block in sheet.blocks if not (sheet.heads_view and block.heads))
    matrices = (matrix for block in blocks for matrix in block.matrices)
    return sum(m.array.size for m in matrices if is_drawn(m, terminal, full=sheet.full))
