"""Help, version and completion: quick, true, and the same story as the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from attncli import __version__
from attncli.backends import BACKENDS
from attncli.errors import ExitCode
from attncli.problem import Problem, keys
from attncli.render import FORMATS

from .conftest import Attn, Shell

COMMANDS = ("", "compute", "random", "explain", "check", "diff", "show", "keys", "stages", "schema")


def test_help_and_version_wait_for_nothing(sh: Shell) -> None:
    """Help, version and completion import neither NumPy nor Rich nor YAML nor an array library."""
    heavy = "numpy", "rich", "yaml", "torch", "jax", "array_api_compat"
    check = f"import sys; from attncli.cli import run; run(sys.argv[1:]); print([m for m in {heavy} if m in sys.modules])"
    done = sh(
        f'python() {{ "$(sed -n "s/^exec .\\(.*\\). -m.*/\\1/p" .bin/attn)" "$@"; }};'
        f"for a in --version --help 'compute --help' 'keys --help'; do python -c '{check.replace(chr(39), chr(34))}' $a | tail -n 1; done"
    )
    assert (done.stdout, done.stderr) == (b"[]\n" * 4, b"")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_documents_every_exit_status(attn: Attn, command: str, flag: str) -> None:
    """Both spellings print help on standard output, with every exit status and no second blank form."""
    done = attn(*command.split(), flag)
    assert (done.status, done.err) == (0, "")
    assert set(re.findall(r"^ {4}(\d+)  ", done.out, re.MULTILINE)) == {str(int(code)) for code in ExitCode}


def test_nothing_asked_shows_help(attn: Attn) -> None:
    """``attn`` alone shows what there is."""
    assert attn() == attn("--help")


def test_version(attn: Attn) -> None:
    """--version prints name and version."""
    assert attn("--version") == (0, f"attn {__version__}\n", "")


def test_choices_come_from_the_tables(attn: Attn) -> None:
    """Help lists every backend, format and dtype that the code knows."""
    text = " ".join(attn("compute", "--help").out.split())
    dtypes = next(key.choices for key in keys(Problem) if key.name == "dtype")
    for table in (BACKENDS, FORMATS, dtypes):
        assert "|".join(table) in text


def test_examples_in_help_run(attn: Attn, sh: Shell, folder: Path) -> None:
    """Every command that help shows runs as it is written, in that order, in an empty folder."""
    (folder / "cat.yaml").unlink()
    text = "\n".join(attn(*command.split(), "--help").out for command in COMMANDS)
    examples = re.findall(
        r"^ {4}((?:cat \S+ \| )?attn (?:compute|random|check|diff|keys|stages|schema)\b.*?)(?: {3,}.*)?$",
        text,
        re.MULTILINE,
    )
    assert len(examples) >= 20
    for each in examples:
        if "|" in each:
            assert sh(each).returncode == 0
        else:
            assert attn(*shlex.split(each)[1:]).status == 0, each


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_knows_the_options(sh: Shell, shell: str) -> None:
    """Each shell gets commands, options and the words that an option takes."""
    variables = {"COMP_WORDS": "attn compute --dtype ", "COMP_CWORD": "3"}
    if shell != "bash":
        variables = {
            "_TYPER_COMPLETE_ARGS": "attn compute --dtype ",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_WORD_TO_COMPLETE": "",
        }
    done = sh("attn", _ATTN_COMPLETE=f"complete_{shell}", **variables)
    assert b"bfloat16" in done.stdout
    assert done.stderr == b""
