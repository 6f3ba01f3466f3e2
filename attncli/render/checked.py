"""Expected values against computed ones, as tables: what was printed, what is right, and why it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath

import numpy as np

from attncli.check.follow import KINDS
from attncli.check.printed import Verdict
from attncli.check.report import Cell, Checked, Refused, Report
from attncli.render.box import Box, indent, packed, stacked, wrapped
from attncli.render.glyphs import label, spell
from attncli.render.ink import Line, Role, Span, cells, paint
from attncli.render.labels import names
from attncli.render.terminal import Terminal

__all__ = ["headline", "outcome", "render_report", "render_summary"]

_NARROWEST = 40
_PAGE = 120
_MOST_ROWS = 16
_LISTED = 12
_NAME_WIDTH = 12

MARKS = {"origin": "!", "propagated": ">", "rounded": "~", "last digit": "'"}
"""What stands after a number that is not right; ASCII, so that it reads the same everywhere."""

OUTCOMES = ("right", "last digits", "wrong", "refused")
"""How a check can end."""

_MEANINGS: dict[str, str] = {**KINDS, "last digit": "in the last digit only: cut off, or rounded by hand"}


def render_report(report: Report, terminal: Terminal, *, full: bool = False) -> str:
    """Render what a check found as text.

    Args:
        report: What it found.
        terminal: What to show it on.
        full: Tables of right blocks too, and all numbers of large ones.
    """
    page = _page(terminal)
    blocks = [_block(report, block, terminal, page, full=full) for block in report.blocks]
    runs = [stacked(run) for _, run in groupby(blocks, key=_stands_alone)]
    parts = [_header(report, terminal, page), *runs]
    end = stacked([*_legend(report, page), *_diagnosis(report, terminal, page)])
    lines = stacked([part for part in (*parts, end) if part.lines], apart=1).lines
    return "".join(paint(line, terminal) + "\n" for line in lines)


def render_summary(found: Sequence[Report | Refused], terminal: Terminal) -> str:
    """Render one line for each of several problems, and one for all."""
    page = _page(terminal)
    boxes = [wrapped(_summary(each, terminal), page, hang=4) for each in found]
    counts = Counter(map(outcome, found))
    said = ", ".join(f"{counts[each]} {each}" for each in OUTCOMES if counts[each])
    total: Line = (Span(f"{len(found)} problems: {said}", bold=True),)
    lines = stacked([stacked(boxes), Box((total,))], apart=1).lines
    return "".join(paint(line, terminal) + "\n" for line in lines)


def outcome(found: Report | Refused) -> str:
    """Say how a check ended: one of `OUTCOMES`."""
    if isinstance(found, Refused):
        return "refused"
    if found.cells(Verdict.WRONG):
        return "wrong"
    return "last digits" if found.cells(Verdict.LAST_DIGIT) else "right"


def headline(report: Report) -> str:
    """Say what is wrong first: ``first wrong: weights[0,2] printed 0.327, is 0.279``."""
    first = report.first
    return f"first wrong: {first.name} printed {first.printed}, is {first.right}" if first else ""


def _page(terminal: Terminal) -> int:
    width = max(terminal.width, _NARROWEST)
    return width if terminal.interactive else min(width, _PAGE)


def _stands_alone(box: Box) -> int:
    """Tell tables, each by itself, from blocks of one line, which are read together."""
    return id(box) if len(box.lines) > 1 else 0


def _counts(report: Report) -> str:
    wrong, last = len(report.cells(Verdict.WRONG)), len(report.cells(Verdict.LAST_DIGIT))
    if wrong:
        return f"{wrong:,} of {_counted(report.size)} wrong"
    return _counted(report.size) + (f" right, {last:,} of them off in the last digit" if last else " right")


def _counted(size: int) -> str:
    return f"{size:,} number{'s' * (size != 1)}"


def _mark(good: bool, terminal: Terminal) -> Span:
    sign = "✓" if good else "✗"
    return Span(spell(sign, terminal), "good" if good else "bad")


def _title(source: str, terminal: Terminal) -> str:
    return label(PurePath(source).name or source, terminal)


def _header(report: Report, terminal: Terminal, page: int) -> Box:
    good = outcome(report) != "wrong"
    title: Line = (Span(_title(report.source, terminal), bold=True),)
    counts: Line = (_mark(good, terminal), Span(" " + _counts(report)))
    lines = [wrapped([title, counts], page, gap=3)]
    if not good:
        lines.append(wrapped([(Span(spell(headline(report), terminal), "bad"),)], page))
    return stacked(lines)


def _summary(found: Report | Refused, terminal: Terminal) -> list[Line]:
    good = outcome(found) in {"right", "last digits"}
    title = Span(" " + _title(found.source, terminal), bold=not good)
    items: list[Line] = [(_mark(good, terminal), title)]
    if isinstance(found, Refused):
        return [*items, (Span(label(f"cannot be checked: {found.message}", terminal), "bad"),)]
    items.append((Span(_counts(found), "faint" if good else "plain"),))
    if not good:
        items.append((Span(spell(headline(found), terminal), "bad"),))
    return items


def _block(report: Report, block: Checked, terminal: Terminal, page: int, *, full: bool) -> Box:
    wrong = int((block.verdicts == Verdict.WRONG).sum())
    size = block.verdicts.size
    said = f"{wrong:,} of {size:,} wrong" if wrong else _counted(size)
    head: Line = (
        _mark(not wrong, terminal),
        Span(f" {label(block.printed.key, terminal)}", bold=True),
        Span(f"  {said}", "faint"),
    )
    if not full and (block.verdicts == Verdict.OK).all():
        return indent(Box((head,)), 1)
    table = _tables(report, block, terminal, page - 3)
    fits = table.width <= page - 3 and (full or len(table.lines) <= 2 * _MOST_ROWS)
    body = table if fits else _list(block, terminal, page - 3, full=full)
    return indent(stacked([Box((head,)), indent(body, 2)]), 1)


def _tables(report: Report, block: Checked, terminal: Terminal, width: int) -> Box:
    """Set what was printed beside what is right, one pair for each matrix."""
    parts = []
    for leading in np.ndindex(block.verdicts.shape[:-2]):
        name = ", ".join(f"{axis} {i}" for axis, i in zip(block.axes, leading, strict=False))
        pair = [
            _grid(report, block, leading, terminal, caption=caption, name=name)
            for caption in ("printed", "right")
        ]
        parts.append(packed(pair, width, gap=4))
    return stacked(parts, apart=1)


def _grid(
    report: Report, block: Checked, leading: tuple[int, ...], terminal: Terminal, *, caption: str, name: str
) -> Box:
    shape = block.verdicts.shape[len(leading) :]
    rows, columns = (1,) * (2 - len(shape)) + shape
    margin = _labels(report, block, -2, rows, terminal) if len(shape) > 1 else [""]
    heads = _labels(report, block, -1, columns, terminal) if shape else [""]
    body = []
    for i in range(rows):
        at = (*leading, *((i,) if len(shape) > 1 else ()))
        body.append(
            [_cell(block, (*at, *((j,) if shape else ())), terminal, caption) for j in range(columns)]
        )
    wide = [max(cells(heads[j]) + 1, *(cells(row[j]) for row in body)) for j in range(columns)]
    edge = max(map(cells, margin))
    title: Line = (Span(" " * edge + " "), Span(caption, bold=True), Span(f" {name}".rstrip(), "faint"))
    head: Line = (
        Span(" " * edge),
        *(Span(" " * (wide[j] - cells(heads[j])) + heads[j] + " ", "faint") for j in range(columns)),
    )
    lines: list[Line] = [title, *([head] if shape else [])]
    for i in range(rows):
        line: Line = (Span(" " * (edge - cells(margin[i]))), Span(margin[i], bold=True))
        for j in range(columns):
            line = (*line, Span(" " * (wide[j] + 1 - cells(body[i][j]))), *body[i][j])
        lines.append(line)
    return Box(tuple(lines))


def _labels(report: Report, block: Checked, axis: int, count: int, terminal: Terminal) -> list[str]:
    known = {"query": report.result.query_labels, "key": report.result.key_labels}
    found = names(known.get(block.axes[axis], ()), count, terminal, _NAME_WIDTH)
    return [f"{i} {text}" if found.numbered else text for i, text in enumerate(found.texts)]


def _cell(block: Checked, index: tuple[int, ...], terminal: Terminal, caption: str) -> Line:
    verdict = block.verdicts[index]
    if caption == "right":
        text = spell(block.write(index).replace("-", "−"), terminal)
        wrong = verdict == Verdict.WRONG
        return (Span(text, "good" if wrong else "faint", bold=bool(wrong)), Span(" "))
    text = spell(label(str(block.printed.text[index]), terminal).replace("-", "−"), terminal)
    if verdict == Verdict.OK:
        return (Span(text), Span(" "))
    mark = MARKS[_kind(str(block.kinds[index]))]
    role: Role = "bad" if verdict == Verdict.WRONG else "plain"
    return (Span(text + mark, role, bold=verdict == Verdict.WRONG),)


def _kind(kind: str) -> str:
    return kind or "last digit"


def _list(block: Checked, terminal: Terminal, width: int, *, full: bool) -> Box:
    """List the numbers that are not right, where a table would be too large."""
    found = sorted(block.cells, key=lambda cell: -cell.verdict)
    shown = found if full else found[:_LISTED]
    lines: list[Line] = [_sentence(cell, terminal) for cell in shown]
    if len(found) > len(shown):
        lines.append((Span(f"and {len(found) - len(shown):,} more: --full, or --json", "faint"),))
    return stacked([wrapped([line], width, hang=2) for line in lines])


def _sentence(cell: Cell, terminal: Terminal) -> Line:
    role: Role = "bad" if cell.verdict == Verdict.WRONG else "plain"
    text = f"{cell.name} printed {cell.printed}, is {cell.right}"
    return (Span(spell(text, terminal), role), Span(" " + MARKS[_kind(cell.kind)]))


def _legend(report: Report, page: int) -> Iterator[Box]:
    """Say what the marks in the tables mean, and how often each stands there."""
    found = Counter(_kind(cell.kind) for block in report.blocks for cell in block.cells)
    for kind, mark in MARKS.items():
        if found[kind]:
            what: Line = (Span(mark, "bad"), Span(f" {found[kind]:,} {_MEANINGS[kind]}", "faint"))
            yield indent(wrapped([what], page - 1), 1)


def _diagnosis(report: Report, terminal: Terminal, page: int) -> Iterator[Box]:
    if report.diagnosis is not None:
        role: Role = "formula" if report.diagnosis.matches and report.diagnosis.enough else "faint"
        yield indent(wrapped([(Span(spell(str(report.diagnosis), terminal), role),)], page - 1, hang=2), 1)
