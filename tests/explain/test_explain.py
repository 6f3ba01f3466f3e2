"""What `explain` prints is arithmetic: whoever does it by hand gets the number of the cell."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.arithmetic import EXACT, Cell, Gather, Node, asides, write
from attncli.compute import Result, compute
from attncli.errors import InputError
from attncli.explain import Explanation, explain
from attncli.meant import ALIASES
from attncli.problem import Mask, Problem
from attncli.render.explanation import explanation_text, style
from attncli.render.terminal import Terminal
from attncli.trace import STAGES
from tests.core.test_backends_agree import PROBLEMS
from tests.render.problems import CAUSAL, cat, drawn

TOOLS: dict[str, Any] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "log": np.log,
    "log2": np.log2,
    "max": np.max,  # of a list, as Python's own; but it lets a NaN through wherever that stands
    "mean": np.mean,
    "inf": math.inf,
    "nan": math.nan,
}
PIPE = Terminal(width=200, interactive=False)
WEIGHTS = {"weights", "masked_weights", "dropped"}


def calculated(text: str) -> float:
    """Do the arithmetic of a text, as Python does."""
    with np.errstate(all="ignore"):
        return float(eval(text, {"__builtins__": {}}, TOOLS))


def same(got: float, wanted: float, text: str) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9, err_msg=text)


def cell(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]"


def hold(made: Node, value: float, text: str) -> None:
    same(calculated(text), value, text)
    for aside in asides(made):
        same(calculated(write(aside, EXACT)), aside.value, write(aside, EXACT))


@pytest.mark.parametrize("name", PROBLEMS)
@given(st.data())
def test_the_arithmetic_of_any_cell_gives_the_cell(name: str, data: st.DataObject) -> None:
    """In every kind of problem, the text of every stage's cells evaluates to NumPy's number."""
    result = compute(Problem(**PROBLEMS[name]))
    record = data.draw(st.sampled_from(result.records))
    index = data.draw(st.tuples(*(st.integers(0, size - 1) for size in record.shape)))
    found = explain(result, cell(record.stage.name, index), EXACT)
    assert found.steps[-1].index == index
    for step in found.steps:
        array = result[step.record.stage.name].array
        assert array is not None
        hold(step.made, float(array[step.index]), write(step.made, EXACT))


@pytest.mark.parametrize("name", PROBLEMS)
@given(st.data())
def test_the_arithmetic_of_any_detail_gives_the_detail(name: str, data: st.DataObject) -> None:
    """A query's row_max, lse, entropy and what else there is are explained as stages are."""
    result = compute(Problem(**PROBLEMS[name]))
    details = {each: array for record in result.records for each, array in record.details.items()}
    detail = data.draw(st.sampled_from(sorted(details)))
    index = data.draw(st.tuples(*(st.integers(0, size - 1) for size in details[detail].shape)))
    found = explain(result, cell(detail, index), EXACT, 2)
    assert found.steps[-1].cell.startswith(f"{detail}[")
    assert found.value == details[detail][index] or math.isnan(found.value)
    for step in found.steps:
        hold(step.made, step.value, write(step.made, EXACT))


@given(st.data())
def test_the_numbers_that_are_read_stand_in_the_arrays(data: st.DataObject) -> None:
    """A number with a name is the one that the stage, or the problem, has at that place."""
    name = data.draw(st.sampled_from(sorted(PROBLEMS)))
    problem = Problem(**PROBLEMS[name])
    result = compute(problem)
    record = data.draw(st.sampled_from(result.records))
    index = data.draw(st.tuples(*(st.integers(0, size - 1) for size in record.shape)))
    given = {key: array for key in ("X", "W_Q", "W_K", "Q") if (array := getattr(problem, key)) is not None}
    stages = {each.stage.name: each.array for each in result.records if each.array is not None}
    for read in _cells(explain(result, cell(record.stage.name, index), EXACT).steps[-1].made):
        if read.name in given | stages:
            same(read.value, float((given | stages)[read.name][read.index]), read.name)


def _cells(node: Node) -> list[Cell]:
    if isinstance(node, Cell):
        return [node]
    inner = node.terms() if isinstance(node, Gather) else _parts(node)
    return [found for each in inner for found in _cells(each)]


def _parts(node: Any) -> list[Node]:
    return [getattr(node, name) for name in ("left", "right", "argument") if hasattr(node, name)]


