"""Options that commands share, in groups, each declared once.

A command takes a group as one parameter, and `command.py` gives it the group's options. Names, help
and choices come from the keys of the problem file and from the tables of backends and formats.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.backends import BACKENDS
from attncli.core.attention import ORDER
from attncli.errors import InputError, Place
from attncli.frozen import Frozen
from attncli.meant import did_you_mean
from attncli.problem import Kind, Mask, Problem, keys
from attncli.render import FINDINGS, FORMATS, Format
from attncli.render.colors import PALETTES, SCALES
from attncli.render.terminal import THEMES
from attncli.text import listed, quote
from attncli.trace import STAGES

if TYPE_CHECKING:  # it brings NumPy, which help does not wait for
    from attncli.compute import Result
    from attncli.sheet import View

__all__ = [
    "LARGEST",
    "Batch",
    "Engine",
    "Look",
    "Output",
    "Plan",
    "Settings",
    "all_there",
    "no_stage",
    "one_of",
]

KEYS = {key.name: key for key in keys(Problem)}
MASK_KEYS = {key.name: key for key in keys(Mask)}
LARGEST = 2**63 - 1
"""The largest number of anything that an option takes; a longer one cannot even be said in GiB."""

COLORS = ("auto", "always", "never")


TOLD = {name: FORMATS[name] for name in ("table", "json")}
"""Forms of an explanation, of those that results have."""


def one_of(
    option: str,
    choices: Collection[str],
    text: str,
    hint: str = "",
    *,
    also: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Declare an option that takes one of a table's words.

    Args:
        option: The option.
        choices: The words.
        text: What help says.
        hint: What follows the refusal of another word.
        also: Other words, each with the one that it stands for.
    """

    def check(value: str | None) -> str | None:
        value = also.get(value, value) if value else value
        if value is not None and value not in choices:
            raise typer.BadParameter(f"{quote(value)} is none of {', '.join(choices)}{hint}")
        return value

    return typer.Option(
        option, metavar="|".join(choices), callback=check, autocompletion=lambda: list(choices), help=text
    )


def _form(formats: Mapping[str, Format], text: str) -> Any:
    """Declare --format, which takes the ends of file names too."""
    ends = {end.removeprefix("."): name for name, each in formats.items() for end in each.suffixes}
    return one_of("--format", formats, f"{text}  [default: by -o, or table]", also=ends)


def _complete_names(given: str) -> list[str]:
    """Complete the last name of a list; a lambda in an annotation would not find what it refers to."""
    before, comma, _ = given.rpartition(",")
    return [f"{before}{comma}{name}" for name in STAGES]


def _complete_setting(given: str) -> list[str]:
    """Complete the key of KEY=VALUE."""
    from attncli.describe import key_rows  # noqa: PLC0415  (help does not wait for it)

    return [f"{row['name']}=" for row in key_rows() if row["name"].startswith(given)]


class Settings(Frozen, kw_only=True):
    """Keys of the problem file, set from the command line."""

    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any key of the problem file, its value as in YAML.",
            autocompletion=_complete_setting,
        ),
    ] = None
    causal: Annotated[bool, typer.Option("--causal", help=MASK_KEYS["causal"].help)] = False
    no_scale: Annotated[bool, typer.Option("--no-scale", help="Leave the scores as they are.")] = False
    heads: Annotated[
        int | None, typer.Option("--heads", metavar="N", min=1, max=LARGEST, help=KEYS["num_heads"].help)
    ] = None
    dtype: Annotated[
        str | None,
        one_of("--dtype", KEYS["dtype"].choices, "Precision of all stages; --set dtype={qk: …} has parts."),
    ] = None

    def strings(self) -> list[str]:
        """Spell every setting as KEY=VALUE; the short forms come last, so that --causal adds to a mask."""
        short = {
            "mask.causal": "true" if self.causal else None,
            "scale": "none" if self.no_scale else None,
            "num_heads": self.heads,
            "dtype": self.dtype,
        }
        return (self.set or []) + [f"{key}={value}" for key, value in short.items() if value is not None]


class Engine(Frozen, kw_only=True):
    """What computes."""

    backend: Annotated[
        str | None, one_of("--backend", BACKENDS, "Array library.  [default: numpy, or torch on a GPU]")
    ] = None
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda|cuda:1|mps", help="Where to compute.")
    ] = "auto"


def no_stage(
    name: str, known: Sequence[str], there: str = "there is", option: str = "--stages"
) -> InputError:
    """Make the error for a stage that is not among those that there are."""
    return InputError(
        f"{there} no stage {quote(name)}",
        context=f"stages: {', '.join(known)}",
        fix=did_you_mean(name, known, "attn stages says what each is"),
        place=Place(f"{option} {name}"),
    )


Batch = Annotated[
    int | None, typer.Option("--batch", metavar="N", min=0, help="Tables of one item of the batch, from 0.")
]

Plan = Annotated[
    bool,
    typer.Option(
        "--plan", help="Only say in which way it would be computed, and what that takes; -o is not written."
    ),
]
"""Of the commands that compute, those that can be asked this take it."""


def all_there(result: Result, stages: Iterable[str]) -> None:
    """Refuse to leave out in silence what was asked for by name."""
    names = [record.stage.name for record in result.records]
    for stage in stages:
        if stage not in names and getattr(result.problem, stage, None) is None:
            raise no_stage(stage, names, "this problem has")


