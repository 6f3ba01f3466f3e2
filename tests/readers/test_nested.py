"""Nested lists as arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from attncli.errors import InputError
from attncli.readers import json_tree, yaml_tree
from attncli.readers.nested import booleans, floats

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ARRAYS = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=4, max_side=4), elements=FINITE)

REFUSED = {
    "[[1, 2], [3]]": r"X row 2 \(X\[1\]\) has 1 column, but X row 1 \(X\[0\]\) has 2",
    "[[[1, 2], [3, 4]], [[1, 2]]]": r"X matrix 2 \(X\[1\]\) has 1 part",
    "[[1, 2], 3]": r'X row 2 \(X\[1\]\) is "3" where a list was expected',
    "[[1, 2], [3, [4]]]": r"X row 2, column 2 \(X\[1\]\[1\]\) is a list",
    "[[1 2, 3], [4, 5, 6]]": r"X row 1, column 1 .*more than one number",
    "[[1, {a: 1}]]": r"X row 1, column 2 .*is a mapping",
    "[]": "X is an empty list",
    "[[1, 2], []]": r"X row 2 .*has 0 columns",
    "[[], []]": r"X row 1 .*empty list",
    "[[[[[1]]]]]": "more than 4 dimensions",
    "[[[1, 2], [3, x]]]": r"X matrix 1, row 2, column 2 \(X\[0\]\[1\]\[1\]\)",
    "[[1, 2], [3 4], [5]]": r"X row 2, column 1 .*more than one number",
    "[[a, 2], [3, 4], [5]]": r"X row 1, column 1 .*is not a number",
    "[[1, 2], [a, 4], [5]]": r"X row 3 .*has 1 column",
    "[[[1], [2]], [[3], [4, x]]]": r"X matrix 2, row 2, column 2 .*is not a number",
    "[1, true]": r"X item 2 \(X\[1\]\) is a truth value",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """A list that is no array is refused at its first odd row or cell."""
    with pytest.raises(InputError, match=REFUSED[text]):
        floats(yaml_tree.parse(text, "p.yaml"), ("X",))


@given(ARRAYS)
def test_round_trip(array: NDArray[np.float64]) -> None:
    """An array comes back bit for bit through YAML and JSON."""
    text = json.dumps(array.tolist())
    for tree in (yaml_tree.parse(text, "p"), next(json_tree.documents(text, "p", several=False))[0]):
        read = floats(tree, ("X",))
        assert read.dtype == np.float64
        np.testing.assert_array_equal(read, array)


@given(hnp.arrays(np.float64, (2, 3)), st.booleans())
def test_nonfinite_round_trip(array: NDArray[np.float64], quoted: bool) -> None:
    """Non-finite numbers, spelled out, come back too, and with the same finite neighbours."""
    tree: list[list[Any]] = [
        [repr(v) if quoted or not np.isfinite(v) else v for v in row] for row in array.tolist()
    ]
    np.testing.assert_array_equal(floats(tree, ("X",)), array)


@pytest.mark.parametrize(
    "tree", [[[True, False]], [["true", "FALSE"]], [[1, 0]], [["1", "0.0"]], [[True, 0]]]
)
def test_booleans(tree: list[Any]) -> None:
    """True, false, 1 and 0 all make a mask."""
    read = booleans(tree, ("mask", "keep"))
    assert read.dtype == np.bool_
    assert read.tolist() == [[True, False]]


@pytest.mark.parametrize("cell", [2, "yes", None, 0.5, "nan", [1]])
def test_booleans_refused(cell: Any) -> None:
    """Nothing else does."""
    with pytest.raises(InputError, match=r"mask\.keep row 1, column 2"):
        booleans([[True, cell]], ("mask", "keep"))
