"""Problem files made for one test each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.problem import Problem
from attncli.readers import load

Read = Callable[..., Problem]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that writes a text to a file and reads it as one problem."""

    def read_text(text: str, *settings: str, name: str = "p.yaml") -> Problem:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        (problem,) = load(str(path), settings)
        return problem

    return read_text