class Look(Frozen, kw_only=True):
    """What of a result is kept and shown."""

    stages: Annotated[
        str | None,
        typer.Option(
            "--stages",
            metavar="NAME,…",
            help="Keep and show these stages only.",
            autocompletion=_complete_names,
        ),
    ] = None
    head: Annotated[
        int | None, typer.Option("--head", metavar="N", min=0, help="Tables of one head, from 0.")
    ] = None
    mean_heads: Annotated[bool, typer.Option("--mean-heads", help="Weights as the mean over heads.")] = False
    heads_view: Annotated[
        bool, typer.Option("--heads-view", help="Weights of all heads as small pictures.")
    ] = False
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="A:B", help="Queries from A up to, but not with, B.")
    ] = None
    cols: Annotated[str | None, typer.Option("--cols", metavar="A:B", help="Keys, likewise.")] = None
    precision: Annotated[
        int | None, typer.Option("--precision", metavar="N", min=0, max=17, help="Decimals in tables.")
    ] = None
    percent: Annotated[
        bool | None,
        typer.Option("--percent/--no-percent", help="Weights as percentages.  [default: in tables]"),
    ] = None
    blank: Annotated[
        str | None,
        typer.Option(
            "--blank",
            metavar="NAME,…",
            help="A worksheet: the numbers of these stages left out.",
            autocompletion=_complete_names,
        ),
    ] = None
    answers: Annotated[bool, typer.Option("--answers", help="With --blank: the numbers at the end.")] = False
    full: Annotated[bool, typer.Option("--full", help="Tables whole, however large.")] = False
    detail: Annotated[
        bool, typer.Option("--detail", help="Also the exponentials, and each weight times its value.")
    ] = False

    def kept(self) -> tuple[str, ...] | None:
        """Return the names that --stages lists; None is all.

        Raises:
            InputError: One is neither a stage nor an array of the problem file.
        """
        return None if self.stages is None else _names("--stages", self.stages)

    def view(self, batch: int | None = None) -> View:
        """Return the same for whoever lays out tables."""
        from attncli.sheet import View  # noqa: PLC0415  (brings NumPy)

        if self.answers and self.blank is None:
            raise InputError("--answers shows what --blank leaves out", fix="--blank weights --answers")
        if self.mean_heads and self.head is not None:
            raise InputError("--mean-heads and --head contradict each other", fix="leave out one of them")
        return View(
            stages=self.kept(),
            head=self.head,
            batch=batch,
            precision=self.precision,
            full=self.full,
            detail=self.detail,
            rows=_span("--rows", self.rows),
            columns=_span("--cols", self.cols),
            mean_heads=self.mean_heads,
            heads_view=self.heads_view,
            percent=self.percent,
            blank=_names("--blank", self.blank) if self.blank is not None else (),
            answers=self.answers,
        )


def _names(option: str, text: str) -> tuple[str, ...]:
    """Read a list of stages, or arrays of the problem file."""
    names = listed(text)
    arrays = [key.name for key in KEYS.values() if key.kind is Kind.ARRAY]
    for name in names:
        if name not in STAGES and name not in arrays:
            raise no_stage(name, [each for part in ORDER.values() for each in part], option=option)
    return names


def _span(option: str, text: str | None) -> tuple[int, int] | None:
    """Read A:B, or one position alone."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})(?::([0-9]{1,9}))?", text.strip())
    if not found:
        one_end = re.fullmatch(r"[0-9]*:[0-9]*", text.strip())
        reason = "needs a start and an end" if one_end else "is no range of positions"
        raise InputError(f"{option} {quote(text)} {reason}", fix=f"such as {option} 0:16")
    if found[2] and int(found[2]) <= int(found[1]):
        raise InputError(
            f"{option} {quote(text)} holds no position", fix="the end is the first left out: 0:16"
        )
    return int(found[1]), int(found[2] or int(found[1]) + 1)


class Output(Frozen, kw_only=True):
    """In which form the result goes where."""

    format: Annotated[str | None, _form(FORMATS, "Form of the result.")] = None
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file; - is standard output."),
    ] = None
    color: Annotated[str, one_of("--color", COLORS, "Colours; auto is on a terminal without NO_COLOR.")] = (
        "auto"
    )
    theme: Annotated[str, one_of("--theme", ("auto", *THEMES), "Background that colours are chosen for.")] = (
        "auto"
    )
    palette: Annotated[str, one_of("--palette", PALETTES, "Colours of weights.")] = "blues"
    scale: Annotated[
        str | None,
        one_of(
            "--scale",
            SCALES,
            "Colour by size.  [default: linear, but sqrt in pictures of weights]",
            hint="; the scale of the scores is --set scale=…",
        ),
    ] = None
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            metavar="N",
            min=1,
            help="Columns to lay tables out for.  [default: the terminal's; 120 in a picture; in a pipe or a "
            "file tables are whole, and stand side by side up to 120]",
        ),
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes on standard error.")] = False


class Findings(Output, kw_only=True):
    """In which form what a comparison found goes where."""

    format: Annotated[str | None, _form(FINDINGS, "Form of what was found.")] = None


class Told(Output, kw_only=True):
    """In which form an explanation goes where."""

    format: Annotated[str | None, _form(TOLD, "Form of the explanation.")] = None
