"""Problem files at random: valid ones, nearly valid ones, and bytes that are hardly a file at all.

A tree is drawn from the keys as they are declared, then spelled as YAML or JSON, its arrays as lists,
blocks of text or files beside it; then a few bytes may be changed.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import save

from attncli.problem import WORDS, Key, Kind, Mask, Problem, keys
from attncli.trace import STAGES

__all__ = ["VALUES", "Written", "labels", "mangled", "nearly_valid", "spelled", "spoiled_bytes", "valid"]

Draw: TypeAlias = Callable[..., Any]
Values: TypeAlias = st.SearchStrategy[Any]

KEYS = {key.name: key for key in keys(Problem)}
SIDE = 2
"""Most axes are of this length, so that keys drawn one by one often fit each other."""

finite = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 7.25]) | st.floats(-4, 4)
extreme = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 6e4, 1e39])
odd = st.sampled_from(
    [
        *[None, True, "", "null", "~", "abc", "1:30", "010", "0x1F", "1e999", "-inf", "1/3", "1/0", "１，５", "٣", "−2"],
        *["..", "[", "a.npy", "no.npz#q", "http://x/y.npy", "x.pt", "a\0.npy", "\ud800", "\x1b[2J", "x" * 300, 10**400],
        *[[], {}, [[]], [[[[[1.0]]]]], {"random": {"shape": [2, 2], "seed": 3}}, {"random": {}}, {"K": [[1]]}],
    ]
)  # fmt: skip
labels = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["", "no", "null", "1:30", "1.10", "喜欢", "😀", "👩‍👧", "é", "\u202eabc", "\x1b]8;;x\x07", "\x9b", "a\nb", "[red]", "=1", "x" * 200]
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A problem file.

    Args:
        name: What it is called.
        data: Its bytes.
        tree: What it says, arrays as NumPy arrays; None when it was mangled.
        beside: The files that it names.
    """

    name: str
    data: bytes
    tree: dict[str, Any] | None
    beside: Mapping[str, bytes] = field(default_factory=dict)


def matrices(elements: Values = finite, *, leading: tuple[int, ...] | None = None) -> Values:
    """Draw arrays; most are square, since those fit nearly everywhere, and all where the leading axes are said."""
    square = st.just((*(leading or ()), SIDE, SIDE))
    shapes = square | square | arrays_of.array_shapes(max_dims=4, max_side=3) if leading is None else square
    return shapes.flatmap(
        lambda shape: arrays_of.arrays(np.float64, shape, elements=elements, fill=st.nothing())
    )


def truths() -> Values:
    """Draw arrays of true and false."""
    return matrices(st.sampled_from([0.0, 1.0, 1.0])).map(lambda array: array.astype(bool))


def records(declaration: type) -> Values:
    """Draw a mapping of some of the keys that a record declares, with those that must be there."""
    names = [key.name for key in keys(declaration)]
    needed = [key.name for key in keys(declaration) if key.default.startswith("must")]
    chosen = st.lists(st.sampled_from(names), max_size=2, unique=True).map(lambda some: needed + some)
    return chosen.flatmap(
        lambda some: st.fixed_dictionaries(
            {key.name: value_of(key) for key in keys(declaration) if key.name in some}
        )
    )


def _number(key: Key) -> Values:
    low = key.above if key.above is not None else key.minimum if key.minimum is not None else -4
    return st.floats(low, 100, exclude_min=key.above is not None) | st.sampled_from([1.0, 2.0, 0.5])


def _integer(key: Key) -> Values:
    low = int(key.minimum) if key.minimum is not None else -2
    return st.integers(low, 4) | st.integers(low, 4) | st.sampled_from([2**53 + 1, 10**18 - 1])


def _choice(key: Key) -> Values:
    return st.sampled_from(key.choices)


def _variant(key: Key) -> Values:
    ways: list[Values] = [st.sampled_from((*key.choices, *key.records))]
    for name, declared in key.records.items():
        inner = matrices() if isinstance(declared, Kind) else records(declared)
        ways.append(st.builds(dict, st.tuples(st.tuples(st.just(name), inner))))
    one = st.one_of(*ways, *([matrices()] if key.array else []))
    return st.one_of(one, st.lists(one, min_size=1, max_size=2)) if key.several else one


def _named(key: Key) -> Values:
    names = st.sampled_from(key.names or ("weights", "output", "output[0]"))
    return _choice(key) | st.dictionaries(names, _choice(key), min_size=1, max_size=2)


