"""Single values: whole numbers, numbers, choices, truth values, text and names."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping

from attncli.errors import InputError, Path, cell_name
from attncli.readers.numbers import NotANumber, number, odd_characters
from attncli.readers.tree import Plain, Tree
from attncli.text import quote

__all__ = [
    "check_names",
    "choice",
    "clean_text",
    "flag",
    "found",
    "integer",
    "integers",
    "means_none",
    "nearest",
    "real",
    "unknown_name",
]

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_LARGEST = 10**18
_MANY = 24  # names; more of them are not listed in a message
_NOTHING = {"", "none", "null", "~", "false", "no", "off"}
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def found(value: Tree) -> str:
    """Say in a few words what a value is, for the end of a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or (isinstance(value, Plain) and not value):
        return "nothing (null)"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    odd = odd_characters(str(value))
    return quote(str(value)) + (f" ({odd})" if odd else "")


def means_none(value: Tree) -> bool:
    """Tell whether somebody most likely wrote a value to say that there is nothing of the kind."""
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or value is False


def real(value: Tree, path: Path) -> float:
    """Read a number.

    Raises:
        InputError: If it is none, or NaN.
    """
    try:
        result = number(value)
    except NotANumber as fault:
        raise InputError(f"{cell_name(path)} {fault.what}", path=path, fix=fault.fix) from None
    if math.isnan(result):
        raise InputError(
            f"{cell_name(path)} is NaN where a number was expected", path=path, fix="write a number"
        )
    return result + 0.0  # −0 + 0 is 0, which is how it is shown


def integer(value: Tree, path: Path, *, minimum: float | None = None) -> int:
    """Read a whole number.

    Raises:
        InputError: If it is not whole, or below the minimum.
    """
    result: int | None
    if type(value) is int or (isinstance(value, str) and _WHOLE.fullmatch(value.strip())):
        result = int(value)  # not by way of float, which has no room for more than 2⁵³
    else:
        as_real = real(value, path)
        result = int(as_real) if as_real.is_integer() else None
    if result is None or abs(result) >= _LARGEST:
        raise InputError(
            f"{cell_name(path)} is {found(value)}, not a whole number"
            + (" of at most 18 digits" if result else ""),
            path=path,
            fix="write a whole number",
        )
    if minimum is not None and result < minimum:
        raise InputError(
            f"{cell_name(path)} is {result}, and must be at least {minimum:g}",
            path=path,
            fix="write a larger number",
        )
    return result


def integers(value: Tree, path: Path, *, minimum: float | None = None) -> tuple[int, ...]:
    """Read a list of whole numbers.

    Raises:
        InputError: If it is no list, is empty, or holds something else.
    """
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{cell_name(path)} is {found(value)}, where a list of whole numbers was expected",
            path=path,
            fix="write them in brackets: [2, 6]",
        )
    return tuple(integer(item, (*path, i), minimum=minimum) for i, item in enumerate(value))


def flag(value: Tree, path: Path) -> bool:
    """Read true or false.

    Raises:
        InputError: If it is neither; 1 and 0 are not taken here.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    raise InputError(
        f"{cell_name(path)} is {found(value)}, where true or false was expected",
        path=path,
        fix="write true or false",
    )


def choice(value: Tree, path: Path, choices: tuple[str, ...]) -> str:
    """Read one of a few words.

    Raises:
        InputError: If it is another; lists them and suggests the nearest.
    """
    if isinstance(value, str) and value.strip() in choices:
        return value.strip()
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    near = nearest(text, choices) if isinstance(text, str) else None
    if "none" in choices and means_none(value):
        near = "none"
    raise InputError(
        f"{cell_name(path)} is {found(value)}, which is not one of its choices",
        path=path,
        context=f"choices: {', '.join(choices)}",
        fix=f"did you mean {near}?"
        if near
        else "write one of them"
        if choices[1:]
        else f"write {choices[0]}",
    )


def clean_text(value: Tree, path: Path) -> str:
    """Read text as it is written, numbers and truth values of JSON too.

    Raises:
        InputError: If it is a list, a mapping or null, or holds half a surrogate pair.
    """
    if isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        raise InputError(
            f"{cell_name(path)} is {found(value)}, where text was expected",
            path=path,
            fix="put the text in quotes",
        )
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(
            f"{cell_name(path)} holds half of a surrogate pair: {quote(value)}",
            path=path,
            fix="write the character itself, or both halves of its escape",
        )
    return str(value)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that somebody most likely meant, if any is near."""
    from attncli.namesakes import WORDS, bare  # noqa: PLC0415  (only errors need it)

    spelled = {bare(each): each for each in known}
    wanted = bare(name)
    if wanted in spelled:
        return spelled[wanted]
    if WORDS.get(wanted) in spelled.values():
        return WORDS[wanted]
    close = difflib.get_close_matches(wanted, spelled, n=1, cutoff=0.65)
    if not close and len(wanted) > len("seq"):
        close = [each for each in spelled if len(each) > 1 and wanted.startswith(each)]
    return spelled[close[0]] if close else None


def check_names(mapping: Mapping[str, Tree], known: Iterable[str], path: Path) -> None:
    """Refuse a mapping's first unknown key, and suggest the nearest known one.

    Raises:
        InputError: Names the key, odd characters in it, and what it may mean.
    """
    known = tuple(known)
    for name in mapping:
        if name not in known:
            raise unknown_name(name, known, path, value=mapping[name])


def unknown_name(
    name: str, known: Iterable[str], path: Path, *, what: str = "key", value: Tree = ""
) -> InputError:
    """Make the error for a name that is not among those known, and for the value that it was given."""
    from attncli.namesakes import namesake  # noqa: PLC0415  (only errors need it)
    from attncli.readers.signs import wide_sign  # noqa: PLC0415

    known = tuple(known)
    odd = odd_characters(name)
    inside = f" in {cell_name(path)}" if path else ""
    many = len(known) > _MANY
    context = "" if many else f"known: {', '.join(known)}"
    fix = "see: attn keys" if many else ""
    near = nearest(name, known)
    if sign := wide_sign(name):
        context, fix = "", f"did you mean {near}? {sign.fix}" if near else sign.fix
    elif joined := re.match(r"([\w.]+):(.+)", name):
        context, fix = "", f"put a blank after the colon: {joined[1]}: {quote(joined[2], marks='')}"
    elif what == "key" and (other := namesake(name, str(path[0]) if path else "")):
        context = other.note
        says_no = value is None or str(value).lower() in _NOTHING - {""}
        fix = f"write {' and '.join(other.write.splitlines())}"
        fix = "leave it out" if says_no or not other.write else fix
    elif near:
        context, fix = "", f"did you mean {near}?"
    return InputError(
        f"unknown {what} {quote(name)}{inside}{f': it holds {odd}' if odd else ''}",
        path=(*path, name),
        context=context,
        fix=fix,
    )
