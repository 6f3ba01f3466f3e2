"""The problem file's keys, declared once.

Readers, options, help, schema and documentation are all made from the fields of `Problem` and
`Mask`: their names, kinds, defaults, choices and help texts stand here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from attncli.errors import Path, Place

if TYPE_CHECKING:  # `attn --help` reads this module and must not wait for NumPy
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["WORDS", "Array", "Expected", "Key", "Kind", "Mask", "Problem", "Source", "keys"]

Array: TypeAlias = "NDArray[np.generic]"

WORDS = ("identity", "zeros", "ones")
"""What may stand for an array whose shape follows from the others."""


class Kind(Enum):
    """What a key's value looks like; each kind has one parser in `attncli.readers.values`."""

    ARRAY = "an array of numbers"
    BOOLEANS = "an array of true and false (or 1 and 0)"
    SOURCES = "an array, or a mapping of K and V to one array each"
    LABELS = "a list of labels"
    TEXT = "text"
    INTEGER = "an integer"
    INTEGERS = "a list of integers"
    NUMBER = "a number"
    FLAG = "true or false"
    CHOICE = "one of the choices"
    NUMBER_OR_CHOICE = "a number, or one of the choices"
    AXES = "the names of the axes, in order"
    NAMED_CHOICES = "one of the choices, or a mapping of names to one of them each"
    WINDOW = "a mapping of left and right to a number of keys"
    MASK = "causal, an array of true and false, or a mapping"
    EXPECTED = "a mapping of stages, or parts of stages, to numbers as printed"
    DECIMALS = "an integer, or a mapping of stages to one integer each"
    STAGES = "a mapping of stages to arrays"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the problem file.

    Args:
        name: The key as it is written.
        kind: What its value looks like.
        help: One line for ``--help``, the schema and the documentation.
        default: What holds when the key is absent, as a reader would say it.
        choices: The words it takes; for `Kind.AXES`, the sets of axes that it may order.
        minimum: The smallest number it takes.
        above: The number that it must exceed.
    """

    name: str
    kind: Kind
    help: str
    default: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    above: float | None = None


def _key(
    kind: Kind,
    help: str,  # noqa: A002  (the word that command lines use for it)
    *,
    value: Any = None,
    default: str = "",
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    above: float | None = None,
) -> Any:
    described = {
        "kind": kind,
        "help": help,
        "default": default or ("" if value is None else str(value)),
        "choices": choices,
        "minimum": minimum,
        "above": above,
    }
    return field(default=value, metadata=described)


def keys(declaration: type[Problem | Mask]) -> Iterator[Key]:
    """Yield the keys that `Problem` or `Mask` declares, in the order in which they are written."""
    for each in fields(declaration):
        if each.metadata:
            yield Key(each.name, **each.metadata)


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Which query may attend to which key. What is given together is combined with *and*."""

    causal: bool = _key(Kind.FLAG, "Each query sees the keys up to its own position.", value=False)
    keep: Array | None = _key(Kind.BOOLEANS, "True where a query may see a key.")
    drop: Array | None = _key(Kind.BOOLEANS, "True where a query may not see a key.")
    additive: Array | None = _key(Kind.ARRAY, "Numbers added to the scores; -inf hides a key.")
    key_padding: Array | None = _key(
        Kind.BOOLEANS, "True where a key is real, per item of the batch: (batch, keys) or (keys)."
    )
    query_padding: Array | None = _key(
        Kind.BOOLEANS, "True where a query is real; the output of the other rows is zero."
    )
    lengths: tuple[int, ...] | None = _key(
        Kind.INTEGERS, "How many keys are real, for each item of the batch.", minimum=0
    )
    window: Mapping[str, int] | None = _key(
        Kind.WINDOW, "How many keys to the left and right are in sight; the query's own is not counted."
    )
    sliding_window: int | None = _key(
        Kind.INTEGER,
        "How many keys are in sight, up to and with the query's own; also to the right when not causal.",
        minimum=1,
    )
    keep_first: int | None = _key(
        Kind.INTEGER, "How many keys at the start stay in sight of every window.", minimum=0
    )
    align: str | None = _key(
        Kind.CHOICE,
        "Which corner the diagonal of causal and windows runs through when queries and keys differ in number.",
        choices=("top_left", "bottom_right"),
    )
    offset: int | None = _key(Kind.INTEGER, "Position of the first query among the keys, instead of align.")


