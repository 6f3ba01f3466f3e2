"""What ``-o`` leaves behind: the whole result, or the file as it was."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attncli import files, streams
from attncli.errors import UnavailableError
from attncli.render import FORMATS

from .conftest import Attn, Shell


@pytest.mark.parametrize("spelling", ["same.yaml", "./sub/../same.yaml", "hard.yaml", "soft.yaml"])
def test_an_input_is_never_overwritten(attn: Attn, folder: Path, spelling: str) -> None:
    """However the input is spelled or linked to, it is refused as the output, and stays."""
    (folder / "sub").mkdir()
    (folder / "cat.yaml").rename(folder / "same.yaml")
    os.link("same.yaml", "hard.yaml")
    (folder / "soft.yaml").symlink_to("same.yaml")
    before = (folder / "same.yaml").read_bytes()
    done = attn("compute", "same.yaml", "--json", "-o", spelling)
    assert done.status == 2
    assert 'the input "same.yaml"' in done.err
    assert (folder / "same.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--head", "4"), "error: there is no head 4\n       heads: 0\n"),
        (
            ("--stages", "V", "--blank", "scores"),
            'error: there is no stage "scores" to show\n       stages: V\n',
        ),
        (("--rows", "7:9"), "error: there are no query positions 7:9\n       positions: 0:3\n"),
    ],
)
def test_what_cannot_be_shown_is_no_fault_of_the_file(
    attn: Attn, folder: Path, options: tuple[str, ...], said: str
) -> None:
    """It is said, and exits, as without -o; the file stays as it was."""
    (folder / "x.svg").write_text("before")
    for output in ((), ("-o", "x.svg")):
        done = attn("compute", "cat.yaml", *options, *output)
        assert (done.status, done.err) == (2, said)
    assert (folder / "x.svg").read_text() == "before"


def test_a_matrix_file_is_never_overwritten(attn: Attn, folder: Path) -> None:
    """A file that the problem takes a matrix from is an input too, also from another folder."""
    attn("compute", "cat.yaml", "-o", "dump.npz")
    (folder / "sub").mkdir()
    (folder / "sub" / "ref.yaml").write_text("Q: ../dump.npz#Q\nK: [[1, 0]]\n")
    before = (folder / "dump.npz").read_bytes()
    done = attn("compute", "sub/ref.yaml", "-o", "dump.npz")
    assert done.status == 2
    assert 'the input "sub/../dump.npz"' in done.err
    assert (folder / "dump.npz").read_bytes() == before
    assert attn("compute", "sub/ref.yaml", "-o", "other.npz").status == 0


def test_standard_input_is_never_overwritten(sh: Shell) -> None:
    """A file that comes in through the shell is an input like any other."""
    done = sh("attn compute - --json -o cat.yaml < cat.yaml; echo $?; head -c 6 cat.yaml")
    assert done.stdout == b"2\ntokens"


@pytest.mark.parametrize("target", ["table.npz", "added.npz"])
def test_a_file_in_a_list_is_never_overwritten(attn: Attn, folder: Path, target: str) -> None:
    """The files that are named inside a list of biases are inputs too."""
    np.savez(folder / "table.npz", a=np.ones((4, 1)))
    np.savez(folder / "added.npz", a=np.ones((2, 2)))
    (folder / "listed.yaml").write_text("X: [[1], [2]]\nbias: [{t5: {table: table.npz#a}}, added.npz#a]\n")
    before = (folder / target).read_bytes()
    assert attn("compute", "listed.yaml", "-o", target).status == 2
    assert (folder / target).read_bytes() == before
    assert attn("compute", "listed.yaml", "-o", "other.npz").status == 0


@pytest.mark.parametrize("target", ["sub/p.json", "sub/X.csv"])
@pytest.mark.parametrize(
    "command",
    ["check sub/p.json", "check sub", "check sub cat.yaml", "check sub/p.json r.npz", "diff sub/p.json"],
)
def test_what_is_judged_is_never_overwritten(attn: Attn, folder: Path, command: str, target: str) -> None:
    """The problems of a folder, and the files that they take matrices from, are inputs like any other."""
    (folder / "sub").mkdir()
    (folder / "sub" / "X.csv").write_text("1,2\n3,4\n")
    (folder / "sub" / "p.json").write_text('{"X": "X.csv", "expected": {"weights": [[1, 2], [3, 4]]}}')
    attn("compute", "sub/p.json", "-o", "r.npz")
    before = (folder / target).read_bytes()
    done = attn(*command.split(), "--format", "json", "-o", target)
    assert (done.status, done.out) == (2, "")
    assert f'the input "{target}" would be overwritten' in done.err
    assert (folder / target).read_bytes() == before


@pytest.mark.parametrize("command", ["compute cat.yaml", "check cat.yaml", "schema"])
def test_a_file_without_a_name(attn: Attn, command: str) -> None:
    """An empty name, such as of a variable that is not set, is bad usage."""
    assert attn(*command.split(), "-o", "") == (
        2,
        "",
        'error: -o "" names no file\n  fix: -o FILE, or -o - for standard output\n',
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("sub", "it is a directory"),
        ("new/", "it is a directory"),
        ("none/out.json", 'there is no folder "none"'),
        ("none/../out.json", 'there is no folder "none/.."'),
        ("cat.yaml/out.json", "not a directory"),
        ("dangling.json", "there is no folder"),
        ("loop.json", "symbolic link"),
        ("a\0b.json", "null byte"),
        ("x" * 300 + ".json", "file name too long"),
    ],
)
def test_a_target_that_cannot_be(attn: Attn, folder: Path, target: str, said: str) -> None:
    """A target that cannot be written is named, with exit status 3, and nothing is left behind."""
    (folder / "sub").mkdir()
    (folder / "dangling.json").symlink_to("none/out.json")
    (folder / "loop.json").symlink_to("loop.json")
    before = sorted(folder.iterdir())
    done = attn("compute", "cat.yaml", "--json", "-o", target)
    assert done.status == 3
    assert "cannot write to" in done.err
    assert said in done.err
    assert sorted(folder.iterdir()) == before


def test_mode_and_link_stay(attn: Attn, folder: Path) -> None:
    """An existing file keeps its mode, a link stays a link, and a new file gets what the umask leaves."""
    target, link = folder / "target.json", folder / "link.json"
    target.write_text("old")
    target.chmod(0o604)
    link.symlink_to("target.json")
    mask = os.umask(0o027)
    try:
        assert attn("compute", "cat.yaml", "-o", "link.json").status == 0
        assert attn("compute", "cat.yaml", "-o", "new.json").status == 0
    finally:
        os.umask(mask)
    assert link.is_symlink()
    assert json.loads(target.read_text())["schema"] == "attn/1"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (target, folder / "new.json")] == [0o604, 0o640]


@pytest.mark.parametrize(
    ("fault", "reported"),
    [(KeyboardInterrupt("stop"), KeyboardInterrupt), (OSError(5, "I/O error, stop"), UnavailableError)],
)
def test_a_fault_leaves_the_old_file(
    folder: Path, fault: BaseException, reported: type[BaseException]
) -> None:
    """When writing stops halfway, the target is what it was, and no other file is there."""
    (folder / "out.json").write_text("old")
    before = sorted(folder.iterdir())

    def halfway() -> Iterator[str]:
        yield "new" * streams.CHUNK
        raise fault

    with pytest.raises(reported, match="stop"):
        files.write_file("out.json", halfway())
    assert (folder / "out.json").read_text() == "old"
    assert sorted(folder.iterdir()) == before


def test_several_at_once(sh: Shell) -> None:
    """Runs that write the same file at the same time leave one whole result and nothing else."""
    done = sh(
        "for i in 1 2 3; do attn random --seq 40 --dim 8 --seed 1 -q -o out.json & done; wait;"
        "python3 -m json.tool out.json > /dev/null && ls -A"
    )
    assert (done.stdout, done.stderr) == (b".bin\ncat.yaml\nout.json\n", b"")


def test_devices_and_pipes_are_written_to(sh: Shell) -> None:
    """What is no regular file is not replaced: devices, pipes, and a file that stdout appends to."""
    done = sh(
        "attn compute cat.yaml --json -o /dev/stdout; attn compute cat.yaml --json -o -;"
        "echo first > log; attn compute cat.yaml --json -o /dev/stdout >> log; cat log;"
        "mkfifo pipe; cat pipe & attn compute cat.yaml --json -o pipe; wait; test -p pipe"
    )
    assert (done.returncode, done.stderr) == (0, b"")
    one, two, first, three, four = done.stdout.splitlines()
    assert first == b"first"
    assert one == two == three == four


@pytest.mark.parametrize(
    ("name", "suffix"), [(name, suffix) for name, each in FORMATS.items() for suffix in each.suffixes]
)
def test_the_name_says_the_format(attn: Attn, folder: Path, name: str, suffix: str) -> None:
    """Every ending that help lists gives the format that it stands for; --format wins over it."""
    attn("compute", "cat.yaml", "-o", f"by_name{suffix.upper()}")
    attn("compute", "cat.yaml", "--format", name, "-o", "by_format.other")
    written = (folder / f"by_name{suffix.upper()}").read_bytes()
    assert written == (folder / "by_format.other").read_bytes()
    assert len(written) > 100


def test_a_name_without_a_format(attn: Attn) -> None:
    """A name that says no format is refused, with the endings that would."""
    done = attn("compute", "cat.yaml", "-o", "result.doc")
    assert done.status == 2
    assert ".json" in done.err
