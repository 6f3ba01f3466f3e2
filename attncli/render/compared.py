"""A comparison stage by stage, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from attncli.check.compare import Comparison, Row
from attncli.render.box import indent, stacked, wrapped
from attncli.render.checked_json import diagnosis
from attncli.render.glyphs import label, spell
from attncli.render.ink import Line, Role, Span, cells, paint
from attncli.render.json_text import json_text
from attncli.render.terminal import Terminal
from attncli.trace import STAGES
from attncli.version import __version__

__all__ = ["render_comparison", "render_comparison_json"]

_HEADS = ("stage", "shape", "precision", "largest Δ", "at", "ulps", "allowed", "Δ÷allowed")
_TEXT = 3
"""So many of the columns are text, and set to the left."""

_SPARE = ("allowed", "shape", "precision")
"""Columns that are left out, one after the other, where a line would be too long."""

_NARROWEST = 40
_HANG = 4  # cells before what does not fit in a line


def render_comparison(found: Comparison, terminal: Terminal) -> str:
    """Render a comparison as text: one line for each stage, the first that is off above them."""
    page = max(terminal.width, _NARROWEST)
    good = found.first is None
    title: Line = (
        Span(spell("✓" if good else "✗", terminal), "good" if good else "bad"),
        Span(f" {_name(found.source, terminal)}", bold=True),
        Span(f" against {_name(found.against, terminal)}", "faint"),
    )
    parts = [stacked([wrapped([title], page), wrapped([_headline(found, terminal)], page)])]
    parts.append(
        indent(
            stacked(
                [wrapped([line], page - 1, hang=_HANG) for line in _table(found, terminal, page - 1 - _HANG)]
            ),
            1,
        )
    )
    if found.diagnosis is not None:
        role: Role = "formula" if found.diagnosis.matches and found.diagnosis.enough else "faint"
        said: Line = (Span(spell(str(found.diagnosis), terminal), role),)
        parts.append(indent(wrapped([said], page - 1, hang=2), 1))
    return "".join(paint(line, terminal) + "\n" for line in stacked(parts, apart=1).lines)


def _name(source: str, terminal: Terminal) -> str:
    return label(PurePath(source).name or source, terminal)


def _headline(found: Comparison, terminal: Terminal) -> Line:
    first = found.first
    if first is None:
        agree = "agrees" if len(found.rows) == 1 else "agree"
        return (Span(f"{_counted(found.rows)} {agree} to what the precision allows"),)
    off = f"{first.cell} is {_number(first.given)}, not {_number(first.right)}"
    kind = "stage" if first.stage in STAGES else "detail"
    text = f"first {kind} that differs: {first.stage}: {off}; {first.wrong:,} of {np.prod(first.shape):,} numbers off"
    return (Span(spell(text.replace("-", "−"), terminal), "bad"),)


def _counted(rows: Sequence[Row]) -> str:
    """Count stages and details apart: ``7 stages and 1 detail``."""
    stages = sum(row.stage in STAGES for row in rows)
    counts = {"stage": stages, "detail": len(rows) - stages}
    return " and ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items() if count)


def _number(number: float) -> str:
    return f"{number:.9g}"


def _table(found: Comparison, terminal: Terminal, page: int) -> Iterator[Line]:
    lines = [_cells(row) for row in found.rows]
    heads = [spell(head.replace("Δ", "Δ" if terminal.unicode else "diff"), terminal) for head in _HEADS]
    wide = [max(map(cells, column)) for column in zip(heads, *lines, strict=True)]
    shown = list(range(len(heads)))
    for spare in map(_HEADS.index, _SPARE):
        if len("✓ ") + sum(wide[i] + len("  ") for i in shown) - len("  ") > page:
            shown.remove(spare)

    def joined(texts: Sequence[str]) -> str:
        spaces = {i: " " * (wide[i] - cells(texts[i])) for i in shown}
        return "  ".join(texts[i] + spaces[i] if i < _TEXT else spaces[i] + texts[i] for i in shown)

    yield (Span("  "), Span(joined(heads), "faint"))
    for row, texts in zip(found.rows, lines, strict=True):
        mark = Span(spell("✗" if row.wrong else "✓", terminal), "bad" if row.wrong else "good")
        yield (mark, Span(" "), Span(joined(texts), "bad" if row.wrong else "plain"))


def _cells(row: Row) -> list[str]:
    return [
        row.stage,
        "x".join(map(str, row.shape)),
        row.precision,
        f"{row.largest:.1e}" if row.largest else "0",
        f"[{','.join(map(str, row.index))}]" if row.largest else "",
        f"{row.ulps:.2g}" if row.ulps < 1000 else f"{row.ulps:.0e}",  # noqa: PLR2004
        f"{row.allowed:.1e}",
        f"{row.ratio:.2g}",
    ]


def render_comparison_json(
    found: Comparison, *, indent: bool = False, ascii_only: bool = False
) -> Iterator[str]:
    """Write a comparison as JSON, with a newline at the end."""
    first = found.first
    document: dict[str, Any] = {
        "schema": "attn-compare/1",
        "attn": __version__,
        "file": found.source,
        "against": found.against,
        "verdict": "same" if first is None else "differs",
        "first_stage": None if first is None else first.stage,
        "stages": [_row(row) for row in found.rows],
        "diagnosis": diagnosis(found.diagnosis),
        "notes": list(found.notes),
    }
    yield from json_text(document, indent=indent, ascii_only=ascii_only)
    yield "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "stage": row.stage,
        "verdict": "differs" if row.wrong else "same",
        "shape": list(row.shape),
        "precision": row.precision,
        "largest": row.largest,
        "index": list(row.index),
        "given": row.given,
        "right": row.right,
        "ulps": row.ulps,
        "allowed": row.allowed,
        "ratio": row.ratio,
        "wrong": row.wrong,
    }
