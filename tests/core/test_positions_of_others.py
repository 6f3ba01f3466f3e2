"""Positions as others compute them: rotations, slopes and buckets, from code written plainly here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attncli.core.positions import alibi_slopes
from attncli.problem import T5, Alibi, Mask, Rope, Sinusoidal, Variant
from tests.computed import stage

torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')

HEADS, SEQ, DIM = 2, 5, 8


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


Q, K = draw(HEADS, SEQ, DIM, 1)[..., 0], draw(HEADS, SEQ, DIM, 2)[..., 0]


# rotation


def inverse_frequencies(dim: int = DIM, base: float = 10000.0) -> Any:
    """Take one frequency for each pair, as every published version does."""
    return 1.0 / base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def turned_by_halves(x: Any, angles: Any) -> Any:
    """Rotate as Hugging Face's Llama does: cosines twice, and the second half before the first, negated."""
    cos, sin = (torch.cat([wave, wave], dim=-1) for wave in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def turned_as_complex(x: Any, angles: Any) -> Any:
    """Rotate as Meta's Llama does: neighbours are a complex number, times one of length 1."""
    numbers = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


TURNED = {"half": turned_by_halves, "interleaved": turned_as_complex}
POSITIONS = torch.arange(SEQ, dtype=torch.float64)
ANGLES = torch.outer(POSITIONS, inverse_frequencies())
OWN_ANGLES = draw(SEQ, DIM // 2)
OWN_FREQUENCIES = (0.3, 1.0, 0.02, 2.5)
MOVED = (7, 0, 3, 3, 1)


def doubled(table: np.ndarray, pairing: str) -> np.ndarray:
    """Write every number of a table for both numbers of its pair."""
    return np.tile(table, 2) if pairing == "half" else np.repeat(table, 2, axis=1)


ROTATIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "plain": ({}, ANGLES),
    "another base": ({"base": 500000.0}, torch.outer(POSITIONS, inverse_frequencies(base=500000.0))),
    "an offset": ({"offset": 11}, torch.outer(POSITIONS + 11, inverse_frequencies())),
    "positions": (
        {"positions": MOVED},
        torch.outer(torch.tensor(MOVED, dtype=torch.float64), inverse_frequencies()),
    ),
    "part of the head": ({"dim": 4}, torch.outer(POSITIONS, inverse_frequencies(4))),
    "frequencies": (
        {"inv_freq": OWN_FREQUENCIES},
        torch.outer(POSITIONS, torch.tensor(OWN_FREQUENCIES, dtype=torch.float64)),
    ),
    "angles": ({"angles": OWN_ANGLES}, torch.from_numpy(OWN_ANGLES)),
    "angles in degrees": (
        {"angles": OWN_ANGLES * 180 / math.pi, "unit": "degrees"},
        torch.from_numpy(OWN_ANGLES),
    ),
    "angles at positions": (
        {"angles": np.arange(8.0)[:, None] * np.ones(4), "positions": MOVED},
        torch.tensor(MOVED, dtype=torch.float64)[:, None].expand(-1, 4),
    ),
    "tables": ({"cos": np.cos(OWN_ANGLES), "sin": np.sin(OWN_ANGLES)}, torch.from_numpy(OWN_ANGLES)),
    "tables for every number": (
        {"cos": np.cos(OWN_ANGLES), "sin": np.sin(OWN_ANGLES), "doubled": True},
        torch.from_numpy(OWN_ANGLES),
    ),
}


@pytest.mark.parametrize("pairing", TURNED)
@pytest.mark.parametrize("case", ROTATIONS)
def test_rotation_is_that_of_llama(case: str, pairing: str) -> None:
    """Queries, keys and their products are those of the two published forms, however angles are said."""
    keys, angles = ROTATIONS[case]
    keys = {**keys}
    if keys.pop("doubled", False):
        keys |= {name: doubled(keys[name], pairing) for name in ("cos", "sin")}
    rope = Rope(pairing=pairing, **keys)
    wide = 2 * angles.shape[-1]
    turned = []
    for name, x in {"Q_rot": Q, "K_rot": K}.items():
        whole = torch.from_numpy(x.copy())
        wanted = torch.cat([TURNED[pairing](whole[..., :wide], angles), whole[..., wide:]], dim=-1)
        got = stage(name, Q=Q, K=K, qkv_layout="head seq dim", rope=rope)
        np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=1e-14)
        turned.append(wanted)
    scores = stage("scores", Q=Q, K=K, qkv_layout="head seq dim", rope=rope)
    np.testing.assert_allclose(scores, (turned[0] @ turned[1].mT).numpy(), rtol=0, atol=1e-13)


def test_keys_of_a_cache_are_not_rotated_again() -> None:
    """New queries and keys stand after the cache, whose keys are as they were kept."""
    past = {"K": draw(HEADS, 3, DIM), "V": draw(HEADS, 3, 2)}
    problem = {"Q": Q, "K": K, "V": draw(HEADS, SEQ, 2), "past": past, "qkv_layout": "head seq dim"}
    angles = torch.outer(POSITIONS + 3, inverse_frequencies())
    new = turned_by_halves(torch.from_numpy(K.copy()), angles).numpy()
    got = stage("K_all", **problem, rope=Rope(pairing="half"))
    np.testing.assert_allclose(got, np.concatenate([past["K"], new], axis=1), atol=1e-14)


