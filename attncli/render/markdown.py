"""A sheet as Markdown, in the tables that GitHub renders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.render.chart import Cell, Chart, charts, document_terminal
from attncli.render.checks import check_line
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Sheet
from attncli.text import visible

__all__ = ["render_markdown"]

_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&:@]")


def render_markdown(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Write a sheet as Markdown, block by block."""
    page = document_terminal(terminal)
    facts = " · ".join(sheet.facts)
    yield f"## {_text(sheet.title)}\n\n{_text(sheet.formula)} — {_text(facts)}\n"
    for number, block in enumerate(sheet.blocks, 1):
        yield f"\n### {number} {_heading(block)}\n"
        for chart in charts(block, sheet, page):
            yield f"\n{_table(chart)}"
            if chart.hidden:
                yield f"\n{chart.hidden:,} cells hidden: `--full` shows them\n"
    if sheet.elided:
        yield f"\n{_text(sheet.elided)}\n"
    if sheet.checks is not None:
        yield f"\n{' · '.join(_text(_plain(item)) for item in check_line(sheet.checks, page))}\n"


def _plain(spans: tuple[object, ...]) -> str:
    return "".join(getattr(span, "text", "") for span in spans).strip()


def _heading(block: Block) -> str:
    parts = (block.title, *block.formulas, block.shape, *block.remarks)
    return "  ".join(_text(part) for part in parts if part)


def _table(chart: Chart) -> str:
    lines = [
        [f"**{_text(chart.caption)}**", *map(_text, chart.columns)],
        ["---", *("---:" for _ in chart.columns)],
    ]
    lines += [[f"**{_text(row.name)}**" if row.name else "", *map(_cell, row.cells)] for row in chart.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.best else cell.text


def _text(text: str) -> str:
    """Write text so that no sign in it is taken for Markdown or HTML."""
    return _SPECIAL.sub(_harmless, visible(text))


def _harmless(sign: re.Match[str]) -> str:
    # As entities, so that no mention, link or emoji is made of a label; | parts cells even escaped.
    return f"&#{ord(sign[0])};" if sign[0] in "<>|&:@$" else f"\\{sign[0]}"