def test_an_overflow_in_half_precision_is_explained_as_it_was_rounded() -> None:
    """The cells that are read are those of the run, in its precision."""
    result = compute(drawn(3, dtype="float16"))
    found = explain(result, "scores[2,1]", EXACT, 1)
    expected = result["Q"].array, result["K"].array
    assert expected[0] is not None
    assert expected[1] is not None
    same(calculated(write(found.steps[-1].made, EXACT)), float(expected[0][2] @ expected[1][1]), "scores")
    assert abs(found.value - calculated(write(found.steps[-1].made, EXACT))) < 1e-2


CAT = """\
cat.yaml  weights[sat,cat] = 0.1400    numpy · float64 · 3 tokens · d=2 · causal

 1  project  Q = X·W_Q  Ask, for every token, what it looks for.
   Q[sat,0] = 1×1 + 1×0 = 1
   Q[sat,1] = 1×0 + 1×1 = 1

 2  project  K = X·W_K  State, for every token, what it can be found by.
   K[cat,0] = 0×1 + 1×0 = 0
   K[cat,1] = 0×1 + 1×1 = 1

 3  score  S = Q·Kᵀ
   scores[sat,cat] = 1×0 + 1×1 = 1

 4  scale  Z = S ÷ √2
   scaled[sat,cat] = 1 ÷ 1.414 = 0.7071

 5  mask  M = Z where k ≤ q, else -inf
   masked[sat,cat] = scaled[sat,cat] = 0.7071

 6  softmax  A = softmax(M)
                  m = max(1.414, 0.7071, 2.121) = 2.121
               Σexp = exp(1.414 - 2.121) + exp(0.7071 - 2.121)
                    + exp(2.121 - 2.121) = 1.736
   weights[sat,cat] = exp(0.7071 - 2.121) ÷ 1.736 = 0.1400
                    → 14.0 % of v(cat) = [0 0.1400]
"""


def text(result: Result, name: str, depth: int | None = None, terminal: Terminal = PIPE) -> str:
    written = style(terminal)
    return explanation_text(explain(result, name, written, depth), written, terminal)


def test_the_design_s_example() -> None:
    """The cell of the three tokens that are worked by hand, back to X and the weights."""
    terminal = Terminal(width=80, interactive=False)
    assert text(compute(cat()), "weights[sat,cat]", terminal=terminal) == CAT


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_the_weights_of_a_row_hand_on_adds_up_to_its_mixture(name: str) -> None:
    """A query's mixture is the sum of what its weights hand on, whichever stage the last weights are."""
    result = compute(Problem(**PROBLEMS[name]))
    final = [each for each in result.records if each.stage.name in WEIGHTS][-1]
    row, keys = [0] * (len(final.shape) - 1), final.shape[-1]
    shares = [explain(result, cell(final.stage.name, (*row, j)), EXACT, 1).share for j in range(keys)]
    mixed = [each for each in result.records if each.stage.name in {"head_output", "output"}][:1]
    if not mixed:
        assert shares == [None] * keys
        return
    wanted = np.asarray(mixed[0].array)[tuple(row)]
    assert len(wanted) <= 6
    numbers = [[share.at(d) for d in range(share.size)] for share in shares if share]
    assert len(numbers) == keys
    np.testing.assert_allclose(np.sum(np.array(numbers, float), axis=0), wanted, rtol=1e-9, atol=1e-12)
    assert explain(result, cell(mixed[0].stage.name, (*row, 0)), EXACT, 1).share is None


def test_a_long_value_shows_its_ends() -> None:
    """Three numbers from each end, and the product of each by hand."""
    result = compute(drawn(3, 8))
    weights, values = result["weights"].array, result["V"].array
    assert weights is not None
    assert values is not None
    line = next(line for line in text(result, "weights[2,1]", 1).splitlines() if "→" in line)
    numbers = re.fullmatch(r" +→ ([\d.]+) % of v\(1\) = \[(.*) ⋯ (.*)\]", line)
    assert numbers
    assert float(numbers[1]) == pytest.approx(100 * weights[2, 1], abs=0.051)
    shown = [float(number) for number in (numbers[2] + " " + numbers[3]).split()]
    wanted = weights[2, 1] * values[1, [0, 1, 2, 5, 6, 7]]
    np.testing.assert_allclose(shown, wanted, rtol=1e-3)


def test_long_products_show_the_largest_and_the_sum_of_the_rest() -> None:
    """Six products stand for 40, and what the other 34 add up to is printed."""
    result = compute(drawn(3, 40))
    line = next(each for each in text(result, "scores[2,1]", 1).splitlines() if "[the other 34]" in each)
    terms = line.split("=")[1].replace("[the other 34]", "").replace("×", "*")
    assert terms.count("*") == 6
    queries, keys = result["Q"].array, result["K"].array
    assert queries is not None
    assert keys is not None
    products = np.abs(queries[2] * keys[1])
    in_order = np.sort(np.argsort(products)[-6:])
    assert [abs(calculated(each)) for each in re.findall(r"\S+\*\S+", terms)] == pytest.approx(
        products[in_order], rel=2e-3
    )
    assert calculated(terms) == pytest.approx(queries[2] @ keys[1], abs=0.05)


