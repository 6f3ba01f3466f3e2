"""Names of rows and columns: cleaned, cut, and numbered where they alone would not tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.frozen import Frozen
from attncli.render.digits import FEW
from attncli.render.glyphs import label, spell
from attncli.render.ink import cut
from attncli.render.terminal import Terminal

__all__ = ["Names", "names"]


class Names(Frozen):
    """Names along one axis.

    Args:
        texts: One for each row or column.
        positions: Their positions.
        numbered: Whether each is to have its position before it.
    """

    texts: tuple[str, ...]
    positions: tuple[str, ...]
    numbered: bool


def names(labels: Sequence[str], count: int, terminal: Terminal, width: int, start: int = 0) -> Names:
    """Name the rows or columns of a table.

    Args:
        labels: What they are called; empty numbers them.
        count: How many there are.
        terminal: Where they are shown.
        width: Cells that a name may take.
        start: Position of the first.
    """
    positions = tuple(map(str, range(start, start + count)))
    if not labels or tuple(labels) == positions:
        return Names(positions, positions, numbered=False)
    mark = spell("…", terminal)
    texts = tuple(cut(label(each, terminal), width, mark) for each in labels)
    return Names(texts, positions, numbered=count > FEW or len(set(texts)) < count)
