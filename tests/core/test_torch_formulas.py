"""Scores, caps, sinks, norms, dropout and fused weights, against the same written with torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attncli.problem import AdditiveScore, Dropout, Mask, Rms, Variant
from tests.computed import detail, stage

torch = pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(array.copy())


def same(got: np.ndarray, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=1e-12)


# (batch, head, seq, dim) with two query heads for each key-value head
Q, K, V = draw(2, 4, 3, 6), draw(2, 2, 5, 6), draw(2, 2, 5, 3)
KEYS = tensor(K).repeat_interleave(2, dim=1)
WIDE = {"Q": Q, "K": K, "scale": "none"}
SCORES = tensor(Q) @ KEYS.mT


# scores


def test_cosine_is_torchs() -> None:
    """Each score is the cosine of a query and a key; vectors of zeros match nothing."""
    zero = Q.copy()
    zero[0, 0, 0] = 0
    wanted = torch.nn.functional.cosine_similarity(
        tensor(zero)[..., :, None, :], KEYS[..., None, :, :], dim=-1
    )
    same(stage("scores", **WIDE | {"Q": zero}, score="cosine"), wanted)


def test_general_is_a_weight_between() -> None:
    """Luong's general score is torch's bilinear form, with keys of another width than queries."""
    weight = draw(6, 2)
    narrow = K[..., :2]
    keys = tensor(narrow).repeat_interleave(2, dim=1)
    wanted = torch.einsum("bhid,de,bhje->bhij", tensor(Q), tensor(weight), keys)
    same(stage("scores", **WIDE | {"K": narrow}, score=Variant("general", weight)), wanted)


@pytest.mark.parametrize("given", ["W_q W_k v", "W_q W_k", "v", ""])
def test_additive_is_bahdanaus_network(given: str) -> None:
    """The sum over hidden numbers of v·tanh(q·W_q + k·W_k); what is not given is left out."""
    hidden = 7 if "W_q" in given else 6
    arrays = {"W_q": draw(6, 7), "W_k": draw(6, 7, 1)[..., 0], "v": draw(hidden)}
    said = {name: arrays[name] for name in given.split()}
    q, k = (
        side @ tensor(said[name]) if name in said else side
        for side, name in ((tensor(Q), "W_q"), (KEYS, "W_k"))
    )
    bent = torch.tanh(q[..., :, None, :] + k[..., None, :, :])
    wanted = bent @ tensor(said["v"]) if "v" in said else bent.sum(-1)
    same(stage("scores", **WIDE, score=Variant("additive", AdditiveScore(**said))), wanted)


@pytest.mark.parametrize("eps", [1e-6, 0.5])
@pytest.mark.parametrize("weights", [(), ("weight_Q",), ("weight_Q", "weight_K")])
def test_norm_of_queries_and_keys_is_torchs_rms_norm(weights: tuple[str, ...], eps: float) -> None:
    """Every head's queries and keys are normed over their own numbers, and then weighed."""
    given = {name: draw(6, len(name), i)[:, 0, 0] for i, name in enumerate(weights, 1)}
    rule = Variant("rms", Rms(eps=eps, **given))
    for name, x in {"Q": Q, "K": K}.items():
        weight = given.get(f"weight_{name}")
        wanted = torch.nn.functional.rms_norm(
            tensor(x), (6,), None if weight is None else tensor(weight), eps
        )
        same(stage(f"{name}_norm", **WIDE, qk_norm=rule), wanted)


# between scores and weights


@pytest.mark.parametrize("cap", [0.5, 30.0])
def test_softcap_is_c_tanh(cap: float) -> None:
    """Gemma's cap: c·tanh(z ÷ c) of the scaled scores."""
    z = SCORES / math.sqrt(6)
    same(stage("softcapped", Q=Q, K=K, softcap=cap), cap * torch.tanh(z / cap))


ORDERS = {
    "after_softcap": lambda s, b: 2 * torch.tanh(s / 3 / 2) + b,
    "before_softcap": lambda s, b: 2 * torch.tanh((s / 3 + b) / 2),
    "before_scale": lambda s, b: 2 * torch.tanh((s + b) / 3 / 2),
}


@pytest.mark.parametrize("position", ORDERS)
def test_a_bias_is_added_where_the_problem_says(position: str) -> None:
    """Scale 1/3 and a cap of 2, with the bias after both, between them or before."""
    bias = draw(2, 4, 3, 5)
    wanted = torch.softmax(ORDERS[position](SCORES, tensor(bias)), -1)
    got = stage("weights", Q=Q, K=K, divide_by=3.0, softcap=2.0, bias=bias, bias_position=position)
    same(got, wanted)


@pytest.mark.parametrize("masked", [False, True])
def test_a_sink_is_one_more_column_that_is_dropped(*, masked: bool) -> None:
    """gpt-oss: softmax over the scores and a logit for each head, whose column then goes."""
    sinks = (0.5, -2.0, 30.0, 0.0)
    keep = draw(3, 5) > 0.2
    keep[0] = False  # only the sink is left for this query
    z = SCORES.masked_fill(~tensor(keep), -torch.inf) if masked else SCORES
    column = torch.tensor(sinks, dtype=torch.float64)[:, None, None].expand(2, 4, 3, 1)
    everything = torch.softmax(torch.cat([z, column], dim=-1), dim=-1)
    problem = WIDE | {"sink": sinks, "mask": Mask(keep=keep) if masked else None}
    same(stage("weights", **problem), everything[..., :-1])
    same(detail("sink_mass", **problem), everything[..., -1])
    same(detail("lse_with_sink", **problem), torch.logsumexp(torch.cat([z, column], -1), -1))
    same(detail("lse", **problem), torch.logsumexp(z, -1))


