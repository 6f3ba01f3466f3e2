"""Results among arrays: a document that does not fit its arrays is refused, whoever changed which."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save_file

from attncli.compute import compute
from attncli.errors import InputError
from attncli.problem import Mask, Problem
from attncli.readers import load as read
from attncli.readers import npz
from attncli.readers.result import read_result
from attncli.render import FORMATS
from attncli.render.terminal import Terminal
from attncli.sheet import View

Change = Callable[[dict[str, Any], dict[str, Any]], Any]


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, Any]:
    """Give what NumPy reads of a result: arrays by name, among them the document."""
    keep = np.array([[True, False], [True, True]])
    result = compute(Problem(X=np.eye(2), tokens=("我", "你"), mask=Mask(keep=keep), sink=(0.5,)))
    for form in ("npz", "safetensors"):
        pieces = FORMATS[form].render([result], View(), Terminal(width=80, interactive=False))
        (tmp_path / f"r.{form}").write_bytes(b"".join(pieces))  # type: ignore[arg-type]
    with np.load(tmp_path / "r.npz") as archive:
        return dict(archive)


def changed(arrays: dict[str, Any], change: Change, file: Path) -> None:
    """Save a result in which something was changed, of its arrays or of its document."""
    document = json.loads(arrays.pop("attn.json").item())
    change(arrays, document)
    np.savez(file, **{"attn.json": np.array(json.dumps(document).encode()), **arrays})


def test_both_formats_hold_the_same(arrays: dict[str, Any], tmp_path: Path) -> None:
    """Arrays by key, stage and detail, wherever they stand, and the document with null for each."""
    raw = (tmp_path / "r.safetensors").read_bytes()
    tensors = load(raw)
    assert set(tensors) == set(arrays) - {"attn.json"}
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor, arrays[name])
    header = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
    assert header["__metadata__"] == {"attn.json": arrays["attn.json"].item().decode()}
    document = json.loads(header["__metadata__"]["attn.json"])
    assert document["mask"] == {"keep": None}
    assert document["arrays"]["mask.keep"] == ["mask", "keep"]
    assert document["arrays"]["weights"] == ["stages", "weights"]
    assert document["arrays"]["details.lse"] == ["meta", "details", "lse"]
    assert arrays["mask.keep"].dtype == np.bool_


@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_a_result_is_a_problem(arrays: dict[str, Any], tmp_path: Path, form: str) -> None:
    """What is read has the keys and the arrays that were given."""
    del arrays
    (problem,) = read(str(tmp_path / f"r.{form}"))
    assert (problem.tokens, problem.sink) == (("我", "你"), (0.5,))
    assert problem.mask is not None
    np.testing.assert_array_equal(problem.mask.keep, [[True, False], [True, True]])
    np.testing.assert_array_equal(problem.X, np.eye(2))


DAMAGES: dict[str, tuple[Change, str]] = {
    "an array is gone": (lambda a, d: a.pop("X"), r'r\.npz holds no array "X", and its attn\.json names one'),  # noqa: ARG005
    "an array is new": (lambda a, d: a.update(mine=np.eye(2)), r'r\.npz holds "mine", which its attn\.json does not name'),  # noqa: ARG005
    "another shape": (lambda a, d: a.update(X=np.eye(3)[:, :2]), r"tokens has 2 labels, but there are 3 queries|keep"),  # noqa: ARG005
    "text in an array": (lambda a, d: a.update(X=np.array(["a"])), r"holds text"),  # noqa: ARG005
    "objects": (lambda a, d: a.update(X=np.array([{}, 1], dtype=object)), r"Python objects, which are not loaded"),  # noqa: ARG005
    "five axes": (lambda a, d: a.update(X=np.ones((1, 1, 1, 2, 2))), r"X: its file holds a 5-D array"),  # noqa: ARG005
    "no list of arrays": (lambda a, d: d.pop("arrays"), r"it has no mapping under arrays"),  # noqa: ARG005
    "no place": (lambda a, d: d["arrays"].update(X="X"), r'arrays gives no place for "X"'),  # noqa: ARG005
    "a place that is not there": (lambda a, d: d["arrays"].update(X=["mask", "drop"]), r'arrays says that "X" stands at mask\.drop, which is not left free'),  # noqa: ARG005
    "a place that is taken": (lambda a, d: d["arrays"].update(X=["sink"]), r'arrays says that "X" stands at sink, which is not left free'),  # noqa: ARG005
    "one place for two": (lambda a, d: d["arrays"].update(Q=["stages", "K"]), r"stands at stages\.K, which is not left free"),  # noqa: ARG005
    "an array for a number": (lambda a, d: (a.update(n=np.eye(2)), d["arrays"].update(n=["num_heads"]), d.update(num_heads=None)), r"num_heads is"),
    "an array for a mask": (lambda a, d: (d["arrays"].update(X=["mask"]), d["arrays"].pop("mask.keep"), a.pop("mask.keep"), d.update(mask=None)), r"X|mask"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_document_and_arrays_that_do_not_fit(arrays: dict[str, Any], tmp_path: Path, name: str) -> None:
    """One message names the array, and the place in the document."""
    change, message = DAMAGES[name]
    changed(arrays, change, tmp_path / "r.npz")
    with pytest.raises(InputError, match=message):
        compute(read(str(tmp_path / "r.npz"))[0])


@pytest.mark.parametrize(
    "name", ["an array is gone", "an array is new", *(name for name in DAMAGES if "place" in name)]
)
def test_what_is_no_result_is_not_compared_as_one(arrays: dict[str, Any], tmp_path: Path, name: str) -> None:
    """An archive that is refused where it is shown is refused where its stages are held against others."""
    change, message = DAMAGES[name]
    changed(arrays, change, tmp_path / "r.npz")
    with pytest.raises(InputError, match=message) as caught:
        read_result(str(tmp_path / "r.npz"), ["weights", "output"])
    assert str(caught.value.place).startswith(str(tmp_path / "r.npz"))


TEXTS = {
    "no JSON": (np.array(b"{"), r"the file ends|expected"),
    "nothing": (np.array(b""), r"the file is empty"),
    "a list": (np.array(b"[]"), r"the document of a result is a mapping"),
    "a key twice": (np.array(b'{"X": 1, "X": 2}'), r'the key "X" is given twice'),
    "two documents": (np.array(b"{}{}"), r"a second document starts here"),
    "no UTF-8": (np.array(b'{"X": "\xff"}'), r"is not UTF-8"),
    "too deep": (np.array(b"[" * 10_000), r"nested more than 64 levels deep"),
    "numbers": (np.ones(2), r"one text was expected, and it holds float64 of shape \(2,\)"),
    "several texts": (np.array([b"{}", b"{}"]), r"one text was expected"),
    "objects": (np.array({}, dtype=object), r"one text was expected, and it holds object"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_document_that_is_none(arrays: dict[str, Any], tmp_path: Path, name: str) -> None:
    """Whatever stands in its place, the message says so, and nothing is unpickled."""
    text, message = TEXTS[name]
    np.savez(tmp_path / "r.npz", **{**arrays, "attn.json": text})
    with pytest.raises(InputError, match=message) as caught:
        read(str(tmp_path / "r.npz"))
    assert str(caught.value.place).startswith(str(tmp_path / "r.npz"))


def test_a_document_that_stands_there_twice(arrays: dict[str, Any], tmp_path: Path) -> None:
    """Of two documents, none is taken."""
    del arrays
    with zipfile.ZipFile(tmp_path / "r.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("attn.json.npy", archive.read("attn.json.npy"))
    with pytest.raises(InputError, match=r'holds "attn.json" twice'):
        read(str(tmp_path / "r.npz"))


def test_a_document_packed_too_tightly(
    arrays: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that would unpack to much more than it seems is refused before it is."""
    monkeypatch.setattr(npz, "_LARGE", 1000)
    arrays["attn.json"] = np.array(b" " * 1_000_000)
    np.savez_compressed(tmp_path / "r.npz", **arrays)
    with pytest.raises(InputError, match=r"would unpack to 1,000,\d+ bytes"):
        read(str(tmp_path / "r.npz"))


