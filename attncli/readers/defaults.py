"""Words that no key takes, since they only say what holds where the key is left out."""

from __future__ import annotations

import re

from attncli.problem import Key
from attncli.readers.scalars import means_none
from attncli.readers.tree import Tree

__all__ = ["leave_out"]

_ANYHOW = {"auto", "default"}
_OF_WIDTH = re.compile(r"(√|sqrt).*d(_?k|_?head|im)?\b|auto|default|true", re.IGNORECASE)


def leave_out(value: Tree, key: Key) -> str:
    """Word the fix for such a value of a key.

    ``none``, ``false`` and ``auto`` are such, and 1/√d_k for the scale; ``true`` is, where the default
    is one of a few words.

    Returns:
        What to do, with the default; empty where the value means something else.
    """
    if not _says_the_default(value, key):
        return ""
    shown = "" if key.default in {"", "none"} else f": the default is {key.default}"
    return f"leave {key.name} out{shown}"


def _says_the_default(value: Tree, key: Key) -> bool:
    if key.default.startswith("must"):
        return False
    word = str(value).strip().lower()
    if "√" in key.default and _OF_WIDTH.search(word):
        return True
    if "none" in key.choices:
        return False
    is_choice = bool(key.choices) and not key.records
    return means_none(value) or word in _ANYHOW or (word == "true" and is_choice)
