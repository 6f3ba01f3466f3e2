"""Every failure that attn reports, as one tree.

    AttnError                 anything that attn says on purpose
    ├── InputError            the problem, or how it was asked for, is at fault (also a ValueError)
    └── UnavailableError      it cannot be done on this machine (also a RuntimeError)

The code that finds a fault knows shapes and keys; the reader knows the file. So an error starts
with a path such as ``("X", 1, 0)``, and the reader adds the `Place` as the error passes through it.
"""

from __future__ import annotations

from enum import IntEnum

from attncli.frozen import Frozen
from attncli.text import quote

__all__ = ["AttnError", "ExitCode", "InputError", "Path", "Place", "UnavailableError", "cell_name"]

Path = tuple[str | int, ...]
"""Where a value stands in a problem: keys, then 0-based indices, such as ``("mask", "keep", 1, 0)``."""


class ExitCode(IntEnum):
    """What the process returns to the shell."""

    OK = 0
    DIFFERENCE = 1
    INPUT = 2
    CANNOT = 3
    INTERRUPTED = 130


class Place(Frozen):
    """A place in a file.

    Args:
        file: The name as the user gave it.
        line: Line number, from 1; None when the format has no lines.
        column: Column number, from 1.
        text: The line itself, to be quoted under the message.
    """

    file: str
    line: int | None = None
    column: int | None = None
    text: str = ""

    def __str__(self) -> str:
        numbers = [str(n) for n in (self.line, self.column) if n is not None]
        return ":".join([quote(self.file, limit=200, marks=""), *numbers])


def cell_name(path: Path, *, ndim: int | None = None) -> str:
    """Name the place of one value, for people and for programs: ``X row 2, column 1 (X[1][0])``.

    Args:
        path: Keys, then indices.
        ndim: Number of axes, when the path names a part with fewer indices: ``X row 2 (X[1])``.
    """
    last = max((i for i, part in enumerate(path) if isinstance(part, str)), default=-1) + 1
    parts = (f"[{part}]" if isinstance(part, int) else f".{quote(part, marks='')}" for part in path[:last])
    name = "".join(parts).removeprefix(".")
    indices = [part for part in path[last:] if isinstance(part, int)]
    if not indices:
        return name
    ndim = ndim or len(indices)
    words = {1: ("item",), 2: ("row", "column"), 3: ("matrix", "row", "column")}.get(
        ndim, (*(f"axis {i + 1}" for i in range(ndim - 2)), "row", "column")
    )
    spoken = ", ".join(f"{word} {i + 1}" for word, i in zip(words, indices, strict=False))
    return f"{name} {spoken} ({name}{''.join(f'[{i}]' for i in indices)})"


class AttnError(Exception):
    """Base of every error that attn raises on purpose.

    Args:
        message: What is wrong, in one sentence, with the values that show it.
        path: The key, and the cell, that it is about.
        context: What was expected, and why.
        fix: What to do about it; of several lines, those after the first are to be copied.
        place: Where it stands; usually added later by the reader.
    """

    exit_code = ExitCode.INPUT

    def __init__(
        self,
        message: str,
        *,
        path: Path = (),
        context: str = "",
        fix: str = "",
        place: Place | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.context = context
        self.fix = fix
        self.place = place

    def __str__(self) -> str:
        lines = [self.message]
        if self.place:
            excerpt = quote(self.place.text.strip(), limit=72, marks="")
            lines.append(f"   --> {self.place}" + (f"  {excerpt}" if excerpt else ""))
        lines += [f"       {line}" for line in self.context.splitlines()]
        if self.fix:
            lines.append("  fix: " + self.fix.replace("\n", "\n       "))
        return "\n".join(lines)


class InputError(AttnError, ValueError):
    """The problem file, an option or an array cannot be taken as it is."""


class UnavailableError(AttnError, RuntimeError):
    """A backend, a device, memory or a writable file is missing on this machine."""

    exit_code = ExitCode.CANNOT

    def __str__(self) -> str:
        """Say it in one line, where there is no more to say than how to get it."""
        if self.fix and not (self.context or self.place):
            return f"{self.message} (fix: {self.fix})"
        return super().__str__()