@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_a_result_that_is_cut_short(arrays: dict[str, Any], tmp_path: Path, form: str) -> None:
    """Wherever a file ends too early, it is not a whole one."""
    del arrays
    file = tmp_path / f"r.{form}"
    whole = file.read_bytes()
    for end in range(0, len(whole) - 1, len(whole) // 20):
        file.write_bytes(whole[:end])
        with pytest.raises(InputError, match=rf"is not a whole {'.npz' if form == 'npz' else form} file"):
            read(str(file))


@pytest.mark.parametrize(
    "metadata", [{"attn.json": "{}"}, {"attn.json": "x"}, {"attn.json": '{"a":1,"a":1}'}]
)
def test_tensors_with_another_document(tmp_path: Path, metadata: dict[str, str]) -> None:
    """Metadata of that name is read as a document, and refused as one."""
    save_file({"weights": np.eye(2)}, tmp_path / "r.safetensors", metadata)
    with pytest.raises(
        InputError, match=r"does not name|no mapping|given twice|starts like neither|expected"
    ):
        read(str(tmp_path / "r.safetensors"))


def test_a_tensor_that_is_named_twice(arrays: dict[str, Any], tmp_path: Path) -> None:
    """Of two entries of one name in the header, none is taken."""
    del arrays
    raw = (tmp_path / "r.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = raw[8 : 8 + length].rstrip()[:-1] + b',"X":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'
    (tmp_path / "r.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + raw[8 + length :])
    with pytest.raises(InputError, match=r'its header names "X" twice'):
        read(str(tmp_path / "r.safetensors"))


def test_other_metadata_is_let_be(tmp_path: Path) -> None:
    """Tensors of others, whose metadata is about something else, are no result."""
    save_file({"X": np.eye(2)}, tmp_path / "x.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="holds arrays, not a problem"):
        read(str(tmp_path / "x.safetensors"))


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        ("K Q V seed", "Q: a.npz\nK: a.npz\nV: a.npz\n"),
        ("q k V", "Q: a.npz#q\nK: a.npz#k\nV: a.npz\n"),
        ("scores weights V", "V: a.npz\nscores: a.npz\n"),
        ("foo", "X: a.npz#foo\n"),
        (
            "X W_Q W_K W_V W_O Q K V scores output",
            "".join(f"{key}: a.npz\n" for key in ["X", "W_Q", "W_K", "W_V", "W_O"]),
        ),
    ],
)
def test_an_archive_of_arrays_shows_the_problem_file_that_would_use_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, lines: str
) -> None:
    """The lines under the fix are a problem file as they stand, which starts with what is there."""
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", **dict.fromkeys(names.split(), np.eye(2)))  # type: ignore[arg-type]
    with pytest.raises(
        InputError,
        match=r"holds arrays, not a problem\n.*\n +the document of a result, attn\.json, is not in it",
    ) as caught:
        read("a.npz")
    said = caught.value.fix.partition("\n")[2] + "\n"
    assert said == lines
    assert all(f"       {line}\n" in f"{caught.value}\n" for line in lines.splitlines())
    (tmp_path / "a.yaml").write_text(said)
    compute(read("a.yaml")[0])


def test_an_archive_is_not_read_from_a_pipe(arrays: dict[str, Any], tmp_path: Path) -> None:
    """Under another name than its own, an .npz file is told for what it is."""
    del arrays
    (tmp_path / "r").write_bytes((tmp_path / "r.npz").read_bytes())
    with pytest.raises(InputError, match=r"holds a zip archive, such as an \.npz file, and no text"):
        read(str(tmp_path / "r"))
