"""Reading and writing: ``python -m bench.exchange`` prints ratios and the memory that mapping takes."""

from __future__ import annotations

import json
import tracemalloc
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from attncli.readers import load
from attncli.render.json_text import json_text
from attncli.resolve import resolve
from bench.pairs import RUNS, ratio, times

__all__ = ["mapped", "reading_ratios", "writing_ratios"]


def reading_ratios(runs: int = RUNS) -> dict[str, float]:
    """Read a million numbers as JSON and three hundred thousand as YAML, beside who else does."""
    array = np.random.default_rng(0).standard_normal((1000, 1000))
    with TemporaryDirectory() as folder:
        as_json, as_yaml = Path(folder, "p.json"), Path(folder, "p.yaml")
        as_json.write_text(json.dumps({"scores": array.tolist()}), "utf-8")
        as_yaml.write_text(f"scores: {array[:300].tolist()}\n", "utf-8")
        taken = times(
            {
                "attn, JSON": lambda: load(str(as_json)),
                "json.loads and np.asarray": lambda: np.asarray(
                    json.loads(as_json.read_text("utf-8"))["scores"]
                ),
                "attn, YAML": lambda: load(str(as_yaml)),
                "yaml.load with CSafeLoader": lambda: yaml.load(as_yaml.read_text("utf-8"), yaml.CSafeLoader),
            },
            runs,
        )
    pairs = ("attn, JSON", "json.loads and np.asarray"), ("attn, YAML", "yaml.load with CSafeLoader")
    return {theirs: ratio(taken[ours], taken[theirs]) for ours, theirs in pairs}


def writing_ratios(runs: int = RUNS) -> dict[str, float]:
    """Write a million numbers as JSON, and hold that against json.dumps of a list."""
    array = np.random.default_rng(0).standard_normal((1000, 1000))
    ways: dict[str, Any] = {
        "attn": lambda: sum(map(len, json_text(array))),
        "json.dumps(list)": lambda: len(json.dumps(array.tolist())),
    }
    if find_spec("orjson"):
        import orjson  # noqa: PLC0415

        ways["orjson, row by row"] = lambda: sum(len(orjson.dumps(row.tolist())) for row in array)
    taken = times(ways, runs)
    return {name: ratio(taken["attn"], each) for name, each in taken.items() if name != "attn"}


def mapped(tokens: int = 65536) -> tuple[float, float]:
    """Read and resolve a problem of three .npy files; return their MiB, and the MiB that Python took."""
    with TemporaryDirectory() as folder:
        x = np.zeros((tokens, 128), dtype=np.float32)
        for name in "QKV":
            np.save(Path(folder, f"{name}.npy"), x)
        Path(folder, "p.yaml").write_text("Q: Q.npy\nK: K.npy\nV: V.npy\ndtype: float32\n", "utf-8")
        tracemalloc.start()
        resolve(load(str(Path(folder, "p.yaml")))[0])
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return 3 * x.nbytes / 2**20, taken / 2**20


if __name__ == "__main__":
    for name, value in {**reading_ratios(), **writing_ratios()}.items():
        print(f"{value:6.2f} × {name}")
    print("{:.0f} MiB in files, {:.1f} MiB taken".format(*mapped()))
