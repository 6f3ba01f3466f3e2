"""From the path of a value back to its line.

Trees carry no positions, which keeps reading fast. When an error needs one, the text is walked
again, token by token, down the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Literal, NamedTuple

from attncli.errors import Path
from attncli.problem import Source
from attncli.readers.block import cell_at

__all__ = ["TextSource", "Token", "place_at"]

_EXCERPT = 64  # characters of a long line that are shown around the place


class Token(NamedTuple):
    """The start of a collection, its end, a scalar or an alias.

    Args:
        kind: ``[ ] { }``, or what it is.
        value: Text of a scalar, name of an alias.
        offset: Where it starts, in characters.
        anchor: The name under which an alias finds it.
    """

    kind: Literal["[", "]", "{", "}", "scalar", "alias"]
    value: str
    offset: int
    anchor: str | None = None


class TextSource(Source, kw_only=True):
    """A problem's text, and how it is cut into tokens.

    Args:
        text: All of the file.
        tokens: Yields the tokens of the problem that starts at an offset of a text.
        end: Finds the end of the collection that starts at an offset, from where ``tokens`` can go on;
            None where a text can only be read from its start.
        start: Where this problem starts, when the file holds several.
    """

    text: str = field(repr=False)
    tokens: Callable[[str, int], Iterator[Token]] = field(repr=False)
    end: Callable[[str, int], int] | None = field(default=None, repr=False)
    start: int = 0

    def locate(self, path: Path) -> tuple[int, int, str] | None:
        """Return line, column and text of the value at ``path``, or of what holds it."""
        if not path:
            return place_at(self.text, self.start) if self.start else None
        walk = _Walk(self)
        at, value = _descend(walk, next(walk), path)
        if value.kind == "scalar" and "\n" in self.text[at : value.offset]:  # a line below its key
            at = value.offset
        indices = [part for part in path if isinstance(part, int)]
        if indices and value.kind == "scalar" and self.text.startswith("|", value.offset):
            at = cell_at(self.text, value.offset, indices) or at
        return place_at(self.text, at)


class _Walk(Iterator[Token]):
    """Goes through the tokens of a text, past what nobody asks for as fast as can be."""

    def __init__(self, source: TextSource) -> None:
        self._source = source
        self._tokens = source.tokens(source.text, source.start)

    def __next__(self) -> Token:
        return next(self._tokens)

    def again(self) -> _Walk:
        """Return another one, from the start."""
        return _Walk(self._source)

    def skip(self, token: Token) -> None:
        """Go past what begins with a token that was just read."""
        source = self._source
        if token.kind in "[{" and source.end:
            self._tokens = source.tokens(source.text, source.end(source.text, token.offset))
            return
        depth = 1 if token.kind in "[{" else 0
        while depth:
            kind = next(self).kind
            depth += (kind in "[{") - (kind in "]}")


def place_at(text: str, offset: int) -> tuple[int, int, str]:
    """Return line and column (from 1) of an offset, and the line around it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    column = offset - start
    if len(line) > _EXCERPT:
        first = min(max(0, column - _EXCERPT // 2), len(line) - _EXCERPT)
        line = ("…" if first else "") + line[first : first + _EXCERPT]
    return text.count("\n", 0, start) + 1, column + 1, line


def _descend(walk: _Walk, token: Token, path: Path, here: int | None = None) -> tuple[int, Token]:
    """Follow ``path`` from ``token``, and return the last part that is there: its offset and its value."""
    here = token.offset if here is None else here
    if not path:
        return here, token
    if token.kind == "alias":
        walk, token = _anchored(walk, token)
    head, rest = path[0], path[1:]
    for part, at, value in _members(walk, token):
        if part == head:
            return _descend(walk, value, rest, at)
        walk.skip(value)
    return here, token


def _members(tokens: Iterator[Token], token: Token) -> Iterator[tuple[str | int, int, Token]]:
    """Yield key or index, place and first token of each value; the caller reads the value itself."""
    if token.kind == "[":
        for index, item in enumerate(iter(lambda: next(tokens), None)):
            if item.kind == "]":
                return
            yield index, item.offset, item
    elif token.kind == "{":
        while (key := next(tokens)).kind != "}":
            yield key.value, key.offset, next(tokens)


def _anchored(walk: _Walk, alias: Token) -> tuple[_Walk, Token]:
    """Find what an alias stands for: the last value of that name before it."""
    at = max(t.offset for t in walk.again() if t.anchor == alias.value and t.offset < alias.offset)
    walk = walk.again()
    return walk, next(t for t in walk if t.offset == at and t.anchor == alias.value)
