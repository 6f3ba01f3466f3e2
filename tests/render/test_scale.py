"""How the size of a number becomes its colour: linear, by its square root, or by its logarithm.

A scale is held against what it is defined by: on √ a quarter looks as a half does on the linear
scale, on the logarithmic one a hundredth does, which is half of four decades.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.compute import compute
from attncli.problem import Mask, Problem
from attncli.render.colors import (
    BLACK,
    PALETTES,
    RGB,
    SCALES,
    WHITE,
    contrast,
    ink,
    share_color,
    signed_color,
    weight_color,
)
from attncli.render.terminal import Terminal
from attncli.sheet import View
from tests.render.problems import CAUSAL, drawn
from tests.render.test_formats import written as rendered

ALIKE: dict[str, Callable[[Any], Any]] = {
    "linear": lambda share: share,
    "sqrt": np.sqrt,
    "log": lambda share: 1 + np.log10(share) / 4,
}
"""Where a share stands on the linear scale when it looks the same."""

by_scale = pytest.mark.parametrize("scale", SCALES)
LATEX = {"∝": r"\ensuremath{\propto}", "√": r"\ensuremath{\surd}", "|": r"\textbar{}"}
SVG = "{http://www.w3.org/2000/svg}"


def with_weights(*rows: tuple[float, ...], **keys: Any) -> Problem:
    """Return a problem whose weights are known: softmax of logarithms gives back shares of 1.

    Zeros are what exp makes of a number that is too small for it, and seen; masks are apart from them.
    """
    shares = np.array(rows)
    return Problem(scaled=np.log(shares, out=np.full(shares.shape, -1e4), where=shares > 0), **keys)


def written(name: str, problem: Problem, scale: str | None, stage: str = "weights", **look: Any) -> str:
    terminal = Terminal(width=100, color="truecolor", scale=scale, **look)
    return shown(name, problem, terminal, stages=(stage,))


def shown(name: str, problem: Problem, terminal: Terminal, **view: Any) -> str:
    return rendered(name, compute(problem), view=View(**view), terminal=terminal).decode()


def in_terminal(problem: Problem, scale: str | None, stage: str) -> list[str | None]:
    """Return the background of each number, from the screen of a terminal."""
    screen = pyte.Screen(100, 60)
    pyte.Stream(screen).feed(written("table", problem, scale, stage).replace("\n", "\r\n"))
    top = next(y for y, line in enumerate(screen.display) if "q╲k" in line)
    found = []
    for y in range(top + 1, top + 3):
        ends = [match.end() - 1 for match in re.finditer(r"\S+", screen.display[y])][1:5]
        found += [screen.buffer[y][x].bg for x in ends]
    return [None if color == "default" else color for color in found]


def in_svg(problem: Problem, scale: str | None, stage: str) -> list[str | None]:
    cells = [
        group
        for group in ET.fromstring(written("svg", problem, scale, stage)).iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None
    ]
    boxes = [cell.find(f"{SVG}rect") for cell in cells]
    return [None if box is None else box.attrib["fill"].removeprefix("#") for box in boxes]


def in_latex(problem: Problem, scale: str | None, stage: str) -> list[str | None]:
    rows = re.findall(r"^[01] & (.*) \\\\$", written("latex", problem, scale, stage), re.MULTILINE)
    cells = [cell for row in rows for cell in row.split(" & ")[:4]]
    colors = [re.search(r"\\cellcolor\[HTML\]\{(\w+)\}", cell) for cell in cells]
    return [color and color[1].lower() for color in colors]


FOUND = {"table": in_terminal, "svg": in_svg, "latex": in_latex}


@pytest.mark.parametrize("form", FOUND)
@by_scale
def test_weights_are_colored_by_the_scale_in_every_form(form: str, scale: str) -> None:
    """What the scale moves looks as a linear scale would show its root or logarithm; 0 has no colour."""
    shares = ((0.6, 0.3, 0.0999, 0.0001), (0.0, 0.96, 0.01, 0.03))
    expected = []
    for share in (share for row in shares for share in row):
        alike = ALIKE[scale](share) if share else 0.0
        color = weight_color(float(alike), "dark")
        expected.append(bytes(color).hex() if color else None)
    assert FOUND[form](with_weights(*shares), scale, "weights") == expected
    assert expected[4] is None
    assert (expected[6] is None) == (scale == "linear")


@pytest.mark.parametrize("form", FOUND)
@by_scale
def test_signed_numbers_keep_their_sign_on_every_scale(form: str, scale: str) -> None:
    """Of ±limit, a number and its negative are as far from the middle as their size says."""
    numbers = np.array([[8.0, -8.0, 2.0, -2.0], [0.08, -0.08, 0.0, 4.0]])
    expected = []
    for number in numbers.ravel():
        alike = np.sign(number) * 8 * ALIKE[scale](abs(number) / 8) if number else 0.0
        color = signed_color(float(alike), 8, "dark")
        assert color
        expected.append(bytes(color).hex())
    problem = Problem(scores=numbers, scale="none", d_k=1)
    assert FOUND[form](problem, scale, "scores") == expected
    if scale == "log":  # a hundredth of the limit is half of four decades from it
        half = signed_color(4, 8, "dark")
        assert half is not None
        assert expected[4] == bytes(half).hex()


@by_scale
def test_masked_cells_have_no_color_on_any_scale(scale: str) -> None:
    """Only weights that a query sees are coloured, however small they are made visible."""
    problem = with_weights(
        (0.4, 0.4, 0.1, 0.1), (0.2, 0.3, 0.1, 0.4), mask=Mask(causal=True, align="top_left")
    )
    colors = in_terminal(problem, scale, "weights")
    assert [color is None for color in colors] == [False, True, True, True, False, False, True, True]


@pytest.mark.parametrize("scale", [None, *SCALES])
def test_pictures_of_weights_follow_the_scale(scale: str | None) -> None:
    """By itself a picture is drawn by the root; its zeros keep the lowest colour, unlike what is masked."""
    shares = (0.3, 0.04, 0.0, 0.66, *[0.0] * 14)
    mask = Mask(drop=np.tile([False] * 17 + [True], (18, 1)))
    screen = pyte.Screen(100, 60)
    text = written("table", with_weights(*[shares] * 18, mask=mask), scale)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    top, left = next((y, line.index("▀")) for y, line in enumerate(screen.display) if "▀" in line)
    for j, share in enumerate(shares[:4]):
        alike = ALIKE[scale or "sqrt"](share) if share else 0.0
        color = bytes(share_color(float(alike), "dark")).hex()
        assert (screen.buffer[top][left + j].fg, screen.buffer[top][left + j].bg) == (color, color)
    assert screen.buffer[top][left + 17].data == " "


@pytest.mark.parametrize(
    ("scale", "legend"),
    [
        (None, ("0 ", "1  colour ∝ √weight · blank is masked")),
        ("linear", ("0 ", "1  blank is masked")),
        ("sqrt", ("0 ", "1  colour ∝ √weight · blank is masked")),
        ("log", ("0.0001 ", "1  colour ∝ log weight over 4 decades · blank is masked")),
    ],
)
def test_the_legend_of_a_picture_says_its_scale(scale: str | None, legend: tuple[str, str]) -> None:
    """Both ends are named, and how what lies between became a colour."""
    text = re.sub(r"\x1b\[[\d;]*m", "", written("table", drawn(18, mask=CAUSAL), scale))
    assert re.search(rf"^ +{legend[0]} {{12}} {re.escape(legend[1])}(?:  |$)", text, re.MULTILINE)


def test_the_head_says_which_scale_it_is() -> None:
    """A scale that is not linear is named where there are colours, and nowhere else."""
    said = {scale: f"colour {text.format('|x|')}" for scale, text in SCALES.items() if text}
    problem = drawn(3, mask=CAUSAL)
    for name in FOUND:
        for scale, text in said.items():
            head = re.sub(r"\x1b\[[\d;]*m", "", written(name, problem, scale))
            for sign, command in LATEX.items():
                head = head.replace(command, sign)
            assert text in head, name
        assert "∝" not in written(name, problem, "linear") + written(name, problem, None)
    for terminal in (Terminal(scale="log"), Terminal(scale="log", color="16")):
        assert "log" not in shown("table", problem, terminal)


def test_shades_follow_the_scale_too() -> None:
    """Without colours, a hundredth is the first of four shades, the second by its logarithm."""
    problem = drawn(12, 12, num_heads=6, mask=CAUSAL)

    def dark(scale: str) -> int:
        terminal = Terminal(width=100, scale=scale)
        text = shown("table", problem, terminal, stages=("weights",), heads_view=True)
        return sum(map(text.count, "▒▓█"))

    assert dark("linear") < dark("sqrt") < dark("log")


@by_scale
@pytest.mark.parametrize("theme", ["dark", "light"])
@given(share=st.floats(0, 1), palette=st.sampled_from(sorted(PALETTES)), stepped=st.booleans())
def test_ink_stays_readable_on_every_scale(
    scale: str, theme: str, share: float, palette: str, stepped: bool
) -> None:
    """Whatever the scale makes of a number, black or white stands out from it by 4.5 to 1."""
    for color in (
        weight_color(share, theme, palette, scale=scale, stepped=stepped),
        signed_color(-share, 1, theme, scale=scale, stepped=stepped),
    ):
        if color is not None:
            assert contrast(ink(color), color) >= 4.5


@by_scale
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_weight_never_looks_smaller(scale: str, one: float, other: float) -> None:
    """Each scale keeps the order of weights."""
    small, large = (weight_color(share, "dark", "gray", scale=scale) for share in sorted((one, other)))
    assert small is None or (large is not None and small <= large)


PAPERS = {"light": WHITE, "dark": RGB(0x16, 0x18, 0x1D)}
"""Backgrounds of pictures; a terminal's is often black, which is darker."""

