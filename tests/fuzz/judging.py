"""Printed numbers and results are held against the right ones: what is right passes, what is wrong does not."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from safetensors.numpy import save

from tests.fuzz.computing import plain_problems
from tests.fuzz.echo import plain
from tests.fuzz.options import OLD, mostly
from tests.fuzz.promises import folder_of, hold, strict
from tests.problem_files import KEYS, SIDE, VALUES, Written, finite, spelled, spoiled_bytes
from tests.streams import call

__all__ = ["check_diff", "check_files", "check_printed", "check_result", "expecting", "results"]

Draw: TypeAlias = Callable[..., Any]

STAGES_PRINTED = ("scores", "scaled", "weights", "output")
SIGNS = {"-": ["-", "−", "－"], ".": [".", "．"]}


def computed(tree: dict[str, Any], name: str = "p.json") -> dict[str, np.ndarray]:
    """Write a problem down and compute its stages."""
    Path(name).write_text(json.dumps(plain(tree)))
    done = call(["compute", name, "--json"])
    assert done.status == 0, done
    return {stage: np.asarray(numbers, dtype=float) for stage, numbers in strict(done.out)["stages"].items()}


def check_printed(tree: dict[str, Any], data: Any) -> None:
    """Rounded numbers are right however they are written; one that is further off is named."""
    with folder_of(OLD):
        stages = computed(tree)
        stage = data.draw(st.sampled_from([name for name in STAGES_PRINTED if name in stages]))
        decimals = data.draw(st.integers(1, 9))
        text = [[f"{number:.{decimals}f}" for number in row] for row in stages[stage].tolist()]
        at = data.draw(st.none() | st.tuples(*(st.integers(0, size - 1) for size in stages[stage].shape)))
        if at is not None:
            off = data.draw(st.sampled_from([-1, 1])) * data.draw(st.floats(3, 1e6)) * 10.0**-decimals
            text[at[0]][at[1]] = f"{stages[stage][at] + off:.{decimals}f}"
        written = [["".join(data.draw(st.sampled_from(SIGNS.get(c, [c]))) for c in cell) for cell in row] for row in text]  # fmt: skip
        Path("p.json").write_text(json.dumps(plain({**tree, "expected": {stage: written}})))
        done = hold(["check", "p.json", "--json"])
        found = strict(done.out)
        assert done.status == (at is not None), done
        if at is not None:
            assert (found["first_wrong"]["stage"], found["first_wrong"]["index"]) == (stage, list(at))
        options = data.draw(st.sampled_from([[], ["--full"], ["--width", "40"], ["-o", "r.txt"]]))
        assert hold(["check", "p.json", *options]).status == done.status


def dumped(arrays: dict[str, np.ndarray], suffix: str) -> bytes:
    """Write arrays as other programs do."""
    stream = io.BytesIO()
    if suffix == "npz":
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # names
    elif suffix == "npy":
        np.save(stream, next(iter(arrays.values())))
    elif suffix == "safetensors":
        return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    else:
        precision = next(iter(arrays.values())).dtype.name
        return json.dumps(plain({"stages": arrays, "meta": {"dtype": precision}})).encode()
    return stream.getvalue()


def check_result(tree: dict[str, Any], data: Any) -> None:
    """The stages of another program are right as far as their precision goes, and wrong beyond."""
    with folder_of(OLD):
        stages = computed(tree)
        names = data.draw(st.lists(st.sampled_from(list(stages)), min_size=1, max_size=3, unique=True))
        dtype = data.draw(st.sampled_from(["float64", "float32", "float16"]))
        arrays = {name: stages[name].astype(dtype) for name in names}
        wrong = data.draw(st.none() | st.sampled_from(names))
        if wrong:
            arrays[wrong].flat[data.draw(st.integers(0, stages[wrong].size - 1))] = 3e4
        suffix = data.draw(st.sampled_from(["npz", "safetensors", "json"]))
        Path(f"r.{suffix}").write_bytes(dumped(arrays, suffix))
        done = hold(["check", "p.json", f"r.{suffix}", "--json"])
        assert done.status == bool(wrong), done
        found = strict(done.out)
        assert [each["stage"] for each in found["stages"] if each["wrong"]] == [wrong] * bool(wrong), found
        for order in (["p.json", f"r.{suffix}"], [f"r.{suffix}", "p.json"]):
            assert hold(["diff", *order]).status == bool(wrong), order
        assert hold(["diff", f"r.{suffix}", f"r.{suffix}"]).status == 0


@st.composite
def results(draw: Draw) -> tuple[str, bytes]:
    """Draw a result, which may be damaged, and hardly ever fits."""
    numbers = st.sampled_from([0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e300])
    names = st.sampled_from(["weights", "output", "attn", "scores", "P", "a/b", "\x1b[2J", "喜"])
    shapes = mostly(st.just([SIDE, SIDE]), st.lists(st.integers(0, 2), max_size=4), of=3)
    dtypes = st.sampled_from(["float64", "float32", "float16", "int64", "bool"])
    arrays = {}
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        shape = draw(shapes)
        array = np.array([draw(numbers) for _ in range(math.prod(shape))]).reshape(shape)
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(draw(dtypes))
    suffix = draw(st.sampled_from(["npz", "npy", "safetensors", "json"]))
    data = dumped(arrays, suffix)
    return f"r.{suffix}", draw(mostly(st.just(data), spoiled_bytes(data), of=3))


@st.composite
def expecting(draw: Draw) -> Written:
    """Draw a plain problem with numbers that somebody printed, hardly ever the right ones."""
    tree = draw(plain_problems())
    size = len(tree["X"])
    odd: st.SearchStrategy[Any] = st.sampled_from(["50%", "x", None, "1e400", [1], {}, "٣"])
    printed = finite | st.sampled_from(["nan", "inf", "-inf", "−0.50", "1/3", "0.10", 1e-300, 10**30])
    numbers = mostly(printed, odd, of=60)
    row = st.lists(numbers, min_size=size, max_size=size)
    shapes = mostly(st.lists(row, min_size=size, max_size=size), row | numbers | st.just([]), of=8)
    parts = ["weights[0]", "weights[:,0]", "row_sum", "exp_sum", "weights[9]", "weights[0,0]", "Q", "zzz"]
    names = mostly(st.sampled_from(["weights", "scores", "exp", "percent"]), st.sampled_from(parts), of=5)
    tree["expected"] = draw(st.dictionaries(names, shapes, min_size=1, max_size=2))
    for key in ("expected_decimals", "expected_tolerance", "expected_in"):
        if not draw(st.integers(0, 9)):
            tree[key] = draw(VALUES[KEYS[key].kind](KEYS[key]))
    written: Written = draw(spelled(tree))
    return written


def check_files(
    one: Written, other: Written, result: tuple[str, bytes], options: list[str], data: Any
) -> None:
    """Any files, folders and results are checked, or refused in one message."""
    files = {**OLD, **one.beside, one.name: one.data, **_in("many", one), **_in("many", other)}
    with folder_of({**files, result[0]: result[1]}):
        names = [one.name, "many", ".", f"many/{other.name}", result[0], "-", "gone.yaml", ""]
        some = st.lists(st.sampled_from(names), min_size=1, max_size=3)
        chosen = data.draw(mostly(st.just([one.name]) | st.just([one.name, result[0]]), some, of=3))
        given = one.data if data.draw(st.booleans()) else b""
        hold(["check", *chosen, *options], given, spared=one.beside if one.name in chosen else ())


def _in(folder: str, written: Written) -> dict[str, bytes]:
    return {f"{folder}/{name}": each for name, each in {**written.beside, written.name: written.data}.items()}


def check_diff(
    one: Written, other: Written, result: tuple[str, bytes], options: list[str], data: Any
) -> None:
    """Any two files are compared, or refused in one message; nothing differs from itself."""
    files = {**OLD, **other.beside, **one.beside, one.name: one.data, **_in("many", other)}
    with folder_of({**files, result[0]: result[1]}):
        names = [one.name, f"many/{other.name}", result[0], "-", "many", ""]
        pairs = st.sampled_from([[one.name], [one.name, f"many/{other.name}"], [one.name, result[0]]])
        chosen = data.draw(mostly(pairs, st.lists(st.sampled_from(names), min_size=1, max_size=2), of=3))
        done = hold(["diff", *chosen, *options], one.data)
        if chosen == [one.name] and not options:
            assert done.status != 1
