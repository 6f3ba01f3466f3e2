"""Outputs written as what they are: mixtures of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attncli.render.box import Box
from attncli.render.columns import Setting
from attncli.render.digits import Form
from attncli.render.elide import shown_rows
from attncli.render.glyphs import spell
from attncli.render.ink import Line, Place, Span, cells, pad
from attncli.render.labels import Names, names
from attncli.sheet import Matrix, Mixture

__all__ = ["mixtures"]


def mixtures(matrix: Matrix, mixture: Mixture, setting: Setting) -> Box:
    """Write each row of an output, of many the first and last few, as the sum of weighted values that it is."""
    terminal = setting.terminal
    rows = names(matrix.rows, len(matrix.array), terminal, setting.name_width)
    keys = names(mixture.keys, len(mixture.keys), terminal, setting.name_width)
    weight = Form(3 if setting.precision is None else setting.precision)
    shown = shown_rows(matrix, full=setting.full)
    there = [i for i in shown if i is not None]
    sums = {i: _sum(mixture, i, keys, weight, setting) for i in there}
    results = dict(zip(there, _results(matrix, there, setting), strict=True))
    heads = {i: _name(rows, i) for i in there}
    margin, middle = max(map(cells, heads.values())), max(map(cells, sums.values()))
    lines: list[Line] = []
    if matrix.part:
        lines.append((Span(spell(matrix.symbol, terminal), bold=True), Span(f" {matrix.part}", "faint")))
    for i in shown:
        if i is None:
            lines.append((Span(spell("⋯", terminal).rjust(margin), "faint"),))
            continue
        name = (Span(" " * (margin - cells(heads[i]))), *heads[i])
        lines.append((*name, Span(" = "), *pad(sums[i], middle), Span(" = "), *results[i]))
    return Box(tuple(lines))


def _name(rows: Names, i: int) -> Line:
    position = (Span(f"{i} ", "faint"),) if rows.numbered else ()
    return (*position, Span(rows.texts[i], bold=True))


def _sum(mixture: Mixture, i: int, keys: Names, form: Form, setting: Setting) -> Line:
    weights = mixture.weights[i]
    seen = [j for j in range(len(weights)) if mixture.hidden is None or not mixture.hidden[i, j]]
    if not seen:
        return (Span("0"),)
    best = np.max(weights[seen])
    line: Line = ()
    for j in seen:
        name = f"{j} {keys.texts[j]}" if keys.numbered else keys.texts[j]
        number = Span(spell(form(float(weights[j])), setting.terminal), bold=bool(weights[j] == best > 0))
        plus = (Span(" + "),) if line else ()
        times = Span(spell("·v(", setting.terminal), "faint")
        line = (*line, *plus, number, times, Span(name), Span(")", "faint"))
    return line


def _results(matrix: Matrix, rows: Sequence[int], setting: Setting) -> Iterator[Line]:
    form = setting.forms[matrix.name]
    texts = [[spell(form(float(x)), setting.terminal) for x in matrix.array[i]] for i in rows]
    widths = [max(map(cells, column)) for column in zip(*texts, strict=True)]
    gaps = [" ", *["  "] * (len(widths) - 1)]
    for i, row in zip(rows, texts, strict=True):
        numbers = (
            Span(gap + text.rjust(width), bold=True, of=(Place(matrix, i, j, float(matrix.array[i, j])),))
            for j, (gap, text, width) in enumerate(zip(gaps, row, widths, strict=True))
        )
        yield (Span("[", bold=True), *numbers, Span(" ]", bold=True))
