"""Large weights as pictures, and the choice of rows, columns and heads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.cells import Axes
from attncli.compute import compute
from attncli.errors import InputError
from attncli.problem import Problem
from attncli.render.colors import BROKEN, PALETTES, contrast, ink, share_color
from attncli.render.picture import pooled
from attncli.render.svg import render_svg
from attncli.render.terminal import Terminal
from attncli.sheet import Kind, Matrix
from tests.computed import array_of
from tests.render.problems import CAUSAL, drawn, sheet, table_text

COLORS = Terminal(width=100, color="truecolor")
WIDE = Terminal(width=120)


def screen(problem: Problem, terminal: Terminal = COLORS, **view: Any) -> pyte.Screen:
    """Show the weights of a problem on an emulated terminal."""
    text = table_text(sheet(problem, **({"stages": ("weights",)} | view)), terminal)
    shown = pyte.Screen(terminal.width, 400)
    pyte.Stream(shown).feed(text.replace("\n", "\r\n"))
    return shown


def brightness(color: str) -> float:
    return float(np.dot([int(color[i : i + 2], 16) for i in (0, 2, 4)], [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(("theme", "direction"), [("dark", 1), ("light", -1)])
@pytest.mark.parametrize("palette", PALETTES)
def test_the_larger_a_weight_the_further_its_square_is_from_the_background(
    theme: Any, direction: int, palette: str
) -> None:
    """Two rows stand in a line; masked squares are blank, all others are ordered as the weights."""
    problem = drawn(21, 6, mask=CAUSAL)
    weights = array_of(compute(problem), "weights")
    shown = screen(problem, Terminal(width=100, color="truecolor", theme=theme, palette=palette))
    top, left = next(
        (y, line.index("▀")) for y, line in enumerate(shown.display) if "▀" in line and "shade" not in line
    )
    found = []
    for i, j in np.ndindex(21, 21):
        char = shown.buffer[top + i // 2][left + j]
        color = (char.fg if char.data == "▀" else "default") if i % 2 == 0 else char.bg
        if i % 2 and char.data == "▄":
            color = char.fg
        if j > i:
            assert color == "default"
        else:
            found.append((weights[i, j], direction * brightness(color)))
    ordered = [color for _, color in sorted(found)]
    assert np.all(np.diff(ordered) >= -2.0)  # a hair of rounding in each colour


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.booleans())
def test_a_square_is_as_strong_as_the_strongest_weight_in_it(
    queries: int, keys: int, most: int, masked: bool
) -> None:
    """Nothing that is large gets lost; a square is blank only when all of it is masked."""
    draw = np.random.default_rng(queries)
    weights = draw.random((queries, keys))
    hidden = draw.random((queries, keys)) < 0.5 if masked else None
    axes = Axes(("query", "key"), weights.shape, {})
    matrix = Matrix(name="weights", symbol="A", kind=Kind.WEIGHTS, array=weights, axes=axes, hidden=hidden)
    picture = pooled(matrix, most)
    side = picture.side
    assert max(picture.numbers.shape) <= most
    for (i, j), share in np.ndenumerate(picture.numbers):
        square = np.s_[i * side : (i + 1) * side, j * side : (j + 1) * side]
        seen = weights[square] if hidden is None else weights[square][~hidden[square]]
        assert np.isnan(share) if seen.size == 0 else share == seen.max()


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.booleans())
def test_a_square_of_signed_numbers_shows_the_one_furthest_from_zero(
    queries: int, keys: int, most: int, masked: bool
) -> None:
    """It keeps its sign; a square is blank only when all of it is masked."""
    draw = np.random.default_rng(queries)
    scores = draw.normal(size=(queries, keys))
    hidden = draw.random((queries, keys)) < 0.5 if masked else None
    axes = Axes(("query", "key"), scores.shape, {})
    matrix = Matrix(name="scores", symbol="S", kind=Kind.SCORES, array=scores, axes=axes, hidden=hidden)
    picture = pooled(matrix, most, limit=4.0)
    side = picture.side
    for (i, j), number in np.ndenumerate(picture.numbers):
        square = np.s_[i * side : (i + 1) * side, j * side : (j + 1) * side]
        seen = scores[square].ravel() if hidden is None else scores[square][~hidden[square]]
        assert np.isnan(number) if seen.size == 0 else number == max(seen, key=abs)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_scores_are_drawn_purple_below_zero_and_orange_above(theme: Any) -> None:
    """Each half block has the hue of its number's sign, and masked ones are blank."""
    problem = drawn(18, 6, mask=CAUSAL)
    scores = array_of(compute(problem), "masked")
    shown = screen(problem, Terminal(width=100, color="truecolor", theme=theme), stages=("masked",))
    top, left = next((y, line.index("▀")) for y, line in enumerate(shown.display) if "▀" in line)
    for i, j in np.ndindex(18, 18):
        char = shown.buffer[top + i // 2][left + j]
        color = (char.fg if char.data == "▀" else "default") if i % 2 == 0 else char.bg
        if i % 2 and char.data == "▄":
            color = char.fg
        assert (color == "default") == (j > i)
        if j <= i and abs(scores[i, j]) > 0.1 * np.abs(scores[np.isfinite(scores)]).max():
            red, blue = int(color[:2], 16), int(color[4:], 16)
            assert (red > blue) == (scores[i, j] > 0)


def test_pictures_of_scores_name_the_ends_of_their_scale_and_stand_side_by_side() -> None:
    """Three in 120 columns and two in 80; the legend ends at the largest size on both sides."""
    problem = drawn(512, 8, mask=CAUSAL)
    result = compute(problem)
    for width, beside in ((120, 3), (80, 2)):
        shown = table_text(sheet(problem), Terminal(width=width, color="truecolor"))
        lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()
        legends = [re.findall(r"−(\d+\.\d+) {14}(\d+\.\d+)", line) for line in lines]
        assert max(map(len, legends)) == beside
        ends = [end for line in legends for end in line]
        for name, (low, high) in zip(("scores", "scaled", "masked"), ends, strict=True):
            scores = array_of(result, name)
            largest = np.abs(scores[np.isfinite(scores)]).max()
            assert low == high
            assert float(high) == pytest.approx(largest, abs=0.005)
        assert f"{4 * 512**2:,} cells drawn: --rows 0:16 --cols 0:16 or --full shows numbers" in shown


def test_strongest_pairs_have_their_rank_in_their_row() -> None:
    """Counted over all keys that the query sees, itself and the first among them."""
    problem = drawn(40, mask=CAUSAL)
    weights = array_of(compute(problem), "weights")
    text = "\n".join(screen(problem, WIDE).display)
    rows = re.findall(r"(\d+) → (\d+) +([\d.]+)% +(\d+) ", text)
    assert len(rows) == 5
    for query, key, percent, rank in rows:
        row = weights[int(query)]
        assert float(percent) == pytest.approx(100 * row[int(key)], abs=0.051)
        assert int(rank) == 1 + sorted(row, reverse=True).index(row[int(key)])
    assert {rank for *_, rank in rows} != {"1"}


def test_a_picture_stands_where_numbers_would_be_too_many() -> None:
    """Beyond 16 tokens, and only with colours; --full brings the numbers back."""
    assert "▀" not in "".join(screen(drawn(16)).display)
    assert "▀" in "".join(screen(drawn(17)).display)
    assert "▀" not in "".join(screen(drawn(17), full=True).display)
    assert "▀" not in "".join(screen(drawn(17), WIDE).display)


@pytest.mark.parametrize(("rows", "drawn_at_all"), [((0, 3), False), ((2, 8), False), ((0, 7), True)])
@pytest.mark.parametrize("terminal", [COLORS, WIDE])
def test_few_numbers_are_written_however_long_their_rows_are(
    rows: tuple[int, int], terminal: Terminal, *, drawn_at_all: bool
) -> None:
    """Up to 128: 3 or 6 of 20 queries are no sliver of a picture, and no key of theirs is hidden."""
    problem = drawn(20)
    weights = array_of(compute(problem), "weights")
    text = "\n".join(screen(problem, terminal, rows=rows, precision=2).display)
    found = re.findall(r"\d+\.\d\d\b", text)
    numbers = [f"{100 * share:.2f}" for share in weights[slice(*rows)].ravel()]
    assert (set(numbers) <= set(found)) != drawn_at_all
    assert ("▀" in text) == (drawn_at_all and terminal is COLORS)
    assert ("hidden" in text) == (drawn_at_all and terminal is WIDE)


def test_long_sequences_are_drawn_in_squares() -> None:
    """200 tokens are 50 squares of 4, with what is typical of a row in one line."""
    problem = drawn(200, mask=CAUSAL)
    text = "\n".join(screen(problem, Terminal(width=160, color="truecolor")).display)
    weights = array_of(compute(problem), "weights")
    assert "max of each 4×4" in text
    assert sum("▀" in line or "▄" in line for line in text.split("\n")) == 25
    own, before = np.diagonal(weights).mean(), np.diagonal(weights, -1).mean()
    assert (
        f"on average {100 * weights[:, 0].mean():.1f}% on key 0, {100 * own:.1f}% on the query itself, "
        f"{100 * before:.1f}% on the one before"
    ) in text
    assert "40,000 cells drawn: --rows 0:16 --cols 0:16 or --full shows numbers" in text


@pytest.mark.parametrize(("width", "beside"), [(80, False), (100, True)])
def test_words_stand_beside_a_picture_where_there_is_room(width: int, beside: bool) -> None:
    """Level with its legend, or below its last line; 50 squares and 40 cells of words fit into 100."""
    lines = screen(drawn(200, mask=CAUSAL), Terminal(width=width, color="truecolor")).display
    legend = next(i for i, line in enumerate(lines) if "blank is masked" in line)
    assert ("strongest of" in lines[legend]) == beside
    last = max(i for i, line in enumerate(lines) if "▀" in line)
    assert ("strongest of" in lines[last + 2]) != beside


def test_rows_and_columns_keep_their_positions() -> None:
    """A window shows the numbers of the whole, under the positions that they have there."""
    problem = drawn(40)
    weights = array_of(compute(problem), "weights")
    shown = screen(problem, WIDE, rows=(30, 33), columns=(7, 9), percent=False, precision=5)
    lines = [re.findall(r"[\d.]+", line) for line in shown.display]
    at = (
        lines.index(["7", "8"])
        if ["7", "8"] in lines
        else next(i for i, n in enumerate(lines) if n[:2] == ["7", "8"])
    )
    for offset, row in enumerate((30, 31, 32)):
        assert lines[at + 1 + offset][:3] == [str(row), *(f"{x:.5f}" for x in weights[row, 7:9])]


@pytest.mark.parametrize("span", [(30, 41), (40, 41), (5, 5)])
def test_rows_that_are_not_there(span: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=r"there are no query positions \d+:\d+\n       positions: 0:40"):
        sheet(drawn(40), rows=span)


def test_heads_are_drawn_side_by_side() -> None:
    """Each head has its picture and the mean entropy of its rows, with colours or in shades."""
    problem = drawn(5, 12, num_heads=6)
    weights = array_of(compute(problem), "weights")
    entropies = -(weights * np.log2(weights)).sum(axis=-1).mean(axis=-1)
    for terminal in (COLORS, WIDE, Terminal(width=100, unicode=False)):
        text = "\n".join(screen(problem, terminal, heads_view=True).display)
        for head, bits in enumerate(entropies):
            assert f"head {head}  H {bits:.2f} bit" in text
        assert "%" not in text
        assert "hidden" not in text


def test_hidden_heads_are_drawn_below_the_numbers_of_the_first() -> None:
    """Where only one head is shown in numbers, colours show them all; without colours there is a note."""
    problem = drawn(5, 12, num_heads=6)
    assert "head 5  H" in "\n".join(screen(problem).display)
    assert "head 5  H" not in "\n".join(screen(problem, WIDE).display)
    assert "5 more hidden" in "\n".join(screen(problem, WIDE).display)


def test_the_mean_over_heads() -> None:
    """One table instead of six: the mean of each weight, masked where all heads mask."""
    problem = drawn(3, 12, num_heads=6, mask=CAUSAL)
    mean = array_of(compute(problem), "weights").mean(axis=0)
    text = "\n".join(screen(problem, WIDE, mean_heads=True, precision=3).display)
    assert "mean of 6 heads" in text
    for number in mean[np.tril_indices(3)]:
        assert f"{100 * number:.3f}%" in text
    assert text.count("·") >= 3


def test_what_a_query_looks_at_is_said_where_there_is_room() -> None:
    """From 96 columns on, the two largest weights of each of 7 to 16 keys are said in words."""
    problem = drawn(7, tokens=tuple("abcdefg"))
    weights = array_of(compute(problem), "weights")
    first, second = np.argsort(-weights[0])[:2]
    said = f"{'abcdefg'[first]} {100 * weights[0, first]:.0f}%, {'abcdefg'[second]} {100 * weights[0, second]:.0f}%"
    assert said in "\n".join(screen(problem, Terminal(width=96)).display)
    assert "looks at" not in "\n".join(screen(problem, Terminal(width=95)).display)


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("theme", ["dark", "light"])
@given(st.floats(0, 1))
def test_numbers_can_be_read_on_every_color(palette: str, theme: str, share: float) -> None:
    color = share_color(share, theme, palette)
    assert contrast(color, ink(color)) >= 4.5


def broken_scores(count: int = 24) -> np.ndarray:
    """Return scores that are finite but for NaN and both infinities."""
    scores = np.random.default_rng(3).normal(size=(count, count))
    scores[2, 1], scores[5, 4], scores[7, 0] = np.nan, np.inf, -np.inf
    return scores


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_what_is_not_finite_is_red_and_said_to_be(theme: Any) -> None:
    """It is neither blank, as what is masked, nor of a colour of the scale; the legend says so."""
    problem = Problem(scores=broken_scores(), mask=CAUSAL, d_k=1)
    terminal = Terminal(width=100, color="truecolor", theme=theme)
    red = bytes(BROKEN[theme]).hex()
    shown = screen(problem, terminal, stages=("scores",))
    assert sum("red is NaN or ∞" in line for line in shown.display) == 1
    top, left = next((y, line.index("▀")) for y, line in enumerate(shown.display) if "▀" in line)
    found = {
        (i, j)
        for i, j in np.ndindex(24, 24)
        if red
        == (shown.buffer[top + i // 2][left + j].bg if i % 2 else shown.buffer[top + i // 2][left + j].fg)
    }
    assert found == {(2, 1), (5, 4), (7, 0)}
    svg = "".join(render_svg(sheet(problem, stages=("scores",)), terminal))
    for name in ("scores[2,1] = nan", "scores[5,4] = inf", "scores[7,0] = -inf"):
        assert f'fill="#{red}"><title>{name}</title>' in svg
    for stage in ("weights", "masked"):
        whole = "".join(render_svg(sheet(drawn(24, mask=CAUSAL), stages=(stage,)), terminal))
        assert red not in whole.partition("</style>")[2]
        assert "NaN or" not in whole


def test_weights_that_are_all_nan_are_no_empty_square() -> None:
    """Softmax of rows with NaN: each square is red and has its title."""
    problem = Problem(scores=np.full((24, 24), np.nan), d_k=1)
    svg = "".join(render_svg(sheet(problem, stages=("weights",)), Terminal(width=100, theme="light")))
    assert svg.count(f'fill="#{bytes(BROKEN["light"]).hex()}"><title>weights[') == 24 * 24
    assert "red is NaN or ∞" in svg
    assert "blank" not in svg


@pytest.mark.parametrize("stage", ["scaled", "weights"])
def test_a_square_that_holds_what_is_not_finite_is_marked(stage: str) -> None:
    """Among its numbers the largest would hide it."""
    scores = np.random.default_rng(0).normal(size=(200, 200))
    scores[9, 5], scores[150, 19] = np.nan, np.inf
    problem = Problem(scores=scores, mask=CAUSAL, d_k=1)
    svg = "".join(render_svg(sheet(problem, stages=(stage,)), Terminal(width=120, theme="light")))
    said = re.findall(r"<title>\w+\[(\d+):(\d+),(\d+):(\d+)\] holds NaN or ∞</title>", svg)
    found = np.zeros((200, 200), dtype=bool)
    for top, bottom, left, right in (map(int, span) for span in said):
        found[top:bottom, left:right] = True
    broken = ~np.isfinite(array_of(compute(problem), stage))
    assert broken[9, 5]
    assert broken[150, 19]
    assert found[broken].all()
    side = int(said[0][1]) - int(said[0][0])
    holding = {(int(i) // side, int(j) // side) for i, j in np.argwhere(broken)}
    assert len(said) == len(holding)


def test_without_colors_what_is_not_finite_has_a_sign() -> None:
    """In shades NaN would look as 0, or as what is masked."""
    problem = drawn(5, 12, num_heads=6, mask=CAUSAL, scale=float("nan"))
    text = "\n".join(screen(problem, WIDE, heads_view=True).display)
    assert "! is NaN or ∞" in text
    assert text.count("!!") >= 6


def test_a_fill_is_as_blank_as_minus_infinity() -> None:
    """A picture of scores under a fill of −1e9 has the scale and the squares that it has under −∞."""
    filled, masked = (
        "".join(render_svg(sheet(problem, stages=("masked",)), Terminal(width=100)))
        for problem in (drawn(20, mask=CAUSAL, mask_fill=-1e9), drawn(20, mask=CAUSAL))
    )
    squares = r'(fill="#\w+"><title>masked[^<]*)</title>'
    assert re.findall(squares, filled) == re.findall(squares, masked) != []


def test_entropy_is_of_the_rows_that_have_one() -> None:
    """Of a head whose first rows are NaN it is the mean of the others; a head that is all NaN has none."""
    scores = np.random.default_rng(0).normal(size=(2, 6, 6))
    scores[0, :2, 0] = np.nan
    scores[1] = np.nan
    problem = Problem(scores=scores[None], d_k=1, scale="none", num_heads=2)
    exponentials = np.exp(scores[0, 2:])
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    bits = -(weights * np.log2(weights)).sum(axis=-1).mean()
    text = "\n".join(screen(problem, WIDE, heads_view=True).display)
    assert f"head 0  H {bits:.2f} bit" in text
    assert "head 1  H NaN" in text
