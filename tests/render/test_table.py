"""What the sheet looks like.

Golden files hold it at fixed widths. After a change that is meant, rewrite them and read the diff:

    REWRITE_GOLDEN=1 python -m pytest tests/render/test_table.py
"""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len  # noqa: TID251  (an independent measure)

from attncli.problem import Mask, Problem, Source
from attncli.render import page
from attncli.render.block import block_box, setting_of
from attncli.render.box import Box
from attncli.render.colors import RGB, WHITE, contrast, ink, signed_color, weight_color
from attncli.render.columns import columns
from attncli.render.digits import Form, suited
from attncli.render.table import render_table
from attncli.render.terminal import Terminal
from attncli.sheet import Block, Sheet
from tests.render.problems import CAUSAL, cat, drawn, sheet, table_text

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
PIPE = Terminal(width=10**6, interactive=False)
CJK = ("<s>", "The", "cat", "sat", "on", "東京", "駅", "の", "mat", ",", "Ġquietly", ".")
HOSTILE = ("[red]", ":smile:", "\x1b[31m", "\x1b]8;;http://e\x07x", "a\u202eb", "z\\", "a\nb\tc")

SHEETS: dict[str, Problem] = {
    "cat": cat(),
    "heads": drawn(3, num_heads=2, mask=CAUSAL),
    "cjk": drawn(12, tokens=CJK, mask=CAUSAL),
    "long": drawn(24, 12, mask=CAUSAL),
}
"""Each has golden files; `DRAWN` is too large for one."""

DRAWN = drawn(70, 12, num_heads=6, mask=CAUSAL)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("name", SHEETS)
@pytest.mark.parametrize("width", [80, 120])
def test_golden_sheets(name: str, width: int) -> None:
    """At a fixed width, a sheet is the text that was read and found good."""
    compare(f"{name}-{width}.txt", table_text(sheet(SHEETS[name]), Terminal(width=width)))


@pytest.mark.parametrize(
    ("name", "terminal"),
    [
        ("cat-truecolor.txt", Terminal(color="truecolor")),
        ("cat-pipe.txt", PIPE),
        ("cat-ascii.txt", Terminal(unicode=False)),
    ],
)
def test_golden_cat(name: str, terminal: Terminal) -> None:
    compare(name, table_text(sheet(cat()), terminal))


def compare(name: str, text: str) -> None:
    # The last bits of a row's sum are the processor's own.
    stable = re.sub(r"(sum to 1 (?:±|\+-)) \S+", r"\1 0", text)
    if os.environ.get("REWRITE_GOLDEN"):
        (GOLDEN / name).write_text(stable, encoding="utf-8")
    assert stable == (GOLDEN / name).read_text(encoding="utf-8")


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.booleans(), st.sampled_from([None, "256"]))
def test_no_picture_is_wider_than_the_terminal(
    width: int, heads_view: bool, color: Literal["256"] | None
) -> None:
    """Large weights, and all heads side by side, are drawn smaller where there is less room."""
    for problem in (DRAWN, drawn(70, 4, batch=2, num_heads=2, mask=CAUSAL)):
        shown = sheet(problem, heads_view=heads_view, stages=("masked", "weights"))
        text = table_text(shown, Terminal(width=width, color=color))
        assert max(map(cell_len, plain(text).splitlines())) <= max(width, 40)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.sampled_from(sorted(SHEETS)), st.booleans(), st.sampled_from([None, "256"]))
def test_no_line_is_wider_than_the_terminal(
    width: int,
    name: str,
    full: bool,
    color: Literal["256"] | None,
) -> None:
    """From 40 columns on every line fits; below, the sheet is laid out for 40."""
    text = table_text(sheet(SHEETS[name], full=full), Terminal(width=width, color=color))
    assert max(map(cell_len, plain(text).splitlines())) <= max(width, 40)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 30), st.integers(1, 20), st.integers(30, 140), st.integers(0, 99))
