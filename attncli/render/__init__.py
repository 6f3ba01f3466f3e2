"""Results to text or bytes: one module for each format, and the table of them all.

Help, `-o` and tests read the table, so it imports a format's module only when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from attncli.check.compare import Comparison
    from attncli.check.report import Refused, Report
    from attncli.compute import Result
    from attncli.render.terminal import Terminal
    from attncli.sheet import View

Finding: TypeAlias = "Report | Refused | Comparison"

__all__ = ["FINDINGS", "FORMATS", "Format"]

Render = Callable[[Any, "View", "Terminal"], Iterable[str | bytes]]


@dataclass(frozen=True, slots=True)
class Format:
    """A form that results can take.

    Args:
        suffixes: Endings of file names that ask for it.
        render: Writes results, one after the other, in pieces.
        binary: Whether a terminal cannot show it.
        single: Whether it holds one result and no more.
    """

    suffixes: tuple[str, ...]
    render: Render
    binary: bool = False
    single: bool = False


def _table(results: Sequence[Result], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.blocks import make_sheet  # noqa: PLC0415
    from attncli.render.table import render_table  # noqa: PLC0415

    sheets = [make_sheet(result, view) for result in results]  # all of them before the first is shown
    for number, sheet in enumerate(sheets):
        yield "\n" if number else ""
        yield render_table(sheet, terminal)


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


FORMATS: dict[str, Format] = {
    "table": Format((".txt",), _table),
    "json": Format((".json",), _json, single=True),
    "jsonl": Format((".jsonl", ".ndjson"), _jsonl),
    "npz": Format((".npz",), _npz, binary=True, single=True),
}


def _findings(found: Sequence[Finding], view: View, terminal: Terminal) -> Iterator[str]:
    from attncli.check.compare import Comparison  # noqa: PLC0415
    from attncli.check.report import Report  # noqa: PLC0415
    from attncli.render.checked import render_report, render_summary  # noqa: PLC0415
    from attncli.render.compared import render_comparison  # noqa: PLC0415

    if len(found) == 1 and isinstance(found[0], Report):
        yield render_report(found[0], terminal, full=view.full)
        return
    reports = [each for each in found if not isinstance(each, Comparison)]
    if reports:
        yield render_summary(reports, terminal)
    yield from (render_comparison(each, terminal) for each in found if isinstance(each, Comparison))


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
