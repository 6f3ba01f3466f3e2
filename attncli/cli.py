"""The commands, each one short function, and the one place where errors are caught."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli import __version__, streams
from attncli.about import add_commands
from attncli.backends import BACKENDS
from attncli.deliver import Delivery
from attncli.errors import ExitCode, InputError
from attncli.faults import verdict
from attncli.options import KEYS, LARGEST, Engine, Look, Output, Settings, expand, no_stage, one_of
from attncli.render import FINDINGS

if TYPE_CHECKING:  # help does not wait for NumPy
    from attncli.check.compare import Comparison
    from attncli.check.report import Report
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
    short_help="Hold printed numbers, or a result, against what a problem computes to.",
    help="""Hold the numbers that somebody has against what a problem computes to.

\b
  attn random --seq 3 --dim 4 --seed 7 -q -o small.json
  attn check small.json --set 'expected={row_sum: [1.00, 1.00, 1.00]}'
  attn compute small.json --dtype float32 -q -o mine.npz
  attn check small.json mine.npz              the stages that another program computed
  attn check small.json mine.npz --json       the same for programs

The numbers that somebody printed stand in the problem, under expected. Several files, or a folder of them,
have one line each. A printed number is right, off by one in its last digit, or wrong; a wrong one is where a slip starts (!),
or follows from wrong (>) or rounded (~) numbers before it. A result (.npz, .npy, .safetensors, or JSON
with stages) is held stage by stage against what its precision allows. When something is wrong, other
conventions are tried, and the one that makes every number right is named.""",
)
@expand
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE… [RESULT]", help="Problem files or folders of them; or a problem and a result."
        ),
    ],
    *,
    map: Annotated[  # noqa: A002  (the option's name)
        list[str] | None,
        typer.Option("--map", metavar="NAME=STAGE", help="Which stage an array of RESULT is."),
    ] = None,
    settings: Settings,
    output: Output,
    full: Annotated[bool, typer.Option("--full", help="Tables of what is right too, however large.")] = False,
) -> int:
    """Read, check, write; 1 when a number is wrong."""
    from attncli.check.report import Refused  # noqa: PLC0415
    from attncli.checking import against_result, check_files, stage_names  # noqa: PLC0415
    from attncli.readers.result import is_result  # noqa: PLC0415
    from attncli.sheet import View  # noqa: PLC0415

    delivery = Delivery(output, files, FINDINGS)
    strings = settings.strings()
    found: Sequence[Report | Refused | Comparison]
    if len(files) == 2 and (map or is_result(files[1])):  # noqa: PLR2004
        found = against_result(files[0], files[1], strings, stage_names(map or []))
    elif map:
        raise InputError(
            "--map is about the arrays of a result", fix="attn check FILE RESULT --map mine=weights"
        )
    else:
        found = check_files(files, strings)
    delivery.write(found, View(full=full))
    if any(isinstance(each, Refused) for each in found):
        return ExitCode.INPUT
    wrong = any(each.first for each in found if not isinstance(each, Refused))
    return ExitCode.DIFFERENCE if wrong else ExitCode.OK


@app.command(
    epilog=EPILOG,
    short_help="Compare two results, two problems, or one problem in two ways.",
    help="""Compare two results, two problems, or one problem in two ways, stage by stage.

\b
  attn random --seq 3 --dim 4 --seed 7 -q -o small.json
  attn diff small.json --dtype-b float32
  attn compute small.json --set temperature=2 -q -o a.npz
  attn diff a.npz small.json --set-b temperature=2

A is as it is, or as --set, --dtype and --backend say; B is as --set-b, --dtype-b and --backend-b say. A
difference counts when it is more than the coarser of the two precisions allows.""",
)
@expand
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A problem or a result.")],
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="Another one.  [default: A]")] = None,
    *,
    settings: Settings,
    engine: Engine,
    set_b: Annotated[
        list[str] | None, typer.Option("--set-b", metavar="KEY=VALUE", help="As --set, for B.")
    ] = None,
    dtype_b: Annotated[str | None, one_of("--dtype-b", KEYS["dtype"].choices, "As --dtype, for B.")] = None,
    backend_b: Annotated[str | None, one_of("--backend-b", BACKENDS, "As --backend, for B.")] = None,
    output: Output,
) -> int:
    """Read or compute both, compare, write; 1 when they differ."""
    from attncli import checking  # noqa: PLC0415
    from attncli.sheet import View  # noqa: PLC0415

    delivery = Delivery(output, [a, *([b] if b else [])], FINDINGS)
    other = [f"dtype={dtype_b}"] if dtype_b else []
    found = checking.diff(
        checking.Way(a, tuple(settings.strings()), engine.backend, engine.device),
        checking.Way(b or a, (*other, *(set_b or ())), backend_b, engine.device),
    )
    delivery.write(found, View())
    return ExitCode.DIFFERENCE if found[0].first else ExitCode.OK


add_commands(app, EPILOG)


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
