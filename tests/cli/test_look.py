"""Options that choose what is seen of a result, and how."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attncli.render.terminal import PAGE
from tests.cli.conftest import Attn


def test_rows_and_columns(attn: Attn) -> None:
    """A window of the scores: [sat,the] is 2·2 + 2·1 = 6 and [sat,cat] is 2·0 + 2·2 = 4."""
    out = attn("compute", "cat.yaml", "--stages", "scores", "--rows", "2", "--cols", "0:2").out
    assert "   sat  6.00  4.00\n" in out
    assert "\n   cat" not in out


def test_the_largest_of_a_row_stays_so_when_it_is_not_shown(attn: Attn) -> None:
    """A star marks the largest weight of the whole row: none where that is in a column left out."""
    Path("s.yaml").write_text("scores: [[0, 1, 9], [9, 1, 0], [0, 9, 1]]\nd_k: 1\n")
    out = attn("compute", "s.yaml", "--stages", "weights", "--cols", "0:2").out
    assert [line.count("*") for line in out.splitlines() if "%" in line] == [0, 1, 1]


SPANS = {
    "2:1": "holds no position\n  fix: the end is the first left out: 0:16",
    "1:1": "holds no position\n  fix: the end is the first left out: 0:16",
    "1:": "needs a start and an end\n  fix: such as --rows 0:16",
    ":1": "needs a start and an end\n  fix: such as --rows 0:16",
    "a": "is no range of positions\n  fix: such as --rows 0:16",
    "-1:2": "is no range of positions\n  fix: such as --rows 0:16",
}


@pytest.mark.parametrize("span", SPANS)
def test_a_range_that_is_none(attn: Attn, span: str) -> None:
    """Positions that are none are refused, with what they lack."""
    done = attn("compute", "cat.yaml", f"--rows={span}")
    assert done.status == 2
    assert f'--rows "{span}" {SPANS[span]}\n' in done.err


def test_colors_follow_theme_and_palette(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same weight has another background in another palette, and on another background."""
    monkeypatch.setenv("COLORTERM", "truecolor")

    def shown(*options: str) -> str:
        return attn("compute", "cat.yaml", "--stages", "weights", "--color", "always", *options).out

    assert len({shown(), shown("--theme", "light"), shown("--palette", "magma")}) == 3
    assert shown() == shown("--theme", "dark") == shown("--palette", "blues")


def test_colors_follow_the_scale(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scale colours the same numbers in its own way, says so, and reaches files as well."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    options = ("compute", "cat.yaml", "--stages", "weights")

    def shown(*more: str) -> str:
        return attn(*options, "--color", "always", *more).out

    assert len({shown(), shown("--scale", "sqrt"), shown("--scale", "log")}) == 3
    assert shown() == shown("--scale", "linear")
    assert "colour ∝ √|x|" in shown("--scale", "sqrt")
    assert "∝" not in attn(*options, "--scale", "sqrt").out
    for name in ("a.svg", "a.tex"):
        texts = set()
        for scale in ("linear", "sqrt", "log"):
            attn(*options, "--scale", scale, "-o", name)
            texts.add(Path(name).read_text("utf-8"))
        assert len(texts) == 3


def test_a_factor_is_no_scale_of_colours(attn: Attn) -> None:
    """Who wants to scale the scores is told how."""
    done = attn("compute", "cat.yaml", "--scale", "0.5")
    assert done.status == 2
    assert '"0.5" is none of linear, sqrt, log; the scale of the scores is --set scale=…' in done.err


def test_help_says_how_wide_a_pipe_is(attn: Attn) -> None:
    """Blocks stand side by side up to the width that --help names, and no further."""
    assert f"side by side up to {PAGE}]" in " ".join(attn("compute", "--help").out.split())
    out = attn("compute", "cat.yaml").out
    assert max(map(len, out.splitlines())) <= PAGE
    assert any(" 3  scale" in line and " 2  score" in line for line in out.splitlines())


def test_weights_as_shares(attn: Attn) -> None:
    """Without --no-percent weights are percentages."""
    assert "%" in attn("compute", "cat.yaml", "--stages", "weights").out
    assert "%" not in attn("compute", "cat.yaml", "--stages", "weights", "--no-percent").out


def test_pictures_are_as_wide_as_a_page_or_as_asked(attn: Attn) -> None:
    """Of 16 tokens, columns of 8 pixels between margins of 16: 120 of them, 60, and 200 to fold nothing."""
    assert f"{PAGE} in a picture;" in " ".join(attn("compute", "--help").out.split())

    def size(*options: str) -> tuple[int, int]:
        drawn = ("--seq", "16", "--dim", "8", "--seed", "1")
        done = attn("random", *drawn, "--full", "--format", "svg", *options)
        found = re.search(r'viewBox="0 0 (\d+) (\d+)"', done.out)
        assert found
        return int(found[1]), int(found[2])

    wide, page, narrow = size("--width", "200"), size(), size("--width", "60")
    assert wide[0] > PAGE * 8 + 32 >= page[0] > 60 * 8 + 32 >= narrow[0]
    assert wide[1] < page[1] < narrow[1]
    assert page == size("--width", str(PAGE))
