"""Problems are computed rightly, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import strategies as st

from attncli.keys import Kind
from attncli.render import FORMATS
from attncli.render.ink import cells
from attncli.text import visible
from tests.fuzz.echo import hold_echo
from tests.fuzz.options import OLD, mostly
from tests.fuzz.promises import folder_of, hold, strict
from tests.problem_files import KEYS, VALUES, Written, finite, labels, spelled
from tests.streams import Called, call

__all__ = [
    "check_any",
    "check_plain",
    "check_random",
    "check_several",
    "check_valid",
    "check_width",
    "plain_problems",
]

_NAME = 24  # cells that the name of a column takes in a pipe

Draw: TypeAlias = Callable[..., Any]

ACTS = {
    "softcap": {"softcapped"},
    "bias": {"biased"},
    "rope": {"Q_rot"},
    "qk_norm": {"Q_norm"},
    "position_encoding": {"X_pos"},
    "dropout": {"dropped"},
    "past": {"K_all", "V_all"},
    "W_O": {"output"},
    "b_O": {"output"},
    "scores": {"scaled"},
    "V": {"output", "head_output"},
    "context": {"K"},
}
"""Keys that are for a stage of their own, and the stage."""


def run(written: Written, options: Sequence[str], *, stdin: bool = False) -> Called:
    """Compute a file in a folder of its own; what is printed as JSON comes to the same once more."""
    files = {**OLD, **written.beside} | ({} if stdin else {written.name: written.data})
    with folder_of(files):
        name, given = ("-", written.data) if stdin else (written.name, b"")
        done = hold(["compute", name, *options], given, spared=written.beside)
        if done.status == 0 and done.out.startswith(b"{"):
            assert json_again(done.out) == done.out
    return done


def json_again(out: bytes) -> bytes:
    """Compute a result again from what was printed, with the same stages; only its file is another."""
    stages, meta = (strict(out)[key] for key in ("stages", "meta"))
    Path("again.jsonl").write_bytes(out)
    options = ["--detail"] if b'"exp":' in out else []
    options += ["--stages", ",".join(stages)] if stages else []
    again = call(["compute", "again.jsonl", "--format", "jsonl", *options])
    assert again.status == 0, again
    return again.out.replace(b'"file":"again.jsonl"', f'"file":"{meta["file"]}"'.encode())


@st.composite
def plain_problems(draw: Draw) -> dict[str, Any]:
    """Draw tokens, weights, mask and scale of any size, which must all fit."""
    seq, dim, width, out = (draw(st.integers(1, 3)) for _ in range(4))

    def matrix(rows: int, columns: int, cells: Any = finite) -> np.ndarray:
        return np.array([[draw(cells) for _ in range(columns)] for _ in range(rows)])

    tree: dict[str, Any] = {"X": matrix(seq, dim)}
    if draw(st.booleans()):
        tree |= {"W_Q": matrix(dim, width), "W_K": matrix(dim, width), "W_V": matrix(dim, out)}
    if draw(st.booleans()):
        tree["mask"] = {"keep": matrix(seq, seq, st.booleans())}
    if draw(st.booleans()):
        tree["tokens"] = draw(st.lists(labels, min_size=seq, max_size=seq))
    more = {"scale": st.floats(-2, 2), "temperature": st.floats(0.25, 4), "name": labels, "notes": VALUES[Kind.ANYTHING](KEYS["notes"])}  # fmt: skip
    return tree | {key: draw(some) for key, some in more.items() if draw(st.booleans())}


def evaluate(tree: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Compute weights and output as a textbook does, one row at a time."""
    x = tree["X"]
    q, k, v = (x @ tree[name] if name in tree else x for name in ("W_Q", "W_K", "W_V"))
    keep = tree.get("mask", {}).get("keep", np.ones((len(x), len(x)), bool))
    weights = np.zeros((len(x), len(x)))
    for i, j in np.argwhere(keep):
        weights[i, j] = q[i] @ k[j] * tree.get("scale", k.shape[1] ** -0.5) / tree.get("temperature", 1)
    for row, seen in zip(weights, keep, strict=True):
        row[seen] = np.exp(row[seen] - max(row[seen], default=0))
        row[seen] /= row.sum()
    return weights, weights @ v


def check_plain(tree: dict[str, Any], data: Any) -> None:
    """A plain problem gives what the textbook gives, and carries every key."""
    done = run(data.draw(spelled(tree)), ["--json"])
    assert done.status == 0, done
    document = strict(done.out)
    hold_echo(tree, document)
    weights, output = evaluate(tree)
    np.testing.assert_allclose(document["stages"]["weights"], weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(document["stages"]["output"], output, rtol=1e-9, atol=1e-12)


def check_valid(written: Written) -> None:
    """Whatever keys are accepted together come back as they were given, and do what they are for."""
    done = run(written, ["--json"])
    if done.status == 0 and written.tree is not None:
        document = strict(done.out)
        hold_echo(written.tree, document)
        missing = [
            key
            for key in written.tree
            if not ACTS.get(key, set()) & document["stages"].keys() and key in ACTS
        ]
        assert not missing, (missing, written)


def check_random(sizes: list[str], options: list[str]) -> None:
    """What is drawn is computed with any options, or refused in one message."""
    with folder_of(OLD):
        done = hold(["random", *sizes, *options])
        if done.status == 0 and done.out.startswith(b"{"):
            assert json_again(done.out) == done.out


def check_any(written: Written, options: list[str], stdin: bool) -> None:
    """Any bytes and any options give a result, or one message."""
    run(written, options, stdin=stdin)


def check_several(one: Written, other: Written, options: list[str], data: Any) -> None:
    """Any files, some of them twice or not there, give their results, or one message."""
    with folder_of({**OLD, **other.beside, other.name: other.data, **one.beside, one.name: one.data}):
        names = mostly(
            st.sampled_from([one.name, other.name]), st.sampled_from(["-", "gone.json", "sub"]), of=9
        )
        chosen = data.draw(st.lists(names, min_size=2, max_size=3))
        hold([data.draw(st.sampled_from(["compute", "compute", "show"])), *chosen, *options], one.data)


def check_width(written: Written, columns: str) -> None:
    """What goes into a pipe depends on no terminal, acts on none, and is the same each time."""
    files = {**written.beside, written.name: written.data}
    with folder_of(files), pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        for name in (name for name, each in FORMATS.items() if not each.binary):
            hold(["compute", written.name, "--format", name])
        free = call(["compute", written.name, "--full"])
        patch.setenv("COLUMNS", columns)
        assert call(["compute", written.name, "--full"]) == free
    # A range of numbers is no cut; a name is cut that is longer, as it is shown, than a column may be.
    cut = re.search(r"…(?! \d)", free.out.decode())
    named = any("…" in text or cells(visible(text)) > _NAME for text in _texts(written.tree))
    assert not cut or named, free.out.decode()


def _texts(tree: Any) -> Iterator[str]:
    """Yield every text in a tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list | tuple):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(each)
