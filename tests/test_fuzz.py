"""Nothing wrong in silence: whatever the file, there is a right result or one clear message.

The short run is part of the tests; ``pytest -m fuzz`` runs on, ATTN_FUZZ inputs of each kind.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attncli.keys import Kind, keys
from attncli.problem import Mask, Problem, Variant
from attncli.render import FORMATS
from attncli.trace import STAGES

from .problem_files import KEYS, VALUES, Written, finite, labels, mangled, nearly_valid, spelled, valid
from .streams import Called, call

Draw: TypeAlias = Callable[..., Any]

COUNTED: Counter[str] = Counter()
DEFAULTS = Problem()
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
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2029\u2066-\u2069]")


@contextmanager
def folder_of(written: Written) -> Iterator[Path]:
    """Put a problem into a folder of its own, which is the working directory for as long."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in {**written.beside, written.name: written.data}.items():
            (folder / file).write_bytes(data)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


OPTIONS = st.sampled_from(
    [["--causal"], ["--no-scale"], ["--heads", "2"], ["--heads", "-1"], ["--detail"], ["--full"], ["-q"], ["--json"]]
    + [["--head", "0"], ["--head", "1"], ["--batch", "0"], ["--precision", "3"], ["--width", "30"], ["--width", "1"]]
    + [["--color", "always"], ["--backend", "numpy"], ["--stages", "weights"], ["--stages", "Q_rot,output"], ["--stages", ""]]
    + [["--dtype", name] for name in ("float64", "float32", "float16", "bfloat16")]
    + [["--format", name] for name in FORMATS]
    + [["-o", name] for name in ("r.json", "r.npz", "r.txt", "r.jsonl", "r", "no/r.json", "p.yaml", "X.npy", "-", ".")]
    + [["--set", text] for text in ("temperature=2", "mask.causal=true", "mask=[[1,", "X=[[1]]", "W_K=*W", "=", "scale=1e999")]
)  # fmt: skip


@st.composite
def settings_of_keys(draw: Draw) -> list[str]:
    """Draw ``--set`` of any key, to a value of its kind."""
    key = KEYS[draw(st.sampled_from(list(KEYS)))]
    value = draw(VALUES[key.kind](key))
    return ["--set", f"{key.name}={json.dumps(_plain(value))}"]


command_lines = st.lists(OPTIONS | OPTIONS | settings_of_keys(), max_size=3).map(
    lambda parts: [word for part in parts for word in part]
)


