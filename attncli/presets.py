"""What a library does where a problem leaves the choice: the keys that ``like`` stands for.

The facts are the libraries' own documentation and code as of 2026; docs/conventions.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["BY_CACHE", "PRESETS"]

BY_CACHE = "by cache"
"""ONNX's diagonal: the first query stands after the cache, or so that each item's last query meets
the last of its keys where lengths are given, and else at key 0."""

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "torch_sdpa": {
            "mask.align": "top_left",
            "fully_masked": "zeros",
            "masked_values": "ieee",
            "kv_head_map": "repeat",
        },
        "torch_mha": {
            "weight_layout": "out in",
            "fused": "block",
            "fully_masked": "nan",
            "masked_values": "ieee",
        },
        "keras": {
            "weight_layout": "in head dim",
            "mask.align": "top_left",
            "mask_fill": -1e9,
            "masked_values": "ieee",
        },
        "jax": {
            "mask.align": "top_left",
            "mask_fill": "finfo_min",
            "masked_values": "ieee",
            "kv_head_map": "repeat",
        },
        "onnx": {
            "mask.align": BY_CACHE,
            "fully_masked": "zeros",
            "masked_values": "ieee",
            "kv_head_map": "repeat",
        },
        "flash": {
            "mask.align": "bottom_right",
            "fully_masked": "zeros",
            "kv_head_map": "repeat",
        },
        "hf": {
            "weight_layout": "out in",
            "rope.pairing": "half",
            "mask_fill": "finfo_min",
            "masked_values": "ieee",
            "kv_head_map": "repeat",
        },
        "x_transformers": {
            "weight_layout": "out in",
            "rope.pairing": "interleaved",
            "mask_fill": "finfo_min",
            "masked_values": "ieee",
            "kv_head_map": "tile",
        },
    }
)
"""Keys, dotted where they are in a mapping, by the library that sets them so."""
