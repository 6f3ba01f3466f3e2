"""The strongest pairs of weights that are too many to be shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.render.box import Box, stacked, wrapped
from attncli.render.columns import Setting
from attncli.render.digits import PERCENT
from attncli.render.glyphs import label, spell
from attncli.render.ink import Line, Span, cells, cut
from attncli.sheet import Matrix

__all__ = ["habits", "strongest"]

_MANY = 5
_LABEL = 16
_RANK = "rank in row"
_NUMBERS = len("  →   weight  ") + len(_RANK)  # cells of a row beside its two names


def strongest(matrix: Matrix, setting: Setting) -> Box:
    """List the largest weights with the tokens that they join.

    In self-attention, a token's weight on itself and on the first token says little and is left out.
    """
    chosen = np.ones(matrix.array.shape, dtype=bool) if matrix.hidden is None else ~matrix.hidden
    of_itself = _is_of_itself(matrix)
    if of_itself:
        chosen &= ~np.eye(len(chosen), dtype=bool)
        chosen[:, 0] = False
    chosen &= np.isfinite(matrix.array)
    which = " (k ≠ q, k ≠ 0)" if of_itself else ""
    part = f"{matrix.part}: " if matrix.part else ""
    head = spell(f"{part}strongest of {chosen.sum():,} pairs{which}", setting.terminal)
    if not chosen.any():
        return Box(())
    named = wrapped([(Span(head, bold=True),)], setting.width)
    return stacked([named, Box(tuple(_rows(matrix, chosen, setting)))])


def habits(matrix: Matrix, setting: Setting) -> Box:
    """Say in a line how much goes to the first key, to the query itself and to the one before it."""
    if not _is_of_itself(matrix):
        return Box(())
    weights = np.nan_to_num(matrix.array)
    shares = {
        "key 0": weights[:, 0],
        "the query itself": np.diagonal(weights),
        "the one before": np.diagonal(weights, -1),
    }
    said = ", ".join(f"{PERCENT(float(share.mean()))} on {name}" for name, share in shares.items())
    line = [(Span("on average", bold=True),), (Span(spell(said, setting.terminal)),)]
    return wrapped(line, setting.width, gap=1)


def _is_of_itself(matrix: Matrix) -> bool:
    """Tell whether it is self-attention, shown whole."""
    whole = matrix.first_row == matrix.first_column == 0
    return whole and matrix.rows == matrix.columns and len(matrix.rows) > 1


def _rows(matrix: Matrix, chosen: np.ndarray, setting: Setting) -> Iterator[Line]:
    weights = np.where(chosen, matrix.array, -1.0)
    order = np.argsort(-weights, axis=None, kind="stable")[: min(_MANY, int(chosen.sum()))]
    pairs = [divmod(int(flat), weights.shape[1]) for flat in order]
    arrow = spell("→", setting.terminal)
    room = (setting.width - _NUMBERS) // 2
    names = [
        (
            _name(i, matrix.first_row, matrix.rows, setting, room),
            _name(j, matrix.first_column, matrix.columns, setting, room),
        )
        for i, j in pairs
    ]
    wide = [max(cells(pair[side]) for pair in (("q", "k"), *names)) for side in (0, 1)]

    def line(query: str, key: str) -> str:
        return " " * (wide[0] - cells(query)) + f"{query} {arrow} {key}" + " " * (wide[1] - cells(key))

    yield (Span(f"{line('q', 'k')}  weight  {_RANK}", "faint"),)
    for (i, j), (query, key) in zip(pairs, names, strict=True):
        weight = spell(PERCENT(float(weights[i, j])), setting.terminal)
        rank = Span(f"  {_rank(matrix, i, j):>{len(_RANK)}}", "faint")
        yield (Span(line(query, key)), Span(f" {weight:>7}", bold=True), rank)


def _rank(matrix: Matrix, i: int, j: int) -> int:
    """Count from 1, over all keys that the query sees, from the largest weight."""
    row = np.nan_to_num(matrix.array[i])
    return 1 + int((row > row[j]).sum())


def _name(i: int, start: int, labels: tuple[str, ...], setting: Setting, room: int) -> str:
    position = str(start + i)
    width = min(_LABEL, room - len(position) - 1)
    text = cut(label(labels[i], setting.terminal), width, spell("…", setting.terminal)) if labels else ""
    return f"{position} {text}" if text and text != position else position