def strict(text: bytes) -> Any:
    """Read JSON, refusing what the standard does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def hold_message(done: Called) -> None:
    """A refusal is one message, clean, on standard error alone."""
    said = done.err.decode("utf-8")
    assert done.out == b""
    assert said.startswith("error: ")
    assert len(re.findall(r"^error:", said, re.MULTILINE)) == 1
    assert not re.search(r"Traceback|internal error|Exception ignored", said), said
    assert not CONTROLS.search(said), said
    assert len(said) < 5000, said


def hold(written: Written, options: Sequence[str], *, stdin: bool = False) -> Called:
    """Run a command line on a file and hold what is true of every run."""
    with folder_of(written) as folder:
        if stdin:  # then the file is no input, and may be written to
            (folder / written.name).unlink(missing_ok=True)
        before = {path.name for path in folder.iterdir()}
        arguments = ["compute", "-" if stdin else written.name, *options]
        done = call(arguments, written.data if stdin else b"")
        COUNTED[f"exit {done.status}"] += 1
        assert done.status in {0, 2, 3}, done
        if done.status:
            hold_message(done)
            assert {path.name for path in folder.iterdir()} == before
            assert all((folder / name).read_bytes() == data for name, data in written.beside.items())
            return done
        said = done.err.decode("utf-8")
        assert all(line.startswith(("note: ", "      ")) for line in said.splitlines()), said
        assert not CONTROLS.search(said), said
        files = {path for path in folder.iterdir() if path.name not in before}
        assert bool(done.out) != bool(files)
        if done.out.startswith(b"{"):
            assert json_again(done.out) == done.out
            hold_shown(done.out)
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


def hold_shown(out: bytes) -> None:
    """What was printed comes back as it is, from JSON and from arrays."""
    if strict(out)["stages"]:
        Path("kept.jsonl").write_bytes(out)
        assert call(["show", "kept.jsonl", "-q", "-o", "kept.npz"]).status == 0
        for name in ("kept.jsonl", "kept.npz"):
            shown = call(["show", name, "--format", "jsonl"])
            assert (shown.status, shown.out) == (0, out), shown


def hold_echo(tree: dict[str, Any], document: dict[str, Any]) -> None:
    """Every key that was written is in the result, with the value that it was given."""
    for name, value in tree.items():
        if name in {"schema", "stages", "meta"}:
            continue
        want, default = _echo(name, value), _plain(getattr(DEFAULTS, name))
        assert _same(document.get(name, default), want), (name, document.get(name, default), want)


def _echo(name: str, value: Any) -> Any:
    """Spell a drawn value as a result does."""
    kind = KEYS[name].kind
    if kind is Kind.MASK and not isinstance(value, dict):
        return {"causal": True} if isinstance(value, str) else {"keep": _plain(value)}
    if kind is Kind.ANYTHING:
        return _plain(value)
    if isinstance(value, str) and value in KEYS[name].records:
        return {value: {}}
    return _plain(value)


def _plain(value: Any) -> Any:
    """Spell arrays, records and what is not finite as JSON has them."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Variant):
        return {value.name: _plain(value.value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _same(got: Any, want: Any) -> bool:
    """Tell whether two values say the same; a record may leave out what is its default."""
    if isinstance(got, dict) and isinstance(want, dict):
        needed = {key for key in want if not _is_default(key, want[key])}
        return needed <= got.keys() <= want.keys() and all(_same(got[key], want[key]) for key in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(_same, got, want))
    return bool(_number(got) == _number(want))


def _number(value: Any) -> Any:
    """Return the number that a value is, or its text: YAML has no other than these in notes."""
    try:
        return str(value).lower() if isinstance(value, bool) else repr(float(value) + 0.0)
    except (TypeError, ValueError):
        return "null" if value is None else value


def _is_default(name: str, value: Any) -> bool:
    declared = [
        key.default
        for declaration in (Mask, *(each for key in KEYS.values() for each in key.records.values()))
        if isinstance(declaration, type)
        for key in keys(declaration)
        if key.name == name
    ]
    return any(str(value).lower() == default or _number(value) == _number(default) for default in declared)


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
    done = hold(data.draw(spelled(tree)), ["--json"])
    assert done.status == 0, done
    document = strict(done.out)
    hold_echo(tree, document)
    weights, output = evaluate(tree)
    np.testing.assert_allclose(document["stages"]["weights"], weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(document["stages"]["output"], output, rtol=1e-9, atol=1e-12)


def check_valid(written: Written) -> None:
    """Whatever keys are accepted together come back as they were given, and do what they are for."""
    done = hold(written, ["--json"])
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
    with folder_of(Written("none", b"", None)) as folder:
        done = call(["random", *sizes, *options])
        COUNTED[f"exit {done.status}"] += 1
        assert done.status in {0, 2, 3}, done
        if done.status:
            hold_message(done)
            assert len(list(folder.iterdir())) == 1
        elif done.out.startswith(b"{"):
            assert json_again(done.out) == done.out


def check_any(written: Written, options: list[str], stdin: bool) -> None:
    """Any bytes and any options give a result, or one message."""
    hold(written, options, stdin=stdin)


def check_width(written: Written, columns: str) -> None:
    """What goes into a pipe depends on no terminal, acts on none, and is the same each time."""
    with folder_of(written), pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        for name in (name for name, each in FORMATS.items() if not each.binary):
            shown = call(["compute", written.name, "--format", name]).out.decode()
            assert not CONTROLS.search(shown.replace("\t", "") if name == "tsv" else shown), shown
        free = call(["compute", written.name, "--full"])
        patch.setenv("COLUMNS", columns)
        assert call(["compute", written.name, "--full"]) == free
    cut = re.search(r"…(?! \d)", free.out.decode())  # not that of a range of numbers
    assert not cut or "…".encode() in written.data, free.out.decode()


@st.composite
def drawn_sizes(draw: Draw) -> list[str]:
    """Draw the sizes of a problem that is drawn itself."""
    sizes = ["--seed", "1"]
    for name in ("seq", "dim", "heads", "kv-heads", "head-dim", "batch", "context-seq"):
        if name in {"seq", "dim"} or draw(st.booleans()):
            sizes += [f"--{name}", str(draw(st.integers(1, 4)))]
    return sizes


CHECKS = {
    "plain": given(plain_problems(), st.data())(check_plain),
    "valid": given(valid())(check_valid),
    "any": given(valid() | nearly_valid() | mangled(), command_lines, st.booleans())(check_any),
    "random": given(drawn_sizes(), command_lines)(check_random),
    "width": given(valid(), st.sampled_from(["0", "1", "abc", "20", "300"]))(check_width),
}


def search(name: str, examples: int) -> None:
    """Run a check on so many inputs."""
    settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))(CHECKS[name])()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "ATTN_DEBUG"):
        monkeypatch.delenv(name, raising=False)


def test_every_kind_of_value_is_drawn() -> None:
    """A new kind of key takes part in the search."""
    assert set(VALUES) == set(Kind)
    assert STAGES


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_wrong_in_silence(name: str) -> None:
    """A short search finds no crash, no wrong number, no lost key and no unclear message."""
    search(name, 60)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", CHECKS)
def test_nothing_wrong_in_a_long_search(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for as long as one likes, and how many inputs that were."""
    COUNTED.clear()
    search(name, int(os.environ.get("ATTN_FUZZ", "20000")))
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {COUNTED.total():,} runs, {dict(COUNTED)}\n")
