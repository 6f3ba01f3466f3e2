"""The commands that compute: a problem as it is written, and one that is drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli import streams
from attncli.deliver import Delivery
from attncli.options import KEYS, LARGEST, Batch, Engine, Look, Output, Plan, Settings, all_there, one_of

if TYPE_CHECKING:  # help does not wait for NumPy
    from attncli.problem import Problem
    from attncli.sheet import View

__all__ = ["HELP", "compute", "random"]

HELP = {
    "compute": """Compute every stage of each problem.

\b
  attn random --seq 3 --dim 4 -q -o small.json
  attn compute small.json
  attn compute small.json --causal --stages weights,output
  attn compute small.json --set temperature=2 --json
  attn compute small.json -o result.npz
  cat small.json | attn compute - --no-scale""",
    "random": """Draw a problem and compute it; as JSON, the result is a problem file.

\b
  attn random --seq 3 --dim 4
  attn random --seq 3 --dim 4 --seed 7 --json
  attn random --seq 5 --dim 8 --heads 4 --kv-heads 2 --causal
  attn random --seq 4 --dim 8 --seed 7 -o small.json

X is uniform in [0, 1), and the weights in ±1/√dim, as nn.Linear starts. The same seed gives the same
matrices on every backend and device.""",
}
"""What the help of each command says."""


def _size(option: str, text: str) -> Any:
    return typer.Option(option, metavar="N", min=1, max=LARGEST, help=text)


def compute(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Problem files; - is standard input.")],
    *,
    settings: Settings,
    engine: Engine,
    look: Look,
    output: Output,
    batch: Batch = None,
    plan: Plan = False,
) -> None:
    """Read, compute, write; nothing is written before everything is computed."""
    from attncli.readers import load  # noqa: PLC0415

    delivery = Delivery(output, files)
    view = delivery.fit(look.view(batch))
    problems = [problem for name in files for problem in load(name, settings.strings())]
    delivery.spare(file for problem in problems for file in problem.origin.files)
    if plan:
        delivery.only_text("--plan")
        _say_plans(problems, engine, view)
    else:
        _answer(delivery, problems, engine, view)


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
    plan: Plan = False,
) -> None:
    """Draw, compute, write."""
    from attncli.drawn import Sizes, draw_problem  # noqa: PLC0415
    from attncli.readers.override import override  # noqa: PLC0415

    delivery = Delivery(output)
    view = delivery.fit(look.view())
    if seed is None:
        seed = int.from_bytes(os.urandom(4))
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
    if plan:
        delivery.only_text("--plan")
        _say_plans([problem], engine, view)
    else:
        _answer(delivery, [problem], engine, view, [f"--seed {seed} draws the same matrices again"])


def _answer(
    delivery: Delivery, problems: Sequence[Problem], engine: Engine, view: View, notes: Sequence[str] = ()
) -> None:
    """Compute problems, and write what came of it when the last is done."""
    from attncli.compute import compute  # noqa: PLC0415
    from attncli.progress import progress  # noqa: PLC0415
    from attncli.readers import located  # noqa: PLC0415

    results = []
    for problem in problems:
        with located(problem.origin), progress() as told:
            results.append(compute(problem, progress=told, **_how(engine, view)))
            all_there(results[-1], view.stages or ())
    delivery.write(results, view, notes)


def _say_plans(problems: Sequence[Problem], engine: Engine, view: View) -> None:
    """Say in which way problems would be computed."""
    from attncli.compute import plan  # noqa: PLC0415
    from attncli.readers import located  # noqa: PLC0415

    plans = []
    for problem in problems:
        with located(problem.origin):
            plans.append(f"{problem.origin.name}\n{plan(problem, **_how(engine, view))}\n")
    streams.write_stdout(plans)


def _how(engine: Engine, view: View) -> dict[str, Any]:
    return {
        "backend": engine.backend,
        "device": engine.device,
        "keep": view.stages,
        "large_details": view.detail,
    }
