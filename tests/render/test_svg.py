"""The picture of a sheet: where everything stands, what it says, and that all of it can be read."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from attncli.compute import compute
from attncli.problem import Problem
from attncli.readers import load
from attncli.render import FORMATS
from attncli.render.colors import PALETTES, RGB, contrast
from attncli.render.terminal import PAGE, Terminal
from attncli.sheet import View
from tests.computed import array_of
from tests.readme import ROOT
from tests.render.problems import CAUSAL, cat, drawn, sheet, table_text

SVG = "{http://www.w3.org/2000/svg}"
CJK = ("我", "喜欢", "吃", "红色的", "苹果", "和", "香蕉", "因为", "它们", "非常", "好吃", "。")
LONG = (
    "a label that nobody would ever want to read in a table",
    "这是一个谁也不会想在表格里读到的标签",
    "e\u0301a" * 20,
)
HUGE = np.array([[-1.234e20, 1.0], [3e-7, 5.0], [1e9, 2.0]])

CASES: dict[str, tuple[Problem, dict[str, Any]]] = {
    "three": (cat(), {}),
    "detail": (cat(), {"detail": True}),
    "digits": (cat(), {"precision": 60}),
    "12 CJK": (drawn(12, 8, tokens=CJK, mask=CAUSAL), {}),
    "long labels": (drawn(3, tokens=LONG), {}),
    "huge": (Problem(Q=HUGE, K=np.eye(3, 2), V=HUGE[::-1] * [1, 1e300]), {}),
    "20 whole": (drawn(20, mask=CAUSAL), {"full": True}),
    "64": (drawn(64, mask=CAUSAL), {}),
    "130": (drawn(130, mask=CAUSAL), {}),
    "two heads": (drawn(9, 8, num_heads=2, mask=CAUSAL), {}),
    "12 weights": (drawn(12, 8, tokens=CJK, mask=CAUSAL), {"stages": ("scores", "masked", "weights")}),
    "8 heads": (drawn(12, 16, num_heads=8, tokens=CJK, mask=CAUSAL), {}),
    "8 heads in little": (drawn(20, 16, num_heads=8), {"heads_view": True, "stages": ("weights",)}),
    "window": (drawn(40), {"rows": (30, 36), "columns": (7, 16)}),
    "nothing": (Problem(Q=np.zeros((20, 2)), K=np.zeros((20, 2))), {}),
    "batch": (drawn(4, batch=3, mask=CAUSAL), {}),
}
CASES |= {path.stem: (load(str(path))[0], {}) for path in sorted((ROOT / "configs").glob("*.yaml"))}
each_case = pytest.mark.parametrize("case", CASES)


@dataclass(frozen=True)
class Shape:
    """A text or a rectangle: its corners in pixels, and what it shows."""

    left: float
    top: float
    right: float
    bottom: float
    color: str
    text: str = ""
    title: str = ""

    def holds(self, other: Shape) -> bool:
        """Tell whether another lies within it."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def meets(self, other: Shape) -> bool:
        """Tell whether they share a pixel."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Drawing:
    """What a picture shows, without its background."""

    page: Shape
    texts: tuple[Shape, ...]
    rectangles: tuple[Shape, ...]


def width_of(text: str) -> float:
    """Measure a text: a character takes 0.61 of the size of the font, or all of it and a space."""
    wide = [unicodedata.east_asian_width(char) in "WF" for char in text]
    marks = sum(unicodedata.combining(char) > 0 for char in text)
    spaces = 2 * (sum(wide) - wide[-1])
    return 14 * sum(wide) + spaces + 0.61 * 13 * (len(text) - sum(wide) - marks)


def shapes(root: ET.Element) -> Iterator[tuple[str, Shape]]:
    rules = dict(re.findall(r"([\w.]+)\{([^}]*)\}", root.findtext(f"{SVG}style") or ""))
    groups = dict.fromkeys(root.iter(), ET.Element("g"))
    groups |= {child: group for group in root.iter(f"{SVG}g") for child in group}

    def color(each: ET.Element) -> str:
        classes = each.get("class", "").split()
        tag = each.tag.removeprefix(SVG)
        asked = [rules.get(f"{tag}.{name}") or rules.get(f".{name}", "") for name in classes]
        fills = [found for rule in asked for found in re.findall(r"fill:(#\w+)", rule)]
        return fills[-1] if fills else each.get("fill") or root.attrib["fill"]

    for each in root.iter():
        x, y = float(each.get("x", 0)), float(each.get("y", 0))
        title = each.findtext(f"{SVG}title") or groups[each].findtext(f"{SVG}title") or ""
        if each.tag == f"{SVG}text":
            text = each.text or ""
            size = width_of(text)
            left = x - size if "end" in each.get("class", "") else x
            yield "text", Shape(left, y - 10, left + size, y + 3, color(each), text, title)
        elif each.tag == f"{SVG}rect" and "x" in each.attrib:
            right, bottom = x + float(each.attrib["width"]), y + float(each.attrib["height"])
            yield "rect", Shape(x, y, right, bottom, color(each), title=title)


def parse(svg: str) -> Drawing:
    root = ET.fromstring(svg)
    found = list(shapes(root))
    background = root.find(f"{SVG}rect")
    assert background is not None
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    page = Shape(left, top, left + width, top + height, background.attrib["fill"])
    return Drawing(
        page,
        tuple(shape for kind, shape in found if kind == "text"),
        tuple(shape for kind, shape in found if kind == "rect"),
    )


def svg_of(problem: Problem, terminal: Terminal | None = None, **view: Any) -> str:
    result = compute(problem, large_details=bool(view.get("detail")))
    pieces = FORMATS["svg"].render([result], View(**view), terminal or Terminal(width=PAGE, theme="light"))
    return "".join(map(str, pieces))


@cache
def drawing_of(case: str) -> Drawing:
    problem, view = CASES[case]
    return parse(svg_of(problem, **view))


def clashes(shapes: tuple[Shape, ...]) -> list[tuple[Shape, Shape]]:
    """Find shapes that lie on one another, line by line."""
    lines: dict[int, list[Shape]] = {}
    for shape in shapes:
        for half in range(int(shape.top // 9), int(-(-shape.bottom // 9))):
            lines.setdefault(half, []).append(shape)
    found = []
    for line in lines.values():
        line.sort(key=lambda shape: shape.left)
        found += [(one, other) for one, other in pairwise(line) if one.meets(other)]
    return found


@each_case
def test_nothing_leaves_the_picture(case: str) -> None:
    """However long labels and numbers are, texts and rectangles keep the margin."""
    drawing = drawing_of(case)
    page = drawing.page
    inside = Shape(page.left + 16, page.top + 16, page.right - 12, page.bottom - 16, "")
    assert drawing.texts
    assert not [shape for shape in (*drawing.texts, *drawing.rectangles) if not inside.holds(shape)]


@each_case
def test_nothing_lies_on_anything_else(case: str) -> None:
    """No text runs into another, and no cell or square covers another: so no step does, either."""
    drawing = drawing_of(case)
    assert clashes(drawing.texts) == []
    assert clashes(drawing.rectangles) == []


@each_case
def test_a_number_stands_in_its_cell(case: str) -> None:
    """A text that meets a rectangle lies within it."""
    drawing = drawing_of(case)
    rows: dict[float, list[Shape]] = {}
    for rectangle in drawing.rectangles:
        rows.setdefault(rectangle.top, []).append(rectangle)
    colored = 0
    for text in drawing.texts:
        met = [each for each in rows.get(text.top - 3, []) if each.meets(text)]
        assert all(each.holds(text) for each in met), text
        colored += len(met)
    assert colored


@pytest.mark.parametrize(
    "problem", [cat(), drawn(12, 6, mask=CAUSAL), CASES["huge"][0]], ids=["3", "12", "huge"]
)
def test_every_cell_names_the_number_that_json_holds(problem: Problem) -> None:
    """Each stage is there whole, and what stands in a cell is its title's number, rounded."""
    result = compute(problem)
    stages = json.loads("".join(map(str, FORMATS["json"].render([result], View(), Terminal()))))["stages"]
    titled: dict[str, list[float]] = {}
    for text in parse(svg_of(problem)).texts:
        named = re.fullmatch(r"(\w+)\[.+\] = (\S+)", text.title)
        if named:
            titled.setdefault(named[1], []).append(float(named[2]))
            agree(text.text, float(named[2]), percent=named[1] == "weights")
    for name, rows in stages.items():
        assert titled[name] == [float(number) for row in rows for number in row]
    assert {name: array.size for name, array in given_to(problem).items()} == {
        name: len(numbers) for name, numbers in titled.items() if name not in stages
    }


