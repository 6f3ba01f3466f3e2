"""What other programs call the keys of the problem file, and the words that stand in them.

Nothing here is accepted: two programs that share a name seldom share all of what it means. A name
that is found here is refused with what to write, and with where the two differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from attncli.meant import ALIASES

__all__ = ["KEYS", "WORDS", "Namesake", "bare", "namesake"]


class Namesake(NamedTuple):
    """What to write instead of names from elsewhere.

    Args:
        write: As it stands in a file, with … for the value; empty where nothing is to be written.
        names: What others call it; a dot leads into a mapping.
        note: Where the two differ, or why there is no such key.
    """

    write: str
    names: str
    note: str = ""


_LINEAR = "nn.Linear's weight is out in: add weight_layout: {%s: out in}"
_SHAPES = "the shapes of the arrays say it"
_MASK = (
    "mask: {keep: …} if true marks what a query may see (torch's SDPA, Keras)\n"
    "mask: {drop: …} if it marks what is hidden (nn.MultiheadAttention)\n"
    "mask: {additive: …} if it is added to the scores\n"
    "mask: {key_padding: …} if it marks the real tokens of each item (a tokenizer)"
)
_PADDING = "true keeps a key; in torch it marks the padding: there, turn it round"
_PAIRING = "pairing: half (Llama, GPT-NeoX) or interleaved (GPT-J, RoFormer)"

_NAMESAKES = (
    Namesake("X: …", "x input inputs inputs_embeds input_embeds embedding embeddings hidden hidden_states src"),
    Namesake("context: …", "encoder_hidden_states encoder_output memory cross key_value_states kv"),
    Namesake("Q: …", "q query queries query_states q_states"),
    Namesake("K: …", "k key keys key_states k_states"),
    Namesake("V: …", "v value values value_states v_states"),
    Namesake("W_Q: …", "q_proj q_proj.weight q_proj_weight q_linear to_q query.weight wq.weight query_weight weight_q", _LINEAR % "W_Q"),
    Namesake("W_K: …", "k_proj k_proj.weight k_proj_weight k_linear to_k key.weight wk.weight key_weight weight_k", _LINEAR % "W_K"),
    Namesake("W_V: …", "v_proj v_proj.weight v_proj_weight v_linear to_v value.weight wv.weight value_weight weight_v", _LINEAR % "W_V"),
    Namesake("W_O: …", "o_proj o_proj.weight out_proj out_proj.weight out_proj_weight to_out wo.weight output_weight weight_o", _LINEAR % "W_O"),
    Namesake("W_O: …", "c_proj c_proj.weight", "GPT-2's Conv1D is in out, as here"),
    Namesake("b_Q: …", "q_bias q_proj.bias query_bias query.bias bias_q"),
    Namesake("b_K: …", "k_bias k_proj.bias key_bias key.bias"),
    Namesake("b_V: …", "v_bias v_proj.bias value_bias value.bias"),
    Namesake("b_O: …", "o_bias o_proj.bias out_bias out_proj.bias output_bias c_proj.bias"),
    Namesake("W_QKV: …\nfused: block", "in_proj in_proj_weight qkv qkv_proj qkv_weight qkv.weight qkv_proj.weight to_qkv wqkv.weight", _LINEAR % "W_QKV"),
    Namesake("W_QKV: …\nfused: block", "c_attn c_attn.weight", "GPT-2's Conv1D is in out, as here"),
    Namesake("W_QKV: …\nfused: per_head", "query_key_value query_key_value.weight", "per_head in GPT-NeoX and BLOOM, per_group in Falcon; " + _LINEAR % "W_QKV"),
    Namesake("b_QKV: …", "in_proj_bias qkv_bias bias_qkv qkv.bias c_attn.bias query_key_value.bias"),
    Namesake("past: {K: …, V: …}", "past_key past_keys past_value past_values past_key_value past_key_values layer_past kv_cache key_cache value_cache k_cache v_cache cache past.key past.keys past.value past.values"),
    Namesake("context: {K: …, V: …}", "context.key context.keys context.value context.values"),
    Namesake("tokens: […]", "labels words text sentence token_labels token_names query_tokens q_tokens"),
    Namesake("context_tokens: […]", "key_tokens k_tokens memory_tokens source_tokens"),
    Namesake("num_heads: …", "n_heads n_head nheads nhead heads num_head num_attention_heads num_query_heads n_query_heads q_num_heads"),
    Namesake("num_kv_heads: …", "num_key_value_heads n_kv_heads n_head_kv kv_heads kv_num_heads num_kv num_key_heads"),
    Namesake("num_kv_heads: …", "num_key_value_groups num_kv_groups n_rep", "it is num_heads divided by the size of a group"),
    Namesake("num_kv_heads: …", "enable_gqa gqa multi_query mqa", "with fewer key-value heads than num_heads, each serves a group of query heads"),
    Namesake("", "head_dim d_head dim_head head_size size_per_head key_dim qk_head_dim", _SHAPES + "; scores that come without vectors take d_k: …"),
    Namesake("", "embed_dim embedding_dim d_model dim_model model_dim hidden_size hidden_dim n_embd emb_dim kdim vdim dim value_dim dv d_v v_head_dim", _SHAPES),
    Namesake("", "seq_len seq_length sequence_length context_length max_seq_len block_size num_tokens n_tokens batch_size bsz", _SHAPES),
    Namesake("", "need_weights average_attn_weights output_attentions return_attention_scores return_attn_probs", "every stage is computed; --stages chooses what is shown"),
    Namesake("x_layout: seq batch dim", "batch_first", "for what nn.MultiheadAttention takes by default; batch seq dim needs no word"),
    Namesake("scale: …", "softmax_scale sm_scale attn_scale attention_scale qk_scale scaling scaling_factor scale_factor scale_attn", "1/√d_k where it is left out"),
    Namesake("scale: none", "use_scale scale_attn_weights", "where the scores stay as they are; 1/√d_k where it is left out"),
    Namesake("scale: …", "query_pre_attn_scalar", "1/√ of that number"),
    Namesake("divide_by: …", "norm_factor inv_scale inv_norm_factor sqrt_dk sqrt_d_k", "1/√d_k where neither it nor scale is given"),
    Namesake("temperature: …", "t tau temp"),
    Namesake("softcap: …", "soft_cap logits_soft_cap logit_soft_cap logits_softcap logit_softcap attn_logits_soft_cap attn_logit_softcapping attn_softcap softcapping logit_cap"),
    Namesake("mask: {causal: true}", "is_causal use_causal_mask causal_mask use_causal attn_causal autoregressive look_ahead_mask is_decoder unidirectional mask.type mask.kind"),
    Namesake("mask: …", "attn_mask attention_mask src_mask tgt_mask memory_mask", _MASK),
    Namesake("mask: {key_padding: …}", "key_padding_mask src_key_padding_mask tgt_key_padding_mask memory_key_padding_mask padding_mask pad_mask key_mask mask.padding", _PADDING),
    Namesake("mask: {query_padding: …}", "query_padding_mask query_mask", _PADDING.replace("a key", "a query")),
    Namesake("mask: {lengths: […]}", "valid_lens valid_len valid_length seq_lens seqlens seqused_k src_lengths kv_lens nonpad_kv_seqlen"),
    Namesake("mask: {lengths: […]}", "cu_seqlens cu_seqlens_q cu_seqlens_k", "the length of each item, not their running sum"),
    Namesake("mask: {window: {left: …, right: …}}", "window_size local_window_size attention_window mask.left mask.right", "keys to either side, the query's own not counted"),
    Namesake("mask_fill: …", "mask_value fill_value masking_value mask_fill_value neg_inf"),
    Namesake("bias: …", "attn_bias attention_bias position_bias rel_pos_bias relative_bias", "added to the scores; the biases of the projections are b_Q, b_K, b_V and b_O"),
    Namesake("bias: alibi", "alibi use_alibi"),
    Namesake("bias: {alibi: {slopes: …}}", "alibi_slopes slopes"),
    Namesake("bias: {t5: {table: …}}", "t5 relative_attention_bias relative_attention_bias.weight", "one row per bucket and one column per head"),
    Namesake("bias: {t5: {table: …, buckets: …}}", "relative_attention_num_buckets"),
    Namesake("bias: {t5: {table: …, max_distance: …}}", "relative_attention_max_distance"),
    Namesake("position_encoding: …", "pe pos_encoding pos_enc positional_encoding positional_embedding position_embedding position_embeddings pos_emb pos_embed wpe", "an array that is added to X, or sinusoidal"),
    Namesake("position_encoding: sinusoidal", "sinusoidal"),
    Namesake("rope: {pairing: …, base: …}", "rope_theta rope_base rotary_base rotary_emb_base rope_freq_base theta", _PAIRING),
    Namesake("rope: {pairing: …, dim: …}", "rotary_dim rotary_ndims rotary_embedding_dim rope_dim rot_dim qk_rope_head_dim", _PAIRING),
    Namesake("rope: {pairing: …, dim: …}", "rotary_pct partial_rotary_factor rope_pct rope_percentage", "dim is that share of a head's numbers, counted"),
    Namesake("rope: {pairing: …}", "rotary use_rope rotary_embedding pairing rope.style rope.type rope.layout rope.mode", _PAIRING),
    Namesake("rope: {pairing: interleaved}", "interleaved rotary_interleaved rope_interleaved", "half where it is false"),
    Namesake("rope: {pairing: …, inv_freq: […]}", "inv_freq rope_scaling rotary_inv_freq rope.scaling", "the frequencies as they are after scaling"),
    Namesake("rope: {pairing: …, positions: […]}", "position_ids positions input_pos rope.position_ids"),
    Namesake("rope: {pairing: …, angles: …}", "freqs freqs_cis angles"),
    Namesake("rope: {pairing: …, cos: …, sin: …}", "cos sin cos_cached sin_cached cos_cache sin_cache rope_cos rope_sin rope.cosine rope.sine"),
    Namesake("qk_norm: {rms: {weight_Q: …, weight_K: …}}", "q_norm k_norm q_norm.weight k_norm.weight q_layernorm k_layernorm qk_layernorm use_qk_norm rms"),
    Namesake("dropout: {p: …}", "dropout_p dropout_rate dropout_prob attn_dropout attention_dropout attn_pdrop attn_drop attention_probs_dropout_prob dropout.rate dropout.prob"),
    Namesake("X: {random: {shape: […], seed: …}}", "seed random shape"),
    Namesake("sink: …", "sinks attn_sink attn_sinks s_aux", "one number, or one per query head"),
    Namesake("sink: …", "attention_sink attention_sinks", "keys that a window leaves in sight are mask: {sliding_window: …, keep_first: …}"),
    Namesake("sink: 0", "add_zero_attn softmax_plus_one softmax1 softmax_one", "an extra score of 0 that holds no value"),
    Namesake("", "bias_k bias_v add_bias_kv", "one more key: give it as the last row of K and V"),
    Namesake("dtype: …", "precision torch_dtype data_type"),
    Namesake("expected: {weights: …}", "answer expected_weights"),
    Namesake("expected: {output: …}", "result expected_output"),
    Namesake("scores: …", "logits attn_scores attn_logits attention_scores raw_scores qk"),
    Namesake("scaled: …", "scaled_scores"),
    Namesake("masked: …", "masked_scores"),
)  # fmt: skip


def bare(name: str) -> str:
    """Return a name without case, joints and odd characters: what is left when people misspell it."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name).casefold())


