"""The problem file's keys, declared once.

Readers, options, help, schema and documentation are all made from the fields of `Problem` and of
the records in it: their names, kinds, defaults, choices and help texts stand here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from attncli.errors import Path, Place
from attncli.frozen import Frozen
from attncli.keys import Array, Key, Kind, key, keys
from attncli.presets import PRESETS
from attncli.records import (
    T5,
    AdditiveScore,
    Alibi,
    Dropout,
    Mask,
    Rms,
    Rope,
    Sinusoidal,
    Variant,
)

__all__ = [
    "SCHEMA",
    "STARTS",
    "T5",
    "WORDS",
    "AdditiveScore",
    "Alibi",
    "Array",
    "Dropout",
    "Expected",
    "Key",
    "Kind",
    "Mask",
    "Problem",
    "Rms",
    "Rope",
    "Sinusoidal",
    "Source",
    "Variant",
    "keys",
]

SCHEMA = "attn/1"
"""The version of the keys; a document that says another is not read."""

WORDS = ("identity", "zeros", "ones")
"""What may stand for an array whose shape follows from the others."""

STARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "X": ("context", "W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "x_layout", "d_k"),
        "Q": ("K", "V", "qkv_layout", "d_k"),
        "scores": ("V", "qkv_layout", "d_k"),
        "scaled": ("V", "qkv_layout"),
        "masked": ("V", "qkv_layout"),
    }
)
"""Each key that the data may start with, and the keys that it may bring along."""


class Expected(Frozen):
    """Numbers as printed somewhere, kept as text, since 0.50 says more than 0.5.

    Args:
        digits: A number's text, or nested lists of them.
    """

    digits: Any


class Source(Frozen, kw_only=True):
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


class Problem(Frozen, kw_only=True):
    """One attention problem, as it was written: arrays in the layout that the file states.

    Every field with metadata is a key of the problem file. `attncli.resolve` brings the arrays
    into one layout, checks that they fit and says where the computation starts.
    """

    name: str | None = key(Kind.TEXT, "What the problem is called.", section="Free text")
    source: str | None = key(Kind.TEXT, "Where it comes from.")
    notes: Any = key(Kind.ANYTHING, "Remarks, carried through.")

    tokens: tuple[str, ...] | None = key(
        Kind.LABELS,
        "Labels of the queries, and of the keys in self-attention.",
        default="0, 1, 2, …",
        section="Labels",
    )
    context_tokens: tuple[str, ...] | None = key(
        Kind.LABELS, "Labels of the keys in cross-attention.", default="0, 1, 2, …"
    )

    X: Array | str | None = key(
        Kind.ARRAY, "One vector for each token.", words=WORDS, section="Where the data starts"
    )
    context: Array | Mapping[str, Array] | str | None = key(
        Kind.SOURCES, "The vectors that keys and values come from, instead of X.", default="X", words=WORDS
    )
    W_Q: Array | str | None = key(Kind.ARRAY, "Weight of the queries: Q = X·W_Q.", words=WORDS)
    W_K: Array | str | None = key(Kind.ARRAY, "Weight of the keys.", words=WORDS)
    W_V: Array | str | None = key(Kind.ARRAY, "Weight of the values.", words=WORDS)
    b_Q: Array | str | None = key(Kind.ARRAY, "Bias of the queries.", words=WORDS)
    b_K: Array | str | None = key(Kind.ARRAY, "Bias of the keys.", words=WORDS)
    b_V: Array | str | None = key(Kind.ARRAY, "Bias of the values.", words=WORDS)
    Q: Array | str | None = key(Kind.ARRAY, "Queries, when they are given rather than computed.", words=WORDS)
    K: Array | str | None = key(Kind.ARRAY, "Keys.", words=WORDS)
    V: Array | str | None = key(Kind.ARRAY, "Values; without them the last stage is weights.", words=WORDS)
    scores: Array | None = key(Kind.ARRAY, "Raw scores Q·Kᵀ, when they are what is known.")
    scaled: Array | None = key(Kind.ARRAY, "Scores after scaling.")
    masked: Array | None = key(Kind.ARRAY, "Scores after scaling and mask; may hold -inf.")
    d_k: int | None = key(Kind.INTEGER, "Width of a key, for the scale when the start is scores.", minimum=1)
    W_QKV: Array | None = key(Kind.ARRAY, "W_Q, W_K and W_V in one, as fused says.")
    b_QKV: Array | None = key(Kind.ARRAY, "b_Q, b_K and b_V in one.")
    fused: str | None = key(
        Kind.CHOICE,
        "How W_QKV lies: block [Q|K|V] (GPT-2, nn.MultiheadAttention), per_head [q|k|v] for each head "
        "(GPT-NeoX, BLOOM), per_group [q…|k|v] for each key-value head (Falcon).",
        default="must be said",
        choices=("block", "per_head", "per_group"),
    )
    past: Mapping[str, Array] | None = key(
        Kind.CACHE, "Keys and values of earlier tokens, {K: …, V: …}, put before the new ones."
    )
    W_O: Array | str | None = key(Kind.ARRAY, "Weight of the output, after the heads.", words=WORDS)
    b_O: Array | str | None = key(Kind.ARRAY, "Bias of the output.", words=WORDS)

    x_layout: str | None = key(
        Kind.AXES,
        "Axes of X and context.",
        default="by rank: seq dim, batch seq dim",
        choices=("seq dim", "batch seq dim"),
        section="Layouts",
    )
    qkv_layout: str | None = key(
        Kind.AXES,
        "Axes of Q, K and V.",
        default="by rank: seq dim, batch seq dim, batch head seq dim",
        choices=("seq dim", "batch seq dim", "head seq dim", "batch head seq dim"),
    )
    weight_layout: str | Mapping[str, str] | None = key(
        Kind.NAMED_CHOICES,
        "Axes of the weights: in out is y = xW, out in is nn.Linear's y = xWᵀ.",
        default="in out",
        choices=("in out", "out in", "head in dim", "in head dim"),
        names=("W_Q", "W_K", "W_V", "W_QKV", "W_O"),
    )
    mask_layout: str | None = key(
        Kind.AXES,
        "Axes of the arrays in mask.",
        default="by rank: query key, batch head query key",
        choices=("query key", "batch query key", "head query key", "batch head query key"),
    )

    num_heads: int | None = key(
        Kind.INTEGER, "Number of query heads.", default="1", minimum=1, section="Heads"
    )
    num_kv_heads: int | None = key(
        Kind.INTEGER,
        "Number of key-value heads; num_heads is a multiple of it.",
        default="num_heads",
        minimum=1,
    )
    kv_head_map: str = key(
        Kind.CHOICE,
        "Which key-value head serves query head h: repeat is h // group, tile is h mod num_kv_heads.",
        value="repeat",
        choices=("repeat", "tile"),
    )

    scale: float | str | None = key(
        Kind.NUMBER_OR_CHOICE,
        "What the scores are multiplied by; d_model is 1/√d_model.",
        default="1/√d_k",
        choices=("none", "d_model"),
        section="Scale",
    )
    divide_by: float | None = key(Kind.NUMBER, "What the scores are divided by, instead of scale.")
    temperature: float = key(Kind.NUMBER, "Divides the scaled scores.", value=1.0, default="1", above=0)

    position_encoding: Variant | Array | None = key(
        Kind.VARIANT,
        "Added to X: sines and cosines, or an array of one row per token.",
        default="none",
        records={"sinusoidal": Sinusoidal},
        array=True,
        section="Positions, and how a query and a key are compared",
    )
    rope: Rope | None = key(
        Kind.RECORD, "Rotates queries and keys by their positions.", default="none", records={"": Rope}
    )
    qk_norm: Variant | None = key(
        Kind.VARIANT, "Norms queries and keys, per head.", default="none", records={"rms": Rms}
    )
    score: Variant | str = key(
        Kind.VARIANT,
        "How a query and a key are compared: by their product, their cosine, tanh of their sum "
        "(Bahdanau), or through a weight (Luong).",
        value="dot",
        choices=("dot", "cosine"),
        records={"additive": AdditiveScore, "general": Kind.ARRAY},
    )

    softcap: float | None = key(
        Kind.NUMBER,
        "c: bends the scores to c·tanh(z/c).",
        default="none",
        above=0,
        section="Between scores and weights",
    )
    bias: Any = key(
        Kind.VARIANT,
        "Added to the scores: an array, ALiBi, T5's relative bias, or a list of these.",
        default="none",
        records={"alibi": Alibi, "t5": T5},
        array=True,
        several=True,
    )
    bias_position: str = key(
        Kind.CHOICE,
        "Where the bias is added.",
        value="after_softcap",
        choices=("after_softcap", "before_softcap", "before_scale"),
    )
    mask: Mask | None = key(Kind.MASK, "Which query may attend to which key.", default="none")
    mask_fill: float | str = key(
        Kind.NUMBER_OR_CHOICE,
        "What is added to a masked score; finfo_min is the dtype's most negative number.",
        value=float("-inf"),
        default="-inf",
        choices=("finfo_min",),
    )
    fully_masked: str = key(
        Kind.CHOICE,
        "Weights of a query that sees no key; with a sink, which takes all of it, they are 0.",
        value="zeros",
        choices=("zeros", "nan", "error"),
    )
    masked_values: str = key(
        Kind.CHOICE,
        "Whether a NaN or infinity at a masked position stays out of the result, or spreads as in IEEE arithmetic.",
        value="exclude",
        choices=("exclude", "ieee"),
    )
    mask_when: str = key(
        Kind.CHOICE,
        "Whether the mask comes before softmax, or takes weights away after it.",
        value="before_softmax",
        choices=("before_softmax", "after_softmax", "after_softmax_renormalized"),
    )
    sink: float | tuple[float, ...] | None = key(
        Kind.NUMBER_OR_NUMBERS,
        "An extra score that takes weight and holds no value; one number, or one per query head.",
        default="none",
    )
    normalize: str = key(
        Kind.CHOICE,
        "What makes weights of scores: softmax, dividing by their sum, or nothing.",
        value="softmax",
        choices=("softmax", "sum", "none"),
    )
    dropout: Dropout | None = key(
        Kind.RECORD, "Drops weights, as in training.", default="none", records={"": Dropout}
    )
    dtype: str | Mapping[str, str] = key(
        Kind.NAMED_CHOICES,
        "Precision, for all or as {qk, softmax, pv}; float16 and bfloat16 round after every stage.",
        value="float64",
        choices=("float64", "float32", "float16", "bfloat16"),
        names=("qk", "softmax", "pv"),
    )

    like: str | None = key(
        Kind.CHOICE,
        "A library whose way fills in what the problem leaves open; what that is, is printed.",
        default="none",
        choices=tuple(PRESETS),
    )

    expected: Mapping[str, Expected] | None = key(
        Kind.EXPECTED,
        "Numbers as printed, by stage or part of a stage, such as weights[1,2].",
        section="What somebody printed",
    )
    expected_decimals: int | Mapping[str, int] | None = key(
        Kind.DECIMALS, "Decimals as printed.", default="those of the text", minimum=0, maximum=300
    )
    expected_tolerance: float | None = key(
        Kind.NUMBER, "Allowance on top of the last printed digit.", default="0", minimum=0
    )
    expected_in: str | Mapping[str, str] | None = key(
        Kind.NAMED_CHOICES, "percent where numbers are printed as percentages.", choices=("percent",)
    )

    schema: str | None = key(Kind.TEXT, f"Version of the document; {SCHEMA}.", section="What a result adds")
    stages: Mapping[str, Any] | None = key(
        Kind.STAGES, "Stages of an earlier result; kept out of the computation."
    )
    meta: Any = key(Kind.ANYTHING, "How an earlier result was made; kept out of the computation.")

    origin: Source = field(default_factory=Source)
    said: frozenset[str] = frozenset()
    """The keys that a file says, also where it says what holds anyway: ``like`` leaves them alone."""
