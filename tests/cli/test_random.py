"""Drawn problems: the same for the same seed, and problem files like any other."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from .conftest import Attn

SMALL = ("random", "--seq", "3", "--dim", "4")


def test_a_drawn_problem_computes_to_the_same(attn: Attn, folder: Path) -> None:
    """The JSON of a drawn problem, computed as a file, gives the same bytes."""
    options = ("--heads", "4", "--kv-heads", "2", "--head-dim", "3", "--batch", "2", "--context-seq", "5")
    drawn = attn(*SMALL, *options, "--json", "--set", "mask.lengths=[3, 5]")
    assert drawn.status == 0, drawn.err
    (folder / "drawn.json").write_text(drawn.out)
    again = attn("compute", "drawn.json", "--json").out
    assert again == drawn.out.replace('"file":"<random>"', '"file":"drawn.json"')
    shapes = {
        name: np.shape(array) for name, array in json.loads(drawn.out).items() if name in {"X", "context"}
    }
    assert shapes == {"X": (2, 3, 4), "context": (2, 5, 4)}


def test_the_seed_is_told_and_repeats(attn: Attn) -> None:
    """Without a seed one is chosen and told; with it, the same matrices come again, on any backend."""
    first = attn(*SMALL, "--json")
    seed = first.err.split("--seed ")[1].split()[0]
    again = attn(*SMALL, "--json", "--seed", seed, "--backend", "torch", "--dtype", "float32")
    keys = ("X", "W_Q", "W_K", "W_V")
    one, two = json.loads(first.out), json.loads(again.out)
    assert [one[key] for key in keys] == [two[key] for key in keys]
    assert attn(*SMALL, "--json").out != first.out


def test_ranges(attn: Attn) -> None:
    """X is uniform in [0, 1) or normal, and weights lie in ±1/√dim."""
    large = ("random", "--seq", "50", "--dim", "40", "--seed", "0", "--json", "--stages", "output")
    uniform = json.loads(attn(*large).out)
    assert 0 <= np.min(uniform["X"]) < 0.01
    assert 0.99 < np.max(uniform["X"]) < 1
    assert 0.99 / math.sqrt(40) < np.max(np.abs(uniform["W_Q"])) < 1 / math.sqrt(40)
    normal = json.loads(attn(*large, "--distribution", "normal").out)
    assert np.min(normal["X"]) < -2
    assert np.std(normal["X"]) == pytest.approx(1, abs=0.05)


def test_options_are_settings(attn: Attn) -> None:
    """Short options set keys of the problem file, and add to what --set says."""
    options = ("--causal", "--no-scale", "--dtype", "float32", "--seed", "1", "--json")
    document = json.loads(attn(*SMALL, *options, "--set", "mask={window: {left: 1}}").out)
    assert document["mask"] == {"causal": True, "window": {"left": 1}}
    assert (document["scale"], document["meta"]["scale"], document["dtype"]) == ("none", 1.0, "float32")


def test_npz_holds_inputs_and_stages(attn: Attn, folder: Path) -> None:
    """An .npz has every array by name, the same bytes each time, and is read without pickle."""
    for name in ("one.npz", "two.npz"):
        attn(*SMALL, "--seed", "1", "-o", name)
    assert (folder / "one.npz").read_bytes() == (folder / "two.npz").read_bytes()
    document = json.loads(attn(*SMALL, "--seed", "1", "--json").out)
    details = (f"details.{name}" for name in document["meta"]["details"])
    with np.load("one.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"X", "W_Q", "W_K", "W_V", *document["stages"], *details, "attn.json"}
        np.testing.assert_array_equal(arrays["output"], document["stages"]["output"])
    with zipfile.ZipFile("one.npz") as archive:
        assert archive.testzip() is None
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_several_files_in_order(attn: Attn, folder: Path) -> None:
    """Several problems give tables with a blank line between them, and JSON on one line each."""
    attn(*SMALL, "--seed", "1", "-o", "other.json")
    one, other = attn("compute", "cat.yaml").out, attn("compute", "other.json").out
    assert attn("compute", "cat.yaml", "other.json").out == f"{one}\n{other}"
    lines = attn("compute", "cat.yaml", "other.json", "--json").out
    assert lines == attn("compute", "cat.yaml", "--json").out + (folder / "other.json").read_text()
    attn("compute", "cat.yaml", "other.json", "-o", "both.jsonl")
    assert (folder / "both.jsonl").read_text() == lines
