"""``--set KEY=VALUE`` replaces what the file says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from attncli.errors import InputError
from attncli.problem import Mask, Problem

Read = Callable[..., Problem]


@pytest.mark.parametrize(
    ("text", "setting", "key", "expected"),
    [
        ("num_heads: 2", "num_heads=4", "num_heads", 4),
        ("name: a", "name=b=c", "name", "b=c"),
        ("name: a", "scale=none", "scale", "none"),
        ("divide_by: 3", "scale=0.5", "divide_by", None),
        ("scale: 3", "divide_by=0.5", "scale", None),
        ("mask: causal", "mask.align=top_left", "mask", Mask(causal=True, align="top_left")),
        ("mask: none", "mask.causal=true", "mask", Mask(causal=True)),
        ("name: a", "mask.causal=true", "mask", Mask(causal=True)),
        ("mask: {causal: true}", "mask.causal=false", "mask", Mask(causal=False)),
        ("mask: {window: {left: 1}}", "mask.window.right=2", "mask", Mask(window={"left": 1, "right": 2})),
        ("tokens: [a]", "tokens=[b, no]", "tokens", ("b", "no")),
        ("weight_layout: {W_Q: out in}", "weight_layout.W_O=in out", "weight_layout", {"W_Q": "out in", "W_O": "in out"}),
    ],
)  # fmt: skip
def test_replaces(read: Read, text: str, setting: str, key: str, expected: object) -> None:
    """The value of the command line holds, and dots lead into mappings."""
    assert getattr(read(text, setting), key) == expected


def test_boolean_mask_becomes_keep(read: Read) -> None:
    """A key set in a mask that was an array joins the array."""
    mask = read("mask: [[true, false]]", "mask.causal=true").mask
    assert mask is not None
    assert mask.causal
    assert mask.keep is not None
    np.testing.assert_array_equal(mask.keep, [[True, False]])


def test_later_settings_win(read: Read) -> None:
    """Settings are applied in the order in which they are written."""
    assert read("name: a", "num_heads=2", "num_heads=3").num_heads == 3


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ("scale", r'"scale" sets nothing[\s\S]*--set KEY=VALUE'),
        ("=1", "sets nothing"),
        ("a..b=1", "sets nothing"),
        ("num_haeds=2", r"--> --set num_haeds=2[\s\S]*did you mean num_heads\?"),
        ("num_heads=two", r"num_heads is not a number[\s\S]*--> --set num_heads=two"),
        ("mask.causl=true", r"--> --set mask\.causl=true[\s\S]*did you mean causal\?"),
        ("name.first=a", r"name is no mapping[\s\S]*--set name.first=a"),
        ("X=[[1, 2", r"list that starts here is never closed[\s\S]*--set X=\[\[1, 2"),
        ("X=[[1], [2, 3]]", r"X row 2 [\s\S]*--set X="),
        ("X=", "X is empty"),
        ("name=\udcff", "not text in this locale"),
    ],
)
def test_refused(read: Read, setting: str, match: str) -> None:
    """A setting's fault points to the setting, not to the file."""
    with pytest.raises(InputError, match=match) as caught:
        read("name: a", setting)
    assert str(caught.value.place).startswith("--set ")


def test_faults_of_the_file_point_to_the_file(read: Read) -> None:
    """A setting elsewhere does not hide the line of a fault in the file."""
    with pytest.raises(InputError, match=r"p\.yaml:2:1"):
        read("name: a\nnum_heads: x", "scale=1")
