"""Command lines at random: for each command, the options that it declares, with values right and wrong.

What may follow an option is found by what its help calls it, so that a new option takes part by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from attncli.cli import ROOMS
from attncli.command import Later
from attncli.render import FORMATS
from attncli.trace import STAGES
from tests.fuzz.echo import plain
from tests.problem_files import KEYS, VALUES, labels

__all__ = ["COMMANDS", "OLD", "SIZES", "WORDS", "cells", "mostly", "options", "sizes"]

Draw: TypeAlias = Callable[..., Any]
Words: TypeAlias = st.SearchStrategy[str]

OLD: Mapping[str, bytes] = {"old.json": b"old", "sub/old.txt": b"old"}
"""Files that are there, of which none but the one that -o names may change."""

COMMANDS: Mapping[str, Any] = {
    name: Later(name, room, "").made() for room, names in ROOMS.items() for name in names
}

_SUFFIXES = [suffix for each in FORMATS.values() for suffix in each.suffixes]
_PATHS = [
    *["r", "", " ", "-", ".", "..", "sub", "sub/", "no/r.json", "R.JSON", "r.yaml", "喜欢.json", "a b.txt"],
    *["x" * 300 + ".json", "\x1b[2J.json", "a\0.json", "old.json/r.json", "/proc/r.json", "/dev/full"],
    *["/dev/null", "/dev/stdout", *OLD],
]  # fmt: skip
_INPUTS = ["p.yaml", "p.json", "p", "X.npy", "W_Q.npz", "./p.json", "sub/../p.yaml", "r.npz", "r.json"]
_SPANS = ["0", "0:1", "1:2", "0:99", "99:", ":1", "1:1", "2:1", "-1", "0:-1", " 0 : 1 ", "٣", "9" * 30, "", "a"]  # fmt: skip

_stages = st.sampled_from([*STAGES, "X", "W_K", "softmax", "A", "weigths", "", " ", "喜", "\x1b[2J"])


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any], *, of: int) -> st.SearchStrategy[Any]:
    """Draw what is odd once in so many times."""
    return st.integers(1, of).flatmap(lambda number: usual if number < of else odd)


@st.composite
def _settings(draw: Draw) -> str:
    """Draw a setting of any key to a value of its kind."""
    key = KEYS[draw(st.sampled_from(list(KEYS)))]
    return f"{key.name}={json.dumps(plain(draw(VALUES[key.kind](key))))}"


_odd_settings = st.sampled_from(
    [
        *["temperature=2", "mask.causal=true", "mask=[[1,", "X=[[1]]", "W_K=*W", "=", "", "scale=1e999", "a.b.c=1"],
        *["expected={weights: [[0.5, 0.5], [0.5, 0.5]]}", "expected_tolerance=1e400", "tokens=[a,b]", "X=\0", "name=："],
    ]
)  # fmt: skip

WORDS: Mapping[str, Words] = {
    "N": st.sampled_from(
        ["0", "1", "2", "3", "17", "40", "80", "200"] * 4 + ["-1", "18", "x", "", "1.5", "٣"]
    )
    | st.sampled_from([str(2**62), str(2**63 - 1), str(2**63), "9" * 5000]),
    "KEY=VALUE": _settings() | _settings() | _odd_settings,
    "NAME,…": st.lists(_stages, min_size=1, max_size=2).map(",".join),
    "A:B": st.sampled_from(_SPANS) | st.builds("{}:{}".format, st.integers(0, 2), st.integers(0, 4)),
    "NAME=STAGE": st.builds("{}={}".format, st.sampled_from(["mine", "weights", ""]), _stages)
    | st.sampled_from(["weights", "=", ""]),
    "FILE": st.sampled_from([f"r{suffix}" for suffix in _SUFFIXES] * 3 + _PATHS + _INPUTS * 2),
}
"""What may follow an option, by what its help calls that; choices are told apart by a bar."""

SIZES = ("--seq", "--dim", "--heads", "--kv-heads", "--head-dim", "--batch", "--context-seq")


def _values(metavar: str) -> Words:
    if metavar in WORDS:
        return WORDS[metavar]
    choices = metavar.split("|")
    return mostly(st.sampled_from(choices), st.sampled_from(["", "none", choices[0].upper()]), of=10)


def _option(option: Any) -> st.SearchStrategy[list[str]]:
    names = st.sampled_from([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names.map(lambda name: [name])
    return st.tuples(names, _values(option.metavar)).map(list)


_OWN = {
    name: [
        _option(each)
        for each in command.params
        if each.param_type_name == "option"
        for _ in range(4 if each.metavar == "FILE" else 1)  # since a file can be lost
    ]
    for name, command in COMMANDS.items()
}
_STRANGE = ["--help", "-h", "--nope", "-x", "--", "--version", "", "--width", "--set", "--json=1"]
_ANY = st.one_of([each for own in _OWN.values() for each in own]) | st.sampled_from(_STRANGE).map(
    lambda word: [word]
)


def options(command: str, *, most: int = 3, others: bool = True) -> st.SearchStrategy[list[str]]:
    """Draw options that the command has; now and then, others too."""
    own = st.one_of(_OWN[command])
    one = mostly(own, _ANY, of=30) if others else own
    return st.lists(one, max_size=most).map(lambda parts: [word for part in parts for word in part])


@st.composite
def sizes(draw: Draw) -> list[str]:
    """Draw the sizes of a problem that is drawn itself."""
    chosen = ["--seed", "1"]
    for name in SIZES:
        if name in {"--seq", "--dim"} or draw(st.booleans()):
            chosen += [name, str(draw(st.integers(1, 4)))]
    return chosen


_parts = (
    st.integers(0, 2).map(str)
    | labels
    | labels.map(json.dumps)
    | st.sampled_from(
        ["", "-1", "+0", "00", "9" * 40, "٣", "喜欢", "'a'", '"a', "a]", ":", "*", " 1 ", "0x1"]
    )
)


@st.composite
def cells(draw: Draw) -> str:
    """Draw the name of a cell: a stage and positions, or what is hardly one."""
    name = draw(mostly(st.sampled_from(["scores", "weights", "output", "X"]), _stages, of=4))
    parts = mostly(st.sampled_from(["0", "0", "0", "1"]), _parts, of=4)
    places = mostly(st.lists(parts, min_size=2, max_size=2), st.lists(parts, max_size=4), of=4)
    inside = ",".join(draw(places))
    odd = st.sampled_from(["{}[{}", "{}{}]", "{}", "{} [ {} ]", "{}[{}][0]", "{}[[{}]]", "{}.{}"])
    return str(draw(mostly(st.just("{}[{}]"), odd, of=10))).format(name, inside)
