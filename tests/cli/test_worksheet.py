"""Worksheets: stages whose numbers the reader is to find, and the answers."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Attn
from tests.render.problems import cat, sheet

ROWS = ("the  ____     ·     ·", "cat  ____  ____     ·", "sat  ____  ____  ____")


def test_a_worksheet_leaves_blanks(attn: Attn) -> None:
    """The numbers are gone, what is masked is not, and nothing else tells them: no sums, no mixture."""
    out = attn("compute", "cat.yaml", "--causal", "--blank", "weights").out
    assert [row for row in ROWS if f"   {row}" not in out] == []
    assert "%" not in out
    assert "·v(" not in out
    assert "Σexp " not in out.replace("÷ Σexp", "")
    assert "bit" not in out


def test_the_answers_follow(attn: Attn) -> None:
    """After the worksheet, the stages that were blank, as they are without --blank."""
    blank, answers = attn("compute", "cat.yaml", "--blank", "weights", "--answers").out.split("\nanswers ")
    assert "____" in blank
    plain = attn("compute", "cat.yaml", "--stages", "weights").out
    assert answers.splitlines()[1:] == plain.splitlines()[1:]


def test_the_answers_hold_all_that_was_blank(attn: Attn) -> None:
    """With the weights, those that dropout left and the exponentials are blank; all of them are answered."""
    drop = "dropout={p: 0.5, keep: [[1, 1, 1], [0, 1, 1], [1, 0, 1]]}"
    done = attn("compute", "cat.yaml", "--set", drop, "--detail", "--blank", "weights", "--answers")
    blank, answers = done.out.split("\nanswers ")
    assert [blank.count("____"), answers.count("____")] == [3 * 9, 0]
    assert answers.splitlines()[2].startswith(" 1  softmax  e = exp(Z - m)  A = ")
    assert " 2  dropout  A_d = " in answers


def test_no_next_command_names_the_largest_weight() -> None:
    """A cell worth a look is one of the answers."""
    assert sheet(cat()).example == "weights[sat,the]"
    assert not sheet(cat(), blank=("weights",)).example


@pytest.mark.parametrize("name", ["markdown", "latex", "svg"])
def test_documents_leave_blanks_too(attn: Attn, name: str) -> None:
    """No weight stands anywhere in the document, not even where a pointer would show it."""
    whole = attn("compute", "cat.yaml", "--format", name).out
    blank = attn("compute", "cat.yaml", "--format", name, "--blank", "weights").out
    numbers = set(re.findall(r"\d+\.\d\\?%", whole)) | set(
        re.findall(r"weights\[\w+,\w+\] = (0\.\d+)", whole)
    )
    assert len(numbers) >= 3
    assert not [number for number in numbers if number in blank]
    assert "____" in blank.replace("\\_", "_")


def test_pictures_and_words_would_tell(attn: Attn) -> None:
    """What is blank is neither drawn nor listed."""
    out = attn(
        "random", "--seq", "20", "--dim", "4", "--seed", "1", "--blank", "weights", "--color", "always"
    ).out
    assert "▀" not in out
    assert "strongest" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--blank", "wieghts"), 'there is no stage "wieghts"'),
        (("--blank", "masked"), 'there is no stage "masked" to show'),
        (("--answers",), "--answers shows what --blank leaves out"),
        (("--blank", "weights", "--json"), "json holds every number as it is: --blank would change nothing"),
        (("--blank", "weights", "--answers", "--format", "svg"), "svg is one picture"),
    ],
)
def test_what_cannot_be_left_blank(attn: Attn, options: tuple[str, ...], message: str) -> None:
    done = attn("compute", "cat.yaml", *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
