"""What queries and keys are called."""

from __future__ import annotations

import re

from attncli.errors import InputError
from attncli.resolve.draft import Draft, counted
from attncli.text import quote

__all__ = ["labels"]

_SEVERAL = re.compile(r"\S[\s，、]+\S")


def labels(draft: Draft) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Label queries and keys; without labels they are numbered."""
    p = draft.problem
    seq_q, seq_k = draft.sizes["query"], draft.sizes["key"]
    tokens, context = p.tokens, p.context_tokens
    if tokens and context is None and len(tokens) == seq_k != seq_q:
        draft.notes.append(
            f"tokens label the {seq_k} keys, since there {'is' if seq_q == 1 else 'are'} {counted(seq_q, 'query', 'queries')}"
        )
        tokens, context = None, tokens
    _one_each("tokens", tokens, seq_q, "query", "queries")
    _one_each("context_tokens", context, seq_k, "key", "keys")
    numbered = tuple(map(str, range(max(seq_q, seq_k))))
    numbered_q, numbered_k = numbered[:seq_q], numbered[:seq_k]
    past = draft.sizes.get("past", 0)
    shared = p.context is None and seq_q + past == seq_k
    own = (*numbered_k[:past], *tokens) if tokens and shared else numbered_k
    return tokens or numbered_q, context or own


def _one_each(key: str, labels: tuple[str, ...] | None, count: int, one: str, many: str) -> None:
    if labels is not None and len(labels) != count:
        several = [each for each in labels if _SEVERAL.search(each)] if len(labels) < count else []
        raise InputError(
            f"{key} has {counted(len(labels), 'label')}, but there {'is' if count == 1 else 'are'} {counted(count, one, many)}",
            path=(key,),
            fix=f"give one label per {one}"
            + (f"; {quote(several[0])} is one label: part labels by a comma and a blank" if several else ""),
        )