def test_full_shows_every_number(tokens: int, dim: int, width: int, seed: int) -> None:
    """With --full every number of every stage is there, whole, however narrow the terminal."""
    shown = sheet(drawn(tokens, dim, seed=seed), full=True, precision=3, stages=("Q", "scores"))
    words = set(table_text(shown, Terminal(width=width)).split())
    for block in shown.blocks:
        for matrix in block.matrices:
            for number in matrix.array.ravel():
                forms = (suited([matrix.array], 2, 3, significant=digits) for digits in (2, 3))
                assert words & {form(float(number)) for form in forms}


@pytest.mark.parametrize("interactive", [True, False])
def test_hidden_cells_are_counted(interactive: bool) -> None:
    """A table that is cut says by how much, and which option shows it whole."""
    text = table_text(sheet(SHEETS["long"], stages=("weights",)), Terminal(width=80, interactive=interactive))
    assert "512 of 576 cells hidden: --rows 0:16 --cols 0:16 or --full shows them" in text
    assert "strongest of 253 pairs" in text
    assert "hidden" not in table_text(sheet(SHEETS["long"], full=True), PIPE)


@pytest.mark.parametrize(
    "tokens", [("👩‍👩‍👧", "e\u0301te\u0301", "東京"), ("a", "🇫🇷", "भाषा"), ("x" * 50, "東" * 30, "")]
)
def test_columns_stay_aligned(tokens: tuple[str, ...]) -> None:
    """Labels of any script take the cells that a terminal gives them, so that rows end level."""
    text = table_text(sheet(cat(tokens=tokens), stages=("scores",)), Terminal(width=100))
    rows = [line for line in text.splitlines() if re.search(r"\d\.\d\d$", line) and "sum" not in line]
    assert len(rows) == 3
    assert len({cell_len(row) for row in rows}) == 1


def test_labels_are_data() -> None:
    """Markup, emoji codes and control characters of a label are shown, and act on nothing."""
    for terminal in (Terminal(width=300, color="truecolor"), PIPE):
        text = table_text(sheet(drawn(7, tokens=HOSTILE)), terminal)
        for shown in ("[red]", ":smile:", "<U+001B>[31m", "a<U+202E>b", "a⏎b⇥c"):
            assert shown in plain(text)
        assert re.search(r"z\\[^\\]", text)
        assert not set("\x07\u202e\t") & set(text)
        assert "\x1b" not in plain(text)


def test_a_title_is_data_too() -> None:
    text = table_text(sheet(cat(origin=Source(name="a\x1b[2J.yaml"))), Terminal())
    assert "a<U+001B>[2J.yaml" in text
    assert "next" not in text


@pytest.mark.parametrize("name", SHEETS)
def test_ascii_is_ascii(name: str) -> None:
    """Where the stream takes no more than ASCII, nothing else is written."""
    assert table_text(sheet(SHEETS[name], detail=True), Terminal(unicode=False)).isascii()
    assert table_text(sheet(drawn(7, tokens=HOSTILE)), Terminal(unicode=False, interactive=False)).isascii()


def test_a_pipe_gets_numbers_that_programs_read() -> None:
    text = table_text(sheet(SHEETS["cjk"]), PIPE)
    assert "-inf" in text
    assert not set("−∞") & set(text)
    assert "next" not in text
    numbers = [word for word in text.split() if re.fullmatch(r"-?\d+\.\d+", word)]
    assert len(numbers) > 400


def test_a_head_keeps_to_any_width() -> None:
    """Title and facts stand in one line only where the gap between them fits too, in a pipe as on a terminal."""
    for width in range(40, 130):
        for interactive in (False, True):
            text = table_text(sheet(cat()), Terminal(width=width, interactive=interactive))
            assert max(map(cell_len, text.splitlines())) <= width


def test_a_pipe_is_not_folded() -> None:
    """A table in a pipe is one table, however wide."""
    text = table_text(sheet(drawn(40, 4), stages=("scores",), full=True), PIPE)
    assert sum("q╲k" in line for line in text.splitlines()) == 1


