"""The pictures of the documentation are what attn shows now."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from tests.readme import ROOT

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="needs a pseudoterminal, which Windows has not"
)


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    """Import the script that draws them, which is no part of attn."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def settled(drawing: str) -> str:
    """Leave out the rounding error of row sums, whose last bits are the processor's, and what follows it."""
    return re.sub(r'<text [^>]*y="\d+"[^>]*>\d?e?-?\d*</text>', "", drawing)


def test_every_picture_shows_what_its_command_prints(gallery: ModuleType) -> None:
    """`python docs/gallery.py` would change nothing; what is drawn is well-formed and not large."""
    drawn = dict(gallery.pictures())
    assert len(drawn) >= 5
    for path, drawing in drawn.items():
        assert settled(path.read_text("utf-8")) == settled(drawing), (
            f"python docs/gallery.py draws {path.name}"
        )
        ET.fromstring(drawing)
        assert len(drawing) < 250_000


def test_no_picture_is_left_over(gallery: ModuleType) -> None:
    """Each file of the folder is shown, or computed for a picture, on the page."""
    page = gallery.PAGE.read_text("utf-8")
    assert [path.name for path in Path(ROOT / "docs" / "gallery").iterdir() if path.name not in page] == []
