"""What happens to a result on its way out: full disks, closed ends, short writes and encodings."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import pytest

from .conftest import ROOT, Shell


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("attn compute cat.yaml > /dev/full", 3, "standard output: no space left on device"),
        ("attn compute cat.yaml --json > /dev/full", 3, "standard output: no space left on device"),
        ("attn --help > /dev/full", 3, "standard output: no space left on device"),
        ("attn compute cat.yaml -o /dev/full --json", 3, '"/dev/full": no space left on device'),
        ("attn compute cat.yaml >&-", 3, "standard output: it is closed"),
        ("attn compute - <&-", 2, "standard input is closed"),
        ("attn compute - < /dev/null", 2, "is empty"),
        ("attn compute .", 2, "directory"),
    ],
)
def test_a_broken_stream_is_one_message(sh: Shell, script: str, status: int, said: str) -> None:
    """A stream that cannot be used is named in one message, with its exit status, and no traceback."""
    done = sh(script)
    err = done.stderr.decode()
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in err
    assert err.startswith("error: ")
    assert err.count("error") == 1


def test_a_file_needs_no_standard_output(sh: Shell) -> None:
    """A closed standard output does no harm to a run that has nothing to write there."""
    done = sh("attn compute cat.yaml -o out.json >&- && cat out.json")
    assert json.loads(done.stdout)["schema"] == "attn/1"


def test_a_closed_pipe_is_no_error(sh: Shell) -> None:
    """A reader that has seen enough ends the run in silence: no error, and no note either."""
    runs = [
        "attn random --seq 300 --dim 4 -q --json | head -n 1 | wc -l",
        "PYTHONUNBUFFERED=1 attn random --seq 3 --dim 4 | head -n 1 | wc -l",
        "attn --help | head -c 0",
    ]
    done = sh("; ".join(f"{run}; echo ${{PIPESTATUS[0]}}" for run in runs))
    assert (done.stdout.split(), done.stderr) == ([b"1", b"0", b"1", b"0", b"0"], b"")


def test_a_closed_standard_error_keeps_the_exit_status(sh: Shell) -> None:
    """Nobody hears the message, and the shell is still told."""
    done = sh("attn compute none.yaml 2>&-; echo $?; attn compute none.yaml 2>/dev/full; echo $?")
    assert (done.stdout, done.stderr) == (b"2\n2\n", b"")


def test_no_file_takes_the_place_of_a_closed_stream(sh: Shell) -> None:
    """What a library writes to a closed standard error does not end up in a file that is being written."""
    done = sh(
        "echo 'import os, sys; from attncli.streams import write_all; import attncli.files as files;"
        ' files.write_all = lambda raw, data: (os.write(2, b"noise"), write_all(raw, data));'
        " from attncli.__main__ import main; main()' > run.py;"
        "PY=$(sed -n 's/^exec \"\\(.*\\)\" -m.*/\\1/p' .bin/attn);"
        '"$PY" run.py compute cat.yaml -o out.json 2>&-; head -c 8 out.json'
    )
    assert done.stdout == b'{"schema'


def test_a_slow_pipe_gets_everything(sh: Shell) -> None:
    """A pipe that takes little at a time, and does not block, loses nothing of a large result."""
    done = sh(
        "attn random --seq 100 --dim 4 -q --seed 1 -o p.json; attn compute p.json --json -q > whole.json;"
        "(python3 -c 'import os; os.set_blocking(1, False)'; exec attn compute p.json --json -q)"
        " | (sleep 1; cmp - whole.json)",
        PYTHONUNBUFFERED="1",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_nothing_is_imported_before_an_interrupt_is_heeded() -> None:
    """Ctrl-C is quiet as soon as attn starts: what takes time to import waits for what catches it."""
    script = (
        "import os, sys; before = {*sys.modules}; import attncli.__main__; print(*{*sys.modules} - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"__future__", "gc", "attncli", "attncli.version", "attncli.__main__"}


@pytest.mark.parametrize(
    ("signal", "script"), [("INT", "attn compute slow"), ("TERM", "attn compute cat.yaml --json -o slow")]
)
def test_an_interrupt_is_silent(sh: Shell, signal: str, script: str) -> None:
    """Ctrl-C and SIGTERM end a run that waits, with 130 and without a word; six seconds outlast a slow start."""
    done = sh(f"mkfifo slow; timeout --preserve-status -s {signal} 6 {script}; echo $?")
    assert (done.stdout, done.stderr) == (b"130\n", b"")


@pytest.mark.parametrize(
    "locale",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_no_character_is_too_much(sh: Shell, locale: dict[str, str]) -> None:
    """A stream that is not UTF-8 gets ASCII: escapes in JSON, and other signs in tables and help."""
    tokens = ["中文", "naïve", "😀"]
    done = sh(
        f"cat > labels.json <<'END'\n{json.dumps({'tokens': tokens, 'X': [[1, 0], [0, 1], [1, 1]]})}\nEND\n"
        "attn compute labels.json --json && attn compute labels.json && attn random --help",
        **locale,
    )
    first, _, rest = done.stdout.partition(b"\n")
    assert done.returncode == 0
    assert done.stdout.isascii() or locale["PYTHONIOENCODING"] == "latin-1"
    assert json.loads(first.decode("ascii"))["tokens"] == tokens
    assert b"sqrt" in rest
    assert b"<U+4E2D>" in rest


def test_json_survives_every_label(sh: Shell) -> None:
    """Controls and bidirectional marks in a label come back from JSON, and act on no terminal."""
    label = "a\x1b]8;;x\x07\x9b\u202e\u2028\x7f"
    done = sh(
        f"echo '{json.dumps({'tokens': [label, 'b'], 'X': [[1], [2]]})}' > odd.json; attn compute odd.json --json"
    )
    text = done.stdout.decode("utf-8")
    assert json.loads(text)["tokens"] == [label, "b"]
    assert all(unicodedata.category(char) not in {"Cc", "Cf", "Zl", "Zp"} for char in text[:-1])


def test_the_same_bytes_on_each_run(sh: Shell) -> None:
    """Neither hash seed, locale, optimization nor buffering shows in the output."""
    runs = [
        "PYTHONHASHSEED=1",
        "PYTHONHASHSEED=2 LC_ALL=C PYTHONOPTIMIZE=2",
        "PYTHONUNBUFFERED=1 env -i PATH=$PATH PYTHONPATH=$PYTHONPATH",
    ]
    done = sh("; ".join(f"{run} attn compute cat.yaml cat.yaml --json" for run in runs))
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 2 * len(runs)
    assert len(set(done.stdout.splitlines())) == 1
