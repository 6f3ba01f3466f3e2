"""Measuring in turn: A B C, A B C, …, so that a machine that slows down slows all of them."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RUNS", "clean_environment", "machine", "ratio", "seconds_of", "times"]

RUNS = 7
"""Counted runs of each, after one that warms up."""


def times(
    contenders: Mapping[str, Callable[[], object]], runs: int = RUNS, *, pause: float = 0, warm: bool = True
) -> dict[str, list[float]]:
    """Run contenders in turn, with a pause of some seconds before each; return what each run took."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(0 if warm else 1, runs + 1):
        for name, run in contenders.items():
            time.sleep(pause)
            start = time.perf_counter()
            run()
            if number:
                taken[name].append(time.perf_counter() - start)
    return taken


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median of the ratios, run by run."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def seconds_of(command: list[str]) -> Callable[[], object]:
    """Return what runs a command, as a whole process, its output thrown away."""
    return lambda: subprocess.run(command, check=True, capture_output=True, env=clean_environment())


def clean_environment() -> dict[str, str]:
    """Return the environment without what would choose kernels by hand, or keep bytecode from being kept."""
    chosen = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in chosen}


def machine() -> str:
    """Describe the machine, the libraries and the kernel that the products use."""
    import numpy as np  # noqa: PLC0415
    import threadpoolctl  # noqa: PLC0415

    blas: dict[str, Any] = next(
        (each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"), {}
    )
    kernel = f"{blas.get('internal_api')} {blas.get('version')} {blas.get('architecture')}"
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} processors, Python {sys.version.split()[0]}, "
        f"NumPy {np.__version__} with {kernel}, {blas.get('num_threads')} threads"
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if sys.platform == "linux" else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
