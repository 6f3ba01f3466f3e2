"""The commands, each one short function, and the one place where errors are caught."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli import about, judging, streams
from attncli.deliver import Delivery
from attncli.errors import ExitCode, InputError
from attncli.faults import verdict
from attncli.options import KEYS, LARGEST, Engine, Look, Output, Settings, expand, no_stage, one_of
from attncli.render import FORMATS
from attncli.version import __version__

if TYPE_CHECKING:  # help does not wait for NumPy
    from attncli.compute import Result
    from attncli.problem import Problem
    from attncli.sheet import View

__all__ = ["app", "run"]

EPILOG = """\b
Exit status:
  0    done
  1    a check or a comparison found a difference
  2    bad usage, or bad input
  3    it cannot be done here: a backend or device is missing, memory does not
       suffice, the output cannot be written, or attn itself is at fault
  130  interrupted"""

app = typer.Typer(
    name="attn",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)


def _size(option: str, text: str) -> Any:
    return typer.Option(option, metavar="N", min=1, max=LARGEST, help=text)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    help="""Compute attention and show every number between the matrices and the output.

\b
  attn random --seq 3 --dim 4                 draw a problem and compute it
  attn random --seq 3 --dim 4 -o small.json   keep it: the result is a problem file
  attn compute small.json --causal            every stage of a problem, as tables
  attn compute small.json --json              the same for programs
  attn diff small.json --dtype-b float32      two ways, stage by stage
  attn explain small.json "weights[2,1]"      the arithmetic of one cell
  attn show small.json -o small.svg           a finished result again, in another form
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


@app.command(
    epilog=EPILOG,
    help="""Compute every stage of each problem.

\b
  attn random --seq 3 --dim 4 -q -o small.json
  attn compute small.json
  attn compute small.json --causal --stages weights,output
  attn compute small.json --set temperature=2 --json
  attn compute small.json -o result.npz
  cat small.json | attn compute - --no-scale""",
)
@expand
def compute(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Problem files; - is standard input.")],
    *,
    settings: Settings,
    engine: Engine,
    look: Look,
    output: Output,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=0, help="Tables of one item of the batch, from 0."),
    ] = None,
) -> None:
    """Read, compute, write; nothing is written before everything is computed."""
    from attncli.readers import load  # noqa: PLC0415

    delivery = Delivery(output, files)
    view = look.view(batch)
    problems = [problem for name in files for problem in load(name, settings.strings())]
    delivery.spare(file for problem in problems for file in problem.origin.files)
    delivery.write(_results(problems, engine, view), view)