def given_to(problem: Problem) -> dict[str, np.ndarray]:
    names = ("X",) if problem.X is not None else ("Q", "K", "V")
    return {name: np.asarray(getattr(problem, name)) for name in names}


def agree(text: str, number: float, *, percent: bool) -> None:
    """Hold a text against the number that it was written for."""
    if text in {"·", "−∞"}:
        assert number == (0 if text == "·" else -np.inf)
        return
    digits = text.removesuffix("%").replace("−", "-")
    mantissa, _, exponent = digits.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    assert abs(float(digits) - number * (100 if percent else 1)) <= 0.5001 * unit


def test_a_square_names_the_largest_weight_of_all_that_it_stands_for() -> None:
    """Or the score that is furthest from 0; its positions are those that --rows and --cols take."""
    problem = drawn(130, mask=CAUSAL)
    result = compute(problem)
    found: Counter[str] = Counter()
    for square in drawing_of("130").rectangles:
        named = re.fullmatch(r"(.+) of (\w+)\[(\d+):(\d+),(\d+):(\d+)\] = (\S+)", square.title)
        if not named:
            continue
        what, name, number = named[1], named[2], float(named[7])
        top, bottom, left, right = map(int, named.groups()[2:6])
        numbers = array_of(result, name)[top:bottom, left:right]
        if name in {"masked", "weights"}:
            numbers = numbers[np.add.outer(np.arange(top, bottom), -np.arange(left, right)) >= 0]
        assert what == ("max" if name == "weights" else "furthest from 0")
        assert number == (numbers.max() if name == "weights" else max(numbers.ravel(), key=abs))
        found[name] += 1
    # 130 in squares of 3 are 44, and in squares of 5 are 26; half of them are seen
    assert found == {"scores": 26**2, "scaled": 26**2, "masked": 26 * 27 // 2, "weights": 44 * 45 // 2}


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("palette", PALETTES)
def test_every_text_can_be_read(theme: Any, palette: str) -> None:
    """At 4.5 to 1 at least, on the page, on cells and on the numbers of steps."""
    for problem in (cat(), drawn(12, 8, tokens=CJK, mask=CAUSAL)):
        drawing = parse(svg_of(problem, Terminal(width=PAGE, theme=theme, palette=palette)))
        for text in drawing.texts:
            under = [each.color for each in drawing.rectangles if each.meets(text)] or [drawing.page.color]
            assert contrast(rgb(text.color), rgb(under[0])) >= 4.5, (text, under)


def rgb(color: str) -> RGB:
    return RGB(*bytes.fromhex(color[1:]))


@pytest.mark.parametrize(
    "case", ["three", "detail", "12 weights", "64", "130", "two heads", "window", "batch"]
)
def test_it_says_what_a_terminal_says(case: str) -> None:
    """Corner, sums, words, strongest pairs and statistics: every sign but what to type next."""
    problem, view = CASES[case]
    shown = table_text(sheet(problem, **view), Terminal(width=120, color="truecolor"))
    shown = re.sub(r"\x1b\[[\d;]*m", "", shown).partition("\n next ")[0]
    expected = Counter(re.sub(r"[\s▀▄]", "", shown))
    found = Counter(re.sub(r"\s", "", "".join(text.text for text in drawing_of(case).texts)))
    assert found == expected


def test_steps_stand_side_by_side_in_the_order_of_the_computation() -> None:
    """Of three tokens, all but the projection share rows; a row is read before those below it."""
    drawing = drawing_of("three")
    numbers = [text for text in drawing.texts if re.fullmatch(r"\d", text.text) and text.color == "#ffffff"]
    numbers.sort(key=lambda text: (text.top, text.left))
    assert [text.text for text in numbers] == list("123456")
    rows = [sum(text.top == top for text in numbers) for top in sorted({text.top for text in numbers})]
    assert rows == [1, 3, 2]


def test_a_picture_is_as_wide_as_it_must_be() -> None:
    """At most a page of columns of 8 pixels, fewer where that is asked for or enough, between margins of 16."""
    widest = PAGE * 8 + 32
    assert widest - 8 * 8 <= drawing_of("64").page.right <= widest
    assert parse(svg_of(cat(), stages=("weights",))).page.right <= 60 * 8 + 32
    for width, columns in ((80, 80), (1, 40)):
        assert parse(svg_of(cat(), Terminal(width=width))).page.right <= columns * 8 + 32


def test_heads_are_squares_as_many_in_a_row_as_fit() -> None:
    """Of 12 tokens a square is 16 by 18 pixels, and of 20 half of that; four or five heads fit into a row."""
    for case, rows, size in (("8 heads", [4, 4], (16, 18)), ("8 heads in little", [5, 3], (8, 9))):
        drawing = drawing_of(case)
        names = [text for text in drawing.texts if re.match(r"H \d", text.text) and "bit" in text.text]
        tops = Counter(text.top for text in names[:8])
        assert list(tops.values()) == rows, case
        pictures = [
            each
            for each in drawing.rectangles
            if each.title and names[0].top < each.top < names[7].top + 12 * 18
        ]
        assert {(each.right - each.left, each.bottom - each.top) for each in pictures} == {size}


FORBIDDEN = [
    code
    for code in range(0x110000)
    # https://www.w3.org/TR/xml/#NT-Char
    if not (code in {0x9, 0xA, 0xD} or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF)
]


def test_whatever_a_token_holds_the_picture_is_xml() -> None:
    """Each code point that XML forbids stands in the title as <U+…>, and none as itself; a parser takes it."""
    assert len(FORBIDDEN) == 32 - 3 + 2048 + 2
    tokens = ("".join(map(chr, FORBIDDEN)), *map(chr, FORBIDDEN[:3]), "a\ufffe", "\uffff", "]]>&<\"'")
    svg = svg_of(drawn(len(tokens), tokens=tokens), full=True)
    assert not set(map(ord, svg)) & set(FORBIDDEN)
    said = "".join(shape.title for shape in parse(svg).texts)
    assert not [code for code in FORBIDDEN if f"<U+{code:04X}>" not in said]
    assert "weights[a<U+FFFE>,<U+FFFF>]" in said


def test_whatever_a_token_holds_it_is_drawn() -> None:
    """The program that makes a PNG of it reads XML to the letter, too."""
    pytest.importorskip("resvg_py")
    problem = drawn(3, tokens=("a\ufffe", "\uffff", "\ud800\x00"))
    pieces = FORMATS["png"].render([compute(problem)], View(), Terminal(width=PAGE, theme="light"))
    assert b"".join(piece for piece in pieces if isinstance(piece, bytes)).startswith(b"\x89PNG")


RIGHT_TO_LEFT = ("שלום", "עולם", "אני", "אוהב", "תפוחים", "مرحبا", "بالعالم", "בית ספר")


def test_what_is_read_from_right_to_left_stands_by_itself() -> None:
    """No text mixes it with anything else, so that its number stays behind it; words of a token stay together."""
    drawing = parse(svg_of(drawn(8, tokens=RIGHT_TO_LEFT)))
    hebrew = [text for text in drawing.texts if re.search("[א-ת؀-ۿ]", text.text)]
    found = {text.text.removesuffix("…") for text in hebrew}
    assert found >= set(RIGHT_TO_LEFT)
    assert all(any(token.startswith(text) for token in RIGHT_TO_LEFT) for text in found)
    looks = next(text for text in drawing.texts if text.text == "looks at")
    words = [text for text in drawing.texts if text.left >= looks.left and text.top > looks.top]
    row = sorted((text for text in words if text.top == looks.top + 18), key=lambda text: text.left)
    assert [bool(text in hebrew) for text in row] == [True, False, True, False]
    assert re.fullmatch(r"\d+%,", row[1].text)
    assert re.fullmatch(r"\d+%", row[3].text)
