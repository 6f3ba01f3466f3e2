"""Matrices that are drawn: large ones, and all heads side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from attncli.render.box import Box, indent, packed, stacked, wrapped
from attncli.render.columns import Setting
from attncli.render.digits import Form
from attncli.render.elide import LONGEST, is_small
from attncli.render.glyphs import spell
from attncli.render.ink import Line, Span
from attncli.render.picture import Picture, pooled
from attncli.render.terminal import Terminal
from attncli.sheet import Kind, Matrix

__all__ = ["LARGE", "OUT", "draw", "heads", "is_drawn", "pictures"]

LARGE = 64
"""So many rows of weights are drawn one by one; of more, squares are."""

OUT = 2
"""Cells by which the positions beside a picture stand out to the left of all else."""

_SMALL = 24  # rows, or squares, of a head among others
_SCORES = 32  # squares of scores: two pictures stand side by side in 80 columns, three in 120
_MARGIN = 6  # cells for the positions at the left
_GAP = 4
_LITTLE_GAP = 2


def is_drawn(matrix: Matrix, terminal: Terminal, *, full: bool) -> bool:
    """Tell whether a matrix is a picture rather than a table: a large one, where there are colours."""
    drawable = matrix.kind is not Kind.VECTORS and terminal.shaded and terminal.unicode
    large = max(matrix.array.shape) > LONGEST and not is_small(matrix)
    return drawable and large and not full and not matrix.blank


def draw(matrix: Matrix, limit: float, most: int = LARGE) -> Picture:
    """Make the picture of a matrix; signed numbers, which take less room, are on a scale up to a limit."""
    if matrix.kind is Kind.WEIGHTS:
        return pooled(matrix, most)
    return pooled(matrix, min(most, _SCORES), limit)


def pictures(matrices: Sequence[Matrix], setting: Setting) -> Box:
    """Draw matrices, side by side where there is room."""
    named = len({matrix.name for matrix in matrices}) > 1 or matrices[0].given
    groups = groupby(matrices, key=lambda matrix: matrix.name)
    boxes = (_alike(list(group), setting, named=named) for _, group in groups)
    return packed(boxes, setting.width, gap=_GAP)


def _alike(matrices: Sequence[Matrix], setting: Setting, *, named: bool) -> Box:
    """Draw matrices that share a scale, under one legend."""
    most = min(LARGE, setting.width - _MARGIN)
    drawn = [draw(matrix, setting.limits[matrix.name], most) for matrix in matrices]
    boxes = (_captioned(picture, setting.terminal, named=named) for picture in drawn)
    legend = _legend(matrices, drawn, setting)
    return stacked([indent(legend, OUT), packed(boxes, setting.width, gap=_GAP)])


def _captioned(picture: Picture, terminal: Terminal, *, named: bool) -> Box:
    """Set above a picture what it is of and what its squares stand for, in no wider lines than it has."""
    matrix, box = picture.matrix, picture.box(terminal)
    caption = " ".join(filter(None, (matrix.symbol * named, matrix.part, "given" * matrix.given)))
    name = _name(caption, picture.squares(), terminal, max(box.width - OUT, _SCORES))
    return stacked([indent(name, OUT), box])


def heads(matrices: Sequence[Matrix], setting: Setting) -> Box:
    """Draw the weights of every head in little, with how far its queries spread their attention."""
    wide, tall = _square(max(matrices[0].array.shape), setting.terminal)
    drawn = [pooled(matrix, min(_SMALL, setting.width // wide)) for matrix in matrices]
    boxes = (
        stacked(
            [
                _name(matrix.part, _spread(matrix), setting.terminal, setting.width),
                picture.box(setting.terminal, wide=wide, tall=tall, ticks=False),
            ]
        )
        for matrix, picture in zip(matrices, drawn, strict=True)
    )
    return stacked(
        [
            _legend(matrices, drawn, setting, drawn[0].squares()),
            packed(boxes, setting.width, gap=_LITTLE_GAP),
        ]
    )


def _square(longest: int, terminal: Terminal) -> tuple[int, bool]:
    """Choose how many columns a square of a small picture takes, and whether it takes a whole line."""
    if terminal.paper:
        few = 2 * longest <= _SMALL
        return 1 + few, few
    return 2 if terminal.shaded or longest <= LONGEST else 1, False


def _name(caption: str, more: str, terminal: Terminal, width: int) -> Box:
    """Say what a picture is of, and something about it."""
    spans = (Span(caption, bold=True), Span(spell(more, terminal), "faint"))
    return wrapped([(span,) for span in spans if span.text], width)


def _spread(matrix: Matrix) -> str:
    """Say the mean entropy of rows, but of those that are not finite."""
    weights = matrix.array
    bits = -(weights * np.log2(np.where(weights > 0, weights, 1.0))).sum(axis=-1)
    finite = bits[np.isfinite(bits)]
    return f"H {finite.mean():.2f} bit" if finite.size else "H NaN"


def _legend(matrices: Sequence[Matrix], drawn: Sequence[Picture], setting: Setting, more: str = "") -> Box:
    """Show the colours between the ends of the scale, and say what they do not show."""
    terminal, picture = setting.terminal, drawn[0]
    low, high = _ends(picture, setting.forms[matrices[0].name], terminal)
    scale: Line = (Span(f"{low} ", "faint"), *picture.legend(terminal), Span(f" {high}", "faint"))
    broken = next(filter(None, (each.broken_said(terminal) for each in drawn)), "")
    said = [more, broken]
    if (
        picture.limit is None
    ):  # of scores, the formula says what is masked, the sheet's head how they are drawn
        masked = any(matrix.hidden is not None for matrix in matrices)
        said = [more, picture.scale_said(terminal), "blank is masked" if masked else "", broken]
    text = spell(" · ".join(filter(None, said)), terminal)
    return wrapped([scale, *([(Span(text, "faint"),)] if text else [])], setting.width)


def _ends(picture: Picture, form: Form, terminal: Terminal) -> Iterator[str]:
    """Write the numbers at the ends of the scale."""
    if picture.limit is None:
        yield from ("0.0001" if terminal.scale == "log" else "0", "1")
    else:
        yield from (spell(form(end), terminal) for end in (-picture.limit, picture.limit))
