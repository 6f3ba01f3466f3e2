"""What may attend to what: rules about positions, combined into one boolean array.

Positions are whole numbers: keys stand at 0, 1, 2, …, and queries at an offset from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from attncli.core.namespace import namespace
from attncli.trace import Array, Value

__all__ = ["Rules", "causal", "keep", "window"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """A mask, as rules and as arrays that broadcast to ``(batch, head, query, key)``.

    Args:
        causal: Whether a query sees no key after itself.
        windows: How many keys each window shows to the left and to the right of the query's own;
            None is all of them.
        keep_first: How many keys at the start stay in sight of every window.
        offset: Position of the first query, one for all or one for each item of the batch.
        lengths: How many keys are real, one for each item of the batch.
        arrays: Boolean arrays; true keeps.
        symbol: The rules, as a formula says them.
    """

    causal: bool = False
    windows: tuple[tuple[int | None, int | None], ...] = ()
    keep_first: int = 0
    offset: Array | int = 0
    lengths: Array | None = None
    arrays: tuple[Array, ...] = ()
    symbol: str = "kept"

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
    query = xp.arange(seq_q, device=like.device)[:, None] + rules.offset
    key = xp.arange(seq_k, device=like.device)[None, :]
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