KEYS: Mapping[str, Namesake] = MappingProxyType(
    {bare(name): each for each in _NAMESAKES for name in each.names.split()}
)
"""Each name from elsewhere, bare."""

WORDS: Mapping[str, str] = MappingProxyType(
    {bare(name): word for word, names in {
        "float64": "fp64 f64 double",
        "float32": "fp32 f32 single",
        "float16": "fp16 f16 half",
        "bfloat16": "bf16 brain_float",
        "half": "neox gpt_neox llama rotate_half hf",
        "interleaved": "gpt_j roformer rotate_every_two",
        "additive": "bahdanau concat mlp",
        "general": "luong multiplicative bilinear",
        "dot": "dot_product scaled_dot scaled_dot_product",
        "sum": "l1",
        "hf": "huggingface transformers",
        "keras": "tensorflow tf",
        "causal": "tril triangular lower lower_triangular autoregressive look_ahead",
        "tile": "mod",
        "repeat": "repeat_interleave group",
        "finfo_min": "min finfo dtype_min",
        "out in": "transposed linear nn_linear torch",
        "batch seq head dim": "bshd blhd bthd bnhd bsnh",
        "batch head seq dim": "bhsd bhld bhtd bnsd bnsh",
        "seq batch dim": "sbd lbd tbd",
        "seq": "sequence time length tokens",
        "dim": "features channels hidden embed",
    }.items() for name in names.split()}
)  # fmt: skip
"""Choices, by what others call them, bare."""


def namesake(name: str, inside: str = "") -> Namesake | None:
    """Find what somebody means by a key that there is none of.

    Args:
        name: The key as it was written; of a checkpoint's dotted name the last two parts count.
        inside: The key of the problem in whose mapping it stands, if any.

    Returns:
        What to write; inside a mapping only what belongs there.
    """
    last = ".".join(name.split(".")[-2:])
    for each in (f"{inside}.{last}", last, last.rpartition(".")[2]):
        found = KEYS.get(bare(each))
        if found and (not inside or found.write.startswith(f"{inside}: ")):
            return found
    stages = {stage for meanings in ALIASES.values() for stage in meanings}
    stage = next(iter(ALIASES.get(name.lower(), ())), name)
    return Namesake(f"expected: {{{stage}: …}}", name) if not inside and stage in stages else None