def test_a_sum_that_is_checked_anyway_folds_no_table() -> None:
    """At 80 columns twelve keys are one table without row sums; --full, and more room, have them."""
    shown = sheet(SHEETS["cjk"], stages=("weights",))
    narrow, wide = (table_text(shown, Terminal(width=width)) for width in (80, 120))
    whole = table_text(sheet(SHEETS["cjk"], stages=("weights",), full=True), Terminal(width=80))
    assert [text.count("q╲k") for text in (narrow, wide, whole)] == [1, 1, 2]
    assert ["row Σ" in text for text in (narrow, wide, whole)] == [False, True, True]


def test_next_names_the_file_as_a_shell_reads_it() -> None:
    def last(source: str) -> str:
        text = table_text(sheet(cat(origin=Source(name=source))), Terminal(width=120))
        return text.splitlines()[-1]

    explain = "attn explain 'my cat.yaml' 'weights[sat,the]'"
    assert last("my cat.yaml") == f" next  {explain}  attn compute 'my cat.yaml' --json"
    assert "next" not in last("<stdin>")
    assert "next" not in last("-")


def test_next_explains_a_cell_of_a_head_that_is_shown() -> None:
    """With --head 1, the cell that is proposed is one of head 1."""
    assert sheet(SHEETS["heads"], head=1).example.startswith("weights[1,")
    assert sheet(SHEETS["heads"]).example.startswith("weights[0,")


def test_row_maximum_is_marked_with_and_without_colour() -> None:
    shown = sheet(cat(), stages=("weights",))
    assert "57.6%*" in table_text(shown, Terminal())
    bold = table_text(shown, Terminal(color="16"))
    assert "\x1b[1m   57.6%" in bold
    assert "*" not in bold


@settings(deadline=None, max_examples=40)
@given(st.integers(7, 20), st.integers(0, 99), st.booleans(), st.integers(40, 140))
def test_a_star_never_touches_the_next_number(keys: int, seed: int, percent: bool, width: int) -> None:
    """`32*10` would be read as one; the star ends its number, and a space follows."""
    shown = sheet(drawn(keys, seed=seed), stages=("weights",), percent=percent, full=True)
    assert not re.search(r"\*\S", table_text(shown, Terminal(width=width)))


def test_sixteen_colours_have_no_background() -> None:
    assert ";48;" not in table_text(sheet(cat()), Terminal(color="16"))
    assert "48;5;" in table_text(sheet(cat()), Terminal(color="256"))


SIXTEEN = {
    "xterm": {31: RGB(0xCD, 0, 0), 91: RGB(0xFF, 0, 0)},
    "linux": {31: RGB(0xAA, 0, 0), 91: RGB(0xFF, 0x55, 0x55)},
}
"""What two terminals show for red and, as some do for bold letters, for its brighter kind."""


@pytest.mark.parametrize(("depth", "codes"), [("16", {"1", "2", "7", "31"}), ("8", {"1", "7", "31"})])
def test_few_colours_are_readable_on_any_background(depth: Any, codes: set[str]) -> None:
    """Letters are bold, dim, turned around or red; the console of Linux makes dim ones unreadable."""
    broken = Problem(Q=np.array([[np.nan, 1.0]]), K=np.ones((2, 2)), V=np.ones((2, 2)))
    shown = [table_text(sheet(problem), Terminal(color=depth)) for problem in (*SHEETS.values(), broken)]
    used = {code for text in shown for run in re.findall(r"\x1b\[([\d;]+)m", text) for code in run.split(";")}
    assert used - {"0"} == codes
    for paper in (WHITE, RGB(0, 0, 0)):
        for reds in SIXTEEN.values():
            assert max(contrast(red, paper) for red in reds.values()) > 3


@pytest.mark.parametrize("width", range(60, 130, 7))
def test_no_column_stands_alone_beside_a_table(width: int) -> None:
    """What is folded is parted evenly: the sides of a matrix stay with some of its keys."""
    shown = sheet(SHEETS["cjk"], stages=("weights",), detail=True)
    lines = table_text(shown, Terminal(width=width)).splitlines()
    heads = [line.split() for line in lines if "q╲k" in line]
    assert all({"q╲k", *CJK[:4], "⋯"} & set(head) or len(head) > 3 for head in heads)
    (sides,) = [head for head in heads if "bit" in head]
    assert any(name in sides for name in (".", ",", "mat", "の"))


