"""Measure everything and write docs/performance.md: ``python -m bench.run``.

A quiet machine is worth more than many runs: everything is measured in turn and given as ratios,
but what else runs there takes cache and processors from some more than from others.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.attention import PRODUCTS
from bench.exchange import mapped, reading_ratios, writing_ratios
from bench.pairs import RUNS, clean_environment, machine
from bench.startup import start_ratios

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
SIZES = (512, 2048, 4096, 8192)
GROWTH = (4096, 8192, 16384, 32768, 65536, 131072)
WHOLE = 8192
"""Tokens up to which every stage of one head is kept."""

HEAD = """# Performance

Made by `python -m bench.run` on {date}; run it again to measure another machine.
{machine}.
`OPENBLAS_CORETYPE` and `OPENBLAS_L2_SIZE` were unset. Runs took turns, {runs} of each after one that
warmed up; times are medians, ratios are medians of the ratios run by run. Load when it began: {load}. A load above the number of
processors means that others were at work, and that the numbers are noisy.

"""


def attention(tokens: int, *more: str, **environment: str) -> dict[str, Any]:
    """Measure one size in a process of its own, with more in its environment."""
    command = [sys.executable, "-m", "bench.attention", str(tokens), *more]
    env = clean_environment() | environment
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env)
    return dict(json.loads(done.stdout))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lay out a Markdown table."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def beside_others(sizes: tuple[int, ...], runs: int) -> str:
    """Compare everybody at every size, in float32 and at one in float64, and with other kernels."""
    often = "--runs", str(runs)
    float32 = {f"{size} tokens": attention(size, *often) for size in sizes}
    float64 = {"2048 tokens": attention(2048, *often, "--dtype", "float64")}
    only = [word for name in ("attn", PRODUCTS, "torch SDPA") for word in ("--only", name)]
    other = attention(4096, *often, *only, OPENBLAS_CORETYPE="Haswell")["contenders"]
    return (
        "## Beside others\n\nIn brackets: times the first that is there of torch's SDPA and attn.\n"
        "attn keeps the output alone, unless it says every stage. Who holds all scores at once is left out\n"
        "where they get large. The products of the tiles alone, as NumPy's BLAS makes them, are what no way\n"
        "through tiles can do without.\n\n"
        + _compared("8 heads of 64, float32", float32)
        + "\n"
        + _compared("8 heads of 64, float64", float64)
        + "\nWith `OPENBLAS_CORETYPE=Haswell`, attn takes "
        f"{other['attn']['ratio']:.2f} × the time of the first that is there, and the products alone "
        f"{other[PRODUCTS]['ratio']:.2f} ×, at 4096 tokens in float32.\n"
    )


def _compared(corner: str, found: dict[str, dict[str, Any]]) -> str:
    """Lay out who took how long; contenders in the order of the smallest size, where all take part."""

    def cell(column: str, name: str) -> str:
        each = found[column]["contenders"].get(name)
        return f"{each['seconds'] * 1000:,.0f} ms ({each['ratio']:.2f})" if each else "–"

    names = next(iter(found.values()))["contenders"]
    return table([corner, *found], [[name, *(cell(column, name) for column in found)] for name in names])


def growth(sizes: tuple[int, ...]) -> str:
    """Show how time and memory grow for one head, tile by tile and whole."""
    rows = []
    for size in sizes:
        row = [f"{size:,}"]
        for name in ("attn", "attn, every stage"):
            if name != "attn" and size > WHOLE:
                row += ["–", "–"]
                continue
            found = attention(size, "--heads", "1", "--only", name, "--runs", "1", "--cold")
            row += [f"{found['contenders'][name]['seconds']:.2f} s", f"{found['mib']:,.0f} MiB"]
        rows.append(row)
    head = ["tokens", "streamed: time", "memory", "every stage: time", "memory"]
    return (
        "## How it grows\n\nOne head of 64, float32; memory is the most that was held on top of the inputs.\n\n"
        + table(head, rows)
    )


def around(runs: int) -> str:
    """Measure starting, reading and writing."""
    starts = [[name, f"{value:.2f}"] for name, value in start_ratios(runs).items()]
    reading = [[f"reading, to {name}", f"{value:.2f}"] for name, value in reading_ratios(runs).items()]
    writing = [[f"writing JSON, to {name}", f"{value:.2f}"] for name, value in writing_ratios(runs).items()]
    files, taken = mapped()
    return (
        "## Starting, reading, writing\n\n"
        "Starting is held against Python with NumPy, PyYAML, Rich and Typer imported. orjson writes JSON for attn\n"
        "where it is installed, as it was here.\n\n"
        + table(["", "ratio"], starts + reading + writing)
        + f"\nReading {files:.0f} MiB of .npy files takes {taken:.1f} MiB: they are mapped, not copied.\n"
    )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="counted runs of each")
    parser.add_argument("--most", type=int, default=GROWTH[-1], help="no more tokens than this")
    given = parser.parse_args()
    head = HEAD.format(
        date=dt.datetime.now(tz=dt.UTC).date(),
        machine=machine(),
        runs=given.runs,
        load=f"{os.getloadavg()[0]:.1f}",
    )
    parts = [
        beside_others(tuple(size for size in SIZES if size <= given.most), given.runs),
        growth(tuple(size for size in GROWTH if size <= given.most)),
        around(given.runs),
    ]
    PAGE.write_text(head + "\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
