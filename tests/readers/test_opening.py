"""Where a problem's text may come from, and in which encodings."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.readers import load, opening

Read = Callable[..., Problem]

TEXT = "tokens: [é, 中, 😀]\n"


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_encodings(tmp_path: Path, codec: str) -> None:
    """A byte-order mark says the encoding; without one it is UTF-8."""
    mark = "\ufeff" if codec.startswith(("utf-16", "utf-32")) else ""
    path = tmp_path / "p.yaml"
    path.write_bytes((mark + TEXT).encode(codec))
    assert load(str(path))[0].tokens == ("é", "中", "😀")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ("a: é".encode("latin-1"), r"is not UTF-8: byte 0xE9 at offset 3, line 1"),
        (b"a: 1\nb: \xff\n", "byte 0xFF at offset 8, line 2"),
        ("a: 1".encode("utf-16-le"), "UTF-16 without a byte-order mark"),
        (b"\xff\xfea", "is not UTF-16"),
        (b"\x89PNG\r\n\x1a\n", "byte 0x89 at offset 0, line 1"),
    ],
)
def test_bad_bytes(tmp_path: Path, data: bytes, match: str) -> None:
    """Bytes that are not text are one error with their offset and line."""
    path = tmp_path / "p.yaml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=match):
        load(str(path))


def test_missing_file(tmp_path: Path) -> None:
    """A name that is nowhere is said to be so."""
    with pytest.raises(InputError, match="there is no such file"):
        load(str(tmp_path / "nope.yaml"))


def test_directory(tmp_path: Path) -> None:
    """A directory is no problem file."""
    with pytest.raises(InputError, match="it is a directory"):
        load(str(tmp_path))


def test_name_that_no_file_can_have() -> None:
    """A zero byte in a name is an error like any other."""
    with pytest.raises(InputError, match="null"):
        load("a\0b")


def test_array_as_problem() -> None:
    """A matrix file is not a problem, and the error says how to use it."""
    with pytest.raises(InputError, match=r"holds an array, not a problem[\s\S]*X: x\.npy"):
        load("x.npy")


def test_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the limit is refused, whether its size is known or not."""
    monkeypatch.setattr(opening, "MAX_BYTES", 10)
    path = tmp_path / "p.yaml"
    path.write_text("X: [[1, 2, 3]]")
    with pytest.raises(InputError, match="larger than 1 GiB"):
        load(str(path))
    stdin(monkeypatch, b"X: [[1, 2, 3]]")
    with pytest.raises(InputError, match="standard input is larger than 1 GiB"):
        load("-")


def test_closed_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a standard input there is one clear error."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        load("-")
    stdin(monkeypatch, b"")
    sys.stdin.close()
    with pytest.raises(InputError, match="cannot read standard input"):
        load("-")


def test_empty_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on standard input is an empty problem."""
    stdin(monkeypatch, b"")
    with pytest.raises(InputError, match=r"empty[\s\S]*<stdin>"):
        load("-")


@pytest.mark.parametrize(
    ("data", "count"), [(b"X: [[1]]", 1), (b' {"X": [[1]]}', 1), (b'{"X": [[1]]}\n{"X": [[2]]}', 2)]
)
def test_format_by_content(monkeypatch: pytest.MonkeyPatch, data: bytes, count: int) -> None:
    """Standard input is JSON, JSON Lines or YAML by how it starts."""
    stdin(monkeypatch, data)
    assert len(load("-")) == count


def test_json_never_reads_as_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts like JSON is held to JSON's rules."""
    stdin(monkeypatch, b"{'X': [[1]]}")
    with pytest.raises(InputError, match="JSON wants double quotes"):
        load("-")


def test_fifo(tmp_path: Path) -> None:
    """A named pipe is read once, to its end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('{"X": [[1]]}',))
    writer.start()
    assert load(str(path))[0].X == [[1]]
    writer.join()


def test_json_lines(tmp_path: Path) -> None:
    """A .jsonl file holds one problem a line; a .json file holds one."""
    text = '{"name": "a"}\n{"name": "b"}\n'
    for name in ("p.jsonl", "p.json"):
        (tmp_path / name).write_text(text)
    assert [problem.name for problem in load(str(tmp_path / "p.jsonl"))] == ["a", "b"]
    with pytest.raises(InputError, match="line 2"):
        load(str(tmp_path / "p.json"))