each_ramp = pytest.mark.parametrize("palette", [*PALETTES, "signed"])
each_theme = pytest.mark.parametrize("theme", PAPERS)
of_each_depth = pytest.mark.parametrize("stepped", [False, True])


def color_of(share: float, palette: str, theme: str, *, stepped: bool) -> RGB:
    color = (
        signed_color(share, 1, theme, stepped=stepped)
        if palette == "signed"
        else share_color(share, theme, palette, stepped=stepped)
    )
    assert color is not None
    return color


@of_each_depth
@each_theme
@each_ramp
def test_zero_does_not_look_masked(palette: str, theme: str, *, stepped: bool) -> None:
    """What is masked is as bare as the paper, from which even the color of 0 stands off."""
    zero = color_of(0.0, palette, theme, stepped=stepped)
    assert contrast(zero, WHITE if theme == "light" else BLACK) >= 1.15
    if not stepped:  # what is drawn on paper has all colours
        assert contrast(zero, PAPERS[theme]) >= 1.15


@of_each_depth
@each_theme
@each_ramp
def test_more_is_further_from_the_paper(palette: str, theme: str, *, stepped: bool) -> None:
    """From 0 to all, the contrast to the background never falls."""
    steps = [color_of(share, palette, theme, stepped=stepped) for share in np.linspace(0, 1, 65)]
    contrasts = [contrast(color, PAPERS[theme]) for color in steps]
    assert np.all(np.diff(contrasts) >= -0.02)  # a hair of rounding


@each_theme
def test_scores_of_zero_are_drawn(theme: Any) -> None:
    """Where all are 0 there is no scale, but they are not blank as what is masked is."""
    problem = Problem(scaled=np.zeros((20, 20)), mask=CAUSAL)
    drawing = written("svg", problem, None, "scaled", theme=theme)
    color = bytes(color_of(0.0, "signed", theme, stepped=False)).hex()
    assert drawing.count(f'fill="#{color}"><title>scaled[') == 400
