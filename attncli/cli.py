"""The command line: what commands there are, and the one place where errors are caught."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated

import typer
from typer.core import TyperGroup

from attncli import streams
from attncli.command import Group, Later
from attncli.errors import ExitCode, InputError
from attncli.faults import verdict
from attncli.version import __version__

__all__ = ["run"]

ROOMS = {
    "attncli.computing": ("compute", "random"),
    "attncli.showing": ("explain", "show"),
    "attncli.judging": ("check", "diff"),
    "attncli.about": ("keys", "stages", "schema"),
}
"""The modules of the commands, in the order of their help."""

EPILOG = """\b
Exit status:
  0    done
  1    a check or a comparison found a difference
  2    bad usage, or bad input
  3    it cannot be done here: a backend or device is missing, memory does not
       suffice, the output cannot be written, or attn itself is at fault
  130  interrupted"""

_COMPLETE = "_ATTN_COMPLETE"
"""The variable in which a shell asks Typer for completion, in place of a command."""

app = typer.Typer(
    name="attn",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    help="""Compute attention and show every number between the matrices and the output.

\b
  attn random --seq 3 --dim 4                 draw a problem and compute it
  attn random --seq 3 --dim 4 -o small.json   keep it, as a problem file
  attn compute small.json --causal            every stage, as tables
  attn compute small.json --json              the same for programs
  attn diff small.json --dtype-b float32      two ways, stage by stage
  attn explain small.json "weights[2,1]"      the arithmetic of one cell
  attn show small.json -o small.svg           a finished result as a picture
  attn keys                                   what a problem file may say""",
)
def attn(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  (its callback ends the command)
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Say what there is when nothing is asked for."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: What follows the program's name; None takes it from the process.

    Returns:
        The exit status.
    """
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  (the one place that must miss none)
        message, status = verdict(error)
        streams.complain(f"error: {message}")
        return status


def _program() -> TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for room, names in ROOMS.items():
        for name in names:
            group.add_command(Later(name, room, EPILOG))
    return group


def _dispatch(arguments: Sequence[str] | None) -> int:
    """Let Typer run a command; what it prints itself, such as help, is written as results are."""
    said = io.StringIO()
    asked = os.environ.get(_COMPLETE)
    with redirect_stdout(said):
        try:
            status = _program()(arguments, prog_name="attn", standalone_mode=False)
        except SystemExit as done:  # a closed pipe, or completion, which says itself what it does not know
            status = ExitCode.INPUT if asked and done.code else done.code
        except (KeyError, ValueError) as error:  # Typer takes the variables of a shell on trust
            if not asked:
                raise
            raise InputError(
                f"{_COMPLETE} asks for completion, and the variables that say of what are missing or wrong",
                fix=f"unset {_COMPLETE}, which only a shell sets",
            ) from error
    if said.getvalue():
        streams.write_stdout([said.getvalue()])
    return int(status or 0)
