"""Boxes of lines: one above another, side by side, and packed into a width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from attncli.frozen import Frozen
from attncli.render.ink import Line, Span, cells, pad

__all__ = ["Box", "beside", "in_rows", "indent", "packed", "stacked", "wrapped"]


class Box(Frozen):
    """A rectangle of text.

    Args:
        lines: From top to bottom; those that end early are filled up when something stands beside.
        head: How many of them are a title; what is below stands level with what is below others.
    """

    lines: tuple[Line, ...]
    head: int = 0

    @cached_property
    def width(self) -> int:
        """Cells in the longest line."""
        return max(map(cells, self.lines), default=0)


def stacked(boxes: Iterable[Box], *, apart: int = 0) -> Box:
    """Set boxes one above another, with empty lines between them."""
    lines: list[Line] = []
    for box in boxes:
        if lines:
            lines += [()] * apart
        lines += box.lines
    return Box(tuple(lines))


def beside(boxes: Sequence[Box], *, gap: int) -> Box:
    """Set boxes side by side, their first lines level, and what is below their titles."""
    head = max(box.head for box in boxes)
    filled = [(*box.lines[: box.head], *[()] * (head - box.head), *box.lines[box.head :]) for box in boxes]
    lines: list[Line] = []
    for i in range(max(map(len, filled))):
        line: Line = ()
        start = 0
        for box, column in zip(boxes, filled, strict=True):
            line = (*pad(line, start), *(column[i] if i < len(column) else ()))
            start += box.width + gap
        lines.append(line)
    return Box(tuple(lines))


def packed(boxes: Iterable[Box], width: int, *, gap: int) -> Box:
    """Set as many boxes side by side as fit into a width, then go on below."""
    return stacked(in_rows(boxes, width, gap=gap), apart=1)


def in_rows(boxes: Iterable[Box], width: int, *, gap: int) -> Iterator[Box]:
    """Set as many boxes side by side as fit into a width; yield each row when it is full."""
    row: list[Box] = []
    for box in boxes:
        if row and sum(each.width + gap for each in row) + box.width > width:
            yield beside(row, gap=gap)
            row = []
        row.append(box)
    if row:
        yield beside(row, gap=gap)


def indent(box: Box, by: int) -> Box:
    """Move a box to the right."""
    return Box(tuple((Span(" " * by), *line) if line else line for line in box.lines))


def wrapped(items: Sequence[Line], width: int, *, gap: int = 2, hang: int = 0) -> Box:
    """Set items in a line, and those that do not fit in lines below it.

    An item that is wider than a line on its own is broken between words.

    Args:
        items: What to set.
        width: Cells in a line.
        gap: Cells between two items.
        hang: Cells before each line but the first.
    """
    lines: list[Line] = []
    line: Line = ()
    for item, space in _pieces(items, width - hang, gap):
        if cells(line) > (hang if lines else 0) and cells(line) + space + cells(item) > width:
            lines.append(line)
            line = (Span(" " * hang),)
        before = space if line and cells(line) > (hang if lines else 0) else 0
        line = (*line, Span(" " * before), *item)
    return Box((*lines, line)) if line else Box(tuple(lines))


def _pieces(items: Sequence[Line], width: int, gap: int) -> Iterable[tuple[Line, int]]:
    """Yield each item, or its words, with the space before it."""
    for item in items:
        if cells(item) <= width:
            yield item, gap
            continue
        space = gap
        for span in item:
            for word in span.text.split(" "):
                yield (Span(word, span.role, span.bold, span.heat),), space
                space = 1
            space = 0
