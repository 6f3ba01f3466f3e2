"""JSON Schema of the problem file, for editors: one fragment for each kind of key.

The schema takes what the reader takes, in JSON and in YAML, where a number, a truth value or a
block of numbers may also be text. It is looser where only the reader can tell, such as whether
text is the name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from attncli.draw import DISTRIBUTIONS
from attncli.problem import Key, Kind, Mask, Problem, keys

__all__ = ["FRAGMENTS", "problem_schema"]

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

# Digits may be full-width, and words in any case, as when they were pasted.
_NUMBER = "[0-9\uff10-\uff19]|[iI][nN][fF]|∞"
_NUMBER_OR_NAN = _NUMBER + "|[nN][aA][nN]"
_ROWS_OR_FILE = r"[0-9\[\n.]"
_STAGE = r"^[A-Za-z]\w*(\[[^\[\]]+\])?$"


def problem_schema() -> Schema:
    """Return the schema of a problem file, draft 2020-12."""
    return {
        "$schema": DRAFT,
        "title": "Problem file of attn",
        "description": "One attention problem: matrices, and how they are used.",
        **_mapping(Problem),
        "minProperties": 1,
        "$defs": {"rows": _rows(), "random": _random(), **_nested()},
    }


def _mapping(declaration: type) -> Schema:
    """Describe the mapping whose keys `Problem`, `Mask` or a record declares."""
    properties = {key.name: _described(key) for key in keys(declaration)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _described(key: Key) -> Schema:
    """Return a key's fragment, with its help, and its default where that can be written in the file."""
    default: Schema = {}
    help_text = key.help
    if key.default in key.choices:
        default = {"default": key.default}
    elif key.default:
        try:
            default = {"default": json.loads(key.default)}
        except ValueError:  # words, such as "by rank"
            help_text += f" Default: {key.default}."
    return {"description": help_text, **FRAGMENTS[key.kind](key), **default}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _any(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _some(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


def _rows() -> Schema:
    return {
        "type": "string",
        "description": "Rows of numbers on lines, or the name of a file: x.npy, dump.npz#q.",
        "pattern": _ROWS_OR_FILE,
    }


def _nested() -> Schema:
    """Describe nested lists, by what stands in them."""
    cells: dict[str, Schema] = {
        "numbers": _any({"type": "number"}, {"type": "string", "pattern": _NUMBER_OR_NAN}),
        "truths": {"enum": [True, False, 1, 0, "true", "false", "1", "0"]},
        "booleans": {"enum": [True, False, "true", "false"]},
    }
    return {name: _some(_any(cell, _ref(name))) for name, cell in cells.items()}


def _random() -> Schema:
    how = {
        "shape": _some(_whole(minimum=1)),
        "seed": _whole(minimum=0) | {"default": 0},
        "distribution": {"enum": list(DISTRIBUTIONS), "default": "uniform"},
    }
    drawn = {"type": "object", "properties": how, "required": ["shape"], "additionalProperties": False}
    return {
        "type": "object",
        "description": "An array drawn from a seed.",
        "properties": {"random": drawn},
        "required": ["random"],
        "additionalProperties": False,
    }


def _fixed(**properties: Schema) -> Schema:
    """Describe a mapping of some of these names, and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": 1}


def _expected() -> Schema:
    digits = {"type": "string", "pattern": _NUMBER_OR_NAN}  # of a number, or of a printout
    printed = _any({"type": "number"}, digits, _ref("numbers"))
    return {"type": "object", "propertyNames": {"pattern": _STAGE}, "additionalProperties": printed}


def _choice(key: Key) -> Schema:
    return {"enum": list(key.choices)}


def _limits(key: Key) -> dict[str, float]:
    limits = {"minimum": key.minimum, "maximum": key.maximum, "exclusiveMinimum": key.above}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _number(key: Key) -> Schema:
    return _any({"type": "number", **_limits(key)}, {"type": "string", "pattern": _NUMBER})


def _integer(key: Key) -> Schema:
    return _whole(**_limits(key))


def _whole(**limits: float) -> Schema:
    return _any({"type": "integer", **limits}, {"type": "string", "pattern": _NUMBER})


def _numbers(key: Key) -> Schema:
    words = [_choice(key)] if key.choices else []
    return _any(*words, _some(_number(key)))


def _axes(key: Key) -> Schema:
    """Offer the usual orders, and take any other of the same words."""
    words = list(dict.fromkeys(axis for each in key.choices for axis in each.split()))
    one = "|".join(words)
    anyhow = {"type": "string", "pattern": rf"^\s*({one})([\s,]+({one}))*\s*$"}
    return _any(_choice(key), anyhow, _some({"enum": words}))


def _by_name(key: Key, value: Schema) -> Schema:
    """Take one value for all, or a mapping of names to one each."""
    each: Schema = {"type": "object", "additionalProperties": value}
    if key.names:
        each |= {"properties": dict.fromkeys(key.names, value), "additionalProperties": False}
    return _any(*value.get("anyOf", [value]), each)


def _array(key: Key) -> Schema:
    """Take an array, or a word where its shape follows from the others."""
    return _any(*([{"enum": list(key.words)}] if key.words else ()), *_ARRAY["anyOf"])


def _record(key: Key) -> Schema:
    return _mapping(cast("type", key.records[""]))


def _settings(key: Key, declaration: type | Kind) -> Schema:
    """Describe what a choice is set to; nothing, where all that it takes has a default."""
    if isinstance(declaration, Kind):
        return FRAGMENTS[declaration](key)
    return _any(_mapping(declaration), {"type": "null"})


def _variant(key: Key) -> Schema:
    """Take a word, a mapping of one choice to its settings, or an array; or a list of these."""
    words = [*key.choices, *(name for name, each in key.records.items() if not isinstance(each, Kind))]
    chosen = {
        "type": "object",
        "properties": {name: _settings(key, declaration) for name, declaration in key.records.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    one = [{"enum": words}, chosen, *(_ARRAY["anyOf"] if key.array else ())]
    return _any(*one, _some(_any(*one))) if key.several else _any(*one)


_ARRAY = _any(_ref("numbers"), _ref("rows"), _ref("random"))
_CACHE = _fixed(K=_ARRAY, V=_ARRAY)
# YAML calls some texts numbers, truth values or null; the reader takes them as they are written.
_TEXT: Schema = {"type": ["string", "number", "boolean", "null"]}

FRAGMENTS: Mapping[Kind, Callable[[Key], Schema]] = MappingProxyType(
    {
        Kind.ARRAY: _array,
        Kind.BOOLEANS: lambda _: _any(_ref("truths"), _ref("rows")),
        Kind.SOURCES: lambda key: _any(*_array(key)["anyOf"], _CACHE),
        Kind.LABELS: lambda _: _some(_TEXT),
        Kind.TEXT: lambda _: _TEXT,
        Kind.INTEGER: _integer,
        Kind.INTEGERS: lambda key: _some(_integer(key)),
        Kind.NUMBER: _number,
        Kind.FLAG: lambda _: {"enum": [True, False, "true", "false", "yes", "no", "on", "off"]},
        Kind.CHOICE: _choice,
        Kind.NUMBER_OR_CHOICE: lambda key: _any(_choice(key), *_number(key)["anyOf"]),
        Kind.AXES: _axes,
        Kind.NAMED_CHOICES: lambda key: _by_name(key, _choice(key)),
        Kind.CACHE: lambda _: _CACHE,
        Kind.NUMBERS: _numbers,
        Kind.NUMBER_OR_NUMBERS: lambda key: _any(*_number(key)["anyOf"], _some(_number(key))),
        Kind.WINDOW: lambda _: _fixed(left=_whole(minimum=0), right=_whole(minimum=0)),
        Kind.RECORD: _record,
        Kind.VARIANT: _variant,
        Kind.MASK: lambda _: _any(
            {"enum": ["causal", "none"]}, _ref("booleans"), _ref("rows"), _mapping(Mask)
        ),
        Kind.EXPECTED: lambda _: _expected(),
        Kind.DECIMALS: lambda key: _by_name(key, _integer(key)),
        Kind.STAGES: lambda _: {"type": "object"},
        Kind.ANYTHING: lambda _: {},
    }
)
"""What each kind of value looks like to a validator."""
