"""Weights that are drawn: large matrices, and all heads side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attncli.render.box import Box, packed, stacked, wrapped
from attncli.render.columns import Setting
from attncli.render.glyphs import spell
from attncli.render.ink import Span
from attncli.render.picture import Picture, legend, pooled
from attncli.sheet import Kind, Matrix

__all__ = ["LARGE", "heads", "is_drawn", "pictures"]

LARGE = 64
"""So many rows are drawn one by one; of more, squares are."""

_NUMBERS = 16  # rows or columns that are still written as numbers
_SMALL = 24  # rows, or squares, of a head among others
_MARGIN = 6  # cells for the positions at the left
_GAP = 4


def is_drawn(matrix: Matrix, setting: Setting) -> bool:
    """Tell whether a matrix is a picture rather than a table: large weights, where there are colours."""
    terminal = setting.terminal
    drawable = (
        matrix.kind is Kind.WEIGHTS
        and terminal.shaded
        and terminal.unicode
        and not (setting.full or matrix.blank)
    )
    return drawable and max(matrix.array.shape) > _NUMBERS


def pictures(matrices: Sequence[Matrix], setting: Setting) -> Box:
    """Draw matrices, side by side where there is room."""
    drawn = [pooled(matrix, min(LARGE, setting.width - _MARGIN)) for matrix in matrices]
    boxes = (
        stacked([_name(matrix, spell(_side(picture), setting.terminal)), picture.box(setting.terminal)])
        for matrix, picture in zip(matrices, drawn, strict=True)
    )
    return stacked([_scale(setting), packed(boxes, setting.width, gap=_GAP), Box(((),))])


def heads(matrices: Sequence[Matrix], setting: Setting) -> Box:
    """Draw the weights of every head in little, with how far its queries spread their attention."""
    wide = 2 if setting.terminal.shaded or max(matrices[0].array.shape) <= _NUMBERS else 1
    drawn = [pooled(matrix, min(_SMALL, setting.width // wide)) for matrix in matrices]
    boxes = (
        stacked(
            [
                _name(matrix, spell(_spread(matrix) + _side(picture), setting.terminal)),
                picture.box(setting.terminal, wide=wide, ticks=False),
            ]
        )
        for matrix, picture in zip(matrices, drawn, strict=True)
    )
    return stacked([_scale(setting), packed(boxes, setting.width, gap=_GAP)])


def _name(matrix: Matrix, rest: str = "") -> Box:
    line = tuple(span for span in (Span(matrix.part, bold=True), Span(rest, "faint")) if span.text)
    return Box((line,)) if line else Box(())


def _side(picture: Picture) -> str:
    return f"  max of each {picture.side}×{picture.side}" if picture.side > 1 else ""


def _spread(matrix: Matrix) -> str:
    weights = np.nan_to_num(matrix.array)
    bits = -(weights * np.log2(np.where(weights > 0, weights, 1.0))).sum(axis=-1)
    return f"  H {bits.mean():.2f} bit"


def _scale(setting: Setting) -> Box:
    said = (Span(spell("shade ∝ √weight · blank is masked", setting.terminal), "faint"),)
    return wrapped([legend(setting.terminal), said], setting.width)
