"""Rows about keys and stages as text: a name at the left, what is said of it folded beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from attncli.describe import Row
from attncli.keys import Kind

__all__ = ["list_keys", "list_stages"]

COLUMN = 20
"""Where the text beside a name starts."""


def list_keys(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Write keys, those inside another one indented under it.

    Args:
        rows: What `attncli.describe.key_rows` returned.
        width: Columns to fold to.

    Yields:
        Pieces of text that end in a newline.
    """
    names = [row["name"] for row in rows]
    several = sum(bool(row["section"]) for row in rows) > 1
    for number, row in enumerate(rows):
        if row["section"] and several:
            yield "\n" * (number > 0) + f"{row['section']}\n\n"
        yield from _entry(_indented(row["name"], names), _key_lines(row), width)


def _indented(name: str, names: Collection[str]) -> str:
    """Indent a key under the one that it is inside of, where that is listed too."""
    listed = [name[:at] for at, sign in enumerate(name) if sign == "." and name[:at] in names]
    return "  " * len(listed) + name.removeprefix(f"{listed[-1]}." if listed else "")


def _key_lines(row: Row) -> Iterator[str]:
    yield row["help"]
    takes = "" if row["takes"] == Kind.CHOICE.value else row["takes"]
    choices = f"choices: {', '.join(row['choices'])}" if row["choices"] else ""
    default = f"default: {row['default']}" if row["default"] else ""
    yield from (takes, choices, default)


def list_stages(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Write stages, with other ways to them and their details indented under each.

    Args:
        rows: What `attncli.describe.stage_rows` returned.
        width: Columns to fold to.

    Yields:
        Pieces of text that end in a newline.
    """
    if len(rows) > 1:
        yield "What stands in [ ] is there where the problem has it.\n\n"
    for number, row in enumerate(rows):
        yield "\n" * (number > 0)
        yield from _entry(row["name"], (*_way_lines(row), f"axes: {', '.join(row['axes'])}"), width)
        for variant in row["variants"]:
            yield from _entry("  or", _way_lines(variant), width)
        for detail in row["details"]:
            yield from _entry(f"  {detail['name']}", _way_lines(detail), width)


def _way_lines(row: Row) -> Iterator[str]:
    yield f"{row['symbol']} = {row['formula']}"
    yield row["summary"]
    yield row.get("source", "")


def _entry(name: str, lines: Iterable[str], width: int) -> Iterator[str]:
    """Fold lines beside a name, or below it where it is too long to stand beside anything."""
    folded = [part for line in lines for part in textwrap.wrap(line, width - COLUMN, break_on_hyphens=False)]
    if len(name) >= COLUMN - 1:
        yield f"{name}\n"
        name = ""
    for line in folded:
        yield f"{name:<{COLUMN}}{line}\n"
        name = ""
