"""What a check found, as one JSON document for each problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attncli.check.diagnose import Diagnosis
from attncli.check.printed import Verdict
from attncli.check.report import Cell, Checked, Refused, Report
from attncli.render.checked import outcome
from attncli.render.json_text import json_text
from attncli.version import __version__

__all__ = ["render_report_json"]

SCHEMA = "attn-check/1"


def render_report_json(
    report: Report | Refused, *, indent: bool = False, ascii_only: bool = False
) -> Iterator[str]:
    """Write what a check found as JSON, with a newline at the end."""
    yield from json_text(_document(report), indent=indent, ascii_only=ascii_only)
    yield "\n"


def _document(report: Report | Refused) -> dict[str, Any]:
    if isinstance(report, Refused):
        said = {"verdict": outcome(report), "error": report.message}
        return {"schema": SCHEMA, "attn": __version__, "file": report.source, **said}
    first = report.first
    return {
        "schema": SCHEMA,
        "attn": __version__,
        "file": report.source,
        "name": report.result.problem.name,
        "verdict": outcome(report),
        "numbers": report.size,
        "wrong": len(report.cells(Verdict.WRONG)),
        "last_digit": len(report.cells(Verdict.LAST_DIGIT)),
        "first_wrong": first and _cell(first),
        "stages": [_stage(block) for block in report.blocks],
        "diagnosis": diagnosis(report.diagnosis),
        "notes": list(report.notes),
    }


def _stage(block: Checked) -> dict[str, Any]:
    found = list(block.cells)
    return {
        "stage": block.printed.key,
        "axes": list(block.axes),
        "shape": list(block.verdicts.shape),
        "printed": block.printed.factor * block.printed.numbers,
        "right": block.printed.factor * np.asarray(block.right),
        "wrong": [_cell(cell) for cell in found if cell.verdict == Verdict.WRONG],
        "last_digit": [_cell(cell) for cell in found if cell.verdict == Verdict.LAST_DIGIT],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    kind = {"kind": cell.kind} if cell.kind else {}
    return {
        "stage": cell.stage,
        "index": list(cell.index),
        "cell": cell.name,
        "printed": cell.printed,
        "right": cell.exact,
        **kind,
    }


def diagnosis(found: Diagnosis | None) -> dict[str, Any] | None:
    """Lay a diagnosis out; None where nothing was to be explained."""
    if found is None:
        return None
    return {
        "matches": list(found.matches) if found.enough else [],
        "apart": len(found.matches) == 1 and found.enough,
        "parts_at": found.stage,
        "decided_by": found.decided,
        "tried": found.tried,
        "finished": found.finished,
        "said": str(found),
    }
