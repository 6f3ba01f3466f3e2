"""Files that state a convention wrongly or by half: each is refused with one message that helps."""

from __future__ import annotations

import pathlib
import re

import pytest

from attncli.compute import compute
from attncli.errors import InputError
from attncli.readers import load, located

# Starts, to which a case adds its keys.
QKV = "Q: [[1, 2], [3, 4]]\nK: [[1, 0], [0, 1]]\nV: [[1], [2]]\n"
X = "X: [[1, 2, 3, 4], [5, 6, 7, 8]]\n"
NARROW = "X: [[1], [2]]\n"
TWO_HEADS = X + "num_heads: 2\n"
SCORES = "scores: [[1, 2], [3, 4]]\n"
SCALED = "scaled: [[1, 2], [3, 4]]\n"
MASKED = "masked: [[1, 2], [3, 4]]\n"
HALF = "rope: {pairing: half, "

POSITIONS = {
    QKV + "position_encoding: sinusoidal": r"position_encoding is added to X, but the problem starts with Q",
    X + "position_encoding: [[1, 2, 3, 4]]": r"position_encoding is 1×4, but X has 2 tokens of 4 numbers",
    X + "position_encoding: sinusoid": r"did you mean sinusoidal\?",
    X + "position_encoding: {sinusoidal: {bse: 1}}": r"unknown key \"bse\".*did you mean base\?",
    X + "position_encoding: {sinusoidal: {base: 0}}": r"sinusoidal\.base is 0, and must be greater than 0",
    X + "position_encoding: {sinusoidal: {layout: sines}}": r"choices: interleaved, half",
    X + "position_encoding: {sinusoidal: {}, learned: {}}": r"unknown key \"learned\"",
    "X: [[[1, 2]], [[3, 4]], [[5, 6]]]\nposition_encoding: [[[1, 2]], [[3, 4]]]": (
        r"position_encoding is 2×1×2, but X has 1 token of 2 numbers"
    ),
    QKV
    + "rope: {}": r"the two give different numbers.*fix: rope: \{pairing: half\} or \{pairing: interleaved\}$",
    QKV + "rope: half": r"where a mapping was expected.*its keys: pairing, base.*rope: \{pairing: half\}$",
    QKV + "rope: interleaved": r"where a mapping was expected.*fix: write rope: \{pairing: interleaved\}$",
    QKV + "rope: true": r"fix: write rope: \{pairing: half\} or \{pairing: interleaved\}$",
    "Q: [[1]]\nK: [[2]]\nrope: {pairing: half}": r"a head is 1 wide.*fix: leave rope out, or make heads",
    QKV + "rope: {pairing: halves}": r"choices: half, interleaved",
    QKV + HALF + "dim: 3}": r"rope.dim is 3, and must be even and at most 2",
    QKV + HALF + "dim: 4}": r"rope.dim is 4, and must be even and at most 2",
    "Q: [[1, 2, 3]]\nK: [[1, 2, 3]]\n"
    + HALF
    + "}": r"3 wide, and an odd number has no pairs.*half, dim: 2\}",
    QKV + HALF + "positions: [0]}": r"rope.positions has 1 number for 2 queries",
    QKV + HALF + "positions: [0, 1], offset: 2}": r"rope.positions and rope.offset both say",
    QKV + HALF + "inv_freq: [1, 2]}": r"rope.inv_freq has 2 numbers for 1 pair",
    QKV + HALF + "inv_freq: 1}": r"rope.inv_freq is .*where a list of numbers was expected",
    QKV + HALF + "inv_freq: [1], angles: [[0], [1]]}": r"rope takes one of inv_freq, angles, or cos with sin",
    QKV + HALF + "cos: [[1], [1]]}": r"rope takes one of inv_freq, angles, or cos with sin",
    QKV + HALF + "sin: [[1], [1]]}": r"rope takes one of inv_freq, angles, or cos with sin",
    QKV + HALF + "base: 500, inv_freq: [1]}": r"rope.base makes frequencies, and rope.inv_freq gives them",
    QKV + HALF + "base: 500, angles: [[0], [1]]}": r"rope.base makes frequencies, and rope.angles gives",
    QKV + HALF + "unit: degrees}": r"rope.unit says what angles are in, but there are none",
    QKV + HALF + "angles: [[0], [1]], unit: turns}": r"choices: radians, degrees",
    QKV + HALF + "angles: [[0, 1, 2], [1, 2, 3]]}": r"rope.angles is 2×3, where rows of 1 pair are expected",
    QKV + HALF + "angles: [[0]]}": r"rope.angles has 1 row, but positions run from 0 to 1",
    QKV + HALF + "angles: [[0], [1]], offset: -1}": r"positions run from -1 to 0",
    QKV + HALF + "angles: [[0, 1], [1, 1]]}": r"a column for each number, but those of a pair differ",
    SCORES + HALF + "}": r"rope works on queries and keys, but the problem starts with scores",
    QKV + "qk_norm: rms_norm": r"choices: rms",
    QKV + "qk_norm: {rms: {eps: -1}}": r"qk_norm\.rms\.eps is -1, and must be at least 0",
    QKV + "qk_norm: {rms: {weight_Q: [1]}}": r"qk_norm.rms.weight_Q is a list of 1, but a head is 2 wide",
    TWO_HEADS + "qk_norm: {rms: {weight_K: [1, 1, 1, 1]}}": r"weight_K is a list of 4, but a head is 2 wide",
    MASKED + "qk_norm: rms": r"qk_norm works on queries and keys, but the problem starts with masked",
}

