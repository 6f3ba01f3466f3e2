"""Results to text or bytes: one module for each format, and the table of them all.

Help, `-o` and tests read the table, so it imports a format's module only when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from attncli.frozen import Frozen
from attncli.render.terminal import PAGE, Terminal

if TYPE_CHECKING:
    from attncli.check.compare import Comparison
    from attncli.check.report import Refused, Report
    from attncli.compute import Result
    from attncli.sheet import Sheet, View

Finding: TypeAlias = "Report | Refused | Comparison"

__all__ = ["FINDINGS", "FORMATS", "Format"]

Render = Callable[[Any, "View", "Terminal"], Iterable[str | bytes]]


class Format(Frozen):
    """A form that results can take.

    Args:
        suffixes: Endings of file names that ask for it.
        render: Writes results, one after the other, in pieces.
        binary: Whether a terminal cannot show it.
        single: Whether it holds one result and no more.
        paper: Whether it is for white paper, unless a dark background is asked for.
        data: Whether it holds the numbers as they are, whatever a reader wants to see of them.
        bare: Whether it holds stages without their details.
        stage: The stage that it holds where it holds one only, unless another is asked for.
        again: Whether results come back from it.
        width: Columns that it is laid out for, unless another number is asked for; None folds nothing.
    """

    suffixes: tuple[str, ...]
    render: Render
    binary: bool = False
    single: bool = False
    paper: bool = False
    data: bool = False
    bare: bool = False
    stage: str | None = None
    again: bool = False
    width: int | None = None


def _sheets(results: Sequence[Result], view: View) -> list[Sheet]:
    """Arrange results, all of them before the first is shown, and after each the answers asked for."""
    from attncli.blocks import make_sheet  # noqa: PLC0415

    sheets = []
    for result in results:
        sheet = make_sheet(result, view)
        sheets.append(sheet)
        if view.answers:
            blank = dict.fromkeys(
                matrix.name for block in sheet.blocks for matrix in block.matrices if matrix.blank
            )
            alone = replace(view, stages=tuple(blank), blank=(), answers=False)
            sheets.append(replace(make_sheet(result, alone), title="answers"))
    return sheets


def _table(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.render.table import render_table  # noqa: PLC0415

    for number, sheet in enumerate(_sheets(results, view)):
        yield "\n" if number else ""
        yield from render_table(sheet, terminal)


def _json(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.render.json_document import render_json  # noqa: PLC0415

    del view
    for result in results:
        yield from render_json(result, indent=terminal.interactive, ascii_only=not terminal.unicode)


def _jsonl(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.render.json_document import render_json  # noqa: PLC0415

    del view
    for result in results:
        yield from render_json(result, ascii_only=not terminal.unicode)


def _npz(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[bytes]:
    from attncli.render.npz import render_npz  # noqa: PLC0415

    del view, terminal
    for result in results:
        yield from render_npz(result)


def _csv(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.render.delimited import render_delimited  # noqa: PLC0415

    del view, terminal
    for result in results:
        yield from render_delimited(result, ",")


def _tsv(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.render.delimited import render_delimited  # noqa: PLC0415

    del view, terminal
    for result in results:
        yield from render_delimited(result, "\t")


def _safetensors(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[bytes]:
    from attncli.render.tensors import render_safetensors  # noqa: PLC0415

    del view, terminal
    for result in results:
        yield from render_safetensors(result)


def _document(module: str) -> Render:
    """Make the rendering of sheets by a module whose one function is called after it."""

    def render(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str | bytes]:
        draw = getattr(import_module(f"attncli.render.{module}"), f"render_{module}")
        for number, sheet in enumerate(_sheets(results, view)):
            yield "\n" if number else ""
            yield from draw(sheet, terminal)

    return render


def _npy(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[bytes]:
    from attncli.render.npy import render_npy  # noqa: PLC0415

    del terminal
    for result in results:
        yield from render_npy(result, *(view.stages or ()))


FORMATS: dict[str, Format] = {
    "table": Format((".txt",), _table),
    "json": Format((".json",), _json, single=True, data=True, again=True),
    "jsonl": Format((".jsonl", ".ndjson"), _jsonl, data=True, again=True),
    "csv": Format((".csv",), _csv, single=True, data=True, bare=True),
    "tsv": Format((".tsv",), _tsv, single=True, data=True, bare=True),
    "markdown": Format((".md", ".markdown"), _document("markdown"), paper=True),
    "latex": Format((".tex",), _document("latex"), paper=True),
    "svg": Format((".svg",), _document("svg"), single=True, paper=True, width=PAGE),
    "png": Format((".png",), _document("png"), binary=True, single=True, paper=True, width=PAGE),
    "npz": Format((".npz",), _npz, binary=True, single=True, data=True, again=True),
    "safetensors": Format((".safetensors",), _safetensors, binary=True, single=True, data=True, again=True),
    "npy": Format(
        (".npy",), _npy, binary=True, single=True, data=True, bare=True, stage="output", again=True
    ),
}


def _findings(found: Sequence[Finding], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.check.compare import Comparison  # noqa: PLC0415
    from attncli.check.report import Report  # noqa: PLC0415
    from attncli.render.checked import render_report, render_summary  # noqa: PLC0415
    from attncli.render.compared import render_comparison  # noqa: PLC0415

    reports = [each for each in found if not isinstance(each, Comparison)]
    parts = [render_comparison(each, terminal) for each in found if isinstance(each, Comparison)]
    if len(reports) == 1 and isinstance(reports[0], Report):
        parts.insert(0, render_report(reports[0], terminal, full=view.full))
    elif reports:
        parts.insert(0, render_summary(reports, terminal))
    yield "\n".join(parts)


def _findings_json(found: Sequence[Finding], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.check.compare import Comparison  # noqa: PLC0415
    from attncli.render.checked_json import render_report_json  # noqa: PLC0415
    from attncli.render.compared import render_comparison_json  # noqa: PLC0415

    del view
    indent, ascii_only = terminal.interactive and len(found) == 1, not terminal.unicode
    for each in found:
        if isinstance(each, Comparison):
            yield from render_comparison_json(each, indent=indent, ascii_only=ascii_only)
        else:
            yield from render_report_json(each, indent=indent, ascii_only=ascii_only)


FINDINGS: dict[str, Format] = {
    "table": Format((".txt",), _findings),
    "json": Format((".json",), _findings_json, single=True),
    "jsonl": Format((".jsonl", ".ndjson"), _findings_json),
}
"""Forms of what a check or a comparison found."""
