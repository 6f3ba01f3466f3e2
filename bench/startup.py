"""How long attn takes to start: ``python -m bench.startup`` says which library costs what, and ratios."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from bench.pairs import RUNS, clean_environment, ratio, seconds_of, times

__all__ = ["LIBRARIES", "costs", "start_ratios"]

CONFIG = Path(__file__).parents[1] / "configs" / "self_attention.yaml"
ATTN = [sys.executable, "-m", "attncli"]
COMPUTE = [*ATTN, "compute", str(CONFIG)]
LIBRARIES = "import numpy, yaml, rich.console, rich.table, typer"
"""What a table of attn's is held against."""

_LINE = re.compile(r"import time:\s*(\d+) \|\s*\d+ \| *(\S+)")


def costs(command: list[str]) -> dict[str, list[int]]:
    """Add up what a Python process imports: microseconds of each module's own, by top-level package.

    Args:
        command: The process; the standard library counts as one package, called Python.
    """
    command = [command[0], "-X", "importtime", *command[1:]]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_environment()).stderr
    found: dict[str, list[int]] = defaultdict(list)
    for own, name in _LINE.findall(told):
        package = name.partition(".")[0]
        found["Python" if package in sys.stdlib_module_names else package].append(int(own))
    return found


def report(runs: int = RUNS) -> str:
    """Say what each package costs in milliseconds, the median of some runs, and how many modules it loads."""
    every = [costs(COMPUTE) for _ in range(runs)]
    medians = {name: statistics.median(sum(each[name]) for each in every) for name in every[0]}
    lines = [
        f"{median / 1000:8.1f} ms  {len(every[0][name]):4} modules  {name}"
        for name, median in sorted(medians.items(), key=lambda item: -item[1])
        if median >= 1000  # noqa: PLR2004  (microseconds)
    ]
    return "\n".join(lines)


def start_ratios(runs: int = RUNS) -> dict[str, float]:
    """Hold whole processes against Python with the libraries alone."""
    taken = times(
        {
            "libraries": seconds_of([sys.executable, "-c", LIBRARIES]),
            "attn --version": seconds_of([*ATTN, "--version"]),
            "attn compute --help": seconds_of([*ATTN, "compute", "--help"]),
            "attn compute configs/self_attention.yaml": seconds_of(COMPUTE),
        },
        runs,
    )
    return {name: ratio(each, taken["libraries"]) for name, each in taken.items()}


if __name__ == "__main__":
    print(report())
    for name, value in start_ratios(15).items():
        print(f"{value:6.2f} × libraries  {name}")
