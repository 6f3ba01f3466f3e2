"""What would not fit in memory is refused before it is taken."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from attncli import memory, plan
from attncli.core.attention import ORDER
from attncli.core.inputs import Inputs
from attncli.errors import UnavailableError
from attncli.plan import PASSING, PASSING_IN_PIECES, Plan, make_plan
from attncli.problem import Dropout, Problem
from attncli.readers import load
from attncli.resolve import resolve
from attncli.trace import Value

from .conftest import Attn, Shell


def test_a_long_sequence_is_refused_at_once(sh: Shell) -> None:
    """30,000 tokens under ulimit -v end with exit status 3, the size, the limit, and what would fit."""
    done = sh(
        'python3 -c \'import sys; print("X:"); sys.stdout.write("- [0, 1]\\n" * 30000)\' > long.yaml;'
        "ulimit -v 4000000; attn compute long.yaml --json -o long.json; echo $?; ls *.json 2>/dev/null"
    )
    err = done.stderr.decode()
    assert done.stdout == b"3\n"
    assert re.match(r"error: this needs 26\.8 GiB of memory, and 3\.\d GiB is left \(ulimit -v\)\n", err)
    assert re.search(r"fix: a sequence of at most 1[01]000 tokens, or --stages output", err)


def test_too_much_to_draw_is_refused(attn: Attn) -> None:
    """`random` measures its matrices before it draws them."""
    done = attn("random", "--seq", "10000000", "--dim", "10000000")
    assert done.status == 3
    assert "GiB" in done.err


def limit(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """Leave so many bytes."""
    for room in (memory, plan):
        monkeypatch.setattr(room, "available", lambda: (left, "a test"))


def made(inputs: Inputs, dtype: str, *, large_details: bool = False, pieces: bool = True) -> Plan:
    """Plan a problem of which every stage is kept."""
    precision = dict.fromkeys(ORDER, dtype)
    return make_plan(inputs, precision, None, large_details=large_details, pieces=pieces)


@pytest.mark.parametrize(
    ("problem", "arrays"),
    [
        ("X: [[1], [2], [3]]", 3),
        ("X: [[1], [2], [3]]\nmask: causal", 4),
        ("scores: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]\nd_k: 1", 2),
        ("scaled: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]", 1),
        ("masked: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]", 1),
    ],
)
def test_stages_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch, problem: str, arrays: int) -> None:
    """Counted is each stage with a number for each pair of query and key, and those on the way."""
    (folder / "counted.yaml").write_text(problem)
    inputs = resolve(load("counted.yaml")[0]).inputs
    for dtype, size in (("float64", 8), ("float32", 4), ("float16", 4)):
        for pieces, passing in ((True, PASSING_IN_PIECES), (False, PASSING)):
            need = (arrays + passing) * 9 * size
            limit(monkeypatch, need)
            made(inputs, dtype, pieces=pieces).require()
            limit(monkeypatch, need - 1)
            with pytest.raises(UnavailableError, match="left"):
                made(inputs, dtype, pieces=pieces).require()


def test_a_draw_is_counted_where_it_is_made_at_once() -> None:
    """Dropout's truths take a byte for each pair, except on NumPy, which draws them as it goes, and in tiles."""
    x = np.zeros((6, 2))
    dropping = resolve(Problem(X=x, dropout=Dropout(p=0.5, seed=1))).inputs
    keeping = resolve(Problem(X=x, dropout=Dropout(p=0.5, keep=np.ones((6, 6))))).inputs
    for keep, pieces, more in ((None, False, 36), (None, True, 0), (("output",), False, 0)):
        needs = [
            make_plan(each, dict.fromkeys(ORDER, "float64"), keep, pieces=pieces).memory
            for each in (dropping, keeping)
        ]
        assert needs[0] - needs[1] == more


def test_batches_heads_and_details_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size grows with batch and heads; details add the exponentials and a number for each value."""
    q = Value(np.zeros((5, 4, 3, 2)), "Q")
    inputs = Inputs(q=q, k=q, v=q, batch=True, by_head=True, num_heads=4, num_kv_heads=4, seq_q=3, seq_k=3)
    need = (3 + PASSING_IN_PIECES + 1 + 2) * 5 * 4 * 9 * 8
    limit(monkeypatch, need)
    made(inputs, "float64", large_details=True).require()
    limit(monkeypatch, need - 1)
    with pytest.raises(UnavailableError, match="left") as caught:
        made(inputs, "float64", large_details=True).require()
    assert "--dtype float32" in caught.value.fix
    assert "--detail" in caught.value.fix


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("0::/a/b", ("memory.max", "memory.current", "a")),
        ("5:memory:/a/b", ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory/a")),
    ],
)
def test_control_groups_are_asked(tmp_path: Path, version: str, names: tuple[str, str, str]) -> None:
    """The tightest of the groups around the process counts, less what they use and cannot give back."""
    most, used, inside = names
    group = tmp_path / inside / "b"
    group.mkdir(parents=True)
    for folder, limit_text in (
        (group, "max" if most == "memory.max" else str(2**63)),
        (group.parent, "1000"),
    ):
        (folder / most).write_text(limit_text + "\n")
        (folder / used).write_text("700\n")
        (folder / "memory.stat").write_text("anon 500\ninactive_file 200\n")
    (tmp_path / "own").write_text(version + "\n")
    found = list(memory._control_group(tmp_path, tmp_path / "own"))
    assert min(found) == (500, "limit of the control group")


def test_what_weights_make_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tokens and wide weights need memory too: Q, K and V, and the outputs of the heads and after W_O."""
    (folder / "wide.yaml").write_text(
        "X: [[1], [2]]\ncontext: [[1]]\nW_Q: [[1, 2, 3]]\nW_K: [[1, 2, 3]]\nW_V: [[1, 2, 3, 4]]\n"
        f"W_O: {[[1] * 5] * 4}"
    )
    inputs = resolve(load("wide.yaml")[0]).inputs
    need = 8 * ((3 + PASSING_IN_PIECES) * 2 + 2 * 3 + 3 + 4 + 2 * 4 + 2 * 5)
    limit(monkeypatch, need)
    made(inputs, "float64").require()
    limit(monkeypatch, need - 1)
    with pytest.raises(UnavailableError, match=r"what the weights make of them takes 0\.0 GiB"):
        made(inputs, "float64").require()