def eight(**keys: Any) -> Result:
    """Eight tokens whose scores are those of their keys, whatever the query."""
    scores = np.array([0.5, 3.5, 1.5, 2.5, 0.25, 4.5, 0.75, 1.25])
    return compute(Problem(Q=np.ones((8, 1)), K=scores[:, None], scale="none", **keys))


def test_terms_stand_in_the_order_of_their_keys_and_masked_ones_together() -> None:
    """Query 3 of 8 sees four keys: each once and in order, and the other four as the one thing they are."""
    written = text(eight(mask=CAUSAL), "weights[3,2]", 1)
    assert " m = max(0.5000, 3.500, 1.500, 2.500, -inf [the other 4]) = 3.500\n" in written
    seen = " + ".join(f"exp({z} - 3.500)" for z in ("0.5000", "3.500", "1.500", "2.500"))
    total = sum(math.exp(z - 3.5) for z in (0.5, 3.5, 1.5, 2.5))
    assert f" Σexp = {seen} + 0 [the other 4] = {total:.3f}\n" in written


def test_of_many_terms_the_largest_stand_in_their_order() -> None:
    """Six of eight, and what the other two come to: the larger of them, and their sum."""
    written = text(eight(), "weights[3,2]", 1)
    assert " m = max(3.500, 1.500, 2.500, 4.500, 0.7500, 1.250, 0.5000 [the other 2]) = 4.500\n" in written
    rest = math.exp(0.5 - 4.5) + math.exp(0.25 - 4.5)
    assert re.search(rf"exp\(1.250 - 4.500\) \+ {rest:.5f} \[the other 2\] = ", written)


def test_a_single_term_too_many_is_written() -> None:
    """Of seven keys each has a term: what stands for one of them would take as much room."""
    scores = np.arange(7.0)
    written = text(compute(Problem(scores=scores[None], scale="none")), "weights[0,2]", 1)
    assert " m = max(0, 1, 2, 3, 4, 5, 6) = 6\n" in written


def test_equal_terms_are_written_as_far_as_there_is_room() -> None:
    written = text(compute(Problem(scores=np.ones((1, 9)), scale="none")), "weights[0,2]", 1)
    assert " m = max(1, 1, 1, 1, 1, 1, 1 [the other 3]) = 1\n" in written


def test_a_sum_with_a_sink_beside_it_has_no_name() -> None:
    """Σexp of the sheet has the sink's part in it; the maximum that is taken away is m all the same."""
    written = text(eight(sink=1.0), "weights[3,2]", 1)
    assert " m = max(" in written
    assert "Σexp = " not in written


def test_rows_with_much_in_common_are_explained_at_once() -> None:
    """What all terms of a row share, such as its maximum, is counted and written once."""
    result = compute(drawn(40, mask=CAUSAL))
    found = explain(result, "weights[39,3]", style(PIPE))
    assert len(asides(found.steps[-1].made)) == 2
    assert depth_of(found)[-4:] == ["scores", "scaled", "masked", "weights"]


def test_a_line_is_broken_between_terms() -> None:
    """On a narrow terminal no product and no bracket is torn apart."""
    narrow = Terminal(width=50, interactive=False)
    lines = text(compute(drawn(3, 40)), "scores[2,1]", 1, narrow).splitlines()
    arithmetic = [line for line in lines if "×" in line]
    assert len(arithmetic) > 1
    assert all(len(line) <= 50 and line.count("(") == line.count(")") for line in lines)


def depth_of(found: Explanation) -> list[str]:
    return list(dict.fromkeys(step.record.stage.name for step in found.steps))


def test_depth_says_how_far_back_an_explanation_goes() -> None:
    """Each step back adds the stages that the last ones were made of; what is left is counted."""
    result = compute(cat())
    assert depth_of(explain(result, "weights[2,1]", EXACT, 1)) == ["weights"]
    assert depth_of(explain(result, "weights[2,1]", EXACT, 3)) == ["scaled", "masked", "weights"]
    assert explain(result, "weights[2,1]", EXACT, 4).behind == 4  # two cells each of Q and K
    assert explain(result, "weights[2,1]", EXACT, 5).behind == 0


