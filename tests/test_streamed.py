"""When a problem goes tile by tile, what that takes, and how NumPy's threads do it."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.compute import compute
from attncli.core.attention import ORDER
from attncli.errors import UnavailableError
from attncli.plan import make_plan
from attncli.problem import Alibi, Dropout, Mask, Problem, Variant
from attncli.progress import Bar
from attncli.readers import load
from attncli.resolve import resolve
from tests.cli.conftest import Attn, Shell, attn, folder, sh  # noqa: F401  (fixtures)


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


QKV: dict[str, Any] = {"Q": draw(2, 4, 300, 16), "K": draw(2, 2, 600, 16), "V": draw(2, 2, 600, 16)}
CAUSAL = Mask(causal=True, align="bottom_right")
PLAIN: dict[str, dict[str, Any]] = {
    "all": {},
    "causal": {"mask": CAUSAL},
    "top left": {"mask": Mask(causal=True, align="top_left")},
    "window": {"mask": Mask(sliding_window=40, causal=True, keep_first=3, align="bottom_right")},
    "lengths": {"mask": Mask(causal=True, lengths=(600, 400), align="bottom_right")},
    "sharp": {"scale": 3.0},
    "softcap, bias and sink": {
        "softcap": 5.0,
        "sink": 0.5,
        "mask": CAUSAL,
        "bias": (Variant("alibi", Alibi()), draw(300, 600)),
    },
    "key padding": {"mask": Mask(key_padding=draw(2, 600) > 0)},
    "dropout": {"dropout": Dropout(p=0.3, seed=5)},
    # torch's kernel leaves 0 where this has a row of NaN
    "nan": {"Q": np.where(np.arange(300)[:, None] == 7, np.nan, QKV["Q"])},
}


def same(got: Any, wanted: Any, error: float) -> None:
    np.testing.assert_allclose(got, wanted, rtol=0, atol=error)


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", PLAIN)
def test_both_ways_agree(name: str, backend: str, dtype: str, error: float) -> None:
    """At the size of real tiles, each library's streamed way gives what the full way gives in float64."""
    if backend != "numpy":
        pytest.importorskip(backend, reason=f'needs {backend}: pip install "attncli[{backend}]"')
    full = compute(Problem(**{**QKV, **PLAIN[name]}))
    streamed = compute(Problem(**{**QKV, **PLAIN[name]}, dtype=dtype), backend=backend, keep=("output",))
    assert (full.path, streamed.path) == ("full", "streamed")
    same(streamed["output"].array, full["output"].array, error)
    assert bool(streamed.kernel) == (backend == "torch" and name in {"all", "top left", "sharp"})
    if not streamed.kernel:
        lse = full["weights"].details["lse"]
        same(streamed["weights"].details["lse"], lse, 10 * error)


def test_a_masked_nan_does_not_reach_the_kernel_of_a_library() -> None:
    """The kernel of torch makes 0 · NaN = NaN of a masked value; attn's tiles leave it out, and are taken."""
    pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')
    v = draw(300, 16)
    v[-1] = np.nan
    problem = Problem(Q=draw(300, 16), K=draw(300, 16), V=v, mask=Mask(causal=True))
    result = compute(problem, backend="torch", keep=("output",))
    assert not result.kernel
    output = result["output"].array
    assert output is not None
    assert np.isfinite(output[:-1]).all()
    assert np.isnan(output[-1]).all()


def test_memory_grows_with_queries_and_keys_only() -> None:
    """Eight times the tokens take about eight times the memory, where the scores would take sixty-four."""

    def peak(tokens: int) -> int:
        x = draw(tokens, 8).astype("float32")
        problem = Problem(Q=x, K=x, V=x, dtype="float32", mask=CAUSAL, bias=Variant("alibi", Alibi()))
        tracemalloc.start()
        compute(problem, keep=("output",))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(8192) < 8192**2 * 4 / 8


def test_dropout_is_drawn_tile_by_tile() -> None:
    """A draw from a seed takes no memory of its own, where its truths alone would be a byte for each pair."""
    x = draw(6144, 8).astype("float32")
    problem = Problem(X=x, dtype="float32", mask=CAUSAL, dropout=Dropout(p=0.1, seed=1))
    tracemalloc.start()
    compute(problem, keep=("output",))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 6144**2 / 2


ALL = dict.fromkeys(ORDER, "float64")


@pytest.mark.parametrize(
    ("keep", "dtype", "more", "reason"),
    [
        (None, "float64", {}, "every stage is kept"),
        (("output", "weights"), "float64", {}, "weights has a number for each query and key"),
        (("output",), "float16", {}, "rounds every stage"),
        (("K",), "float64", {"V": None}, "without values"),
        (("output", "Q_heads"), "float32", {}, ""),
    ],
)
def test_the_way_follows_from_what_is_kept(
    keep: tuple[str, ...] | None, dtype: str, more: dict[str, Any], reason: str
) -> None:
    """Tiles are taken when nothing of queries × keys is kept and no stage is rounded by itself."""
    inputs = resolve(Problem(**(QKV | more))).inputs
    made = make_plan(inputs, dict.fromkeys(ORDER, dtype), keep)
    assert made.path == ("full" if reason else "streamed")
    assert reason in made.reason


