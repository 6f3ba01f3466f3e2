"""The parts of docs/ that are made from declarations.

After a change to a key, a stage or a preset, write them anew:

    python -m tests.reference
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attncli.describe import Row, key_rows, stage_rows
from attncli.presets import PRESETS
from tests.readme import ROOT

__all__ = ["DOCS", "PAGES", "filled"]

DOCS = ROOT / "docs"
_MARKED = re.compile(r"(<!-- made by: python -m tests\.reference -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(name: str) -> str:
    """Return a page with its made part as the declarations have it now."""
    made = "".join(f"{line}\n" for line in PAGES[name]())
    return _MARKED.sub(lambda match: f"{match[1]}\n{made}\n{match[2]}", (DOCS / name).read_text("utf-8"))


def key_tables() -> Iterator[str]:
    """Make a table of keys for each section."""
    for row in key_rows():
        if row["section"]:
            yield f"\n### {row['section']}\n"
            yield from _head("key", "what it is", "value", "default")
        choices = ", ".join(map(_code, row["choices"]))
        value = row["takes"] + (f": {choices}" if choices else "")
        yield _line(_code(row["name"]), row["help"], value, _default(row))


def _default(row: Row) -> str:
    words = row["default"]
    literal = words in row["choices"] or re.fullmatch(r"-?[\d.e-]+|-inf|true|false", words)
    return _code(words) if literal else words


def stage_tables() -> Iterator[str]:
    """Make a table of the stages with all ways to each, and one of their details."""
    rows = stage_rows()
    yield from _head("stage", "formula", "what it does", "axes", "source")
    for row in rows:
        yield _line(_code(row["name"]), *_way(row), ", ".join(row["axes"]), row["source"])
        for way in row["variants"]:
            yield _line("or", *_way(way), "", way["source"])
    yield "\n## Details\n"
    yield "Numbers that belong to a stage: in JSON, and in tables with `--detail`.\n"
    yield from _head("detail", "of", "formula", "what it is", "axes")
    for row in rows:
        for detail in row["details"]:
            yield _line(_code(detail["name"]), _code(row["name"]), *_way(detail), ", ".join(detail["axes"]))


def _way(row: Row) -> Sequence[str]:
    return _code(f"{row['symbol']} = {row['formula']}"), row["summary"]


def preset_table() -> Iterator[str]:
    """Make a table of what each preset sets."""
    yield from _head("like", "sets")
    for name, settings in PRESETS.items():
        said = (
            f"{key}: {value:g}" if isinstance(value, float) else f"{key}: {value}"
            for key, value in settings.items()
        )
        yield _line(_code(name), ", ".join(map(_code, said)))


def _head(*names: str) -> Iterable[str]:
    return _line(*names), "|" + "---|" * len(names)


def _line(*cells: str) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _code(text: str) -> str:
    return f"`{text}`"


PAGES: Mapping[str, Callable[[], Iterable[str]]] = {
    "problem-file.md": key_tables,
    "stages.md": stage_tables,
    "conventions.md": preset_table,
}
"""Pages that have a made part, and what makes it."""


if __name__ == "__main__":
    for page in PAGES:
        (DOCS / page).write_text(filled(page), "utf-8")
