"""``attn check`` and ``attn diff`` from outside: what is said, what is exited with, and what is explained."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import worked

from .conftest import Attn

RIGHT = """\
scores: [[1, 2], [3, 3]]
expected:
  weights: [[0.269, 0.731], [0.5, 0.5]]
"""


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def written(folder: Path, name: str = "p.json", **keys: Any) -> str:
    plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in keys.items()}
    (folder / name).write_text(json.dumps(plain))
    return name


def rounded(array: np.ndarray) -> list[Any]:
    return list(np.round(array, 4).tolist())


def test_right_numbers_exit_0(attn: Attn, folder: Path) -> None:
    """A file whose numbers are right says how many, and exits with 0."""
    (folder / "a.yaml").write_text(RIGHT)
    done = attn("check", "a.yaml")
    assert (done.status, done.err.count("error")) == (0, 0)
    assert done.out == "a.yaml   ✓ 4 numbers right\n\n ✓ weights  4 numbers\n"


def test_a_wrong_number_exits_1_and_is_the_headline(attn: Attn, folder: Path) -> None:
    """The first wrong number is named with what was printed and what is right, and marked in the table."""
    (folder / "a.yaml").write_text(RIGHT.replace("0.731", "0.713"))
    done = attn("check", "a.yaml")
    assert done.status == 1
    assert "first wrong: weights[0,1] printed 0.713, is 0.731\n" in done.out
    assert re.search(r"0 0\.269 +0\.713! +0 0\.269 +0\.731", done.out), done.out


def test_a_last_digit_exits_0_with_a_word(attn: Attn, folder: Path) -> None:
    """A number that was cut off rather than rounded is no fault, and is said."""
    (folder / "a.yaml").write_text(RIGHT.replace("0.269", "0.268"))
    done = attn("check", "a.yaml")
    assert done.status == 0
    assert "4 numbers right, 1 of them off in the last digit" in done.out
    assert "0.268'" in done.out


def test_the_published_slip_of_the_design(attn: Attn) -> None:
    """The example that the design gives is in the table: printed 0.327, is 0.279."""
    done = attn("check", str(worked.FOLDER / "064_i_love_transformers.json"), "--json")
    found = json.loads(done.out)
    assert done.status == 1
    assert found["first_wrong"]["cell"] == "weights[0,0]"
    cell = next(each for each in found["stages"][0]["wrong"] if each["cell"] == "weights[0,2]")
    assert (cell["printed"], round(cell["right"], 3), cell["kind"]) == ("0.327", 0.279, "origin")


def test_no_expected_values_is_an_error(attn: Attn) -> None:
    """A problem without expected values cannot be checked, and says what to add."""
    done = attn("check", "cat.yaml")
    assert (done.status, done.out) == (2, "")
    assert "there is nothing to check: the problem has no expected values" in done.err
    assert "fix: add expected: {weights" in done.err


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("{foo: [[1, 2]]}", 'this problem has no stage "foo"'),
        ("{A: [[1, 2]]}", "fix: did you mean weights?"),
        ("{attn_weights: [[1, 2]]}", "fix: did you mean weights?"),
        ("{weights: [[1, 2]]}", "expected.weights is 1×2, but weights is 2×2"),
        ("{'weights[5]': [1, 2]}", 'expected has "weights[5]", but weights is 2×2'),
        ("{'weights[a]': [1, 2]}", '"weights[a]" is no part of a stage'),
    ],
)
def test_an_impossible_expectation_is_an_error_at_its_line(
    attn: Attn, folder: Path, expected: str, message: str
) -> None:
    """A stage or a part that is not there, or another shape, is refused where it stands."""
    (folder / "a.yaml").write_text(f"scores: [[1, 2], [3, 3]]\nexpected: {expected}\n")
    done = attn("check", "a.yaml")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "--> a.yaml:2:" in done.err


def test_a_folder_of_results_is_told_apart(attn: Attn, folder: Path) -> None:
    """Where a folder holds results alone, how to check one of them is said; where it holds nothing, nothing is."""
    (folder / "dumps").mkdir()
    done = attn("check", "dumps")
    assert (done.status, done.out) == (2, "")
    assert "holds no problem files" in done.err
    assert "fix" not in done.err
    np.save(folder / "dumps" / "weights.npy", np.eye(2))
    assert "attn check FILE RESULT" in attn("check", "dumps").err


def test_several_files_have_a_line_each(attn: Attn, folder: Path) -> None:
    """A folder is graded in one go: a line for each problem, a sum, and the worst exit status."""
    answers = folder / "answers"
    answers.mkdir()
    (answers / "a.yaml").write_text(RIGHT)
    (answers / "b.yaml").write_text(RIGHT.replace("0.731", "0.7"))
    done = attn("check", "answers")
    assert done.status == 1
    assert re.search(r"✓ a\.yaml +4 numbers right", done.out)
    assert re.search(
        r"✗ b\.yaml +1 of 4 numbers wrong +first wrong: weights\[0,1\] printed 0\.7, is 0\.731", done.out
    )
    assert done.out.endswith("2 problems: 1 right, 1 wrong\n")
    (answers / "c.yaml").write_text("X: [[1]]\n")
    done = attn("check", "answers", "--json")
    verdicts = [json.loads(line)["verdict"] for line in done.out.splitlines()]
    assert (done.status, verdicts) == (2, ["right", "wrong", "refused"])


def test_ascii_and_colour(attn: Attn, folder: Path) -> None:
    """Colour only adds: without its codes the text is the same."""
    (folder / "a.yaml").write_text(RIGHT.replace("0.731", "0.713"))
    plain, colored = attn("check", "a.yaml").out, attn("check", "a.yaml", "--color", "always").out
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


# -- diagnoses, each in one command, of numbers that NumPy alone made ----------------------------


def drawn(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_transposed_weight_is_diagnosed(attn: Attn, folder: Path) -> None:
    """Keys that were made by x·W_Kᵀ are explained by the layout of W_K."""
    draw = drawn()
    x, w_q, w_k, w_v = draw.normal(size=(4, 3)), *draw.normal(size=(3, 3, 3))
    a = softmax((x @ w_q) @ (x @ w_k.T).T / math.sqrt(3))
    expected = {"weights": rounded(a), "output": rounded(a @ x @ w_v)}
    name = written(folder, X=x, W_Q=w_q, W_K=w_k, W_V=w_v, expected=expected)
    assert (
        'matches if weight_layout of W_K were "out in"; parts from it at weights' in attn("check", name).out
    )


def test_a_flipped_mask_is_diagnosed(attn: Attn, folder: Path) -> None:
    """A mask whose true was read as hidden is explained by drop."""
    s = drawn().normal(size=(4, 4))
    keep = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 0]], dtype=bool)
    a = softmax(np.where(keep, -np.inf, s))
    name = written(folder, scores=s, mask={"keep": keep.tolist()}, expected={"weights": rounded(a)})
    assert "matches if mask.keep were mask.drop; parts from it at weights" in attn("check", name).out


def test_the_width_of_the_model_in_the_scale_is_diagnosed(attn: Attn, folder: Path) -> None:
    """Scores divided by √d_model where heads are narrower are explained by the scale."""
    draw = drawn()
    q, k = draw.normal(size=(2, 3, 6))
    heads = [softmax(q[:, part] @ k[:, part].T / math.sqrt(6)) for part in (slice(0, 3), slice(3, 6))]
    name = written(folder, Q=q, K=k, num_heads=2, expected={"weights": rounded(np.array(heads))})
    assert "matches if scale were 1/√d_model; parts from it at weights" in attn("check", name).out


def test_tiled_key_value_heads_are_diagnosed(attn: Attn, folder: Path) -> None:
    """Key-value heads that were tiled rather than repeated are explained by kv_head_map."""
    draw = drawn()
    q, k = draw.normal(size=(3, 8)), draw.normal(size=(3, 4))
    parts = [(q[:, 2 * h : 2 * h + 2], k[:, 2 * (h % 2) : 2 * (h % 2) + 2]) for h in range(4)]
    a = np.array([softmax(one @ other.T / math.sqrt(2)) for one, other in parts])
    name = written(folder, Q=q, K=k, num_heads=4, num_kv_heads=2, expected={"weights": rounded(a)})
    assert "matches if kv_head_map were tile; parts from it at weights" in attn("check", name).out


def test_interleaved_rotation_is_diagnosed(attn: Attn, folder: Path) -> None:
    """Vectors that were rotated in pairs of neighbours are explained by rope.pairing."""
    draw = drawn()
    q, k = draw.normal(size=(2, 5, 4))
    angle = np.arange(5)[:, None] * 10000.0 ** -np.array([0, 0.5])

    def turned(x: np.ndarray) -> np.ndarray:
        number = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angle)
        return np.stack([number.real, number.imag], axis=-1).reshape(x.shape)

    a = softmax(turned(q) @ turned(k).T / 2)
    name = written(folder, Q=q, K=k, rope={"pairing": "half"}, expected={"weights": rounded(a)})
    assert "matches if rope.pairing were interleaved; parts from it at weights" in attn("check", name).out


# -- results and diffs ------------------------------------------------------------------------------


def test_a_result_of_ours_passes_in_every_form(attn: Attn) -> None:
    """What attn wrote, as JSON or as .npz, agrees with the problem."""
    for name in ("r.json", "r.npz"):
        assert attn("compute", "cat.yaml", "-o", name, "-q").status == 0
        done = attn("check", "cat.yaml", name)
        assert done.status == 0, done
        assert "7 stages and 6 details agree" in done.out


def test_a_kept_result_is_held_against_today(attn: Attn, folder: Path) -> None:
    """A golden file passes by itself; with a number changed it names the stage, beside what was expected."""
    (folder / "golden.json").write_text(attn("compute", "cat.yaml", "--json").out)
    assert attn("check", "golden.json").status == 0
    changed = json.loads((folder / "golden.json").read_text())
    changed["stages"]["weights"][0][0] += 1e-6
    changed["expected"] = {"row_sum": ["1.00"] * len(changed["stages"]["weights"])}
    written(folder, "changed.json", **changed)
    done = attn("check", "changed.json")
    assert done.status == 1
    assert "✗ weights" in done.out
    assert f"{len(changed['stages']['weights'])} numbers right" in done.out


@pytest.mark.parametrize("form", ["json", "npz", "safetensors"])
def test_the_details_of_a_kept_result_are_compared(attn: Attn, folder: Path, form: str) -> None:
    """Where only the log of a row's sum is another one, that is what differs; -inf of a row without keys is right."""
    blind = ("--set", "mask={keep: [[0, 0, 0], [1, 1, 0], [1, 1, 1]]}", "-q")
    attn("compute", "cat.yaml", *blind, "-o", f"a.{form}")
    attn("compute", "cat.yaml", *blind, "-o", "a.json")
    rows = json.loads(attn("check", f"a.{form}", "--json").out)["stages"]
    assert {"lse", "entropy", "row_max"} < {row["stage"] for row in rows}
    assert {row["verdict"] for row in rows} == {"same"}
    changed = json.loads((folder / "a.json").read_text())
    changed["meta"]["details"]["lse"][1] += 1e-9
    (folder / "b.json").write_text(json.dumps(changed))
    found = json.loads(attn("diff", f"a.{form}", "b.json", "--json").out)
    assert [row["stage"] for row in found["stages"] if row["verdict"] == "differs"] == ["lse"]
    done = attn("diff", f"a.{form}", "b.json")
    assert done.status == 1
    assert "first detail that differs: lse: lse[1] is " in done.out


