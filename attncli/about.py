"""The commands that say what attn knows of itself: its keys, its stages, its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer

from attncli import files, streams
from attncli.render.glyphs import spell
from attncli.render.terminal import Terminal
from attncli.terminal import is_unicode, text_width

__all__ = ["HELP", "keys", "schema", "stages"]

WIDTH = 80
"""Columns of text in a pipe; in a wide terminal it is not folded much later, to stay readable."""

AsJson = Annotated[bool, typer.Option("--json", help="Rows for programs.")]


def _complete_key(given: str) -> list[str]:
    from attncli.describe import key_rows  # noqa: PLC0415  (help does not wait for it)

    return [row["name"] for row in key_rows() if row["name"].startswith(given)]


def _complete_stage(given: str) -> list[str]:
    from attncli.describe import stage_rows  # noqa: PLC0415

    return [row["name"] for row in stage_rows() if row["name"].startswith(given)]


def keys(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one.", autocompletion=_complete_key)
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Describe keys."""
    from attncli.describe import key_rows  # noqa: PLC0415
    from attncli.listing import list_keys  # noqa: PLC0415

    rows = key_rows(name)
    streams.write_stdout(_json(rows) if as_json else _folded(list_keys, rows))


def stages(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one.", autocompletion=_complete_stage)
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Describe stages."""
    from attncli.describe import stage_rows  # noqa: PLC0415
    from attncli.listing import list_stages  # noqa: PLC0415

    rows = stage_rows(name)
    streams.write_stdout(_json(rows) if as_json else _folded(list_stages, rows))


def schema(
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; - is standard output.")
    ] = "-",
) -> None:
    """Write the schema."""
    from attncli.schema import problem_schema  # noqa: PLC0415

    if output == "-":
        streams.write_stdout(_json(problem_schema()))
    else:
        files.check_target(output, ())
        files.write_file(output, _json(problem_schema()))


def _json(document: Any) -> Iterator[str]:
    # ASCII, which every stream and every editor takes
    yield from (json.dumps(document, indent=2), "\n")


def _folded(write: Callable[..., Iterable[str]], rows: Any) -> Iterator[str]:
    stream = streams.stdout()
    terminal = Terminal(unicode=is_unicode(stream), interactive=stream.isatty())
    width = max(40, min(text_width(None, stream) or WIDTH, 100))
    return (spell(piece, terminal) for piece in write(rows, width))


HELP = {
    "keys": """Describe the keys of the problem file, or one of them.

\b
  attn keys
  attn keys rope
  attn keys mask.window
  attn keys --json""",
    "stages": """Describe the stages of the computation, or one of them.

\b
  attn stages
  attn stages weights
  attn stages lse
  attn stages --json""",
    "schema": """Write the JSON Schema of the problem file, for editors.

\b
  attn schema -o attn.schema.json

An editor then completes and checks a YAML problem file whose first line is

\b
  # yaml-language-server: $schema=attn.schema.json""",
}
"""What the help of each command says."""