COMPARING = {
    QKV + "score: cos": r"choices: dot, cosine, additive, general",
    QKV + "score: {cosine: {}}": r"unknown key \"cosine\" in score|score: cosine",
    QKV + "score: general": r"score is general, and says nothing of its numbers.*score: \{general: …\}",
    QKV + "score: {general: [[1, 2, 3]]}": r"score.general is 1×3, where 2×2 is expected",
    QKV + "score: {general: [1, 2]}": r"score.general is a list of 2, where 2×2 is expected",
    QKV + "score: {additive: {W_q: [[1, 2, 3]]}}": r"score.additive.W_q is 1×3, where 2×hidden is expected",
    QKV + "score: {additive: {W_k: [[1, 2, 3], [1, 2, 3]]}}": r"Q has 2 columns, but K has 2|compared",
    QKV + "score: {additive: {v: [1, 2, 3]}}": r"v is a list of 3, but the hidden layer is 2 wide",
    QKV + "score: {additive: {w: [1]}}": r"unknown key \"w\" in score\.additive",
    QKV + "score: {additive: {}, general: [[1, 0], [0, 1]]}": r"score names 2 ways, and takes one",
    SCORES + "score: cosine": r"score works on queries and keys, but the problem starts with scores",
}

BETWEEN = {
    QKV + "softcap: 0": r"softcap is 0, and must be greater than 0",
    QKV + "softcap: .inf": r"softcap is infinite",
    MASKED + "softcap: 2": r"softcap comes before masked, which is where this problem starts",
    QKV + "bias: [[1, 2, 3]]": r"bias is 1×3 \(query, key\), but the scores are 2×2",
    QKV + "bias: {alibi: {slopes: [1, 2]}}": r"bias.alibi.slopes has 2 numbers for 1 head",
    QKV + "bias: [alibi, {alibi: {slopes: [1, 2]}}]": r"^bias\[1\].alibi.slopes has 2 numbers",
    QKV + "bias: [{t5: {table: [[1, 2], [3, 4]]}}]": r"^bias\[0\].t5.table is 2×2",
    QKV + "bias: [{t5: {table: [[1], [2]]}}]": r"^bias\[0\].t5.table has 2 rows",
    QKV
    + "bias: [{t5: {table: [[1], [x]]}}]": r"^bias\[0\].t5.table row 2, column 1 \(bias\[0\].t5.table\[1\]\[0\]\)",
    QKV + "bias: [{t5: {tabel: [[1], [2]]}}]": r'unknown key "tabel" in bias\[0\].t5',
    TWO_HEADS + "bias: {alibi: {slopes: [1]}}": r"bias.alibi.slopes has 1 number for 2 heads.*one slope per",
    QKV + "bias: {alibi: {slopes: authors}}": r"a list of numbers, or author, or geometric|did you mean",
    QKV + "bias: {alibi: {form: m*i}}": r"choices: -m\*\|i-j\|",
    QKV + "bias: {alibi: {}, t5: {}}": r"bias names 2 ways, and takes one.*each as an item of a list",
    QKV + "bias: alib": r"bias is \"alib\".*did you mean alibi\?",
    QKV + "bias: t5": r"bias.t5 needs a table",
    QKV
    + "bias: {t5: {table: [[1, 2], [1, 2], [1, 2], [1, 2]]}}": r"table is 4×2, where buckets×1 is expected",
    QKV + "bias: {t5: {table: [[1], [2], [3], [4]], buckets: 8}}": r"table is 4×1, where 8×1 is expected",
    QKV + "bias: {t5: {table: [[1], [2]]}}": r"table has 2 rows, too few.*at least 4 buckets",
    QKV
    + "bias: {t5: {table: [[1], [2], [3], [4]], max_distance: 1}}": r"max_distance is 1, and must be more",
    QKV + "bias: [{alibi: {}}, [[1, 2, 3]]]": r"bias\.1 is 1×3|bias\[1\] is 1×3",
    QKV + "bias: [{alibi: {slops: [1]}}]": r"unknown key \"slops\".*did you mean slopes\?",
    MASKED + "bias: [[1, 2], [3, 4]]": r"bias comes before masked, which is where this problem starts",
    SCALED + "bias: [[1, 2], [3, 4]]\nbias_position: before_scale": r"bias comes before scaled",
    QKV + "bias_position: before_scale": r"bias_position is given, but bias is not",
    QKV + "bias: alibi\nmask: {causal: true, lengths: [1], align: bottom_right}": r"one place for all",
}

