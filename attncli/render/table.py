"""A sheet as text for a terminal, a pipe or a file: every number with its meaning, and none cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from attncli.render.block import CELLS, block_box
from attncli.render.box import Box, indent, packed, stacked, wrapped
from attncli.render.checks import check_line
from attncli.render.glyphs import label, spell
from attncli.render.heads import is_drawn
from attncli.render.ink import Span, cells, cut, paint
from attncli.render.picture import scale_said
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Kind, Sheet
from attncli.text import visible

__all__ = ["header", "render_table"]

NEXT = ("attn explain {file} {cell}", "attn compute {file} --json")
"""What to type next; commands that take the same file."""

NARROWEST = 40  # below, a name and a number no longer stand in one line
PAGE = 120  # blocks are packed to this width where there is no terminal to fill
_GAP = 4
_HANG = 6  # as wide as the word before the commands, and its space


def render_table(sheet: Sheet, terminal: Terminal) -> str:
    """Render a sheet as text, with ANSI codes when the terminal has colours.

    No line is wider than the terminal, or than 40 cells, unless a single number is.

    Args:
        sheet: What to show.
        terminal: What to show it on.
    """
    width = max(terminal.width, NARROWEST)
    page = width if terminal.interactive else min(width, PAGE)
    blocks = [block_box(block, i, sheet, terminal, width) for i, block in enumerate(sheet.blocks, 1)]
    parts = [
        header(sheet.title, sheet.formula, _facts(sheet, terminal), terminal, page),
        *_packed(blocks, sheet.blocks, page),
        _end(sheet, terminal, page),
    ]
    lines = stacked((part for part in parts if part.lines), apart=1).lines
    return "".join(paint(line, terminal) + "\n" for line in lines)


def _packed(boxes: Sequence[Box], blocks: Sequence[Block], page: int) -> Iterator[Box]:
    """Pack blocks side by side; one with several matrices has a line for itself."""
    pairs = zip(boxes, blocks, strict=True)
    for alone, run in groupby(pairs, key=lambda pair: len(pair[1].matrices) > 1):
        some = [box for box, _ in run]
        yield stacked(some, apart=1) if alone else packed(some, page, gap=_GAP)


def _facts(sheet: Sheet, terminal: Terminal) -> tuple[str, ...]:
    """Say also how colours are to be read, where that is not the usual way."""
    scale = scale_said(terminal.scale or "linear", terminal)
    return (*sheet.facts, scale) if scale and terminal.shaded else sheet.facts


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
    return stacked([wrapped([left[:1], left[2:]], page), wrapped(said, page, gap=1)])


def _end(sheet: Sheet, terminal: Terminal, page: int) -> Box:
    """Close with what is hidden, what the result says of itself, and what to type next."""
    parts = []
    if drawn := _drawn_cells(sheet, terminal):
        text = f"{drawn:,} cells drawn: {CELLS} shows numbers"
        parts.append(wrapped([(Span(text, "faint"),)], page - 1))
    if sheet.elided:
        parts.append(wrapped([(Span(spell(sheet.elided, terminal), "faint"),)], page - 1))
    if sheet.checks is not None:
        parts.append(wrapped(check_line(sheet.checks, terminal), page - 1))
    if terminal.color is None:
        said = (Span(spell(text, terminal), "faint") for text in _signs(sheet))
        parts.append(wrapped([(span,) for span in said], page - 1))
    if terminal.interactive:
        commands = [(Span(command, "formula"),) for command in _next(sheet)]
        parts.append(
            wrapped([(Span("next", "faint"),), *commands], page - 1, hang=_HANG) if commands else Box(())
        )
    return indent(stacked(parts), 1)


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


def _next(sheet: Sheet) -> list[str]:
    """Fill in the file, unless it is a stream or its name cannot be typed as it is shown."""
    source, cell = sheet.source, sheet.example
    if source in {"", "-"} or source.startswith("<") or visible(source) != source:
        return []
    import shlex  # noqa: PLC0415  (a pipe shows no commands)

    words = {"file": shlex.quote(source), "cell": shlex.quote(cell)}
    return [command.format(**words) for command in NEXT if cell or "{cell}" not in command]
