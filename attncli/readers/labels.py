"""Token labels: taken as they are written, whatever else they look like."""

from __future__ import annotations

import re

from attncli.errors import InputError, Path, cell_name
from attncli.readers.scalars import clean_text, found
from attncli.readers.tree import Plain, Tree
from attncli.text import quote

__all__ = ["labels"]

_COMMA = r"[,，、]"
_BRACKETS = re.compile(r"\s*[\[【［「(（]([^\[\]【】［］「」()（）]*)[\]】］」)）]\s*")
_PLAIN = re.compile(r"\w(?:[\w .'’-]*[\w.'’])?")
"""What YAML takes for text as it stands."""
_LONG = 200
"""Characters of a list that still stands in a message."""


def labels(value: Tree, path: Path) -> tuple[str, ...]:
    """Read a list of labels.

    Args:
        value: A list of text; ``no``, ``null`` and ``1:30`` are labels like any other.
        path: The key that it stands under.

    Raises:
        InputError: If it is no list, or a label is empty, a list or a mapping.
    """
    if isinstance(value, str) and value.strip():
        raise InputError(
            f"{cell_name(path)} is the text {quote(value)}, where a list of labels was expected",
            path=path,
            fix=f"write {_listed(value)}",
        )
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{cell_name(path)} is {found(value)}, where a list of labels was expected",
            path=path,
            fix="write [the, cat, sat]",
        )
    return tuple(_label(item, (*path, index)) for index, item in enumerate(value))


def _listed(text: str) -> str:
    """Write as a list what somebody wrote as text: parted at commas of any script, or else at blanks."""
    bracketed = _BRACKETS.fullmatch(text)
    inside = bracketed[1] if bracketed else text
    parts = re.split(_COMMA, inside) if re.search(_COMMA, inside) else inside.split()
    words = [each.strip().strip("\"'") for each in parts if each.strip()]
    written = f"[{', '.join(each if _PLAIN.fullmatch(each) else _in_quotes(each) for each in words)}]"
    return written if words and len(written) <= _LONG else "a list: [the, cat, sat]"


def _in_quotes(label: str) -> str:
    import json  # noqa: PLC0415  (only errors need it)

    return json.dumps(label, ensure_ascii=False)


def _label(value: Tree, path: Path) -> str:
    number = int(path[-1]) + 1
    name = f"token {number} of {cell_name(path[:-1])} ({cell_name(path[:-1])}[{number - 1}])"
    if isinstance(value, list):
        inner = ", ".join(str(item) for item in value)
        raise InputError(
            f"{name} is a list, since brackets mean one in YAML and JSON",
            path=path,
            fix=f'put it in quotes: "[{quote(inner, marks="")}]"',
        )
    if isinstance(value, dict):
        raise InputError(
            f"{name} is a mapping, since a colon or braces mean one in YAML and JSON",
            path=path,
            fix="put the label in quotes",
        )
    if value is None:
        raise InputError(f"{name} is null", path=path, fix='write "null" in quotes if it is the label')
    if isinstance(value, Plain) and not value:
        raise InputError(
            f"{name} is empty: what follows # is a comment in YAML",
            path=path,
            fix='put the label in quotes: "#1", or "" if it is meant to be empty',
        )
    return clean_text(value, path)