def test_heads_of_a_stage_are_parted_evenly() -> None:
    """Four tables of which three would fit stand two by two."""
    text = table_text(sheet(drawn(2, 16, num_heads=4), stages=("Q_heads",)), Terminal(width=100))
    assert [line.split() for line in text.splitlines() if "Q_h head" in line] == [
        ["Q_h", "head", "0", "Q_h", "head", "1"],
        ["Q_h", "head", "2", "Q_h", "head", "3"],
    ]


@given(
    st.floats(-1, 1),
    st.sampled_from(["dark", "light"]),
    st.booleans(),
)
def test_ink_is_readable_on_every_colour(share: float, theme: str, stepped: bool) -> None:
    """Black or white, whichever is better, stands out from every background by 4.5 to 1 or more."""
    for color in (
        weight_color(abs(share), theme, stepped=stepped),
        signed_color(share, 1, theme, stepped=stepped),
    ):
        if color is not None:
            assert contrast(ink(color), color) >= 4.5


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(WHITE, RGB(0, 0, 0)) == pytest.approx(21)
    assert contrast(WHITE, RGB(0x76, 0x76, 0x76)) == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ([1.0, 0.0, -0.0], ["1.00", "0.00", "0.00"]),
        ([-0.001, 1.0], ["−0.001", "1.000"]),
        ([1.0, 0.0001], ["1.00", "0.00"]),
        ([0.0123, 0.02], ["0.0123", "0.0200"]),
        ([1e8, -3.5], ["1.00e8", "−3.50"]),
        ([1e8, -3e7], ["1.00e8", "−3.00e7"]),
        ([2e-9, 0.0], ["2.00e−9", "0"]),
        ([np.nan, np.inf, -np.inf, 1.0], ["NaN", "∞", "−∞", "1.00"]),
    ],
)
def test_digits_suit_the_size_of_the_numbers(numbers: list[float], written: list[str]) -> None:
    form = suited([np.array(numbers)], 2)
    assert [form(number) for number in numbers] == written


def test_precision_is_obeyed() -> None:
    text = table_text(sheet(cat(), precision=5), Terminal(width=120))
    for number in ("0.70711", "57.59753%", "1.73619"):
        assert number in text


def test_wrong_sums_and_nan_are_called_wrong() -> None:
    broken = Problem(Q=np.array([[np.nan, 1.0]]), K=np.ones((2, 2)), V=np.ones((2, 2)))
    assert "✗ 8 NaN" in table_text(sheet(broken), Terminal())


def test_output_beyond_six_keys_is_a_table() -> None:
    def output(tokens: int) -> str:
        return table_text(sheet(drawn(tokens), stages=("output",)), Terminal(width=200))

    assert "·v(" in output(6)
    assert "·v(" not in output(7)


def test_same_bytes_each_time() -> None:
    def once() -> str:
        return table_text(sheet(SHEETS["cjk"]), Terminal(color="truecolor"))

    assert once() == once()


def test_renders_whatever_a_view_leaves() -> None:
    shown: Sheet = sheet(cat(), stages=())
    assert "cat.yaml" in table_text(shown, Terminal())


@pytest.mark.parametrize(("queries", "hidden"), [(30, 48), (16, 0)])
@pytest.mark.parametrize("full", [False, True])
def test_mixtures_of_many_rows_are_cut_as_tables_are(queries: int, hidden: int, *, full: bool) -> None:
    """The first three and the last three rows, and the note counts what is really hidden."""
    draw = np.random.default_rng(0)
    problem = Problem(Q=draw.normal(size=(queries, 3)), K=draw.normal(size=(2, 3)), V=np.eye(2))
    text = table_text(sheet(problem, stages=("output",), full=full), Terminal(width=80))
    rows = [int(row) for row in re.findall(r"^ +(\d+) = .*v\(0\).*v\(1\)", text, re.MULTILINE)]
    if hidden and not full:
        assert rows == [0, 1, 2, queries - 3, queries - 2, queries - 1]
        assert f"{hidden} of {2 * queries} cells hidden: --full shows them" in text
    else:
        assert rows == list(range(queries))
        assert "hidden" not in text


