"""The commands that show: one cell's arithmetic, and a finished result again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from attncli.deliver import Delivery
from attncli.errors import InputError, Place
from attncli.options import TOLD, Batch, Engine, Look, Output, Settings, Told, all_there
from attncli.render import FORMATS

__all__ = ["HELP", "explain", "show"]


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
    output: Told,
) -> None:
    """Read, compute, ask for one cell."""
    from attncli.compute import compute  # noqa: PLC0415
    from attncli.explain import explain as explained  # noqa: PLC0415
    from attncli.readers import load, located  # noqa: PLC0415
    from attncli.render.explanation import explanation_json, explanation_text, style  # noqa: PLC0415

    delivery = Delivery(output, [file], formats=TOLD)
    problems = load(file, settings.strings())
    delivery.spare(name for problem in problems for name in problem.origin.files)
    if len(problems) != 1:
        raise InputError(f"a cell is of one problem, and there are {len(problems)} in the file")
    (problem,) = problems
    with located(problem.origin):
        result = compute(problem, backend=engine.backend, device=engine.device)
    written = style(delivery.terminal, precision)
    found = explained(result, cell, written, depth)
    if delivery.name == "json":
        delivery.send(explanation_json(found, delivery.terminal), result.notes)
    else:
        delivery.send([explanation_text(found, written, delivery.terminal)], result.notes)


def show(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Results as JSON, .npz, .safetensors; - is JSON from standard input."
        ),
    ],
    *,
    look: Look,
    output: Output,
    batch: Batch = None,
) -> None:
    """Read, write."""
    from attncli.readers import located  # noqa: PLC0415
    from attncli.stored import load_result, only, stored_result  # noqa: PLC0415

    delivery = Delivery(output, files)
    view = delivery.fit(look.view(batch))
    _check_forms(files)
    problems = [problem for name in files for problem in load_result(name)]
    delivery.spare(file for problem in problems for file in problem.origin.files)
    results = []
    for problem in problems:
        with located(problem.origin):
            result = stored_result(problem)
            all_there(result, view.stages or ())
            results.append(only(result, view.stages))
    delivery.write(results, view)


def _check_forms(files: Iterable[str]) -> None:
    """Refuse files whose names say that they are made to be looked at."""
    for name in files:
        for form, each in FORMATS.items():
            if name.lower().endswith(each.suffixes) and not each.again:
                raise InputError(
                    f"a result does not come back from {form}",
                    fix=f"attn compute FILE -o result.json, and show that; {_AGAIN} will do",
                    place=Place(name),
                )


_AGAIN = ", ".join(suffix for each in FORMATS.values() if each.again for suffix in each.suffixes)

HELP = {
    "explain": """Show the arithmetic of one cell, step by step from what was given.

\b
  attn random --seq 3 --dim 4 --causal -q -o small.json
  attn explain small.json "weights[2,1]"
  attn explain small.json "output[2,0]" --depth 2
  attn explain small.json "scores[2,1]" --json

A cell is a stage, or a detail such as lse, by its name or its symbol, and a position, from 0, on each of its
axes: batch and head first, where there are any, then query and key, which may be labels instead: weights[sat,cat],
A[2,1]. A label that looks like a number, or
has a comma in it, is written in quotes: weights["2","a,b"].""",
    "show": """Show a finished result again, in any view and format, without computing.

\b
  attn random --seq 3 --dim 4 -q -o small.json
  attn show small.json
  attn show small.json --stages weights --format markdown
  attn show small.json -o small.svg
  attn show small.json -o small.npz
  attn show small.npz --head 0

A result is what attn compute wrote with -o as .json, .jsonl, .npz or .safetensors; each of them is a problem
file too. Arrays that another program wrote are shown by the stages that their names mean, without formulas.""",
}
"""What the help of each command says."""