def test_without_a_depth_an_explanation_can_be_read_at_once() -> None:
    """A cell with hundreds of others behind it stops early and says how to go on."""
    written = text(compute(drawn(12, 24, num_heads=3)), "output[3,1]")
    assert len(written.splitlines()) < 60
    assert re.search(r"\d+ more cells are behind these: --depth \d shows them", written)


def test_heads_stand_before_queries_and_keys() -> None:
    """The index follows the stage's axes: the key-value head that serves a query head is found."""
    result = compute(Problem(**PROBLEMS["repeat"]))
    found = explain(result, "scores[1,3,2,4]", EXACT, 1)
    assert {(read.name, read.index[:2]) for read in _cells(found.steps[-1].made)} == {
        ("Q", (1, 3)),
        ("K", (1, 1)),
    }


def test_what_was_given_has_nothing_behind_it() -> None:
    assert "X[2,0] = 1 " in text(compute(cat()), "X[2,0]")
    assert "it was given" in text(compute(cat()), "X[2,0]")


def test_the_details_of_softmax_by_hand() -> None:
    """The row of sat, whose scores are 2, 1 and 3: each detail from the numbers of the one before it."""
    result = compute(cat())
    z = np.array([2, 1, 3]) / math.sqrt(2)
    written = text(result, "lse[sat]", 2)
    assert "row_max[sat] = max(1.414, 0.7071, 2.121) = 2.121\n" in written
    assert "exp_sum[sat] = exp(1.414 - 2.121) + exp(0.7071 - 2.121) + exp(2.121 - 2.121) = 1.736\n" in written
    assert f"lse[sat] = 2.121 + log(1.736) = {math.log(np.exp(z).sum()):.3f}\n" in written
    assert " lse  LSE = ln Σ exp(M)  Take the natural log" in written
    shares = np.exp(z) / np.exp(z).sum()
    bits = -(shares * np.log2(shares)).sum()
    assert explain(result, "entropy[2]", EXACT, 1).value == pytest.approx(bits)
    assert " row_sum  ΣA = Σ A " in text(result, "row_sum[2]", 1)


BLIND = np.array([[False, False], [True, True]])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "a sees no key: the weights there are 0 (fully_masked: zeros)"),
        ({"fully_masked": "nan"}, "a sees no key: the weights there are NaN (fully_masked: nan)"),
        ({"sink": 0.5}, "a sees no key: the weights there are 0"),
        ({"mask_fill": -1e9}, "a sees no key: every score there got the fill -1e+09, and the weights are a"),
    ],
)
def test_a_row_that_sees_no_key_says_what_became_of_it(keys: dict[str, Any], said: str) -> None:
    """Once under the weights of that row, whose arithmetic is odd, and nowhere else."""
    result = compute(Problem(X=np.eye(2), tokens=("a", "b"), mask=Mask(keep=BLIND), **keys))
    for name in ("weights[a,1]", "output[a,1]"):
        lines = [line.strip() for line in text(result, name, 2).splitlines() if "sees no key" in line]
        assert len(lines) == 1
        assert lines[0].startswith(said)
    assert " = -inf = " not in text(result, "lse[a]")
    assert "sees no key" not in text(result, "output[b,1]")
    assert "sees no key" not in text(result, "scores[a,1]")


LABELS = ("a,b", "2", "x", "x")


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("weights[1,2]", (1, 2)),
        (" weights [ 3 , 0 ] ", (3, 0)),
        ('weights["a,b","2"]', (0, 1)),
        ("weights['2',0]", (1, 0)),
        ("weights[2,2]", (2, 2)),
    ],
)
def test_positions_and_labels(name: str, index: tuple[int, ...]) -> None:
    """Whole numbers are positions; quotes make a label of anything."""
    assert explain(compute(drawn(4, tokens=LABELS)), name, EXACT, 1).index == index


@pytest.mark.parametrize(
    ("name", "index"), [("weights[␣hi,0]", (0, 0)), ("weights[Ġhi,0]", (0, 0)), ("weights[␣ho,⏎]", (3, 1))]
)
def test_a_label_may_be_written_as_it_is_shown(name: str, index: tuple[int, ...]) -> None:
    """The marks of spaces and line ends need not be known; a label that is spelled so comes first."""
    result = compute(drawn(4, tokens=("Ġhi", "\n", "▁ho", "␣ho")))
    assert explain(result, name, EXACT, 1).index == index


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("weights[␣hi,hi]", (0, 1)),
        ('weights[" hi","hi"]', (0, 1)),
        ('weights["",␣]', (2, 3)),
        ("weights[hi␣,<U+3000>]", (4, 5)),
    ],
)
def test_white_space_may_be_written_as_it_is_shown(name: str, index: tuple[int, ...]) -> None:
    """A label of spaces, or with them at an end, is found by what a table shows, and in quotes by itself."""
    result = compute(drawn(6, tokens=(" hi", "hi", "", " ", "hi ", "\u3000")))
    assert explain(result, name, EXACT, 1).index == index