@dataclass(frozen=True, slots=True)
class Expected:
    """Numbers as printed somewhere, kept as text, since 0.50 says more than 0.5.

    Args:
        digits: A number's text, or nested lists of them.
    """

    digits: Any


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a problem was read from, so that a fault found later can still name the line.

    Args:
        name: The file as the user named it; a name in angle brackets is no file.
        files: The files that its arrays were read from.
    """

    name: str = "<problem>"
    files: tuple[str, ...] = ()

    def locate(self, path: Path) -> tuple[int, int, str] | None:
        """Return line, column (from 1) and text of the value at ``path``, if the source has lines."""
        del path
        return None

    def place(self, path: Path) -> Place:
        """Return the place of the value at ``path``, as an error shows it."""
        return Place(self.name, *(self.locate(path) or ()))


_WEIGHT_LAYOUTS = ("in out", "out in", "head in dim", "in head dim")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One attention problem, as it was written: arrays in the layout that the file states.

    Every field with metadata is a key of the problem file. `attncli.resolve` brings the arrays
    into one layout, checks that they fit and says where the computation starts.
    """

    # free text
    name: str | None = _key(Kind.TEXT, "What the problem is called.")
    source: str | None = _key(Kind.TEXT, "Where it comes from.")
    notes: Any = _key(Kind.ANYTHING, "Remarks, carried through.")

    # labels
    tokens: tuple[str, ...] | None = _key(
        Kind.LABELS, "Labels of the queries, and of the keys in self-attention.", default="0, 1, 2, …"
    )
    context_tokens: tuple[str, ...] | None = _key(
        Kind.LABELS, "Labels of the keys in cross-attention.", default="0, 1, 2, …"
    )

    # where the data starts
    X: Array | str | None = _key(Kind.ARRAY, "One vector for each token.")
    context: Array | Mapping[str, Array] | str | None = _key(
        Kind.SOURCES, "The vectors that keys and values come from, instead of X.", default="X"
    )
    W_Q: Array | str | None = _key(Kind.ARRAY, "Weight of the queries: Q = X·W_Q.")
    W_K: Array | str | None = _key(Kind.ARRAY, "Weight of the keys.")
    W_V: Array | str | None = _key(Kind.ARRAY, "Weight of the values.")
    b_Q: Array | str | None = _key(Kind.ARRAY, "Bias of the queries.")
    b_K: Array | str | None = _key(Kind.ARRAY, "Bias of the keys.")
    b_V: Array | str | None = _key(Kind.ARRAY, "Bias of the values.")
    Q: Array | str | None = _key(Kind.ARRAY, "Queries, when they are given rather than computed.")
    K: Array | str | None = _key(Kind.ARRAY, "Keys.")
    V: Array | str | None = _key(Kind.ARRAY, "Values; without them the last stage is weights.")
    scores: Array | None = _key(Kind.ARRAY, "Raw scores Q·Kᵀ, when they are what is known.")
    scaled: Array | None = _key(Kind.ARRAY, "Scores after scaling.")
    masked: Array | None = _key(Kind.ARRAY, "Scores after scaling and mask; may hold -inf.")
    d_k: int | None = _key(Kind.INTEGER, "Width of a key, for the scale when the start is scores.", minimum=1)
    W_O: Array | str | None = _key(Kind.ARRAY, "Weight of the output, after the heads.")
    b_O: Array | str | None = _key(Kind.ARRAY, "Bias of the output.")

    # layouts
    x_layout: str | None = _key(
        Kind.AXES,
        "Axes of X and context.",
        default="by rank: seq dim, batch seq dim",
        choices=("seq dim", "batch seq dim"),
    )
    qkv_layout: str | None = _key(
        Kind.AXES,
        "Axes of Q, K and V.",
        default="by rank: seq dim, batch seq dim, batch head seq dim",
        choices=("seq dim", "batch seq dim", "head seq dim", "batch head seq dim"),
    )
    weight_layout: str | Mapping[str, str] | None = _key(
        Kind.NAMED_CHOICES,
        "Axes of the weights: in out is y = xW, out in is nn.Linear's y = xWᵀ.",
        default="in out",
        choices=_WEIGHT_LAYOUTS,
    )
    mask_layout: str | None = _key(
        Kind.AXES,
        "Axes of the arrays in mask.",
        default="by rank: query key, batch head query key",
        choices=("query key", "batch query key", "head query key", "batch head query key"),
    )

    # heads
    num_heads: int | None = _key(Kind.INTEGER, "Number of query heads.", default="1", minimum=1)
    num_kv_heads: int | None = _key(
        Kind.INTEGER,
        "Number of key-value heads; num_heads is a multiple of it.",
        default="num_heads",
        minimum=1,
    )
    kv_head_map: str = _key(
        Kind.CHOICE,
        "Which key-value head serves query head h: repeat is h // group, tile is h mod num_kv_heads.",
        value="repeat",
        choices=("repeat", "tile"),
    )

    # scale
    scale: float | str | None = _key(
        Kind.NUMBER_OR_CHOICE,
        "What the scores are multiplied by; d_model is 1/√d_model.",
        default="1/√d_k",
        choices=("none", "d_model"),
    )
    divide_by: float | None = _key(Kind.NUMBER, "What the scores are divided by, instead of scale.")
    temperature: float = _key(Kind.NUMBER, "Divides the scaled scores.", value=1.0, default="1", above=0)

    # between scores and weights
    mask: Mask | None = _key(Kind.MASK, "Which query may attend to which key.", default="none")
    mask_fill: float | str = _key(
        Kind.NUMBER_OR_CHOICE,
        "What is added to a masked score; finfo_min is the dtype's most negative number.",
        value=float("-inf"),
        default="-inf",
        choices=("finfo_min",),
    )
    fully_masked: str = _key(
        Kind.CHOICE,
        "Weights of a query that sees no key.",
        value="zeros",
        choices=("zeros", "nan", "error"),
    )
    masked_values: str = _key(
        Kind.CHOICE,
        "Whether a NaN or infinity at a masked position stays out of the result, or spreads as in IEEE arithmetic.",
        value="exclude",
        choices=("exclude", "ieee"),
    )
    dtype: str = _key(
        Kind.CHOICE,
        "Precision; float16 and bfloat16 round after every stage.",
        value="float64",
        choices=("float64", "float32", "float16", "bfloat16"),
    )

    # what somebody printed
    expected: Mapping[str, Expected] | None = _key(
        Kind.EXPECTED, "Numbers as printed, by stage or part of a stage, such as weights[1,2]."
    )
    expected_decimals: int | Mapping[str, int] | None = _key(
        Kind.DECIMALS, "Decimals as printed.", default="those of the text", minimum=0
    )
    expected_tolerance: float | None = _key(
        Kind.NUMBER, "Allowance on top of the last printed digit.", default="0", minimum=0
    )
    expected_in: str | Mapping[str, str] | None = _key(
        Kind.NAMED_CHOICES, "percent where numbers are printed as percentages.", choices=("percent",)
    )

    # what a result adds
    schema: str | None = _key(Kind.TEXT, "Version of the document; attn/1.")
    stages: Mapping[str, Any] | None = _key(
        Kind.STAGES, "Stages of an earlier result; kept out of the computation."
    )
    meta: Any = _key(Kind.ANYTHING, "How an earlier result was made; kept out of the computation.")

    origin: Source = field(default_factory=Source)
