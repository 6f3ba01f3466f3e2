"""A sheet as text for a terminal, a pipe or a file: every number with its meaning, and none cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from attncli.render.box import Box, indent, stacked, wrapped
from attncli.render.ink import Span, paint
from attncli.render.page import NARROWEST, closing, heading, steps
from attncli.render.terminal import PAGE, Terminal
from attncli.sheet import Sheet
from attncli.text import visible

__all__ = ["render_table"]

NEXT = ("attn explain {file} {cell}", "attn compute {file} --json")
"""What to type next; commands that take the same file."""

_HANG = 6  # as wide as the word before the commands, and its space


def render_table(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Render a sheet as text, with ANSI codes when the terminal has colours, step by step.

    No line is wider than the terminal, or than 40 cells, unless a single number is.

    Args:
        sheet: What to show.
        terminal: What to show it on.
    """
    width = max(terminal.width, NARROWEST)
    page = width if terminal.interactive else min(width, PAGE)
    last = stacked([*closing(sheet, terminal, page - 1), _next(sheet, terminal, page - 1)])
    yield _painted(heading(sheet, terminal, page), terminal)
    for part in chain(steps(sheet, terminal, width, page), [indent(last, 1)]):
        if part.lines:
            yield "\n" + _painted(part, terminal)


def _painted(box: Box, terminal: Terminal) -> str:
    return "".join([paint(line, terminal) + "\n" for line in box.lines])


def _next(sheet: Sheet, terminal: Terminal, page: int) -> Box:
    """Say to whoever sits at the terminal what to type next."""
    commands = [(Span(command, "formula"),) for command in _commands(sheet)] if terminal.interactive else []
    return wrapped([(Span("next", "faint"),), *commands], page, hang=_HANG) if commands else Box(())


def _commands(sheet: Sheet) -> list[str]:
    """Fill in the file, unless it is a stream or its name cannot be typed as it is shown."""
    source, cell = sheet.source, sheet.example
    if source in {"", "-"} or source.startswith("<") or visible(source) != source:
        return []
    import shlex  # noqa: PLC0415  (a pipe shows no commands)

    words = {"file": shlex.quote(source), "cell": shlex.quote(cell)}
    return [command.format(**words) for command in NEXT if cell or "{cell}" not in command]