def test_operations_are_those_of_the_products() -> None:
    """Counted are 2·n·m·k for each product of n × k and k × m numbers: projections, scores, mixture."""
    problem = Problem(X=draw(5, 6), W_Q=draw(6, 4), W_K=draw(6, 4), W_V=draw(6, 8), num_heads=2)
    made = make_plan(resolve(problem).inputs, ALL, None)
    assert made.operations == 2 * (5 * 6 * 4 * 2 + 5 * 6 * 8 + 2 * 5 * 5 * (2 + 4))


def test_what_does_not_fit_whole_may_fit_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all stages would not fit, the refusal names the option with which it fits, and it does."""
    for room in ("attncli.memory.available", "attncli.plan.available"):
        monkeypatch.setattr(room, lambda: (2**28, "a test"))
    x = draw(4000, 4)
    with pytest.raises(UnavailableError, match=r"0\.2 GiB is left") as refused:
        compute(Problem(X=x))
    assert "--stages output" in refused.value.fix
    assert compute(Problem(X=x, dtype="float32"), keep=("output",)).path == "streamed"


def test_the_streamed_way_is_said(attn: Attn) -> None:  # noqa: F811
    """The JSON result and the head of the tables name the way that was taken."""

    def meta(*more: str) -> dict[str, Any]:
        return dict(json.loads(attn("compute", "cat.yaml", "--json", *more).out)["meta"])

    assert meta()["path"] == "full"
    assert meta("--stages", "output")["path"] == "streamed"
    assert "lse" in meta("--stages", "output")["details"]
    assert "· streamed ·" in attn("compute", "cat.yaml", "--stages", "output").out
    assert "streamed" not in attn("compute", "cat.yaml").out


def test_npy_holds_the_output(attn: Attn) -> None:  # noqa: F811
    """-o FILE.npy writes the output, or the one stage that is named, as numpy.load reads it."""
    wanted = json.loads(attn("compute", "cat.yaml", "--json").out)["stages"]
    assert attn("compute", "cat.yaml", "-o", "a.npy").status == 0
    np.testing.assert_allclose(np.load("a.npy"), wanted["output"], rtol=1e-14)
    assert attn("compute", "cat.yaml", "--stages", "weights", "-o", "a.npy").status == 0
    np.testing.assert_array_equal(np.load("a.npy"), wanted["weights"])
    done = attn("compute", "cat.yaml", "--stages", "weights,output", "-o", "a.npy")
    assert (done.status, "npy holds one stage" in done.err) == (2, True)
    np.testing.assert_array_equal(np.load("a.npy"), wanted["weights"])


def test_a_plan_computes_nothing(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """--plan says way, memory and operations, on any size."""
    monkeypatch.setattr("attncli.compute.attend", None)
    monkeypatch.setattr("attncli.core.streaming.attend_streamed", None)
    full = attn("random", "--seq", "50000", "--dim", "8", "--plan")
    assert "path        full: every stage is kept" in full.out
    assert "18.6 GiB in each of 4 stages" in full.out
    tiles = attn("random", "--seq", "50000", "--dim", "8", "--plan", "--stages", "output")
    assert "path        streamed" in tiles.out
    assert "tiles of the scores" in tiles.out
    assert "operations  80.0 GFLOP" in tiles.out  # 2 · 50000² · (8 + 8), and little more
    to_file = attn("random", "--seq", "50000", "--dim", "8", "--plan", "-o", "output.npy")
    assert to_file.out == tiles.out  # since an .npy file holds the output alone
    assert not Path("output.npy").exists()


def test_the_bar_waits_a_second_and_tells_the_time_left() -> None:
    """Nothing is shown at first; then share and time left, in a line that goes away in the end."""
    now = [0.0]
    stream = io.StringIO()
    bar = Bar(stream, clock=lambda: now[0])
    now[0] = 0.9
    bar(0.1)
    assert not stream.getvalue()
    now[0] = 30.0
    bar(0.25)
    assert "25%  1 min 30 s left" in stream.getvalue()
    bar.clear()
    assert stream.getvalue().endswith("\r")


def test_an_interrupted_run_leaves_nothing(sh: Shell) -> None:  # noqa: F811
    """What Ctrl-C does in the middle of the tiles ends with 130, without a word, and without a file."""
    done = sh(
        "attn random --seq 60000 --dim 64 --stages output -o out.npy & pid=$!; sleep 8;"
        "kill -TERM $pid; wait $pid; echo $?; ls | grep -v yaml"
    )
    assert (done.stdout, done.stderr) == (b"130\n", b"")


def test_files_are_mapped(folder: Path) -> None:  # noqa: F811
    """Arrays in .npy files reach the computation without a copy, and the problem file takes its own size."""
    for name in "QKV":
        np.save(folder / f"{name}.npy", np.ones((20000, 64), dtype=np.float32))
    (folder / "p.yaml").write_text("Q: Q.npy\nK: K.npy\nV: V.npy\ndtype: float32\n")
    load(str(folder / "p.yaml"))  # imports what it takes
    tracemalloc.start()
    inputs = resolve(load(str(folder / "p.yaml"))[0]).inputs
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert inputs.q is not None
    assert taken < inputs.q.array.nbytes