def test_a_kept_result_has_its_expected_values_in_full(attn: Attn, folder: Path) -> None:
    """The numbers that are wrong stand beside the right ones, as without the stages, and then the stages."""
    kept = json.loads(attn("compute", "cat.yaml", "--json").out)
    wrong = {"expected": {"row_sum": ["1.00", "1.00", "7.00"]}}
    written(folder, "kept.json", **kept | wrong)
    (folder / "cat.yaml").write_text(
        (folder / "cat.yaml").read_text() + f"expected: {json.dumps(wrong['expected'])}\n"
    )
    done, alone = attn("check", "kept.json"), attn("check", "cat.yaml")
    report, _, stages = done.out.partition("\n✓ kept.json against kept.json\n")
    assert (done.status, report) == (1, alone.out.replace("cat.yaml", "kept.json"))
    assert stages.startswith("7 stages and 6 details agree")


def test_a_result_that_differs_names_its_stage(attn: Attn, folder: Path) -> None:
    """A result that was not scaled differs from the stage scaled on, and the reason is said."""
    attn("compute", "cat.yaml", "--no-scale", "-o", "r.npz", "-q")
    done = attn("check", "cat.yaml", "r.npz")
    assert done.status == 1
    assert "first stage that differs: scaled:" in done.out
    assert "matches if scale were none" in done.out
    found = json.loads(attn("check", "cat.yaml", "r.npz", "--json").out)
    assert (found["verdict"], found["first_stage"]) == ("differs", "scaled")
    np.save(folder / "mine.npy", np.load(folder / "r.npz")["weights"])
    assert attn("check", "cat.yaml", "mine.npy", "--map", "mine=weights").status == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cat.yaml", "--map", "a=weights"), "--map is about the arrays of a result"),
        (("cat.yaml", "r.npz", "--map", "a=wheights"), '--map "a=wheights" names no stage'),
        (("cat.yaml", "missing.npz"), "missing.npz"),
    ],
)
def test_bad_results_are_errors(attn: Attn, arguments: tuple[str, ...], message: str) -> None:
    """What cannot be compared is one message and exit status 2."""
    attn("compute", "cat.yaml", "-o", "r.npz", "-q")
    done = attn("check", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("form", ["json", "npz", "safetensors"])
def test_a_result_of_another_version_is_refused(
    attn: Attn, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """What a later attn wrote may mean something else, so it is not held against anything."""
    with monkeypatch.context() as later:
        later.setattr("attncli.render.json_document.SCHEMA", "attn/2")
        attn("random", "--seq", "2", "--dim", "2", "-q", "-o", f"later.{form}")
    attn("random", "--seq", "2", "--dim", "2", "-q", "-o", "now.json")
    for command in ("check", "diff"):
        done = attn(command, "now.json", f"later.{form}")
        assert (done.status, done.out) == (2, "")
        assert 'schema is "attn/2", and this version reads attn/1' in done.err
        assert f"\n   --> later.{form}" in done.err


CONTRADICTIONS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "dtype": (lambda d: d["meta"].update(dtype="float16"), 'meta.dtype is "float16", and its problem is of'),
    "stage": (lambda d: d["meta"]["stages"].pop(0), '"Q" is in stages, and not in meta.stages'),
    "shape": (lambda d: d["meta"]["stages"][0].update(shape=[9, 9]), "meta.stages gives Q the shape (9, 9)"),
    "foreign": (lambda d: d["stages"].update(softcapped=[[1.0]]), "softcapped is among the stages, and this"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize(
    "line",
    [
        "show bad.json",
        "check bad.json",
        "check cat.yaml bad.json",
        "diff bad.json cat.yaml",
        "diff cat.yaml bad.json",
    ],
)
def test_a_result_that_contradicts_itself_is_held_against_nothing(
    attn: Attn, folder: Path, line: str, name: str
) -> None:
    """What meta says decides how much a number may be off, so it is asked first, as by attn show."""
    document = json.loads(attn("compute", "cat.yaml", "--json").out)
    change, message = CONTRADICTIONS[name]
    change(document)
    (folder / "bad.json").write_text(json.dumps(document))
    done = attn(*line.split())
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "\n   --> bad.json:1:" in done.err


def test_a_dump_of_others_may_say_of_itself_what_it_likes(attn: Attn, folder: Path) -> None:
    """Where attn did not write it, meta is not asked."""
    document = json.loads(attn("compute", "cat.yaml", "--json").out)
    written(
        folder, "dump.json", stages={"weights": document["stages"]["weights"]}, meta={"stages": 3, "by": "us"}
    )
    assert attn("check", "cat.yaml", "dump.json").status == 0


@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_a_stage_that_was_renamed_is_not_passed_over(attn: Attn, form: str) -> None:
    """An archive whose arrays are not those that its document names is held against nothing."""
    attn("random", "--seq", "2", "--dim", "2", "-q", "-o", f"r.{form}")
    attn("random", "--seq", "2", "--dim", "2", "-q", "-o", "now.json")
    raw = Path(f"r.{form}").read_bytes()
    names = {
        "npz": (b"weights.npy", b"weightz.npy"),
        "safetensors": (b'"weights":{"dtype"', b'"weightz":{"dtype"'),
    }
    assert names[form][0] in raw
    Path(f"r.{form}").write_bytes(raw.replace(*names[form]))
    for command in ("check", "diff"):
        done = attn(command, "now.json", f"r.{form}")
        assert (done.status, done.out) == (2, "")
        assert f'r.{form} holds "weightz", which its attn.json does not name' in done.err


def test_diff_of_one_problem_in_two_ways(attn: Attn) -> None:
    """Two settings of one problem differ where they part; two precisions do not."""
    done = attn("diff", "cat.yaml", "--set-b", "mask.causal=true")
    assert done.status == 1
    assert "first stage that differs: weights:" in done.out
    assert "note: only in B: masked" in done.err
    assert attn("diff", "cat.yaml", "--dtype-b", "float32").status == 0


def test_a_comparison_fits_in_its_lines(attn: Attn) -> None:
    """Where it is narrow, columns are left out, one by one, before a stage takes two lines."""

    def head(width: int) -> list[str]:
        out = attn("diff", "cat.yaml", "--set-b", "temperature=2", "--width", str(width)).out
        lines = out[out.index("   stage") :].splitlines()
        assert all(line.startswith((" ✓ ", " ✗ ")) for line in lines[1:8])  # seven stages
        return lines[0].split()

    wide = ["stage", "shape", "precision", "largest", "Δ", "at", "ulps", "allowed", "Δ÷allowed"]
    spare = ("allowed", "shape", "precision")
    for gone, width in enumerate((120, 72, 66, 50)):
        assert head(width) == [each for each in wide if each not in spare[:gone]]


def test_diff_of_two_results(attn: Attn) -> None:
    """Two saved results are compared without the problem."""
    attn("compute", "cat.yaml", "-o", "a.npz", "-q")
    attn("compute", "cat.yaml", "--set", "temperature=2", "-o", "b.npz", "-q")
    assert attn("diff", "a.npz", "a.npz").status == 0
    done = attn("diff", "a.npz", "b.npz")
    assert done.status == 1
    assert "first stage that differs: scaled:" in done.out
