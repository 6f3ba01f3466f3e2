"""Cells are explained, and results shown again, as they were computed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from attncli.render import FORMATS
from tests.fuzz.echo import plain
from tests.fuzz.options import OLD, mostly
from tests.fuzz.promises import folder_of, form_of, hold, strict
from tests.problem_files import Written, spoiled_bytes
from tests.streams import call

__all__ = ["check_about", "check_cell", "check_dumped", "check_edited", "check_explain", "check_shown"]


def check_explain(written: Written, cell: str, options: list[str], stdin: bool) -> None:
    """Any name of a cell is explained, or refused in one message."""
    files = {**OLD, **written.beside} | ({} if stdin else {written.name: written.data})
    with folder_of(files):
        name = "-" if stdin else written.name
        hold(["explain", name, cell, *options], written.data if stdin else b"")


def check_cell(tree: dict[str, Any], data: Any) -> None:
    """Every cell has the value that it was computed to, by position and by a label that is the only one."""
    with folder_of({**OLD, "p.json": json.dumps(plain(tree)).encode()}):
        stages = strict(call(["compute", "p.json", "--json"]).out)["stages"]
        name = data.draw(st.sampled_from(list(stages)))
        array = np.asarray(stages[name], dtype=float)
        index = data.draw(st.tuples(*(st.integers(0, size - 1) for size in array.shape)))
        done = hold(["explain", "p.json", _name(name, index, tree.get("tokens", []), data), "--json"])
        assert done.status == 0, done
        found = strict(done.out)
        assert (found["stage"], tuple(found["index"])) == (name, index)
        np.testing.assert_equal(float(found["value"]), array[index])
        assert hold(["explain", "p.json", found["cell"], "--json"]).out == done.out
        assert hold(["explain", "p.json", found["cell"], "--width", "40"]).status == 0


def _name(stage: str, index: tuple[int, ...], tokens: list[str], data: Any) -> str:
    """Name a cell; where a label tells it apart, by that, in quotes."""
    axes = ("query", "key" if stage in {"scores", "scaled", "masked", "weights"} else "dim")
    parts = []
    for axis, i in zip(axes, index, strict=True):
        by_label = (
            axis != "dim" and tokens.count(tokens[i] if tokens else "") == 1 and data.draw(st.booleans())
        )
        parts.append('"' + re.sub(r'(["\\])', r"\\\1", tokens[i]) + '"' if by_label else str(i))
    return f"{stage}[{','.join(parts)}]"


def check_shown(written: Written, options: list[str]) -> None:
    """A result that was kept shows what computing it again shows."""
    with folder_of({**OLD, **written.beside, written.name: written.data}):
        kept = call(["compute", written.name, "--detail", "--json"])
        if kept.status == 0:
            Path("kept.json").write_bytes(kept.out)
            shown = hold(["show", "kept.json", *options])
            form = form_of(["show", *options])
            data = form in FORMATS and FORMATS[form].data and not FORMATS[form].bare
            whole = ["--detail"] if data else []  # all that was kept
            again = call(["compute", written.name, *options, *whole])
            shown = shown._replace(err=shown.err.replace(b"attn show", b"attn compute"))
            streamed = "--stages" in options or form == "npy"  # and says so
            assert shown == again or (streamed and shown.status == again.status), (shown, again)
            lines = call(["show", "kept.json", "--format", "jsonl"])
            assert call(["show", "kept.json", "-q", "-o", "kept.npz"]).status == 0
            assert call(["show", "kept.npz", "--format", "jsonl"]) == lines


def check_edited(written: Written, options: list[str], data: Any) -> None:
    """A result that was damaged or changed by hand is shown, or refused in one message."""
    with folder_of({**OLD, **written.beside, written.name: written.data}):
        kept = call(["compute", written.name, "--detail", "--json"]).out
        if kept and data.draw(st.integers(0, 3)):
            document = strict(kept)
            for _ in range(data.draw(st.integers(1, 2))):
                _edit(document if data.draw(st.booleans()) else document["stages"], data)
            kept = json.dumps(document).encode()
        else:
            kept = data.draw(_damaged(kept or written.data))
        name = data.draw(st.sampled_from(["kept.json", "kept.jsonl", "-"]))
        Path("kept.json" if name == "-" else name).write_bytes(kept)
        hold([data.draw(st.sampled_from(["show", "show", "check"])), name, *options], kept)


def check_dumped(written: Written, options: list[str], data: Any) -> None:
    """A result in a file of arrays, which may be damaged, is shown and checked, or refused in one message."""
    form = data.draw(st.sampled_from(["npz", "safetensors", "npy"]))
    with folder_of({**OLD, **written.beside, written.name: written.data}):
        kept = call(["compute", written.name, "--format", form]).out
        Path(f"kept.{form}").write_bytes(data.draw(mostly(st.just(kept), spoiled_bytes(kept), of=2)))
        hold([data.draw(st.sampled_from(["show", "check", "diff"])), f"kept.{form}", *options])


def _damaged(kept: bytes) -> st.SearchStrategy[bytes]:
    cut = st.integers(0, len(kept)).map(lambda end: kept[:end])
    return cut | st.just(kept * 2) | st.just(b"\xef\xbb\xbf" + kept) | st.just(kept.replace(b"0", b"NaN", 1))


def _edit(document: Any, data: Any) -> None:
    """Change, double or take away something, at any depth."""
    while True:
        places = list(document) if isinstance(document, dict) else range(len(document))
        at = data.draw(st.sampled_from(list(places)))
        inner = document[at]
        if not (isinstance(inner, dict | list) and inner and data.draw(st.integers(0, 5))):
            break
        document = inner
    if data.draw(st.booleans()):
        del document[at]
        return
    odd: list[Any] = [
        None,
        True,
        1,
        "x",
        "\x1b[2J",
        "NaN",
        [],
        {},
        [[1]],
        [inner],
        1e308,
        -1,
        "weights",
        [inner, inner],
    ]
    document[at] = data.draw(st.sampled_from(odd))


def check_about(asked: tuple[str, str | None, list[str]]) -> None:
    """What attn says of itself is said, or a name is refused in one message."""
    command, name, options = asked
    with folder_of(OLD):
        hold([command, *([name] if name is not None and command != "schema" else []), *options])
