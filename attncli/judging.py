"""The commands that judge: attn check and attn diff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.backends import BACKENDS
from attncli.deliver import Delivery
from attncli.errors import ExitCode, InputError
from attncli.options import KEYS, Engine, Findings, Settings, one_of
from attncli.render import FINDINGS

if TYPE_CHECKING:  # help does not wait for NumPy
    from attncli.check.compare import Comparison
    from attncli.check.report import Refused, Report

__all__ = ["HELP", "check", "diff"]


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Problem files, or folders of them; or one problem, and then a result."
        ),
    ],
    *,
    map: Annotated[  # noqa: A002  (the option's name)
        list[str] | None,
        typer.Option("--map", metavar="NAME=STAGE", help="Which stage an array of RESULT is."),
    ] = None,
    settings: Settings,
    output: Findings,
    full: Annotated[bool, typer.Option("--full", help="Tables of what is right too, however large.")] = False,
) -> int:
    """Read, check, write; 1 when a number is wrong."""
    from attncli.check.report import Refused  # noqa: PLC0415
    from attncli.checking import against_result, check_files, has_expected, stage_names  # noqa: PLC0415
    from attncli.readers.result import is_result  # noqa: PLC0415
    from attncli.sheet import View  # noqa: PLC0415

    delivery = Delivery(output, files, FINDINGS)
    strings = settings.strings()
    read: list[str] = []
    found: Sequence[Report | Refused | Comparison]
    if len(files) == 2 and (map or is_result(files[1])):  # noqa: PLR2004
        found = against_result(files[0], files[1], strings, stage_names(map or []), read)
    elif map:
        raise InputError(
            "--map is about the arrays of a result", fix="attn check FILE RESULT --map mine=weights"
        )
    elif len(files) == 1 and is_result(files[0]):  # a result that was kept, against what it computes to today
        found = against_result(files[0], files[0], strings, {}, read)
        found = [*found, *(check_files(files, strings, read) if has_expected(files[0], strings) else ())]
    else:
        found = check_files(files, strings, read)
    delivery.spare(read)
    delivery.write(found, View(full=full))
    if any(isinstance(each, Refused) for each in found):
        return ExitCode.INPUT
    wrong = any(each.first for each in found if not isinstance(each, Refused))
    return ExitCode.DIFFERENCE if wrong else ExitCode.OK


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A problem or a result.")],
    b: Annotated[str | None, typer.Argument(metavar="B", help="Another one.  [default: A]")] = None,
    *,
    settings: Settings,
    engine: Engine,
    set_b: Annotated[
        list[str] | None, typer.Option("--set-b", metavar="KEY=VALUE", help="As --set, for B.")
    ] = None,
    dtype_b: Annotated[str | None, one_of("--dtype-b", KEYS["dtype"].choices, "As --dtype, for B.")] = None,
    backend_b: Annotated[str | None, one_of("--backend-b", BACKENDS, "As --backend, for B.")] = None,
    output: Findings,
) -> int:
    """Read or compute both, compare, write; 1 when they differ."""
    from attncli import checking  # noqa: PLC0415
    from attncli.sheet import View  # noqa: PLC0415

    delivery = Delivery(output, [a, *([b] if b else [])], FINDINGS)
    read: list[str] = []
    other = [f"dtype={dtype_b}"] if dtype_b else []
    found = checking.diff(
        checking.Way(a, tuple(settings.strings()), engine.backend, engine.device),
        checking.Way(b or a, (*other, *(set_b or ())), backend_b, engine.device),
        read,
    )
    delivery.spare(read)
    delivery.write(found, View())
    return ExitCode.DIFFERENCE if found[0].first else ExitCode.OK


HELP = {
    "check": """Hold printed numbers, or a result, against what a problem computes to.

\b
  attn random --seq 3 --dim 4 --seed 7 -q -o small.json
  attn check small.json --set 'expected={row_sum: [1.00, 1.00, 1.00]}'
  attn compute small.json --dtype float32 -q -o mine.npz
  attn check small.json mine.npz           what another program computed
  attn check small.json mine.npz --json    the same for programs

A result that was kept is held against what its problem computes to today: attn check golden.json.
The numbers that somebody printed stand in the problem, under expected. Several files, or a folder of them,
have one line each. A printed number is right, off by one in its last digit, or wrong; a wrong one is where a slip starts (!),
or follows from wrong (>) or rounded (~) numbers before it. A result (.npz, .npy, .safetensors, or JSON
with stages) is held stage by stage against what its precision allows. When something is wrong, other
conventions are tried, and the one that makes every number right is named.""",
    "diff": """Compare two results, two problems, or one problem in two ways, stage by stage.

\b
  attn random --seq 3 --dim 4 --seed 7 -q -o small.json
  attn diff small.json --dtype-b float32
  attn compute small.json --set temperature=2 -q -o a.npz
  attn diff a.npz small.json --set-b temperature=2

A is as it is, or as --set, --dtype and --backend say; B is as --set-b, --dtype-b and --backend-b say. A
difference counts when it is more than the coarser of the two precisions allows.""",
}
"""What the help of each command says."""
