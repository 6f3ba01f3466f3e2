"""What may attend to what: rules about positions, combined into one boolean array.

Positions are whole numbers: keys stand at 0, 1, 2, …, and queries at an offset from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from attncli.core.namespace import namespace
from attncli.frozen import Frozen
from attncli.trace import Array, Value

__all__ = ["Rules", "causal", "keep", "sight", "window"]


class Rules(Frozen, kw_only=True):
    """A mask, as rules and as arrays that broadcast to ``(batch, head, query, key)``.

    Args:
        causal: Whether a query sees no key after itself.
        windows: How many keys each window shows to the left and to the right of the query's own;
            None is all of them.
        keep_first: How many keys at the start stay in sight of every window.
        offset: Position of the first query, one for all or one for each item of the batch.
        lengths: How many keys are real, one for each item of the batch.
        arrays: Boolean arrays; true keeps.
        first_query: Where the queries start that the mask is for, counted among all queries.
        first_key: Where the keys start, counted among all keys.
        symbol: The rules, as a formula says them.
    """

    causal: bool = False
    windows: tuple[tuple[int | None, int | None], ...] = ()
    keep_first: int = 0
    offset: Array | int = 0
    lengths: Array | None = None
    arrays: tuple[Array, ...] = ()
    first_query: int = 0
    first_key: int = 0
    symbol: str = "kept"

    @property
    def by_distance(self) -> bool:
        """Whether the distance between query and key alone says what is in sight."""
        moves = self.arrays or self.lengths is not None or not isinstance(self.offset, int)
        return not (moves or (self.windows and self.keep_first))

    def map(self, convert: Callable[[Array], Array]) -> Rules:
        """Return the same rules with every array converted."""
        return replace(
            self,
            offset=self.offset if isinstance(self.offset, int) else convert(self.offset),
            lengths=None if self.lengths is None else convert(self.lengths),
            arrays=tuple(convert(array) for array in self.arrays),
        )


def causal(query: Array, key: Array) -> Array:
    """Keep the keys up to the query's own position."""
    return key <= query


def window(query: Array, key: Array, left: int | None = None, right: int | None = None) -> Array:
    """Keep the keys at most ``left`` positions before the query and ``right`` after it."""
    seen = key >= 0
    if left is not None:
        seen = seen & (query - key <= left)
    if right is not None:
        seen = seen & (key - query <= right)
    return seen


def keep(rules: Rules, seq_q: int, seq_k: int, like: Array) -> Value:
    """Combine the rules with *and*.

    Args:
        rules: The mask.
        seq_q: Number of queries.
        seq_k: Number of keys.
        like: An array of the backend and device where the result is to be.

    Returns:
        True where a query sees a key, in a shape that broadcasts to ``(batch, head, seq_q, seq_k)``.
    """
    xp = namespace(like)
    query = xp.arange(seq_q, device=like.device)[:, None] + (rules.first_query + rules.offset)
    key = xp.arange(seq_k, device=like.device)[None, :] + rules.first_key
    combined = xp.ones((seq_q, seq_k), dtype=xp.bool, device=like.device)
    for part in _parts(rules, query, key):
        combined = combined & part
    return Value(combined, rules.symbol)


def _parts(rules: Rules, query: Array, key: Array) -> Iterator[Array]:
    if rules.causal:
        yield causal(query, key)
    for left, right in rules.windows:
        yield window(query, key, left, right) | (key < rules.keep_first)
    if rules.lengths is not None:
        yield key < rules.lengths
    yield from rules.arrays


def sight(rules: Rules, queries: slice, keys: slice) -> bool | None:
    """Tell by the rules alone, without a number for each pair, how much queries see of keys.

    Args:
        rules: The mask.
        queries: Which queries, counted from the first that the mask is for.
        keys: Which keys, likewise.

    Returns:
        True when every query sees every key, False when none sees any; None when it takes a closer
        look.
    """
    low, high = _ends(rules.offset)
    query = rules.first_query + queries.start + low, rules.first_query + queries.stop - 1 + high
    key = rules.first_key + keys.start, rules.first_key + keys.stop - 1
    verdicts = list(_verdicts(rules, query, key))
    if False in verdicts:
        return False
    return True if all(verdicts) and not rules.arrays else None


def _verdicts(rules: Rules, query: tuple[int, int], key: tuple[int, int]) -> Iterator[bool | None]:
    if rules.causal:
        yield _between(key, None, query)
    for left, right in rules.windows:
        if key[0] < rules.keep_first:
            yield True if key[1] < rules.keep_first else None
            continue
        yield _between(key, None if left is None else (query[0] - left, query[1] - left), None)
        yield _between(key, None, None if right is None else (query[0] + right, query[1] + right))
    if rules.lengths is not None:
        short, long = _ends(rules.lengths)
        yield _between(key, None, (short - 1, long - 1))


def _between(key: tuple[int, int], start: tuple[int, int] | None, end: tuple[int, int] | None) -> bool | None:
    """Hold keys against where sight starts and ends, each known to lie between two places."""
    if (start and key[1] < start[0]) or (end and key[0] > end[1]):
        return False
    return True if (not start or key[0] >= start[1]) and (not end or key[1] <= end[0]) else None


def _ends(numbers: Array | int) -> tuple[int, int]:
    if isinstance(numbers, int):
        return numbers, numbers
    xp = namespace(numbers)
    return int(xp.min(numbers)), int(xp.max(numbers))
