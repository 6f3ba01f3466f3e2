"""A sheet as LaTeX: a tabular for each matrix, with the colours of its cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from attncli.render.chart import Cell, Chart, charts, document_terminal
from attncli.render.colors import WHITE, ink
from attncli.render.picture import scale_said
from attncli.render.terminal import Terminal
from attncli.sheet import Sheet
from attncli.text import visible

__all__ = ["render_latex"]

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    # what attn itself writes, and not every font has
    "−": r"\ensuremath{-}",
    "∞": r"\ensuremath{\infty}",
    "·": r"\ensuremath{\cdot}",
    "⋯": r"\ensuremath{\cdots}",
    "×": r"\ensuremath{\times}",
    "÷": r"\ensuremath{\div}",
    "√": r"\ensuremath{\surd}",
    "Σ": r"\ensuremath{\Sigma}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "→": r"\ensuremath{\to}",
    "ᵀ": r"\ensuremath{^\top}",
    "′": r"\ensuremath{'}",
    "∧": r"\ensuremath{\wedge}",
    "τ": r"\ensuremath{\tau}",
    "θ": r"\ensuremath{\theta}",
    "±": r"\ensuremath{\pm}",
    "∝": r"\ensuremath{\propto}",
    "␣": r"\textvisiblespace{}",
    "⏎": r"\ensuremath{\hookleftarrow}",
    "⇥": r"\ensuremath{\mapsto}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))

_PREAMBLE = r"""% \usepackage[table]{xcolor}
% \usepackage[T1]{fontenc} with pdflatex; xelatex or lualatex, and a font that has them, for CJK labels
"""


def render_latex(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Write a sheet as LaTeX, to be put into a document as it stands."""
    page = document_terminal(terminal)
    yield _PREAMBLE
    if scale := scale_said(page.scale or "linear", page):
        yield f"\n{_text(scale)}\\par\n"
    for number, block in enumerate(sheet.blocks, 1):
        parts = (block.title, *block.formulas, block.shape, *block.remarks)
        heading = r"\quad ".join(_text(part) for part in parts if part)
        yield f"\n\\paragraph{{{number}}} {heading}\\par\n"
        for chart in charts(block, sheet, page):
            yield _tabular(chart)
            if chart.hidden:
                yield f"{chart.hidden:,} cells hidden\\par\n"


def _tabular(chart: Chart) -> str:
    lines = [
        f"\\begin{{tabular}}{{r{'r' * len(chart.columns)}}}",
        _line([_text(chart.caption), *map(_text, chart.columns)]),
        r"\hline",
        *(_line([_text(row.name), *map(_cell, row.cells)]) for row in chart.rows),
        r"\end{tabular}\par",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    # Braces, or a cell that starts with a bracket is read as an argument of the line before.
    return " & ".join(f"{{{cell}}}" if cell.startswith(("[", "*")) else cell for cell in cells) + r" \\"


def _cell(cell: Cell) -> str:
    text = _text(cell.text)
    if cell.best:
        text = f"\\textbf{{{text}}}"
    if cell.color is None:
        return text
    front = r"\color{white}" if ink(cell.color) == WHITE else ""
    return f"\\cellcolor[HTML]{{{bytes(cell.color).hex().upper()}}}{front}{text}"


@lru_cache(maxsize=4096)  # many numbers are written alike
def _text(text: str) -> str:
    return _SPECIAL.sub(lambda sign: _ESCAPES[sign[0]], visible(text))