def test_one_sink_may_serve_all_heads() -> None:
    """A sink of 0 is softmax with 1 added to the sum, "off by one"."""
    e = SCORES.exp()
    same(stage("weights", **WIDE, sink=0.0), e / (1 + e.sum(-1, keepdim=True)))


def test_weights_by_sum_and_scores_as_weights() -> None:
    """normalize: sum divides by the row's sum, normalize: none by nothing; masked keys count for 0."""
    z = SCORES.abs()
    keep = np.tri(3, 5, 2, dtype=bool)
    seen = torch.where(tensor(keep), z, 0.0)
    problem = {"scores": z.numpy(), "mask": Mask(keep=keep), "scale": "none"}
    same(stage("weights", **problem, normalize="sum"), seen / seen.sum(-1, keepdim=True))
    same(stage("weights", **problem, normalize="none"), seen)


WEIGHTS = torch.softmax(SCORES, -1)


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_dropout_keeps_the_expectation(p: float) -> None:
    """What stays is divided by 1 − p, as torch does it in training."""
    keep = draw(2, 4, 3, 5) > 0
    wanted = torch.where(tensor(keep), WEIGHTS, 0.0) / (1 - p)
    same(stage("dropped", **WIDE, dropout=Dropout(p=p, keep=keep)), wanted)


def test_dropout_by_seed_drops_its_share() -> None:
    """About p of the weights go, the same ones for the same seed, and the rest is 1/(1 − p) as large."""
    flat = {"scores": np.zeros((100, 200)), "scale": "none"}
    drop = stage("dropped", **flat, dropout=Dropout(p=0.3, seed=5))
    assert abs((drop == 0).mean() - 0.3) < 0.01
    np.testing.assert_allclose(drop[drop != 0], 1 / 200 / 0.7)
    np.testing.assert_array_equal(stage("dropped", **flat, dropout=Dropout(p=0.3, seed=5)), drop)
    assert (stage("dropped", **flat, dropout=Dropout(p=0.3, seed=6)) != drop).any()


# fused weights

X = draw(3, 8)


def test_block_is_torchs_in_proj_weight() -> None:
    """nn.MultiheadAttention packs [Q; K; V] as rows, since its weights are (out, in)."""
    module = torch.nn.MultiheadAttention(8, 2, dtype=torch.float64, batch_first=True)
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        wanted, _ = module(*[tensor(X)[None]] * 3)
    got = stage(
        "output",
        X=X,
        W_QKV=module.in_proj_weight.detach().numpy(),
        b_QKV=module.in_proj_bias.detach().numpy(),
        W_O=module.out_proj.weight.detach().numpy(),
        b_O=module.out_proj.bias.detach().numpy(),
        fused="block",
        weight_layout="out in",
        num_heads=2,
    )
    same(got, wanted[0])


def fused(
    num_heads: int, num_kv_heads: int, weight: np.ndarray, bias: np.ndarray, way: str
) -> dict[str, Any]:
    return {
        "X": X,
        "W_QKV": weight,
        "b_QKV": bias,
        "fused": way,
        "weight_layout": "out in",
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
    }


def test_per_head_is_gpt_neox() -> None:
    """GPT-NeoX and BLOOM view the columns as (heads, 3, head_dim) and take query, key, value of each."""
    weight, bias = draw(24, 8), draw(24)
    made = torch.nn.functional.linear(tensor(X), tensor(weight), tensor(bias)).view(3, 2, 3, 4)
    problem = fused(2, 2, weight, bias, "per_head")
    for i, name in enumerate("QKV"):
        same(stage(f"{name}_heads", **problem), made[:, :, i].transpose(0, 1))


@pytest.mark.parametrize(("groups", "group"), [(2, 3), (1, 4), (2, 1)])
def test_per_group_is_falcon(groups: int, group: int) -> None:
    """Falcon views the columns as (groups, queries + 2, head_dim): the last two are key and value."""
    rows = groups * (group + 2) * 4
    weight, bias = draw(rows, 8), draw(rows)
    made = torch.nn.functional.linear(tensor(X), tensor(weight), tensor(bias)).view(3, groups, group + 2, 4)
    problem = fused(groups * group, groups, weight, bias, "per_group")
    same(stage("output", **problem), attended(made))


def attended(made: Any) -> Any:
    """Run torch's attention on Falcon's view, every key-value head repeated for its group."""
    q = made[:, :, :-2].flatten(1, 2).transpose(0, 1)
    k, v = (made[:, :, i].transpose(0, 1) for i in (-2, -1))
    out = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], enable_gqa=True)
    return out[0].transpose(0, 1).flatten(1)


def test_block_with_fewer_key_value_heads() -> None:
    """In blocks, keys and values may be narrower than queries: [Q | K | V] of 4, 2 and 2 heads."""
    weight, bias = draw(8, 32), draw(32)
    q, k, v = (tensor(X) @ tensor(weight) + tensor(bias)).split([16, 8, 8], dim=-1)
    problem = fused(4, 2, weight, bias, "block") | {"weight_layout": "in out"}
    for name, wanted in zip("QKV", (q, k, v), strict=True):
        same(stage(name, **problem), wanted)
