"""The arithmetic of one cell as text, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePath
from typing import Any

from attncli.arithmetic import EXACT, Cell, Gather, Number, Style, asides, reads, write
from attncli.exhibits import softmax_of, title_of
from attncli.explain import Explanation, Share, Step
from attncli.frozen import Frozen
from attncli.headline import facts
from attncli.render.box import Box, indent, stacked, wrapped
from attncli.render.digits import Form
from attncli.render.glyphs import label, spell
from attncli.render.ink import Line, Span, cells, paint
from attncli.render.json_text import json_text
from attncli.render.page import NARROWEST, header
from attncli.render.terminal import PAGE, Terminal
from attncli.trace import Record

__all__ = ["explanation_json", "explanation_text", "style"]

_TERMS = 6
_DIGITS = 4  # significant ones, as people write them by hand
_LARGEST_WHOLE = 1e6
_ENDS = 3  # numbers of a long value that are shown from each end


def style(terminal: Terminal, precision: int | None = None) -> Style:
    """Choose how the arithmetic is written.

    Args:
        terminal: Where it goes.
        precision: Decimals; None is four significant digits, and none after a whole number.
    """

    def number(value: float) -> str:
        return spell(_short(value) if precision is None else Form(precision)(value), terminal)

    signs = {"+": " + ", "−": " − ", "×": "×", "÷": " ÷ "}
    return Style(
        number=number,
        signs={sign: spell(text, terminal) for sign, text in signs.items()},
        root="√" if terminal.unicode else "sqrt",
        most=_TERMS,
    )


def _short(value: float) -> str:
    if not math.isfinite(value) or (value == round(value) and abs(value) < _LARGEST_WHOLE):
        return Form(0)(value)
    power = math.floor(math.log10(abs(value)))
    if not -_DIGITS < power < _DIGITS + 2:
        return Form(_DIGITS - 1, scientific=True)(value)
    return Form(max(_DIGITS - 1 - power, 0))(value)


def explanation_text(explanation: Explanation, style: Style, terminal: Terminal) -> str:
    """Write an explanation for people.

    Args:
        explanation: What to write.
        style: How numbers are written; the one that it was made with.
        terminal: Where it goes.
    """
    width = max(terminal.width, NARROWEST)
    page = width if terminal.interactive else min(width, PAGE)
    result = explanation.result
    source = result.problem.origin.name
    value = f"{explanation.cell} = {style.number(explanation.value)}"
    head = header(PurePath(source).name or source, label(value, terminal), facts(result), terminal, page)
    pen = _Pen(explanation, style, terminal, width)
    groups = groupby(explanation.steps, key=lambda step: step.record.stage.name)
    blocks = [pen.block(i, list(group)) for i, (_, group) in enumerate(groups, 1)]
    parts = [head, *blocks, _end(explanation, terminal, page)]
    lines = stacked((part for part in parts if part.lines), apart=1).lines
    return "".join(paint(line, terminal) + "\n" for line in lines)


class _Pen(Frozen):
    """What every line of an explanation is written with."""

    explanation: Explanation
    style: Style
    terminal: Terminal
    width: int

    def block(self, number: int, steps: list[Step]) -> Box:
        """Set the steps of one stage under its formula, and its summary where there is room."""
        record = steps[0].record
        items: list[Line] = [
            (Span(f" {number} ", "badge"), Span(" "), Span(title_of(record), bold=True)),
            (Span(spell(_formula(record), self.terminal), "formula"),),
            (Span(spell(record.stage.summary, self.terminal), "faint"),),
        ]
        fits = sum(map(cells, items)) + 4 <= self.width
        title = wrapped(items if fits else items[:2], self.width, hang=4)
        seen: set[str] = set()
        lines = [line for step in steps for line in self._lines(step, seen)]
        remarks = dict.fromkeys(step.remark for step in steps if step.remark)
        lines += [((), (Span(label(remark, self.terminal), "faint"),)) for remark in remarks]
        # A longer name has a line for itself, since what is set below it would be narrow.
        names = (cells(name) for name, _ in lines)
        widest = max((each for each in names if each <= self.width // 2), default=0)
        set_lines = (
            wrapped(_items(name, rest, widest), self.width - 3, gap=1, hang=widest + 1)
            for name, rest in lines
        )
        return stacked([title, indent(stacked(set_lines), 3)])

    def _lines(self, step: Step, seen: set[str]) -> Iterator[tuple[Line, Line]]:
        """Write what is gathered on the way, each once, and then the cell."""
        for aside in asides(step.made):
            text = write(aside, self.style)
            if text not in seen:
                seen.add(text)
                number, name = self.style.number(aside.value), _symbol(aside, step.record)
                if name:
                    how = Span(f"= {text}", "faint"), Span(f"= {number}", "faint")
                    yield (Span(spell(name, self.terminal), "faint"),), how
                else:
                    yield (Span(number, "faint"),), (Span(f"= {text}", "faint"),)
        result = Span(self.style.number(step.value), bold=True)
        made = (Span("="),) if isinstance(step.made, Number) else (Span(f"= {self._how(step)}"), Span("= "))
        yield (Span(label(step.cell, self.terminal), bold=True),), (*made, result)
        if step.cell == self.explanation.cell and self.explanation.share:
            yield (), self._share(step.value, self.explanation.share)

    def _share(self, weight: float, share: Share) -> Line:
        """Say what a weight hands on: its share of the value of its key."""
        percent = spell(f"→ {Form(1, percent=True)(weight)} % of ", self.terminal)
        ends = (*range(_ENDS), None, *range(share.size - _ENDS, share.size))
        shown = range(share.size) if share.size <= 2 * _ENDS else ends
        numbers = (spell("⋯", self.terminal) if d is None else self.style.number(share.at(d)) for d in shown)
        value = f"v({label(share.key, self.terminal)})"
        return Span(percent + value), Span("= "), Span(f"[{' '.join(numbers)}]", bold=True)

    def _how(self, step: Step) -> str:
        """Write the arithmetic; a number that is only handed on by the name of where it stood."""
        if isinstance(step.made, Cell):
            return label(self.explanation.spell(step.made), self.terminal)
        return write(step.made, self.style)


def _symbol(aside: Gather, record: Record) -> str:
    """Name what softmax gathers on the way as the sheet does, whose Σexp has the sink in it."""
    scores, sink = softmax_of(record)
    if aside.how == "max":
        return "m"
    return "Σexp" if aside.how == "sum" and scores and not sink else ""


def _items(name: Line, rest: Line, widest: int) -> list[Line]:
    """Part a line into pieces that are not broken: the name, each term, and the number at the end."""
    items: list[Line] = [(Span(" " * (widest - cells(name))), *name)]
    first, *last = rest
    items += [(first._replace(text=term),) for term in _terms(first.text)]
    return [*items, tuple(last)] if last else items


def _terms(text: str) -> list[str]:
    """Part a sum before each sign between two terms, but not inside brackets."""
    terms, depth = [""], 0
    for word in text.split(" "):
        if not depth and word in {"+", "-", "−"}:
            terms.append("")
        terms[-1] += f" {word}" if terms[-1] else word
        depth += word.count("(") + word.count("[") - word.count(")") - word.count("]")
    return terms


def _formula(record: Record) -> str:
    symbol = record.stage.symbol
    return record.formula if record.formula.startswith(f"{symbol}(") else f"{symbol} = {record.formula}"


def _end(explanation: Explanation, terminal: Terminal, page: int) -> Box:
    if not explanation.steps:
        text = "it was given: nothing is behind it"
    elif explanation.behind:
        more = f"{explanation.behind:,} more {'cell is' if explanation.behind == 1 else 'cells are'}"
        text = f"{more} behind these: --depth {explanation.depth + 1} shows them"
    else:
        return Box(())
    return indent(wrapped([(Span(spell(text, terminal), "faint"),)], page - 1), 1)


def explanation_json(explanation: Explanation, terminal: Terminal) -> Iterator[str]:
    """Write an explanation for programs: every number at full precision, the arithmetic as Python."""
    document = {
        "cell": explanation.cell,
        "stage": explanation.name,
        "index": explanation.index,
        "value": explanation.value,
        "share": _whole(explanation.share),
        "steps": [_step(step, explanation) for step in explanation.steps],
        "behind": explanation.behind,
    }
    yield from json_text(document, indent=terminal.interactive, ascii_only=not terminal.unicode)
    yield "\n"


def _whole(share: Share | None) -> dict[str, Any] | None:
    """Write what a weight hands on, every number of it."""
    if share is None:
        return None
    return {"key": share.key, "numbers": [share.at(d) for d in range(share.size)]}


def _step(step: Step, explanation: Explanation) -> dict[str, Any]:
    stage = step.record.stage
    gathered = {write(aside, EXACT): aside.value for aside in asides(step.made)}
    return {
        "cell": step.cell,
        "stage": stage.name,
        "index": step.index,
        "formula": _formula(step.record),
        "summary": stage.summary,
        "source": stage.source,
        "reads": [explanation.spell(cell) for cell in dict.fromkeys(reads(step.made, EXACT))],
        "gathered": [{"arithmetic": text, "value": value} for text, value in gathered.items()],
        "arithmetic": write(step.made, EXACT),
        "value": step.value,
        "remark": step.remark,
    }