@pytest.mark.parametrize("dim", [1, 4, 5])
@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_sines_and_cosines_are_the_papers(layout: str, dim: int) -> None:
    """PE(pos, 2i) = sin(pos ÷ base^(2i ÷ d)) and PE(pos, 2i + 1) its cosine, number by number."""
    rule = Sinusoidal(base=100.0, layout=layout, offset=2)
    got = stage("X_pos", X=np.zeros((3, dim)), position_encoding=Variant("sinusoidal", rule))
    for row, column in np.ndindex(got.shape):
        sines = (dim + 1) // 2
        pair, odd = divmod(column, 2) if layout == "interleaved" else (column % sines, column // sines)
        angle = (row + 2) / 100.0 ** (2 * pair / dim)
        assert got[row, column] == pytest.approx((math.sin, math.cos)[odd](angle), abs=1e-14)


# ALiBi


def published_slopes(heads: int) -> list[float]:
    """Return the authors' slopes in closed form: theirs is a recursion over powers of two."""
    full = 2 ** math.floor(math.log2(heads))
    evenly = [2 ** (-8 * i / full) for i in range(1, full + 1)]
    between = [2 ** (-4 * i / full) for i in range(1, 2 * (heads - full), 2)]
    return evenly + between


@pytest.mark.parametrize("heads", range(1, 41))
def test_slopes_are_the_authors(heads: int) -> None:
    """For every number of heads from 1 to 40, and geometric ones by their formula."""
    assert alibi_slopes(heads) == pytest.approx(published_slopes(heads), rel=1e-14)
    geometric = [2 ** (-8 * i / heads) for i in range(1, heads + 1)]
    assert alibi_slopes(heads, "geometric") == pytest.approx(geometric, rel=1e-14)


def test_slopes_of_eight_heads_are_those_that_the_paper_prints() -> None:
    """1/2, 1/4, … 1/256 for eight heads; for sixteen, their geometric means come between."""
    assert alibi_slopes(8) == [1 / 2**i for i in range(1, 9)]
    assert alibi_slopes(16)[:4] == pytest.approx([1 / 2**0.5, 1 / 2, 1 / 2**1.5, 1 / 4])


FORMS: dict[str, Callable[[float, int, int], float]] = {
    "-m*|i-j|": lambda m, i, j: -m * abs(i - j),
    "-m*(i-j)": lambda m, i, j: -m * (i - j),
    "m*(i-j)": lambda m, i, j: m * (i - j),
    "m*j": lambda m, _, j: m * j,
}


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_alibi_adds_what_its_form_says(form: str, offset: int) -> None:
    """Each cell is the form with its slope m, query position i and key position j."""
    slopes = (0.5, 0.1)
    bias = Variant("alibi", Alibi(slopes=slopes, form=form))
    got = stage("biased", scaled=np.zeros((1, 2, 3, 5)), bias=bias, mask=Mask(causal=True, offset=offset))
    for head, query, key in np.ndindex(2, 3, 5):
        assert got[0, head, query, key] == pytest.approx(FORMS[form](slopes[head], query + offset, key))


# T5


def published_bucket(distance: int, *, bidirectional: bool, buckets: int, furthest: int) -> int:
    """Sort one distance (key less query) into its bucket, step by step as T5's code does, in float32."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if distance > 0 else 0
        away = abs(distance)
    else:
        away = max(-distance, 0)
    exact = buckets // 2
    if away < exact:
        return start + away
    share = torch.log(torch.tensor(float(away)) / exact) / math.log(furthest / exact)
    return start + min(exact + int(share * (buckets - exact)), buckets - 1)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (32, 20), (8, 64), (10, 33), (4, 3)])
def test_buckets_are_t5s(*, bidirectional: bool, buckets: int, furthest: int) -> None:
    """Every distance from −200 to 200 falls into the bucket that T5's own steps give."""
    length = 201
    table = np.arange(float(buckets))[:, None]
    rule = T5(table=table, bidirectional=bidirectional, buckets=buckets, max_distance=furthest)
    got = stage("biased", scaled=np.zeros((length, length)), bias=Variant("t5", rule))
    for distance in range(1 - length, length):
        wanted = published_bucket(distance, bidirectional=bidirectional, buckets=buckets, furthest=furthest)
        assert (np.diagonal(got, distance) == wanted).all(), distance


def test_each_head_has_its_column_of_the_table() -> None:
    """T5's table is (buckets, heads), and several biases are added up."""
    table = draw(4, 2)
    rule = Variant("t5", T5(table=table, max_distance=4))
    plain = draw(3, 3)
    got = stage("biased", scaled=np.zeros((1, 2, 3, 3)), bias=(rule, plain, plain))
    bucket = [published_bucket(1, bidirectional=True, buckets=4, furthest=4)]
    np.testing.assert_allclose(got[0, :, 0, 1], table[bucket[0]] + 2 * plain[0, 1])
