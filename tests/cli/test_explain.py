"""`attn explain` on the command line."""

from __future__ import annotations

import json
import math

import pytest

from tests.cli.conftest import Attn


def test_the_arithmetic_is_printed(attn: Attn) -> None:
    """A cell by its labels: S[sat,cat] of the file is (1+1)·0 + (1+1)·2 = 4."""
    done = attn("explain", "cat.yaml", "scores[sat,cat]", "--depth", "1")
    assert done.status == 0
    assert "scores[sat,cat] = 2×0 + 2×2 = 4\n" in done.out


def test_json_holds_arithmetic_that_python_does(attn: Attn) -> None:
    """Each step's text evaluates to its value, and names what it reads."""
    document = json.loads(attn("explain", "cat.yaml", "weights[2,1]", "--json").out)
    assert (document["cell"], document["index"], document["behind"]) == ("weights[sat,cat]", [2, 1], 0)
    for step in document["steps"]:
        value = eval(step["arithmetic"], {"exp": math.exp, "max": max})
        assert value == pytest.approx(step["value"], rel=1e-12)
    assert document["steps"][-1]["reads"] == ["scaled[sat,cat]"]
    assert document["value"] == document["steps"][-1]["value"]


def test_json_holds_what_a_weight_hands_on(attn: Attn) -> None:
    """The whole value of the key times the weight: v(cat) is X·W = [0, 2]; nothing for another cell."""
    document = json.loads(attn("explain", "cat.yaml", "weights[2,1]", "--json").out)
    assert document["share"] == {"key": "cat", "numbers": [0.0, pytest.approx(2 * document["value"])]}
    assert json.loads(attn("explain", "cat.yaml", "scores[2,1]", "--json").out)["share"] is None


def test_json_says_what_became_of_an_empty_row(attn: Attn) -> None:
    line = ("explain", "cat.yaml", "weights[0,1]", "--json", "--set", "mask={key_padding: [[0,0,0]]}")
    last = json.loads(attn(*line).out)["steps"][-1]
    assert last["remark"] == "the sees no key: the weights there are 0 (fully_masked: zeros)"
    assert json.loads(attn("explain", "cat.yaml", "weights[2,1]", "--json").out)["steps"][-1]["remark"] == ""


def test_precision_is_in_decimals(attn: Attn) -> None:
    assert " = 4.00000\n" in attn("explain", "cat.yaml", "scores[2,1]", "--precision", "5").out


def test_settings_change_what_is_explained(attn: Attn) -> None:
    """A mask from the command line stands in the explanation."""
    out = attn("explain", "cat.yaml", "masked[the,cat]", "--causal", "--depth", "1").out
    assert "masked[the,cat] = 1.414 - inf = -inf\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cat.yaml", "weights[dog,0]"), 'there is no query "dog" in weights'),
        (("cat.yaml", "softmax[0,0]"), 'there is no stage or detail "softmax" here'),
        (("cat.yaml", "a[0,0]"), "fix: did you mean weights?"),
        (("cat.yaml", "attn_weights[0,0]"), "fix: did you mean weights?"),
        (("cat.yaml", "weights[0,0]", "-o", "cell.npz"), "not written as npz"),
        (("two.jsonl", "weights[0,0]"), "a cell is of one problem, and there are 2 in the file"),
    ],
)
def test_what_cannot_be_explained(attn: Attn, arguments: tuple[str, ...], message: str) -> None:
    """One message on standard error, nothing on standard output, status 2."""
    attn("random", "--seq", "2", "--dim", "2", "-o", "two.jsonl")
    with open("two.jsonl", "a+") as file:  # noqa: PTH123  (in the folder of the test)
        file.seek(0)
        file.write(file.read())
    done = attn("explain", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