@pytest.mark.parametrize(
    ("name", "cell"), [("weights[1,0]", 'weights[b,"2"]'), ("weights[0,1]", 'weights["2",b]')]
)
def test_a_cell_is_named_as_it_may_be_written(name: str, cell: str) -> None:
    """A label that looks like a position is in quotes, where it would be taken for one."""
    result = compute(drawn(2, tokens=("2", "b")))
    assert explain(result, name, EXACT, 1).cell == cell
    assert explain(result, cell, EXACT, 1).cell == cell


def test_the_symbols_of_tables_name_cells() -> None:
    """What a table is headed with can be asked for, stages and details alike."""
    result = compute(drawn(3, num_heads=2, mask=Mask(causal=True), softcap=5.0))
    for record in result.records:
        index = ",".join("1" for _ in record.axes)
        found = explain(result, f"{record.stage.symbol}[{index}]", EXACT, 1)
        assert (found.name, found.index) == (record.stage.name, (1,) * len(record.axes))
    for symbol, name in {"m": "row_max", "Σe": "exp_sum", "LSE": "lse", "H": "entropy"}.items():
        assert explain(result, f"{symbol}[0,1]", EXACT, 1).cell == f"{name}[0,1]"


def test_every_suggestion_is_accepted() -> None:
    """Whatever a message proposes for a name, a number of axes or no cell at all can be typed."""
    result = compute(drawn(3, tokens=("a,b", "2", "x")))
    names = [each for stage in STAGES.values() for each in (stage.name, stage.symbol, *stage.details)]
    proposed = 0
    for name in (*names, *ALIASES, "weigth", "Qs", "W_q", "x"):
        for cell in (name, f"{name}[0]", f"{name}[0,0,0,0,0]"):
            try:
                explain(result, cell, EXACT, 1)
            except InputError as error:
                for near in re.findall(r"did you mean (.+)\?", error.fix):
                    assert any(_is_cell(result, f"{near}[{at}]") for at in ("0", "0,0")), near
                for example in re.findall(r"such as (.+)", error.fix):
                    assert _is_cell(result, example), example
                proposed += bool(error.fix)
    assert proposed > 50


def _is_cell(result: Result, cell: str) -> bool:
    try:
        return bool(explain(result, cell, EXACT, 1).cell)
    except InputError:
        return False


def test_a_shown_label_that_two_tokens_share() -> None:
    with pytest.raises(
        InputError, match=r'"␣a" stands at several query positions\n  fix: one of 0, 2 instead'
    ):
        explain(compute(drawn(3, tokens=("Ġa", "b", "▁a"))), "weights[␣a,b]", EXACT)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("weights", r'"weights" is no cell\n  fix: .*such as Q\[3,3\]'),
        ("weights[1]", r"weights has 2 axes \(query, key\), and .* has 1 position\n  fix: such as weights\["),
        ("weights[1,2,3]", r"has 3 positions"),
        (
            "weight[1,2]",
            r'there is no stage or detail "weight" here\n       there are Q, K, V, scores, .*row_sum, lse, .*, W_V\n  fix: did you mean weights\?$',
        ),
        ("masked[1,2]", r'there is no stage or detail "masked" here'),
        ("lse[1,2]", r"lse has 1 axis \(query\), and .* has 2 positions\n  fix: such as lse\[3\]"),
        ("weights[4,0]", r"there is no query 4 in weights\n       positions: 0 to 3"),
        ("weights[0,-1]", r"there is no key -1 in weights"),
        ("weights[x,0]", r'"x" stands at several query positions\n  fix: one of 2, 3 instead'),
        ("weights[y,0]", r'there is no query "y" in weights\n       labels: a,b, 2, x, x'),
        ("Q[0,x]", r'the axis dim of Q has positions only, not "x"'),
        ("weights[,0]", r'there is no query "" in weights'),
        ('weights["a"b,0]', r'there is no query ""a"b" in weights'),
    ],
)
def test_a_cell_that_is_not_there(name: str, message: str) -> None:
    """One message says what is wrong with the name, and what there is instead."""
    with pytest.raises(InputError, match=message):
        explain(compute(drawn(4, tokens=LABELS)), name, EXACT)
