"""``--set KEY=VALUE`` for a problem that was made rather than read."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence

from attncli.problem import Problem
from attncli.readers import located
from attncli.readers.records import parse_mapping
from attncli.readers.settings import Overridden, apply, parse_setting

__all__ = ["override"]


def override(problem: Problem, settings: Sequence[str]) -> Problem:
    """Return a problem in which settings replace what it says.

    Args:
        problem: Any problem.
        settings: ``KEY=VALUE`` texts; file names in them are relative to the working directory.

    Raises:
        InputError: If a setting cannot be taken as it is.
    """
    parsed = tuple(parse_setting(setting) for setting in settings)
    if not parsed:
        return problem
    source = Overridden(name=problem.origin.name, base=problem.origin, settings=parsed)
    with located(source):
        tree = apply({"name": problem.name or ""}, parsed)
        values = parse_mapping(tree, Problem, (), pathlib.Path())
        return dataclasses.replace(problem, **values, origin=source, said=problem.said | values.keys())
