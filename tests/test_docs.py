"""The pages under docs: what they show happens, what they list is there, and no example is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attncli.describe import key_rows
from attncli.trace import STAGES
from tests.readme import Step, run, steps
from tests.reference import DOCS, PAGES, filled

TEXTS = {path.name: path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))}
CONVENTIONS = DOCS.parent / "configs" / "conventions"

LINK = re.compile(r"\]\(([^)#]+)\)")


@pytest.mark.parametrize("name", PAGES)
def test_what_is_made_is_what_is_there(name: str) -> None:
    """Tables of keys, stages and presets are those of the code; `python -m tests.reference` makes them."""
    assert TEXTS[name] == filled(name)


@pytest.mark.parametrize(
    "step", [step for text in TEXTS.values() for step in steps(text)], ids=lambda step: step.command[:60]
)
def test_a_console_block_prints_what_it_shows(step: Step) -> None:
    """Each command prints what stands below it; rewrite with `python -m tests.readme docs/*.md`."""
    assert run(step.command) == step.printed


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    """Every file that a page links to is there."""
    assert [link for link in LINK.findall(TEXTS[name]) if not (DOCS / link).exists()] == []


def test_every_convention_has_its_row() -> None:
    """Each example of a convention is linked from the table of conventions."""
    linked = {Path(link).name for link in LINK.findall(TEXTS["conventions.md"])}
    assert {path.name for path in CONVENTIONS.glob("*.yaml")} - linked == set()


def test_the_conventions_name_keys_that_exist() -> None:
    """The third column of the table names keys of the problem file, also inside others."""
    known = {row["name"] for row in key_rows()}
    cells = [line.split(" | ")[2] for line in TEXTS["conventions.md"].splitlines() if line.count(" | ") > 3]
    assert len(cells) > 20
    for cell in cells[1:]:
        for written in re.findall(r"`([^`]+)`", cell):
            assert set(dotted(written)) <= known, written


def dotted(written: str) -> list[str]:
    """Turn ``rope: {cos: …, sin: …}`` into rope.cos and rope.sin."""
    outer, _, inner = written.partition(": {")
    if not inner:
        return [outer]
    entries = re.split(r", (?=\w+: )", inner.removesuffix("}"))
    return [f"{outer}.{name}" for entry in entries for name in dotted(entry.removesuffix(": …"))]


def test_the_glossary_names_what_exists() -> None:
    """Its first columns are stages, details and keys of attn."""
    known = {*STAGES, *(detail for stage in STAGES.values() for detail in stage.details)}
    known |= {row["name"] for row in key_rows()}
    stages, keys, _ = re.findall(r"^\|---.*?\n((?:\|.*\n)+)", TEXTS["glossary.md"], re.MULTILINE)
    for line in (stages + keys).splitlines():
        for written in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
            name = written.replace("mask: causal", "mask").replace("dtype: {softmax: …}", "dtype")
            assert set(dotted(name)) <= known, written
