"""Help, version and completion: quick, true, and the same story as the code."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import typer

from attncli import __version__
from attncli.backends import BACKENDS
from attncli.cli import ROOMS
from attncli.command import Later
from attncli.errors import ExitCode
from attncli.problem import Problem, keys
from attncli.render import FORMATS
from attncli.trace import STAGES

from .conftest import Attn, Shell

COMMANDS = ("", "compute", "random", "explain", "check", "diff", "show", "keys", "stages", "schema")


LOADED = (
    "import sys; from attncli.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.__stderr__)"
)
LIBRARIES = {"numpy", "rich", "yaml", "torch", "jax", "array_api_compat", "safetensors", "pydantic"}


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("--version", ""),
        ("--help", ""),
        ("compute --help", ""),
        ("check --help", ""),
        ("keys --help", ""),
        ("keys rope", ""),
        ("compute cat.json --json", "numpy"),
        ("compute cat.json --precision 3 --stages weights,output", "numpy rich"),
        ("compute cat.yaml", "numpy rich yaml"),
        ("random --seq 3 --dim 4 --seed 1", "numpy rich"),
        ("random --seq 3 --dim 4 --causal --json", "numpy yaml"),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_use(
    folder: Path, sh: Shell, line: str, used: str
) -> None:
    """Help loads none, JSON does without YAML and tables, and plain values without what Typer reads with."""
    (folder / "cat.json").write_text('{"X": [[1, 0], [0, 1]]}')
    done = sh(f"'{sys.executable}' -c '{LOADED}' {line}")
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.decode().split()) & LIBRARIES == set(used.split())


def test_a_table_needs_little_of_its_libraries(sh: Shell) -> None:
    """Tables are laid out here: Rich's console is never loaded, nor NumPy's rarer parts, nor other readers."""
    done = sh(f"'{sys.executable}' -c '{LOADED}' compute cat.yaml --color always")
    loaded = set(done.stderr.decode().split())
    assert {"rich.style", "attncli.render.table"} <= loaded
    assert not {"rich.console", "rich.table", "rich.text", "numpy.ma", "numpy.typing", "json"} & loaded


def test_only_the_command_that_is_asked_for_is_made(sh: Shell) -> None:
    """The modules of the other commands stay where they are."""
    done = sh(f"'{sys.executable}' -c '{LOADED}' keys rope")
    rooms = {"attncli.about", "attncli.computing", "attncli.judging", "attncli.showing"}
    assert set(done.stderr.decode().split()) & rooms == {"attncli.about"}


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_documents_every_exit_status(attn: Attn, command: str, flag: str) -> None:
    """Both spellings print help on standard output, with every exit status and no second blank form."""
    done = attn(*command.split(), flag)
    assert (done.status, done.err) == (0, "")
    assert set(re.findall(r"^ {4}(\d+)  ", done.out, re.MULTILINE)) == {str(int(code)) for code in ExitCode}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_narrow_terminal_and_names_no_types(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """No line runs past 80 columns; nothing is said as Python or as an inequality."""
    monkeypatch.setenv("COLUMNS", "80")
    text = attn(*command.split(), "--help").out
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert re.findall(r"<\w+|[<>]=|\[\[|\{\w+\}", text.replace("dtype={qk: …}", "")) == []


def test_usage_and_limits_are_as_people_write_them(attn: Attn) -> None:
    assert attn("diff", "--help").out.startswith("Usage: attn diff [OPTIONS] A [B]\n")
    assert (
        "  --precision N                   Decimals in tables.  [0 to 17]\n" in attn("compute", "--help").out
    )


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


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("compute cat.yaml --mask causal", "--causal, or --set mask=…"),
        ("explain cat.yaml output[0,0] --num-heads 2", "--set num_heads=…"),
        ("random --seq 3 --dim 4 --rope", "--set rope=…"),
        ("compute cat.yaml --colour", "attn compute --help"),
        ("show cat.json --mask", "attn show --help"),
    ],
)
def test_a_key_that_is_taken_for_an_option(attn: Attn, line: str, fix: str) -> None:
    """Where keys of the problem can be set, the fix says how; elsewhere help is all there is."""
    done = attn(*line.split())
    assert (done.status, done.out) == (2, "")
    assert re.fullmatch(rf"error: no such option: --\S+( \(.*\))?\n  fix: {re.escape(fix)}\n", done.err)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_goes_by_the_ends_of_its_files_too(attn: Attn, name: str) -> None:
    """What -o x.md writes, --format md does."""
    if name == "png":
        pytest.importorskip("resvg_py")
    line = ("compute", "cat.yaml", "--stages", "output", "-q", "-o", "made", "--format")
    assert attn(*line, name).status == 0
    wanted = Path("made").read_bytes()
    for end in FORMATS[name].suffixes:
        assert attn(*line, end.removeprefix(".")).status == 0
        assert Path("made").read_bytes() == wanted


def completions() -> dict[tuple[str, str], list[str]]:
    """Ask every declared parameter of every command for what completes nothing yet."""
    made = {name: Later(name, room, "").made() for room, names in ROOMS.items() for name in names}
    return {
        (name, each.opts[0]): [found.value for found in each.shell_complete(typer.Context(command), "")]
        for name, command in made.items()
        for each in command.params
        if each._custom_shell_complete
    }


def test_whatever_completes_has_words_to_offer() -> None:
    """Each option and argument that completes does so for nothing yet; stages, keys and formats are all there."""
    found = completions()
    assert {name for name, _ in found} == {name for name in COMMANDS if name not in {"", "schema"}}
    assert all(found.values())
    for command in ("compute", "random", "show"):
        assert found[command, "--stages"] == found[command, "--blank"] == list(STAGES)
        assert found[command, "--format"] == list(FORMATS)
    settings = [words for (_, option), words in found.items() if option == "--set"]
    assert len(settings) > 1
    assert all({f"{key.name}=" for key in keys(Problem)} < set(words) for words in settings)


def test_completion_goes_on_with_a_list(sh: Shell) -> None:
    """After a comma the next stage is completed, and what stands before it stays."""
    variables = {"COMP_WORDS": "attn compute --stages weights,outp", "COMP_CWORD": "3"}
    done = sh("attn", _ATTN_COMPLETE="complete_bash", **variables)
    assert (done.stdout, done.stderr) == (b"weights,output\n", b"")


@pytest.mark.parametrize(
    ("asked", "variables", "said"),
    [
        ("complete_bash", {}, "the variables that say of what are missing or wrong"),
        ("complete_bash", {"COMP_WORDS": "attn c"}, "the variables that say of what are missing or wrong"),
        ("complete_bash", {"COMP_WORDS": "attn c", "COMP_CWORD": "x"}, "are missing or wrong"),
        ("complete_tcsh", {}, "Shell tcsh not supported"),
        ("nonsense", {}, "Invalid completion instruction"),
    ],
)
def test_a_shell_that_asks_wrongly_for_completion(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, asked: str, variables: dict[str, str], said: str
) -> None:
    """One message, of no fault of attn's own, and exit status 2."""
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"_ATTN_COMPLETE": asked, **variables}.items():
        monkeypatch.setenv(name, value)
    done = attn()
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "internal error" not in done.err
