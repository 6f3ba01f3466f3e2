"""Every format holds what the computation gave, and no label breaks out of it."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from markdown_it import MarkdownIt
from safetensors.numpy import load as load_tensors

from attncli.compute import Result, compute
from attncli.problem import Problem
from attncli.readers import load
from attncli.render import FORMATS
from attncli.render.npy import plain
from attncli.render.terminal import Terminal
from attncli.sheet import View
from tests.computed import array_of
from tests.render.problems import CAUSAL, cat, drawn

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
PAPER = Terminal(width=10**6, interactive=False, theme="light")
HOSTILE = (
    "=1+1",
    "+x",
    "-a",
    "@b",
    "<s>",
    "a|b",
    "*c*",
    "_d_",
    "$e$",
    "[f](g)",
    "\\h",
    "&amp;",
    "~i",
    "^#%{}",
)
SIGNS = {"markdown": {"_": r"\_"}, "latex": {"_": r"\_", "′": r"\ensuremath{'}"}}
SVG = "{http://www.w3.org/2000/svg}"


def written(name: str, *results: Result, view: View | None = None, terminal: Terminal = PAPER) -> bytes:
    pieces = FORMATS[name].render(results, view or View(), terminal)
    return b"".join(each if isinstance(each, bytes) else each.encode() for each in pieces)


def text(name: str, result: Result, **view: Any) -> str:
    return written(name, result, view=View(**view)).decode()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_format_renders_every_stage_of_every_example(path: Path, name: str) -> None:
    """Whole and with details, and what is text has the name or the symbol of every stage."""
    (problem,) = load(str(path))
    result = compute(problem, large_details=True)
    only = ("weights",) if FORMATS[name].stage else None
    whole = written(name, result, view=View(full=True, detail=True, stages=only))
    if not FORMATS[name].binary:
        shown = whole.decode()
        signs = SIGNS.get(name, {})
        for record in result.records:
            symbol = "".join(signs.get(sign, sign) for sign in record.stage.symbol)
            assert record.stage.name in shown or symbol in shown, record.stage.name


@pytest.fixture(scope="module")
def hostile() -> Result:
    return compute(drawn(len(HOSTILE), tokens=HOSTILE, mask=CAUSAL))


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_csv_holds_every_number_of_every_stage(name: str, delimiter: str) -> None:
    """Each line is one number at the place that it names, to the last bit."""
    result = compute(drawn(3, 4, num_heads=2, mask=CAUSAL, tokens=("a", "b", "c")))
    rows = list(csv.DictReader(io.StringIO(text(name, result)), delimiter=delimiter))
    assert len(rows) == sum(array_of(result, record.stage.name).size for record in result.records)
    for row in rows:
        record = result[row["stage"]]
        index = tuple(int(row[axis]) for axis in record.axes)
        assert float(row["value"]) == array_of(result, row["stage"])[index]
        for axis in ("query", "key"):
            assert row[f"{axis}_label"] == ("abc"[int(row[axis])] if axis in record.axes else "")


def test_a_spreadsheet_computes_no_label(hostile: Result) -> None:
    """What would start a formula is text: OWASP's list of = + - @, tab and carriage return."""
    labels = {row["query_label"] for row in csv.DictReader(io.StringIO(text("csv", hostile)))}
    assert {"'=1+1", "'+x", "'-a", "'@b", "<s>"} <= labels
    assert not [label for label in labels if label.startswith(("=", "+", "-", "@", "\t", "\r"))]


def tables(markdown: str) -> list[list[list[str]]]:
    """Render Markdown as GitHub does, and read the texts of its tables' cells."""
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    root = ET.fromstring(f"<div>{html.replace('<hr>', '')}</div>")
    return [
        [["".join(cell.itertext()) for cell in row if cell.tag in {"td", "th"}] for row in table.iter("tr")]
        for table in root.iter("table")
    ]


def test_markdown_is_tables_of_the_numbers() -> None:
    """The weights of the design's example, worked by hand: 28.4, 14.0 and 57.6 percent."""
    weights = next(t for t in tables(text("markdown", compute(cat()))) if t[0][0] == "A")
    assert weights[0] == ["A", "the", "cat", "sat", "Σexp", "row Σ"]
    assert weights[3][:4] == ["sat", "28.4%", "14.0%", "57.6%"]
    assert weights[1][2:4] == ["·", "·"]


def test_labels_stay_labels_in_markdown(hostile: Result) -> None:
    """No sign of a label becomes emphasis, a link, HTML or a cell of its own."""
    weights = next(t for t in tables(text("markdown", hostile, stages=("weights",))))
    assert [row[0] for row in weights[1:]] == [f"{i} {label}" for i, label in enumerate(HOSTILE)]
    assert {len(row) for row in weights} == {len(HOSTILE) + 4}


def test_svg_names_every_number_at_full_precision() -> None:
    """Pointing at a cell tells the stage, the labels and the number as it was computed."""
    result = compute(cat())
    titles = [title.text or "" for title in ET.fromstring(text("svg", result)).iter(f"{SVG}title")]
    weights = array_of(result, "weights")
    for (i, query), (j, key) in itertools.product(enumerate(("the", "cat", "sat")), repeat=2):
        assert f"weights[{query},{key}] = {float(weights[i, j])!r}" in titles


