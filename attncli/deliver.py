"""From the output options to a format, what the other end can show, and the writing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, cast

from attncli import files, streams
from attncli.errors import InputError
from attncli.options import Output
from attncli.render import FORMATS, Format
from attncli.render.terminal import Terminal
from attncli.terminal import background, color_depth, is_unicode, text_width
from attncli.text import quote

if TYPE_CHECKING:
    from attncli.sheet import View

__all__ = ["Delivery"]

UNFOLDED = 10**6
"""Columns of what is not folded: a file, or a pipe."""


_SEEN = {
    "head": "--head",
    "batch": "--batch",
    "mean_heads": "--mean-heads",
    "heads_view": "--heads-view",
    "rows": "--rows",
    "columns": "--cols",
    "precision": "--precision",
    "percent": "--percent",
    "blank": "--blank",
}
"""What of a view chooses among numbers, or how they are written, and the option that says so."""


class Noted(Protocol):
    """What can be delivered: something with remarks to it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence each."""


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ()


class Delivery:
    """Where results go; made before they are computed, so that a bad place costs nothing.

    Args:
        options: What the command line says of it.
        inputs: Names of the files that are read, none of which may be overwritten.
        formats: The forms that there are.

    Raises:
        InputError: The format is unclear, or cannot go there, or the file is an input.
        UnavailableError: The file cannot be written.
    """

    def __init__(
        self, options: Output, inputs: Iterable[str] = (), formats: Mapping[str, Format] = FORMATS
    ) -> None:
        self._options = options
        self._formats = formats
        self._file = None if options.output in {None, "-"} else options.output
        self.spare(inputs)
        self.name = self._format_name()
        self._format: Format = formats[self.name]
        self.terminal = self._describe()
        if self._format.binary and self.terminal.interactive:
            raise InputError(f"{self.name} is binary, and would upset the terminal", fix="-o FILE, or a pipe")

    def fit(self, view: View) -> View:
        """Keep no more stages than the format holds.

        Raises:
            InputError: More are asked for, or a view of what is no view but data.
        """
        self._no_idle_option(view)
        only = self._format.stage
        if only is None or len(view.stages or (only,)) == 1:
            return view if only is None or view.stages else replace(view, stages=(only,))
        raise InputError(
            f"{self.name} holds one stage, and --stages names {len(view.stages or ())}", fix="-o FILE.npz"
        )

    def _no_idle_option(self, view: View) -> None:
        """Refuse what would be ignored in silence."""
        chosen = self._format
        given = [option for name, option in _SEEN.items() if _is_given(getattr(view, name))]
        if chosen.data and given:
            raise InputError(
                f"{self.name} holds every number as it is: {', '.join(given)} would change nothing",
                fix="leave that out, or --format table",
            )
        if chosen.bare and view.detail:
            raise InputError(
                f"{self.name} holds stages without their details: --detail would change nothing",
                fix="leave that out, or --format json",
            )

    def spare(self, inputs: Iterable[str]) -> None:
        """Refuse to overwrite any of some more files.

        Raises:
            InputError: One of them is where the results go.
        """
        if self._file is not None:
            files.check_target(self._file, inputs)

    def only_text(self, option: str) -> None:
        """Refuse another form, for what is said at standard output while no file is written.

        Raises:
            InputError: One is asked for.
        """
        if self._file is None and self.name != "table":
            raise InputError(f"{option} is text on standard output", fix="leave out --json and --format")

    def write(self, results: Sequence[Noted], view: View, notes: Sequence[str] = ()) -> None:
        """Render results and write them, and then what is to be said of them.

        Args:
            results: What was computed.
            view: What to show of it.
            notes: Remarks beside those of the results.
        """
        chosen = self._format
        if len(results) != 1 and self.name == "json" and self._file is None:
            chosen = self._formats["jsonl"]  # what follows one another in a pipe is still read one by one
        if len(results) != 1 and chosen.single:
            raise InputError(
                f"{self.name} holds one result, and there are {len(results)}", fix="--format jsonl"
            )
        if view.answers and chosen.single:
            raise InputError(f"{self.name} is one picture", fix="leave out --blank to get the answers")
        said = [*notes, *(note for result in results for note in result.notes)]
        self.send(chosen.render(results, view, self.terminal), said)

    def send(self, pieces: Iterable[str | bytes], notes: Sequence[str] = ()) -> None:
        """Write what is rendered already, and then what is to be said of it."""
        if self._file is None:
            streams.write_stdout(pieces)
        else:
            files.write_file(self._file, pieces)
        if notes and not self._options.quiet and not (self._file is None and streams.is_abandoned()):
            for note in dict.fromkeys(notes):
                streams.complain(f"note: {note}")

    def _format_name(self) -> str:
        asked = self._options.format
        if self._options.json and asked not in {None, "json"}:
            raise InputError(
                f"--json and --format {asked} contradict each other", fix="leave out one of them"
            )
        if asked:
            self._require(asked)
        if asked or self._options.json:
            return asked or "json"
        if self._file is None or files.is_stream(self._file):
            return "table"
        for name, each in FORMATS.items():
            if self._file.lower().endswith(each.suffixes):
                self._require(name)
                return name
        known = ", ".join(suffix for each in self._formats.values() for suffix in each.suffixes)
        raise InputError(
            f"the name {quote(self._file)} does not say in which format to write",
            fix=f"--format {'|'.join(self._formats)}, or a name that ends in {known}",
        )

    def _require(self, form: str) -> None:
        if form not in self._formats:
            raise InputError(
                f"what this command finds is not written as {form}",
                fix=f"--format {'|'.join(self._formats)}",
            )

    def _describe(self) -> Terminal:
        choice = self._options
        theme = cast("Literal['dark', 'light']", choice.theme)
        if choice.theme == "auto":
            theme = "light" if self._format.paper else background()
        width = choice.width or self._format.width
        if self._file is not None:
            color = color_depth(choice.color, tty=False)
            plain = Terminal(width=width or UNFOLDED, color=color, interactive=False)
            return replace(plain, theme=theme, palette=choice.palette, scale=choice.scale)
        stream = streams.stdout()
        tty = stream.isatty()
        return Terminal(
            width=text_width(width, stream) or UNFOLDED,
            color=color_depth(choice.color, tty=tty),
            unicode=is_unicode(stream),
            interactive=tty,
            theme=theme,
            palette=choice.palette,
            scale=choice.scale,
        )
