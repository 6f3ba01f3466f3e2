"""What an output stream can show: colours, characters and columns."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from typing import Literal, TextIO, TypeAlias

__all__ = ["background", "color_depth", "is_unicode", "text_width"]

Depth: TypeAlias = Literal["8", "16", "256", "truecolor"]


def is_unicode(stream: TextIO) -> bool:
    """Tell whether the stream takes every character."""
    return codecs.lookup(stream.encoding).name.startswith("utf-")


def color_depth(choice: str, tty: bool, environment: Mapping[str, str] = os.environ) -> Depth | None:
    """Decide on colours: the option first, then NO_COLOR, FORCE_COLOR, and what is written to.

    Args:
        choice: ``auto``, ``always`` or ``never``.
        tty: Whether a terminal is written to.
        environment: The environment variables.

    Returns:
        None, ``8``, ``16``, ``256`` or ``truecolor``.
    """
    return _depth(environment) if _wanted(choice, tty, environment) else None


def _wanted(choice: str, tty: bool, environment: Mapping[str, str]) -> bool:
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if forced := environment.get("FORCE_COLOR"):
        return forced != "0"
    return tty and environment.get("TERM") != "dumb"


def _depth(environment: Mapping[str, str]) -> Depth:
    if environment.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return "truecolor"
    name = environment.get("TERM", "")
    return "256" if "256color" in name else "8" if name == "linux" else "16"


def background(environment: Mapping[str, str] = os.environ) -> Literal["dark", "light"]:
    """Find out whether the terminal is dark or light, as far as it says so in COLORFGBG."""
    return "light" if environment.get("COLORFGBG", "").rpartition(";")[2] in {"7", "15"} else "dark"


def text_width(choice: int | None, stream: TextIO, environment: Mapping[str, str] = os.environ) -> int | None:
    """Find the width to lay a table out for.

    Args:
        choice: What ``--width`` says.
        stream: Where the table goes.
        environment: The environment variables.

    Returns:
        Columns; None where nobody folds lines, such as in a pipe.
    """
    if choice is not None or not stream.isatty():
        return choice
    if columns := re.fullmatch(r"0*([1-9][0-9]{0,5})", environment.get("COLUMNS", "")):
        return int(columns[1])
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
