"""Options that choose what is seen of a result, and how."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Attn


def test_rows_and_columns(attn: Attn) -> None:
    """A window of the scores: [sat,the] is 2·2 + 2·1 = 6 and [sat,cat] is 2·0 + 2·2 = 4."""
    out = attn("compute", "cat.yaml", "--stages", "scores", "--rows", "2", "--cols", "0:2").out
    assert "   sat  6.00  4.00\n" in out
    assert "\n   cat" not in out


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


def test_weights_as_shares(attn: Attn) -> None:
    """Without --no-percent weights are percentages."""
    assert "%" in attn("compute", "cat.yaml", "--stages", "weights").out
    assert "%" not in attn("compute", "cat.yaml", "--stages", "weights", "--no-percent").out
