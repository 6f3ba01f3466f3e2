"""What attn says of its own keys and stages: rows made from the declarations, for people and programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from attncli.core.attention import ORDER
from attncli.errors import InputError
from attncli.meant import did_you_mean
from attncli.problem import Key, Kind, Mask, Problem, keys
from attncli.text import quote
from attncli.trace import STAGES, Detail, Stage

__all__ = ["Row", "key_rows", "stage_rows"]

Row: TypeAlias = dict[str, Any]


def key_rows(name: str | None = None) -> list[Row]:
    """List the keys of the problem file in their order, each followed by the keys inside it.

    Args:
        name: Only this key and those inside it: dotted, ``rope.base``, or its last part alone; a key is found
            in other letters too, ``W_q``, with those that are spelled so.

    Returns:
        Rows with a dotted ``name``, as ``--set`` takes it; ``takes``, what a value looks like;
        ``choices``, ``default``, ``help``; and ``section``, where a group of keys starts.

    Raises:
        InputError: There is no key of that name.
    """
    rows = [row for key in keys(Problem) for row in _rows(key, "")]
    if name is None:
        return rows
    names = [row["name"] for row in rows]
    meant = {name} & {*names} or {
        each for each in names if _last(each) == name or each.lower() == name.lower()
    }
    if not meant:
        raise _no_key(name, [*map(_last, names), *names])
    return [row for row in rows if any(f"{row['name']}.".startswith(f"{each}.") for each in meant)]


def stage_rows(name: str | None = None) -> list[Row]:
    """List the stages in the order of the computation.

    Args:
        name: Only this stage, or the one that this detail belongs to.

    Returns:
        Rows with ``name``, ``symbol``, ``formula``, ``axes``, ``summary``, ``source``; ``variants``,
        other ways to the same stage; and ``details``, numbers that are shown with it.

    Raises:
        InputError: There is neither a stage nor a detail of that name.
    """
    stages = [STAGES[each] for part in ORDER.values() for each in part]
    if name is not None:
        known = [*STAGES, *(detail for stage in stages for detail in stage.details)]
        stages = [stage for stage in stages if name == stage.name or name in stage.details]
        if not stages:
            raise InputError(
                f"there is no stage {quote(name)}", fix=did_you_mean(name, known, "see: attn stages")
            )
    return [_stage_row(stage) for stage in stages]


def _rows(key: Key, above: str) -> Iterator[Row]:
    name = above + key.name
    yield {
        "name": name,
        "takes": _takes(key),
        "choices": [*key.choices, *filter(None, key.records)],
        "default": key.default,
        "help": key.help,
        "section": key.section,
    }
    records = {"": Mask} if key.kind is Kind.MASK else key.records
    for choice, declaration in records.items():
        yield from _inside(f"{name}.{choice}" if choice else name, choice, declaration)


def _inside(name: str, choice: str, declaration: type | Kind) -> Iterator[Row]:
    """List a choice that takes a value of its own, and the keys of that."""
    plain = {"choices": [], "default": "", "section": ""}
    if isinstance(declaration, Kind):
        yield {"name": name, "takes": declaration.value, "help": "", **plain}
        return
    if choice:
        summary = (declaration.__doc__ or "").partition("\n")[0]
        yield {"name": name, "takes": Kind.RECORD.value, "help": summary, **plain}
    for key in keys(declaration):
        yield from _rows(key, f"{name}.")


def _takes(key: Key) -> str:
    """Say what a value looks like, and its limits."""
    return "".join(
        (
            key.kind.value,
            ", or an array" * key.array,
            ", or a list of these" * key.several,
            f" ({', '.join(key.names)})" * bool(key.names),
            f", at least {key.minimum:g}" if key.minimum is not None else "",
            f", at most {key.maximum:g}" if key.maximum is not None else "",
            f", above {key.above:g}" if key.above is not None else "",
        )
    )


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _no_key(name: str, known: list[str]) -> InputError:
    from attncli.readers.scalars import nearest  # noqa: PLC0415  (readers bring NumPy)

    near = nearest(name, known)
    return InputError(
        f"there is no key {quote(name)}", fix=f"did you mean {near}?" if near else "see: attn keys"
    )


def _stage_row(stage: Stage[...]) -> Row:
    return {
        "name": stage.name,
        **_way(stage),
        "axes": stage.axes,
        "variants": [_way(each) for each in stage.variants],
        "details": [_detail_row(each) for each in stage.details.values()],
    }


def _way(stage: Stage[...]) -> Row:
    return {
        "symbol": stage.symbol,
        "formula": _worded(stage.formula),
        "summary": stage.summary,
        "source": stage.source,
    }


def _detail_row(detail: Detail) -> Row:
    return {
        "name": detail.name,
        "symbol": detail.symbol,
        "formula": _worded(detail.formula),
        "axes": detail.axes,
        "summary": (detail.function.__doc__ or "").partition("\n")[0],
    }


def _worded(formula: str) -> str:
    """Write a formula's template with the names of what goes in."""
    return re.sub(r"{(\w+)}", r"\1", formula)