def test_a_mixture_without_weight_has_no_largest() -> None:
    """Of weights that are all 0, as of scores that are all −∞, none is bold: the table marks none either."""
    scores = np.array([[0.0, 1.0], [-np.inf, -np.inf]])
    problem = Problem(scores=scores, V=np.eye(2), d_k=1)
    text = table_text(sheet(problem, stages=("output",)), Terminal(color="truecolor"))
    first, second = (line.partition("= ")[2] for line in text.splitlines() if "v(" in plain(line))
    assert first.count("\x1b[1m0.") == 1
    assert second.partition("[ ")[0].count("\x1b[1m0.") == 0


@pytest.mark.parametrize("stage", ["weights", "scaled"])
def test_columns_are_as_wide_in_every_head(stage: str) -> None:
    """One head holds a number of one more digit than the others; their columns stand level all the same."""
    tokens = tuple("abcdefghijl")
    shares = np.full((2, 11, 11), 1 / 11)
    shares[0], shares[0, :, 0] = 0.05, 0.5
    logits = np.log(shares)
    logits[0] *= 5 if stage == "scaled" else 1
    problem = Problem(scaled=logits, tokens=tokens)
    text = table_text(sheet(problem, stages=(stage,)), Terminal(width=120))
    steps: list[int] = []
    for row in (line for line in text.splitlines() if line.lstrip().startswith("q╲k ")):
        starts = [match.start() for match in re.finditer(r"\b[a-jl]\b", row)]
        for head in range(0, len(starts), 11):
            steps += np.diff(starts[head : head + 11]).tolist()
    assert len(steps) == 2 * 10
    assert len(set(steps)) == 1


def test_maxima_have_the_digits_of_the_scores_that_they_are_of() -> None:
    """Each stands in its row as it is written beside the row, however many columns there are."""
    for count in (3, 7, 12):
        text = table_text(sheet(drawn(count, mask=CAUSAL), stages=("masked",)), Terminal(width=120))
        rows = [line.split() for line in text.splitlines() if re.match(r" +\d+ +−?\d", line)]
        rows = [row for row in rows if len(row) == count + 2]
        assert len(rows) == count
        assert all(row[-1] in row[1:-1] for row in rows)


def test_what_is_left_out_by_choice_is_counted() -> None:
    """Sums and maxima of a window are of whole rows, which the sheet says."""
    problem = drawn(20, mask=CAUSAL)

    def said(**view: Any) -> str:
        return " ".join(table_text(sheet(problem, **view), Terminal(width=120)).split())

    both = said(rows=(5, 8), columns=(2, 6))
    options = "--rows 5:8 --cols 2:6; sums and maxima are of whole rows"
    assert f"17 of 20 queries and 16 of 20 keys not shown: {options}" in both
    assert "16 of 20 keys not shown: --cols 2:6; sums and maxima are of whole rows" in said(columns=(2, 6))
    rows = said(rows=(5, 8))
    assert "17 of 20 queries not shown: --rows 5:8" in rows
    assert "whole rows" not in rows
    assert "not shown" not in said() + said(rows=(0, 20), columns=(0, 20))