VALUES: dict[Kind, Callable[[Key], Values]] = {
    Kind.ARRAY: lambda key: matrices() | matrices(finite | extreme) | st.sampled_from(WORDS),  # noqa: ARG005
    Kind.BOOLEANS: lambda key: truths(),  # noqa: ARG005
    Kind.SOURCES: lambda key: matrices() | st.fixed_dictionaries({"K": matrices(), "V": matrices()}),  # noqa: ARG005
    Kind.CACHE: lambda key: st.fixed_dictionaries({"K": matrices(), "V": matrices()}),  # noqa: ARG005
    Kind.LABELS: lambda key: st.lists(labels, min_size=SIDE, max_size=SIDE),  # noqa: ARG005
    Kind.TEXT: lambda key: st.just("attn/1") if key.name == "schema" else labels,
    Kind.INTEGER: _integer,
    Kind.INTEGERS: lambda key: st.lists(_integer(key), min_size=1, max_size=SIDE),
    Kind.NUMBER: _number,
    Kind.NUMBERS: lambda key: st.lists(_number(key), min_size=1, max_size=SIDE),
    Kind.NUMBER_OR_NUMBERS: lambda key: _number(key) | st.lists(_number(key), min_size=1, max_size=SIDE),
    Kind.NUMBER_OR_CHOICE: lambda key: _number(key) | _choice(key),
    Kind.FLAG: lambda key: st.booleans(),  # noqa: ARG005
    Kind.CHOICE: _choice,
    Kind.AXES: _choice,
    Kind.NAMED_CHOICES: _named,
    Kind.WINDOW: lambda key: st.dictionaries(  # noqa: ARG005
        st.sampled_from(["left", "right"]), st.integers(0, 3), min_size=1
    ),
    Kind.RECORD: lambda key: records(key.records[""]),  # type: ignore[arg-type]
    Kind.VARIANT: _variant,
    Kind.MASK: lambda key: st.just("causal") | truths() | records(Mask),  # noqa: ARG005
    Kind.EXPECTED: lambda key: st.dictionaries(  # noqa: ARG005
        st.sampled_from([*STAGES, "output[0]", "weights[1,1]"]), matrices() | finite, min_size=1, max_size=2
    ),
    Kind.DECIMALS: lambda key: _integer(key) | st.fixed_dictionaries({"weights": _integer(key)}),
    Kind.STAGES: lambda key: st.dictionaries(st.sampled_from(list(STAGES)), matrices(), max_size=2),  # noqa: ARG005
    Kind.ANYTHING: lambda key: st.recursive(  # noqa: ARG005
        labels | finite | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(labels, inner, max_size=3),
        max_leaves=5,
    ),
}
"""What may be drawn for a key of each kind."""


def value_of(key: Key) -> Values:
    """Draw a value that is of a key's kind, whether or not it fits the other keys."""
    return VALUES[key.kind](key)


STARTS = (
    ("X",),
    ("X", "W_Q", "W_K", "W_V"),
    ("Q", "K", "V"),
    ("Q", "K"),
    ("scores", "V"),
    ("scaled",),
    ("masked",),
)


RULES = [
    *[
        "tokens",
        "num_heads",
        "scale",
        "divide_by",
        "temperature",
        "position_encoding",
        "rope",
        "qk_norm",
        "score",
    ],
    *[
        "softcap",
        "bias",
        "bias_position",
        "mask",
        "mask_fill",
        "mask_when",
        "fully_masked",
        "masked_values",
        "sink",
    ],
    *["normalize", "dropout", "dtype", "like", "W_O", "b_O", "past", "expected", "notes", "name"],
]
"""Keys that go with most starts."""


@st.composite
def trees(draw: Draw, *, fitting: bool) -> dict[str, Any]:
    """Draw a start and a few more keys."""
    start = draw(st.sampled_from(STARTS))
    cells = finite if fitting else finite | extreme
    leading = draw(st.sampled_from([(), (), (), (SIDE,), (SIDE, SIDE)]))
    tree = {name: draw(matrices(cells, leading=() if name.startswith("W") else leading)) for name in start}
    more = draw(
        st.lists(
            st.sampled_from(RULES) | st.sampled_from(RULES) | st.sampled_from(list(KEYS)),
            min_size=1,
            max_size=4,
        )
    )
    return {**{name: draw(value_of(KEYS[name])) for name in more if name not in tree}, **tree}


@st.composite
def valid(draw: Draw) -> Written:
    """Draw a file of keys that are all read, though not each may fit the others."""
    written: Written = draw(spelled(draw(trees(fitting=True))))
    return written


@st.composite
def nearly_valid(draw: Draw) -> Written:
    """Draw a file with one or two things in it that no key, or not this one, takes."""
    tree = draw(trees(fitting=False))
    for _ in range(draw(st.integers(1, 2))):
        name = draw(
            st.sampled_from([*tree, *KEYS]) | labels | st.sampled_from(["W_q", "maks", "<<", "causal"])
        )
        tree[name] = draw(_spoiled(tree.get(name)))
    written: Written = draw(spelled(tree))
    return written


