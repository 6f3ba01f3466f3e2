"""What to see of a result, and on what page, as the keywords of a Python call say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, TypedDict

from attncli.errors import InputError
from attncli.render.colors import PALETTES, SCALES
from attncli.render.terminal import PAGE, THEMES, Terminal
from attncli.sheet import View
from attncli.text import listed

__all__ = ["TEXT", "Seen", "page", "view_of"]

TEXT = Terminal(width=100, interactive=False)
"""A page of plain text."""

_MOST_DIGITS = 17  # with which any float64 is told from its neighbours


class Seen(TypedDict, total=False):
    """What to see of a result, as in `View`; stages may be one text, with commas between them."""

    stages: str | Sequence[str] | None
    head: int | None
    batch: int | None
    precision: int | None
    full: bool
    detail: bool
    rows: tuple[int, int] | None
    columns: tuple[int, int] | None
    mean_heads: bool
    heads_view: bool
    percent: bool | None
    blank: str | Sequence[str]
    answers: bool


def view_of(given: Mapping[str, object], others: Sequence[str]) -> View:
    """Read what is to be seen, as a command reads its options.

    Args:
        given: Options of a view by name.
        others: Names that might have been given, too.

    Raises:
        InputError: There is no such option, or it does not take that.
    """
    known = [each.name for each in fields(View)]
    for name in given:
        if name not in known:
            near = get_close_matches(name, [*others, *known], 1)
            raise InputError(
                f"there is no option {name}",
                context=f"options: {', '.join([*others, *known])}",
                fix=f"did you mean {near[0]}?" if near else "",
            )
    values: dict[str, Any] = {name: _READ.get(name, _as_it_is)(name, value) for name, value in given.items()}
    return View(**values)


def _as_it_is(_name: str, value: object) -> object:
    return value


def _names(name: str, value: object) -> tuple[str, ...] | None:
    if value is None or isinstance(value, str):
        return None if value is None else listed(value)
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise InputError(f"{name}={value!r} names no stages", fix=f'such as {name}=("scores", "weights")')


def _span(name: str, value: object) -> tuple[int, int] | None:
    match value:
        case None:
            return None
        case (int(start), int(stop)) if 0 <= start < stop:
            return start, stop
    raise InputError(f"{name}={value!r} is no range of positions", fix=f"such as {name}=(0, 16)")


def _digits(name: str, value: object) -> object:
    if value is None or (isinstance(value, int) and value in range(_MOST_DIGITS + 1)):
        return value
    raise InputError(
        f"{name}={value!r} is no number of decimals", context=f"0 to {_MOST_DIGITS} were expected"
    )


_READ: Mapping[str, Callable[[str, object], object]] = {
    "stages": _names,
    "blank": _names,
    "rows": _span,
    "columns": _span,
    "precision": _digits,
}
"""What makes an option's value of what was given for it."""


def page(*, width: int, theme: str = "auto", palette: str = "blues", scale: str | None = None) -> Terminal:
    """Describe the page that a result is set on.

    Raises:
        InputError: There is no such choice.
    """
    choices: dict[str, tuple[object, tuple[object, ...]]] = {
        "theme": (theme, ("auto", *THEMES)),
        "palette": (palette, tuple(PALETTES)),
        "scale": (scale, (*SCALES, None)),
    }
    for name, (value, known) in choices.items():
        if value not in known:
            raise InputError(f"{name}={value!r} is none of {', '.join(map(repr, known))}")
    if not isinstance(width, int) or width < 1:
        raise InputError(f"width={width!r} is no number of columns", fix=f"such as width={PAGE}")
    look: Any = {"theme": "light" if theme == "auto" else theme, "palette": palette, "scale": scale}
    return replace(TEXT, width=width, **look)