def test_svg_draws_large_scores_in_the_hue_of_their_sign() -> None:
    """Each pair that is seen has its square and its number, orange above zero and purple below."""
    result = compute(drawn(20, mask=CAUSAL))
    scores = array_of(result, "masked")
    root = ET.fromstring(text("svg", result, stages=("masked",)))
    squares = [each for each in root.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    assert len(squares) == np.isfinite(scores).sum() == 210
    for square in squares:
        named = re.fullmatch(r"masked\[(\d+),(\d+)\] = (.+)", square.findtext(f"{SVG}title") or "")
        assert named
        number = scores[int(named[1]), int(named[2])]
        assert float(named[3]) == number
        red, _, blue = bytes.fromhex(square.attrib["fill"][1:])
        if abs(number) > 0.2:
            assert (red > blue) == (number > 0)
    largest = np.abs(scores[np.isfinite(scores)]).max()
    assert {f"−{largest:.3f}", f"{largest:.3f}"} <= {each.text for each in root.iter(f"{SVG}text")}


def test_svg_is_data_and_nothing_else(hostile: Result) -> None:
    """Labels are text, nothing is loaded and nothing runs; large weights are squares."""
    for result in (hostile, compute(drawn(20)), compute(drawn(70))):
        root = ET.fromstring(text("svg", result))
        kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert kinds <= {"svg", "g", "rect", "text", "title", "style"}
        assert not [
            name for element in root.iter() for name in element.attrib if "href" in name or name[:2] == "on"
        ]
    texts = [each.text for each in ET.fromstring(text("svg", hostile)).iter(f"{SVG}text")]
    assert set(HOSTILE) <= set(texts)


def test_svg_gives_wide_characters_their_room() -> None:
    """A column under a name of two wide characters is as wide as under four narrow ones."""

    def columns(tokens: tuple[str, ...]) -> list[str]:
        shown = text("svg", compute(drawn(2, tokens=tokens, mask=CAUSAL)), stages=("weights",))
        return [each.attrib["x"] for each in ET.fromstring(shown).iter(f"{SVG}rect") if "x" in each.attrib]

    assert columns(("喜欢", "苹果苹果")) == columns(("abcd", "abcdefgh"))


def test_latex_escapes_labels_and_colors_cells(hostile: Result) -> None:
    """Each row has one cell for each column, and nothing in a label is a command."""
    shown = text("latex", hostile, stages=("weights",))
    rows = [line for line in shown.splitlines() if re.match(r"\d+ ", line)]
    assert len(rows) == len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(HOSTILE) + 3}
    assert "a\\textbar{}b" in shown
    assert "\\textbackslash{}h" in shown
    assert r"\textasciicircum{}\#\%\{\}" in shown
    assert re.search(r"0 =1\+1 & \\cellcolor\[HTML\]\{08306B\}\\color\{white\}\\textbf\{100\}", shown)


def test_png_is_the_svg_at_twice_the_size() -> None:
    pytest.importorskip("resvg_py", reason='needs resvg: pip install "attncli[png]"')
    result = compute(cat())
    image, drawing = written("png", result), ET.fromstring(text("svg", result))
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    assert (width, height) == (2 * int(drawing.attrib["width"]), 2 * int(drawing.attrib["height"]))


def test_safetensors_holds_inputs_and_stages() -> None:
    """Arrays by the names of keys, stages and details, bit for bit."""
    result = compute(cat())
    tensors = load_tensors(written("safetensors", result))
    details = (f"details.{name}" for record in result.records for name in record.details)
    stages = (record.stage.name for record in result.records)
    assert set(tensors) == {"X", "W_Q", "W_K", "W_V", *stages, *details}
    for record in result.records:
        np.testing.assert_array_equal(tensors[record.stage.name], array_of(result, record.stage.name))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_files_hold_one_zero_and_one_nan(dtype: str) -> None:
    """The bits of −0 and of NaN differ between processors and libraries; files hold those of 0 and of NaN."""
    odd = np.array([[-0.0, 0.0], [np.nan, 2.5]], dtype)
    odd[1, 0] = np.copysign(odd[1, 0], -1)
    kept = plain(odd.T)
    assert kept.tobytes() == np.array([[0.0, np.nan], [0.0, 2.5]], dtype).tobytes()
    assert np.signbit(odd[0, 0]), "what was given is not changed"


def test_precision_and_hidden_cells_in_documents() -> None:
    """Documents leave out what tables leave out, and say how to see it."""
    result = compute(drawn(30))
    assert "836 cells hidden: `--full` shows them" in text("markdown", result, stages=("weights",))
    assert "hidden" not in text("markdown", result, stages=("weights",), full=True)


@pytest.mark.parametrize("name", ["markdown", "latex", "svg"])
def test_nothing_is_printed_of_a_label_that_acts(name: str) -> None:
    """Control and reordering characters are shown by their number."""
    shown = text(name, compute(Problem(X=np.eye(2), tokens=("a\x1b[31m", "b\u202ec"))))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", shown)


def test_json_is_still_what_it_was(hostile: Result) -> None:
    assert json.loads(text("json", hostile))["tokens"] == list(HOSTILE)
