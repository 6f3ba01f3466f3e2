"""Outputs written as what they are: mixtures of values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.render.box import Box
from attncli.render.columns import Setting
from attncli.render.digits import Form
from attncli.render.glyphs import spell
from attncli.render.ink import Line, Place, Span, cells, pad
from attncli.render.labels import Names, names
from attncli.sheet import Matrix, Mixture

__all__ = ["mixtures"]


def mixtures(matrix: Matrix, mixture: Mixture, setting: Setting) -> Box:
    """Write each row of an output as the sum of weighted values that it is."""
    terminal = setting.terminal
    rows = names(matrix.rows, len(matrix.array), terminal, setting.name_width)
    keys = names(mixture.keys, len(mixture.keys), terminal, setting.name_width)
    weight = Form(3 if setting.precision is None else setting.precision)
    sums = [_sum(mixture, i, keys, weight, setting) for i in range(len(matrix.array))]
    results = _results(matrix, setting)
    heads = [_name(rows, i) for i in range(len(matrix.array))]
    margin, middle = max(map(cells, heads)), max(map(cells, sums))
    lines: list[Line] = []
    if matrix.part:
        lines.append((Span(spell(matrix.symbol, terminal), bold=True), Span(f" {matrix.part}", "faint")))
    for head, terms, result in zip(heads, sums, results, strict=True):
        name = (Span(" " * (margin - cells(head))), *head)
        lines.append((*name, Span(" = "), *pad(terms, middle), Span(" = "), *result))
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
        number = Span(spell(form(float(weights[j])), setting.terminal), bold=bool(weights[j] == best))
        plus = (Span(" + "),) if line else ()
        times = Span(spell("·v(", setting.terminal), "faint")
        line = (*line, *plus, number, times, Span(name), Span(")", "faint"))
    return line


def _results(matrix: Matrix, setting: Setting) -> Iterator[Line]:
    form = setting.forms[matrix.name]
    texts = [[spell(form(float(x)), setting.terminal) for x in row] for row in matrix.array]
    widths = [max(map(cells, column)) for column in zip(*texts, strict=True)]
    gaps = [" ", *["  "] * (len(widths) - 1)]
    for i, row in enumerate(texts):
        numbers = (
            Span(gap + text.rjust(width), bold=True, of=(Place(matrix, i, j, float(matrix.array[i, j])),))
            for j, (gap, text, width) in enumerate(zip(gaps, row, widths, strict=True))
        )
        yield (Span("[", bold=True), *numbers, Span(" ]", bold=True))