AFTER = {
    QKV + "mask_when: after_softmax": r"mask_when is after_softmax, but there is no mask",
    QKV + "mask: {additive: [[0, 1], [1, 0]]}\nmask_when: after_softmax": r"additive mask is added to scores",
    QKV + "mask: causal\nmask_when: after_softmax\nmask_fill: -1e9": r"mask_fill.*after_softmax",
    QKV + "mask: causal\nmask_when: after_softmax_renormalized\nnormalize: sum": r"but normalize is sum",
    QKV + "mask_when: later": r"choices: before_softmax, after_softmax, after_softmax_renormalized",
    QKV + "sink: [1, 2]": r"sink has 2 numbers for 1 head",
    TWO_HEADS + "sink: [1]": r"sink has 1 number for 2 heads.*one per query head",
    QKV + "sink: none": r"sink",
    QKV + "sink: []": r"sink is .*where a list of numbers",
    QKV + "sink: .inf": r"sink is infinite",
    QKV + "sink: 1\nnormalize: sum": r"sink takes part in softmax, which this problem does not use",
    QKV + "sink: 1\nmask: causal\nmask_when: after_softmax_renormalized": r"sink takes part in softmax",
    QKV + "normalize: max": r"choices: softmax, sum, none",
    QKV + "dropout: 0.1": r"dropout is \"0.1\", where a mapping was expected.*its keys: p, seed, keep",
    QKV + "dropout: {p: 1}": r"dropout\.p is 1, and must be less than 1",
    QKV + "dropout: {p: -0.1}": r"dropout\.p is -0\.1, and must be at least 0",
    QKV + "dropout: {p: 0.1, seed: 1, keep: [[1, 1], [1, 1]]}": r"dropout takes keep or seed, not both",
    QKV + "dropout: {p: 0.1, keep: [[1, 1, 1]]}": r"dropout.keep is 1×3",
    QKV + "dropout: {p: 0.1, keep: [[1, 2], [0, 1]]}": r"dropout\.keep row 1, column 2",
    QKV + "dtype: {qk: half}": r"dtype\.qk.*choices: float64, float32, float16, bfloat16",
    QKV + "dtype: {qkv: float32}": r"unknown key \"qkv\" in dtype.*qk",
}

