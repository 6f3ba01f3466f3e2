"""Every failure is one message on standard error, with its exit status and nothing on stdout."""

from __future__ import annotations

from pathlib import Path

import pytest

import attncli.compute
from attncli.errors import UnavailableError

from .conftest import Attn


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compute", "missing argument 'FILE'"),
        ("compute cat.yaml --cuasal", "no such option: --cuasal"),
        ("comptue cat.yaml", "no such command 'comptue'"),
        ("compute cat.yaml --format xml", '"xml" is none of table, json, jsonl, csv'),
        ("compute cat.yaml --dtype int8", '"int8" is none of float64, float32, float16, bfloat16'),
        ("compute cat.yaml --backend tensorflow", '"tensorflow" is none of numpy, torch, jax'),
        ("compute cat.yaml --device tpu", "there is no device 'tpu'"),
        (
            "compute cat.yaml --heads two",
            "invalid value for '--heads': \"two\" is no whole number from 1 to 9",
        ),
        ("compute cat.yaml --width 0", "invalid value for '--width': \"0\" is no whole number from 1 on\n"),
        ("compute cat.yaml --precision 18", '"18" is no whole number from 0 to 17\n'),
        ("compute cat.yaml --set", "requires an argument\n  fix: attn compute --help"),
        ("diff cat.yaml --json=yes", "does not take a value\n  fix: attn diff --help"),
        ("compute cat.yaml --json --format npz", "contradict each other"),
        ("compute cat.yaml --set temperature=hot", "temperature is not a number"),
        ("compute cat.yaml --set nothing", "--set KEY=VALUE"),
        ("compute cat.yaml --heads 5", "5"),
        ("compute cat.yaml cat.yaml -o both.npz", "npz holds one result, and there are 2"),
        ("compute cat.yaml cat.yaml -o both.json", "json holds one result, and there are 2"),
        ("compute cat.yaml --head 7", "there is no head 7"),
        ("compute cat.yaml --heads-view", "there are no weights of several heads to be seen side by side"),
        ("random --seq 3 --dim 4 --heads 2 --stages output --heads-view", "no weights of several heads"),
        (
            "compute cat.yaml --json --rows 0:1",
            "json holds every number as it is: --rows would change nothing\n",
        ),
        (
            "compute cat.yaml --head 0 --cols 0:1 -o r.npz",
            "npz holds every number as it is: --head, --cols would",
        ),
        (
            "random --seq 3 --dim 4 --heads 2 --mean-heads --json",
            "as it is: --mean-heads would change nothing",
        ),
        ("compute cat.yaml --precision 0 --format csv", "as it is: --precision would change nothing"),
        (
            "show cat.yaml --batch 0 --percent --format jsonl",
            "as it is: --batch, --percent would change nothing",
        ),
        ("compute cat.yaml --detail --format csv", "csv holds stages without their details: --detail would"),
        ("compute cat.yaml --detail -o o.npy", "npy holds stages without their details: --detail would"),
        ("compute none.yaml", "none.yaml"),
        *(
            (line, "no file is named")
            for line in ("compute ", "show ", "diff ", "check ", "explain  weights")
        ),
        ("compute cat.yaml --color \x1b[31m", '"<U+001B>[31m" is none of'),
        ("random --seq 3", "missing option '--dim'"),
        ("random --seq 0 --dim 4", "invalid value for '--seq'"),
        (f"random --seq {10**400} --dim 4", "invalid value for '--seq'"),
        ("random --seq 3 --dim 4 --heads -1", "invalid value for '--heads'"),
        ("random --seq 3 --dim 4 --heads 0", "invalid value for '--heads'"),
        ("random --seq 3 --dim 4 --heads 3", "3 heads cannot share a width of 4 evenly"),
        ("random --seq 3 --dim 4 --heads 4 --kv-heads 3", "4 heads cannot share 3 key-value heads evenly"),
    ],
)
def test_bad_usage_and_bad_input(attn: Attn, line: str, said: str) -> None:
    """What was asked for wrongly is said in one message, in one look, with exit status 2."""
    done = attn(*line.split(" "))
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("error: ") == 1
    assert done.err.replace("\n", "").isprintable()


def test_a_second_bad_file_leaves_nothing_of_the_first(attn: Attn, folder: Path) -> None:
    """Several files are all computed before the first is written."""
    (folder / "bad.yaml").write_text("X: [[1, 0], [0, 1]]\nW_Q: [[1], [1], [1]]\nW_K: [[1]]\nW_V: [[1]]\n")
    done = attn("compute", "cat.yaml", "bad.yaml")
    assert (done.status, done.out) == (2, "")
    assert "--> bad.yaml:2:" in done.err


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        (ZeroDivisionError("by\x1bzero"), 3, "error: internal error: ZeroDivisionError: by<U+001B>zero\n"),
        (
            MemoryError("Unable to allocate 6.71 GiB"),
            3,
            "error: memory does not suffice: unable to allocate 6.71 GiB\n",
        ),
        (MemoryError(), 3, "error: memory does not suffice\n"),
        (UnavailableError("no \x1b[31m\x9b here"), 3, "error: no <U+001B>[31m<U+009B> here\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_every_exception_has_its_end(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, fault: BaseException, status: int, said: str
) -> None:
    """Whatever is raised inside becomes a message and an exit status; a bug asks for a report."""

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(attncli.compute, "resolve", fail)
    done = attn("compute", "cat.yaml")
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith(said)
    assert "Traceback" not in done.err
    assert ("report" in done.err) == ("internal" in done.err)


def test_a_bug_shows_its_traceback_on_request(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> None:
    """ATTN_DEBUG=1 adds the traceback to an internal error."""
    monkeypatch.setenv("ATTN_DEBUG", "1")
    monkeypatch.setattr(attncli.compute, "resolve", None)
    assert "Traceback" in attn("compute", "cat.yaml").err


def test_notes_can_be_silenced_and_errors_cannot(attn: Attn, folder: Path) -> None:
    """--quiet keeps notes from standard error, and lets errors through."""
    (folder / "hidden.yaml").write_text("scores: [[1, 2]]\nd_k: 1\nmask: {keep: [[false, false]]}\n")
    assert "note: row 1 sees no key" in attn("compute", "hidden.yaml", "--json").err
    assert attn("compute", "hidden.yaml", "--json", "--quiet").err == ""
    assert "error: " in attn("compute", "none.yaml", "--quiet").err
