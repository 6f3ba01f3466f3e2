"""How long attn takes to start: ``python -m bench.startup`` prints imports and a ratio."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from bench.pairs import RUNS, clean_environment, ratio, seconds_of, times

__all__ = ["LIBRARIES", "imports", "start_ratios"]

CONFIG = Path(__file__).parents[1] / "configs" / "self_attention.yaml"
ATTN = [sys.executable, "-m", "attncli"]
COMPUTE = [*ATTN, "compute", str(CONFIG)]
LIBRARIES = "import numpy, yaml, rich.console, rich.table, typer"
"""What no table of attn's can do without."""

PARSER = "; from pydantic import TypeAdapter; import typer.main, typer._adapters; TypeAdapter(str)"
"""What Typer loads by itself as soon as a command has an option."""

_LINE = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \| ( *)(\S+)")


def imports(least: int = 3000) -> list[tuple[int, int, str]]:
    """List what `attn compute` imports: microseconds of its own, with all below it, and its name."""
    command = [sys.executable, "-X", "importtime", *COMPUTE[1:]]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_environment()).stderr
    found = [
        (int(match[1]), int(match[2]), match[3] + match[4])
        for line in told.splitlines()
        if (match := _LINE.match(line))
    ]
    return [each for each in found if each[1] >= least]


def start_ratios(runs: int = RUNS) -> dict[str, float]:
    """Hold whole processes against Python with the libraries alone."""
    python = [sys.executable, "-c"]
    taken = times(
        {
            "libraries": seconds_of([*python, LIBRARIES]),
            "libraries, and what Typer loads to read options": seconds_of([*python, LIBRARIES + PARSER]),
            "attn --version": seconds_of([*ATTN, "--version"]),
            "attn compute configs/self_attention.yaml": seconds_of(COMPUTE),
        },
        runs,
    )
    return {name: ratio(each, taken["libraries"]) for name, each in taken.items()}


if __name__ == "__main__":
    for own, total, name in imports():
        print(f"{own / 1000:8.1f} ms {total / 1000:8.1f} ms  {name}")
    for name, value in start_ratios().items():
        print(f"{value:6.2f} × libraries  {name}")