@app.command(
    epilog=EPILOG,
    short_help="Draw a problem and compute it.",
    help="""Draw a problem and compute it; as JSON, the result is a problem file.

\b
  attn random --seq 3 --dim 4
  attn random --seq 3 --dim 4 --seed 7 --json
  attn random --seq 5 --dim 8 --heads 4 --kv-heads 2 --causal
  attn random --seq 4 --dim 8 --seed 7 -o small.json

X is uniform in [0, 1), and the weights in ±1/√dim, as nn.Linear starts. The same seed gives the same
matrices on every backend and device.""",
)
@expand
def random(
    *,
    seq: Annotated[int, _size("--seq", "Number of tokens.")],
    dim: Annotated[int, _size("--dim", "Width of a token's vector.")],
    kv_heads: Annotated[int | None, _size("--kv-heads", KEYS["num_kv_heads"].help)] = None,
    head_dim: Annotated[
        int | None, _size("--head-dim", "Width of a head, when it is not dim / heads.")
    ] = None,
    batch: Annotated[int | None, _size("--batch", "Number of items, each with its own X.")] = None,
    context_seq: Annotated[
        int | None, _size("--context-seq", "Number of tokens of a context to attend to.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="What to draw from.")] = None,
    distribution: Annotated[
        str, one_of("--distribution", ("uniform", "normal"), "How X is drawn.")
    ] = "uniform",
    settings: Settings,
    engine: Engine,
    look: Look,
    output: Output,
) -> None:
    """Draw, compute, write."""
    from attncli.drawn import Sizes, draw_problem  # noqa: PLC0415
    from attncli.readers.override import override  # noqa: PLC0415

    delivery = Delivery(output)
    view = look.view()
    if seed is None:
        seed = secrets.randbelow(2**32)
    sizes = Sizes(
        seq=seq,
        dim=dim,
        heads=settings.heads or 1,
        kv_heads=kv_heads,
        head_dim=head_dim,
        batch=batch,
        context_seq=context_seq,
    )
    problem = override(draw_problem(sizes, seed, distribution), settings.strings())
    told = f"--seed {seed} draws the same matrices again"
    delivery.write(_results([problem], engine, view), view, [told])


@app.command(
    epilog=EPILOG,
    short_help="The arithmetic of one cell, back to the inputs.",
    help="""Show the arithmetic of one cell, step by step from what was given.

\b
  attn random --seq 3 --dim 4 --causal -q -o small.json
  attn explain small.json "weights[2,1]"
  attn explain small.json "output[2,0]" --depth 2
  attn explain small.json "scores[2,1]" --json

A cell is a stage and a position, from 0, on each of its axes: batch and head first, where there are any,
then query and key, which may be labels instead: weights[sat,cat]. A label that looks like a number, or
has a comma in it, is written in quotes: weights["2","a,b"].""",
)
@expand
def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A problem file; - is standard input.")],
    cell: Annotated[str, typer.Argument(metavar="CELL", help="Such as weights[2,1] or weights[sat,cat].")],
    *,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="N", min=1, help="Steps to go back.  [default: all that fit]"),
    ] = None,
    precision: Annotated[
        int | None, typer.Option("--precision", metavar="N", min=0, max=17, help="Decimals.")
    ] = None,
    settings: Settings,
    engine: Engine,
    output: Output,
) -> None:
    """Read, compute, ask for one cell."""
    from attncli.explain import explain as explained  # noqa: PLC0415
    from attncli.readers import load  # noqa: PLC0415
    from attncli.render.explanation import explanation_json, explanation_text, style  # noqa: PLC0415
    from attncli.sheet import View  # noqa: PLC0415

    delivery = Delivery(output, [file], formats={name: FORMATS[name] for name in ("table", "json")})
    problems = load(file, settings.strings())
    delivery.spare(name for problem in problems for name in problem.origin.files)
    if len(problems) != 1:
        raise InputError(f"a cell is of one problem, and there are {len(problems)} in the file")
    (result,) = _results(problems, engine, View())
    written = style(delivery.terminal, precision)
    found = explained(result, cell, written, depth)
    if delivery.name == "json":
        delivery.send(explanation_json(found, delivery.terminal), result.notes)
    else:
        delivery.send([explanation_text(found, written, delivery.terminal)], result.notes)


@app.command(
    epilog=EPILOG,
    short_help="A finished result again, without computing.",
    help="""Show a finished result again, in any view and format, without computing.

\b
  attn random --seq 3 --dim 4 -q -o small.json
  attn show small.json
  attn show small.json --stages weights --format markdown
  attn show small.json -o small.svg""",
)
@expand
def show(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Results as JSON; - is standard input.")],
    *,
    look: Look,
    output: Output,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=0, help="Tables of one item of the batch, from 0."),
    ] = None,
) -> None:
    """Read, write."""
    from attncli.readers import load, located  # noqa: PLC0415
    from attncli.stored import stored_result  # noqa: PLC0415

    delivery = Delivery(output, files)
    view = look.view(batch)
    problems = [problem for name in files for problem in load(name)]
    delivery.spare(file for problem in problems for file in problem.origin.files)
    results = []
    for problem in problems:
        with located(problem.origin):
            results.append(stored_result(problem))
            _all_there(results[-1], view.stages or ())
    delivery.write(results, view)


judging.add_commands(app, EPILOG)
about.add_commands(app, EPILOG)


def _results(problems: Sequence[Problem], engine: Engine, view: View) -> list[Result]:
    from attncli.compute import compute  # noqa: PLC0415
    from attncli.readers import located  # noqa: PLC0415

    def one(problem: Problem) -> Result:
        with located(problem.origin):
            result = compute(
                problem,
                backend=engine.backend,
                device=engine.device,
                keep=view.stages,
                large_details=view.detail,
            )
            _all_there(result, view.stages or ())
        return result

    return [one(problem) for problem in problems]


def _all_there(result: Result, stages: Iterable[str]) -> None:
    """Refuse to leave out in silence what was asked for by name."""
    names = [record.stage.name for record in result.records]
    for stage in stages:
        if stage not in names and getattr(result.problem, stage, None) is None:
            raise no_stage(stage, names, "this problem has")


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


def _dispatch(arguments: Sequence[str] | None) -> int:
    """Let Typer run a command; what it prints itself, such as help, is written as results are."""
    said = io.StringIO()
    with redirect_stdout(said):
        try:
            status = app(arguments, prog_name="attn", standalone_mode=False)
        except SystemExit as done:  # a closed pipe, or completion
            status = done.code
    if said.getvalue():
        streams.write_stdout([said.getvalue()])
    return int(status or 0)
