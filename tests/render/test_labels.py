"""Labels are data of any script: whatever they hold, the table beside them stays whole."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len  # noqa: TID251  (an independent measure)

from attncli.render.ink import cut
from attncli.render.terminal import Terminal
from attncli.text import shown
from tests.render.problems import CAUSAL, drawn, sheet, table_text
from tests.render.test_table import plain

SIGNS = (
    *("\x1f", "\x08", "\u200b", "\u202e", "\u2028", "\U000e0001", "\ufffe"),  # shown by their names
    *("e\u0301", "\u0301", "\u200d", "\u200c", "\ufe0f", "\u0e33", "ก็", "น้ำ", "भा", "\u1160"),
    *("👩‍👩‍👧", "👍🏽", "🇩🇪", "❤️", "東京", "שלום", "مرحبا", "word", "a b", "Ġ", "\n", "-"),
)
labels = st.lists(st.sampled_from(SIGNS), max_size=9).map("".join)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(labels, min_size=1, max_size=20),
    st.sampled_from([40, 57, 80, 120, 10**6]),
    st.booleans(),
    st.sampled_from([None, "256"]),
    st.booleans(),
)
def test_no_label_costs_a_number_or_widens_a_line(
    tokens: list[str], width: int, interactive: bool, color: None, full: bool
) -> None:
    """The numbers are those beside short names, and no line is wider than the terminal."""

    def text(names: list[str], width: int) -> str:
        problem = drawn(len(names), tokens=tuple(names), mask=CAUSAL)
        shown = sheet(problem, full=full, stages=("masked", "weights", "V"))
        return plain(table_text(shown, Terminal(width=width, color=color, interactive=interactive)))

    def numbers(text: str) -> Counter[str]:
        """Count the numbers of the matrices; what is beside them may go where there is no room."""
        return Counter(re.findall(r"(?<=\s)[−-]?\d+\.\d+%?\*?(?=\s)", text, re.MULTILINE))

    got = text(tokens, width)
    assert max(map(cell_len, got.splitlines())) <= width
    if full:
        assert not numbers(text(["a"] * len(tokens), width)) - numbers(got)


@pytest.mark.parametrize("label", ["x" * 50, "東京" * 9, "\x1f" * 9, "👩‍👩‍👧" * 9])
@pytest.mark.parametrize("width", [40, 50, 80])
def test_the_strongest_pairs_fit_whatever_they_are_called(label: str, width: int) -> None:
    """Of names that are too long for a line with its numbers, less is written."""
    tokens = tuple(f"{label}{i}" for i in range(70))
    for color in (None, "256"):
        whole = sheet(drawn(70, tokens=tokens, mask=CAUSAL), stages=("weights",))
        text = plain(table_text(whole, Terminal(width=width, color=color)))
        assert "rank in row" in text
        assert max(map(cell_len, text.splitlines())) <= width


@settings(deadline=None, max_examples=200)
@given(labels, st.integers(1, 30), st.sampled_from(["…", "~"]))
def test_a_label_is_cut_between_signs_and_says_so(label: str, width: int, mark: str) -> None:
    """What is left is the start of the label, ends with the mark, and holds no half of a name."""
    whole = shown(label)
    got = cut(whole, width, mark)
    assert cell_len(got) <= width
    if got != whole:
        assert got.endswith(mark)
        assert whole.startswith(got.removesuffix(mark))
        assert re.sub(r"<U\+[0-9A-F]{4,6}>", "", got).count("<U+") == 0


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("\u0301", "◌\u0301"),  # Unicode, chapter 2.11: a mark by itself is shown on a dotted circle
        ("ั", "◌ั"),  # a Thai vowel, which is a token of its own where text is cut into characters
        ("\u200dab\u200c", "<U+200D>ab<U+200C>"),
        ("a\u200db", "a\u200db"),
        ("\u200d", "<U+200D>"),
        ("e\u0301", "e\u0301"),
    ],
)
def test_nothing_in_a_label_joins_the_text_beside_it(label: str, said: str) -> None:
    """A mark and a joiner at the edge of a label would change the space or digit before or after it."""
    assert shown(label) == said
