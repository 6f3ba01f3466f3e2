"""Numbers that books, courses and exam keys printed, against ours.

Each file under tests/data/worked states a problem, its source and the numbers as printed there;
slips.json lists the printed numbers that are wrong. A new file is picked up by itself.
"""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from attncli.compute import compute
from tests import worked

by_file = pytest.mark.parametrize("path", worked.FILES, ids=lambda path: path.stem)
by_slips = pytest.mark.parametrize("stem", worked.SLIPS)


def slip_cells(stem: str, part: str) -> set[tuple[int, ...]]:
    return {tuple(slip["index"]) for slip in worked.SLIPS.get(stem, ()) if slip["stage"] == part}


@by_file
def test_every_printed_number_is_ours_unless_it_is_a_known_slip(path: pathlib.Path) -> None:
    """Every number rounds to what its source printed, or is a unit off in the last place."""
    problem = worked.problem(path)
    result = compute(problem, large_details=True)
    faults = []
    for printed in worked.printed(problem):
        ours = worked.part_of(result, printed.part)
        assert ours.shape == printed.numbers.shape, printed.part
        wrong = {tuple(map(int, cell)) for cell in np.argwhere(~printed.holds(ours))}
        faults += [
            f"{printed.part}{list(cell)}: printed {printed.numbers[cell]}, computed {ours[cell]}"
            for cell in sorted(wrong - slip_cells(path.stem, printed.part))
        ]
    assert not faults, "\n".join(faults)


@by_slips
def test_a_slip_is_wrong_and_what_is_right_is_ours(stem: str) -> None:
    """A number listed as a slip is not what we compute, and the number listed as right is."""
    problem = worked.problem(worked.FOLDER / f"{stem}.json")
    result = compute(problem, large_details=True)
    blocks = {printed.part: printed for printed in worked.printed(problem)}
    for slip in worked.SLIPS[stem]:
        printed, cell = blocks[slip["stage"]], tuple(slip["index"])
        ours = worked.part_of(result, printed.part)
        assert printed.numbers[cell] == slip["printed"]
        assert not printed.holds(ours)[cell], f"{slip} holds"
        assert ours[cell] == pytest.approx(slip["right"], rel=1e-5)


def test_the_folder_holds_the_examples() -> None:
    """The examples are there: an empty folder would pass every other test here."""
    assert len(worked.FILES) == 63
    assert {path.stem for path in worked.FILES} >= set(worked.SLIPS)
    assert sum(map(len, worked.SLIPS.values())) == 106
