"""What is worked on by itself: the tiles of some queries of some heads, from the first key to the last.

Scores are scaled, biased and masked by the very functions of the full way, and then let go;
`attncli.core.online` keeps of them what softmax needs. What values make needless is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from attncli.core import masks
from attncli.core.attention import logits, mixed
from attncli.core.bounds import is_finite, is_ordinary, keep_digits, lengths_of, reach, stay_finite
from attncli.core.engine import Engine, Mixed, Strip, joined
from attncli.core.inputs import Inputs
from attncli.core.logits import scaled
from attncli.core.namespace import namespace
from attncli.core.online import ROW_DETAILS, Online, exp_shifted
from attncli.core.tiles import ALL, Tile, cut, rows_of, spans, tile_inputs
from attncli.frozen import Frozen
from attncli.trace import Array, Trace, Value, untraced

__all__ = ["Job", "job_of"]

_MASK_BIASES = 8
"""How many different tiles at the edges of sight are held ready; most masks have fewer."""


class Job(Frozen, kw_only=True):
    """What all strips are computed from.

    Args:
        p: The inputs.
        online: Whether softmax, or what stands in for it, can be brought up from tile to tile.
        in_tiles: What is otherwise in the inputs of a tile, without a difference to what comes out.
        q: Queries.
        scales: What queries are scaled by, instead of their scores.
        k: Keys.
        v: Values.
        engine: How tiles are worked off.
        hides: Whether what the mask rules out leaves no trace in the output.
        by_pair: Whether anything but the mask has a number for each pair.
        lengths: Of each query when it is scaled, ``(…, seq_q)``, and of the longest key, ``(…, 1)``,
            where scores are bounded by them; None where they are not.
        reach: How far from 0 scores may be for exponentials to be taken as they are.
        mask_bias: Makes what is added to finite scores to hide those out of sight of some rules, which are
            for a tile of so many queries and keys; None where only a mask does.
    """

    p: Inputs
    online: bool
    in_tiles: Mapping[str, Any]
    q: Value | None
    scales: tuple[Value | None, ...]
    k: Value | None
    v: Value
    engine: Engine
    hides: bool
    by_pair: bool
    lengths: tuple[Array, Array] | None
    reach: float
    mask_bias: Callable[[masks.Rules, int, int], Array] | None

    def tiles(self, part: Inputs) -> Iterator[tuple[slice, bool | None]]:
        """Yield the keys of each tile of a strip, and whether all of it is in sight; None may be partly."""
        blind = True
        for whole in spans(part.seq_k, self.engine.keys):
            for keys, seen in _in_sight(part.mask, slice(0, part.seq_q), whole):
                if seen is not False or not self.hides:
                    blind = False
                    yield keys, seen
        if blind:  # one tile that is hidden whole tells what becomes of such rows
            yield next(spans(part.seq_k, 1)), False

    def size(self, strip: Strip) -> int:
        """Count the keys that a strip is compared with."""
        if self.p.mask is None:
            return self.p.seq_k
        return sum(keys.stop - keys.start for keys, _ in self.tiles(strip.inputs))

    def mix(self, strip: Strip) -> Mixed:
        """Compute a strip; what tiles leave not finite, or cannot do, row by row with the full way's stages.

        Of numbers that stay finite, no way can tell in which order they came together. What doesn't may
        be otherwise in the full way, whose weights are divided by their sum before they meet the values.
        """
        made = self._by_tile(strip) if self.online else None
        if made and self._is_sure(made):
            return made
        parts = []
        for rows in spans(strip.inputs.seq_q, self._rows_at_once()):
            part = made and made.rows(rows)
            parts.append(part if part and self._is_sure(part) else self._by_row(strip, rows))
        return joined(parts)

    def _is_sure(self, made: Mixed) -> bool:
        """Tell whether the full way would come to the same."""
        p, output = self.p, made.output
        if math.isnan(p.empty) and p.normalize == "softmax" and self.hides and not p.dropout:
            blind = made.details["lse"][..., None] == -math.inf  # whose output is to be NaN
            output = namespace(output).where(blind, 0.0, output)
        return is_finite(output)

    def _by_tile(self, strip: Strip) -> Mixed:
        part = replace(strip.inputs, **self.in_tiles)
        q, k, v = self._vectors(strip, strip.queries)
        q = q and untraced(scaled, q, *self.scales)
        seen_whole = replace(part, mask=None) if part.mask else part
        online = Online(self.engine.exp if q else exp_shifted, shifts=not self._is_bounded(strip))
        for keys, seen in self.tiles(part):
            mask_bias = None if seen else self._mask_bias_of(part, keys)
            tile = seen_whole if seen or mask_bias is not None else part
            if tile.mask or self.by_pair:
                lead = (ALL,) * len(strip.lead)
                tile = tile_inputs(tile, Tile(lead=lead, queries=slice(0, part.seq_q), keys=keys))
            its_keys = k and Value(k.array[..., keys, :], k.symbol)
            # Scores have no name here, so that the next ones can take their place in memory.
            online.add(tile, *_scores(tile, q, its_keys, mask_bias), v.array[..., keys, :])
        return Mixed(*online.end(part))

    def _vectors(self, strip: Strip, queries: slice) -> tuple[Value | None, Value | None, Value]:
        v = rows_of(self.v, ALL, strip.lead)
        assert v is not None
        return rows_of(self.q, queries, strip.lead), rows_of(self.k, ALL, strip.lead), v

    def _rows_at_once(self) -> int:
        """Count the rows of all keys that are as large as a tile."""
        return max(1, self.engine.queries * self.engine.keys // self.p.seq_k)

    def _by_row(self, strip: Strip, rows: slice) -> Mixed:
        lead, start = (ALL,) * len(strip.lead), strip.queries.start
        tile = Tile(lead=lead, queries=rows, keys=slice(0, self.p.seq_k))
        trace = Trace(self.p.axes, keep={"weights"} if self.online else ())
        vectors = self._vectors(strip, slice(start + rows.start, start + rows.stop))
        output = mixed(tile_inputs(strip.inputs, tile), *vectors, trace, looks=self.engine.looks)
        details = trace.records["weights"].details
        return Mixed(output.array, {name: details[name] for name in ROW_DETAILS if name in details})

    def _mask_bias_of(self, part: Inputs, keys: slice) -> Array | None:
        """Return what hides a tile when it is added; tiles at one distance from their queries share it."""
        rules = part.mask
        if self.mask_bias is None or rules is None:
            return None
        distance = rules.first_query - rules.first_key - keys.start
        return self.mask_bias(
            replace(rules, first_query=distance, first_key=0), part.seq_q, keys.stop - keys.start
        )

    def _is_bounded(self, strip: Strip) -> bool:
        """Tell whether scores are too small for any exponential to need a shift."""
        if self.lengths is None:
            return False
        query, key = self.lengths
        most = cut(query, *strip.lead, strip.queries) * cut(key, *strip.lead, ALL)
        return bool(namespace(most).max(most) <= self.reach)


def _scores(
    tile: Inputs, q: Value | None, k: Value | None, mask_bias: Array | None
) -> tuple[Array, Array | None]:
    """Return the scores of a tile, and which of them are kept; None where all are."""
    z, keep = logits(tile, q, k, untraced)
    scores = z.array
    if mask_bias is not None:
        scores += mask_bias
    return scores, keep and keep.array


def _in_sight(mask: masks.Rules | None, queries: slice, keys: slice) -> Iterator[tuple[slice, bool | None]]:
    """Halve a tile that is partly in sight until its pieces are in or out of it, or no wider than high."""
    seen = True if mask is None else masks.sight(mask, queries, keys)
    half = (keys.stop - keys.start) // 2
    if seen is not None or half < queries.stop - queries.start or (mask and mask.arrays):
        yield keys, seen
        return
    middle = keys.start + half
    yield from _in_sight(mask, queries, slice(keys.start, middle))
    yield from _in_sight(mask, queries, slice(middle, keys.stop))


def job_of(p: Inputs, q: Value | None, k: Value | None, v: Value, engine: Engine) -> Job:
    """Do once what would be the same for every tile."""
    online = p.normalize != "sum" and p.mask_when != "after_softmax_renormalized"
    hides = p.fill == -math.inf and p.mask_when == "before_softmax"
    hidden_counts, lengths, far, mask_bias = p.exclude, None, 0.0, None
    query, key = (each and lengths_of(each.array) for each in (q, k))
    scales = _early_scales(p, q, query, key)
    in_tiles: dict[str, Any] = dict.fromkeys(("multiplier", "divisor", "temperature")) if scales else {}
    if engine.looks and scales and k and not (p.bias or p.additive):
        xp = namespace(query)
        query = xp.abs(untraced(scaled, query, *scales).array)
        sizes = xp.abs(v.array)
        others = [lengths_of(p.by_distance.array)] if p.by_distance else []
        finite = stay_finite(query, key, sizes, *others)
        if finite and (p.softcap is None or is_ordinary(p.softcap.array)):
            in_tiles, hidden_counts = in_tiles | {"exclude": False}, True
            if hides and p.normalize == "softmax" and not (p.softcap or p.by_distance or p.sink):
                lengths, far = (query, xp.max(key, axis=-1, keepdims=True)), reach(sizes, p.seq_k)
            if hides and p.mask and p.mask.by_distance:
                mask_bias = lru_cache(_MASK_BIASES)(partial(_mask_bias, like=k.array))
    by_pair = q is None or p.biased or p.additive is not None or p.dropout is not None
    return Job(
        p=p,
        q=q,
        scales=scales,
        k=k,
        v=v,
        engine=engine,
        online=online,
        in_tiles=in_tiles,
        hides=hides and hidden_counts,
        by_pair=by_pair,
        lengths=lengths,
        reach=far,
        mask_bias=mask_bias,
    )


def _early_scales(
    p: Inputs, q: Value | None, query: Array | None, key: Array | None
) -> tuple[Value | None, ...]:
    """Return what queries can be scaled by before they meet the keys; nothing where that would show.

    Args:
        p: The inputs.
        q: Queries.
        query: Their lengths.
        key: Those of the keys.
    """
    scales = (p.multiplier, p.divisor, p.temperature)
    scores_come_first = p.similarity.kind != "dot" or (p.biased and p.bias_position == "before_scale")
    if scores_come_first or not all(is_ordinary(each.array) for each in scales if each):
        return ()
    if q is None or query is None or key is None or not stay_finite(query, key):
        return ()
    return scales if p.normalize == "softmax" or keep_digits(q.array) else ()


def _mask_bias(rules: masks.Rules, seq_q: int, seq_k: int, *, like: Array) -> Array:
    xp = namespace(like)
    nothing = xp.zeros((), dtype=like.dtype, device=like.device)
    return xp.where(masks.keep(rules, seq_q, seq_k, like).array, nothing, -math.inf)