CACHES = {
    QKV + "past: {K: [[1, 0]]}": r"past has no V.*add V to past",
    QKV + "past: {V: [[1]]}": r"past has no K",
    QKV + "past: {K: [[1, 0]], V: [[1], [2]]}": r"past has 1 keys but 2 values.*every key needs a value",
    QKV + "past: {K: [[1, 0, 0]], V: [[1]]}": r"past.K is 1×3, where past×2 is expected",
    QKV + "past: {K: [[1, 0]], V: [[1, 2]]}": r"past.V is 1×2, where past×1 is expected",
    QKV + "past: {K: [1, 0], V: [[1]]}": r"past.K is 1-D",
    QKV + "past: [[1, 0]]": r"past is a list, where K and V were expected.*past: \{K: …, V: …\}",
    QKV + "past: {K: [[1, 0]], V: [[1]], Q: [[1]]}": r"unknown key \"Q\" in past",
    "Q: [[1, 2]]\nK: [[1, 0]]\npast: {K: [[1, 0]], V: [[1]]}": r"past has V, but the problem has no V",
    TWO_HEADS + "past: {K: [[[1, 0]]], V: [[[1, 0]]]}": r"past.K is 1×1×2, where 2×past×2 is expected",
    SCORES
    + "past: {K: [[1]], V: [[1]]}": r"past works on queries and keys, but the problem starts with scores",
}

FUSED = {
    X + "W_QKV: [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]": r"nothing says how it lies.*fused: block",
    X + "fused: block": r"fused is given, but W_QKV is not",
    X + "b_QKV: [1, 2, 3]": r"b_QKV is given, but W_QKV is not",
    X
    + "W_QKV: [[1, 2], [1, 2], [1, 2], [1, 2]]\nfused: block": r"2 columns cannot be shared by 1 query head",
    X + "W_QKV: [[1, 2, 3], [1, 2, 3]]\nfused: block": r"W_QKV has 2 rows, but X has 4 columns",
    X + "W_QKV: [[1, 2, 3]]\nfused: block\nW_K: identity": r"W_QKV and W_K are both given",
    X + "W_QKV: [[1, 2, 3]]\nb_QKV: [1, 2, 3]\nfused: block\nb_V: [1]": r"W_QKV and b_V are both given",
    NARROW + "W_QKV: [[1, 2, 3]]\nfused: block\nb_QKV: [1, 2]": r"b_QKV is a list of 2",
    QKV + "W_QKV: [[1, 2, 3], [4, 5, 6]]\nfused: block": r"W_QKV makes Q, K and V of X, but there is no X",
    NARROW + "num_heads: 2\nnum_kv_heads: 1\nW_QKV: [[1, 2, 3, 4]]\nfused: per_head": r"fused: per_group",
    X + "W_QKV: [[1, 2, 3]]\nfused: blocks": r"choices: block, per_head, per_group",
}

LIKE = {
    QKV + "like: pytorch": r"choices: torch_sdpa, torch_mha, keras, jax, onnx, flash, hf, x_transformers",
    QKV + "rope: {}\nlike: torch_sdpa": r"rope has no pairing",
    X + "W_QKV: [[1, 2, 3]]\nlike: hf": r"nothing says how it lies",
}

REFUSED = {**POSITIONS, **COMPARING, **BETWEEN, **AFTER, **CACHES, **FUSED, **LIKE}


def run(folder: pathlib.Path, text: str) -> None:
    path = folder / "p.yaml"
    path.write_text(text, encoding="utf-8")
    (problem,) = load(str(path))
    with located(problem.origin):
        compute(problem)


@pytest.mark.parametrize(
    "text", REFUSED, ids=[f"{i} {text.splitlines()[-1]}" for i, text in enumerate(REFUSED)]
)
def test_a_convention_said_wrongly_is_refused(text: str, tmp_path: pathlib.Path) -> None:
    """The message names the key, what was expected and what came, at its line."""
    with pytest.raises(InputError, match=re.compile(REFUSED[text], re.DOTALL)) as caught:
        run(tmp_path, text)
    assert caught.value.place is not None
    assert caught.value.place.line is not None