@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_of_a_wrapped_head_ends_in_a_separator(*, unicode: bool) -> None:
    """Whatever the width, what parts two facts stands between them."""
    problem = drawn(3, 8, batch=2, num_heads=4, mask=CAUSAL)
    separated = False
    for width in range(40, 121):
        lines = table_text(sheet(problem), Terminal(width=width, unicode=unicode)).splitlines()
        head = lines[: lines.index("")]
        sign = "·" if unicode else "."
        separated |= any(f" {sign} " in line for line in head)
        assert not [line for line in head if line.endswith(f" {sign}")]
        assert " ".join(head).endswith("causal")
    assert separated


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (1.0, "off by 1 "),
        (0.25, "off by 0.25 "),
        (3e-5, "off by 3e-5 "),
    ],
)
def test_how_far_rows_are_from_1_is_a_number_that_is_read(error: float, said: str) -> None:
    """A large error is written as people write it, and is no ± of anything."""
    shown = sheet(cat())
    assert shown.checks is not None
    checks = dataclasses.replace(shown.checks, row_sum_error=error)
    text = table_text(dataclasses.replace(shown, checks=checks), Terminal(width=100))
    assert f"rows do not sum to 1: {said}" in text


@pytest.mark.parametrize(
    "keys",
    [
        *({"mask_fill": fill} for fill in (-1e9, -1e4, -40.0)),
        *({"mask": Mask(additive=np.triu(np.full((3, 3), add), 1))} for add in (-1e9, -1e4)),
    ],
)
def test_a_fill_is_no_part_of_the_scale_of_scores(keys: dict[str, Any]) -> None:
    """Kept scores keep the colours that they have beside −∞, and what was filled is as dim as that."""
    problem = drawn(3, mask=CAUSAL)

    def heats(problem: Problem) -> list[RGB | None]:
        shown = sheet(problem, stages=("masked",))
        terminal = Terminal(width=100, color="truecolor")
        setting = setting_of(shown.blocks[0], shown, terminal, 100)
        (made,) = columns(shown.blocks[0].matrices, setting)
        spans = [made[j].cells[i] for i, j in np.ndindex(3, 3)]
        assert [span.role for span in spans] == ["faint" if j > i else "plain" for i, j in np.ndindex(3, 3)]
        return [span.heat for span in spans]

    filled = heats(dataclasses.replace(problem, **keys))
    assert filled == heats(problem)
    assert [heat is None for heat in filled] == [j > i for i, j in np.ndindex(3, 3)]


def test_numbers_beside_heads_have_the_same_digits() -> None:
    """Maxima and sums of one head may be small; they are written as those of the other heads are."""
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(2, 8, 8)) * np.array([1.0, 0.01])[:, None, None]
    text = table_text(sheet(Problem(masked=logits), stages=("weights",)), Terminal(width=70))
    ends = [line.split()[-3:] for line in text.splitlines() if re.match(r" +\d( +\d+\*?)+ ", line)]
    assert len(ends) == 16
    assert all(len({len(row[place].partition(".")[2]) for row in ends}) == 1 for place in range(3))


def test_a_step_is_written_before_the_next_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads the first lines of a long result and closes the pipe does not wait for the others."""
    made: list[int] = []

    def counted(block: Block, number: int, *rest: Any) -> Box:
        made.append(number)
        return block_box(block, number, *rest)

    monkeypatch.setattr(page, "block_box", counted)
    pieces = render_table(sheet(drawn(40), full=True, stages=("scores", "scaled", "weights")), PIPE)
    seen = [(piece.strip()[:1], list(made)) for piece in pieces]
    assert seen[:3] == [("<", []), ("1", [1, 2]), ("2", [1, 2, 3])]


@pytest.mark.parametrize(
    "form", [Form(2), Form(0), Form(1, percent=True, sign="%"), Form(2, scientific=True)]
)
@given(numbers=st.lists(st.floats() | st.sampled_from([-0.0, -0.001, -0.4, 1e6, -1e9, 0.995]), min_size=1))
def test_numbers_in_a_line_are_written_as_one_by_one(form: Form, numbers: list[float]) -> None:
    """A line is only quicker: the same digits, and no sign before a zero."""
    assert form.line(np.array(numbers)).split(" ") == [form(number) for number in numbers]


def test_each_depth_of_colours_has_its_own_codes() -> None:
    """What was written in 256 colours leaves no trace in what is written in all of them."""
    few, all_ = (table_text(sheet(cat()), Terminal(color=color)) for color in ("256", "truecolor"))
    assert ";5;" in few
    assert ";5;" not in all_
    assert ";2;" in all_