def _spoiled(value: Any) -> Values:
    """Draw something odd in place of a value, or of one of its cells."""
    if not isinstance(value, np.ndarray):
        return odd | matrices(finite | extreme)
    cells = value.tolist()
    row = cells
    while isinstance(row[0], list):
        row = row[-1]

    def put(item: Any) -> Any:
        row[-1:] = [item]
        return cells

    return odd | odd.map(put) | st.just(row + row[:1])


@st.composite
def spoiled_bytes(draw: Draw, given: bytes) -> bytes:
    """Draw some bytes of which a few were lost, doubled or changed."""
    data = bytearray(given)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 8)) | st.just(len(data)))
        data[start:end] = draw(
            st.sampled_from([b"", b"\0", b"\xff", b"\xe4", b"[", b"]", b"{", "“".encode(), b"\t", b"\n", b"&a ", b"*a", b"#", b"-", b"9"])
            | st.binary(max_size=4)
            | st.just(bytes(data[start:end]) * 2)
        )  # fmt: skip
    return bytes(data)


@st.composite
def mangled(draw: Draw) -> Written:
    """Draw a file, or one beside it, of which some bytes were lost, doubled or changed."""
    written = draw(valid() | nearly_valid())
    which = draw(st.sampled_from([written.name, *written.beside]))
    changed = draw(spoiled_bytes(written.data if which == written.name else written.beside[which]))
    if which == written.name:
        return Written(written.name, changed, None, written.beside)
    return Written(written.name, written.data, None, {**written.beside, which: changed})


@st.composite
def spelled(draw: Draw, tree: dict[str, Any]) -> Written:
    """Draw one of the ways to write a tree down."""
    name = draw(st.sampled_from(["p.yaml", "p.json", "p.yml", "p", "p.jsonl"]))
    is_json = name in {"p.json", "p.jsonl"}
    beside: dict[str, bytes] = {}
    placed = {key: _placed(draw, value, key, beside) for key, value in tree.items()}
    if is_json:
        text = _flow(placed, is_json=True)
    else:
        text = "".join(
            f"{_word(key, is_json=False)}: {_yaml(draw, value)}\n" for key, value in placed.items()
        )
    coding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    return Written(name, text.encode(coding, "surrogatepass"), tree, beside)


def _placed(draw: Draw, value: Any, key: str, beside: dict[str, bytes]) -> Any:
    """Leave an array where it is, or put it into a file and its name there."""
    if not isinstance(value, np.ndarray) or draw(st.integers(0, 3)):
        return value
    suffix = draw(st.sampled_from(["npy", "npz", "safetensors", "csv"]))
    if suffix == "csv" and (value.ndim != SIDE or value.dtype == bool):
        return value
    file = f"{key if key.isidentifier() else 'array'}.{suffix}"
    beside[file] = _file(value, suffix)
    return file + {"npz": "#a", "safetensors": "#a"}.get(suffix, "")


def _file(array: np.ndarray, suffix: str) -> bytes:
    if suffix == "csv":
        return "".join(",".join(map(repr, row)) + "\n" for row in array.tolist()).encode()
    if suffix == "safetensors":
        return save({"a": array})
    stream = io.BytesIO()
    if suffix == "npy":
        np.save(stream, array)
    else:
        np.savez(stream, a=array)
    return stream.getvalue()


def _yaml(draw: Draw, value: Any) -> str:
    """Write a value after its key: a matrix as a block or a printout, and anything as YAML's flow."""
    ways = ["flow"]
    if isinstance(value, np.ndarray) and value.dtype != bool:
        ways += ["printout"] + (["block"] if value.ndim == SIDE else [])
    way = draw(st.sampled_from(ways))
    if way == "flow":
        return _flow(value, is_json=False)
    if way == "printout":
        printed = np.array2string(value, threshold=10**6, floatmode="unique", separator=", ")
        return "|\n  array(" + printed.replace("\n", "\n  ") + ")"
    return "|\n" + "\n".join("  " + " ".join(map(repr, row)) for row in value.tolist())


def _flow(value: Any, *, is_json: bool) -> str:
    """Write a value in brackets, as both formats do."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        inner = (f"{_word(k, is_json=is_json)}: {_flow(v, is_json=is_json)}" for k, v in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item, is_json=is_json) for item in value) + "]"
    if isinstance(value, str):
        return _word(value, is_json=is_json)
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return json.dumps(value)


def _word(text: str, *, is_json: bool) -> str:
    """Quote a text, with escapes for what neither format takes raw."""
    plain = json.dumps(text, ensure_ascii=False)
    if is_json:
        return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in plain)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in plain)
