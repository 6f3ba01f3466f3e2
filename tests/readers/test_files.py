"""Arrays in files beside the problem file."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save_file

from attncli.errors import InputError
from attncli.problem import Problem
from attncli.readers import load, npz
from attncli.readers.result import read_result

Read = Callable[..., Problem]

MATRIX = np.array([[1, 2, 3], [4, 5, 6]])


def read_x(tmp_path: Path, reference: str) -> Any:
    path = tmp_path / "p.yaml"
    path.write_text(f"X: {reference}\n", encoding="utf-8")
    return load(str(path))[0].X


def header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "dtype", ["<f8", ">f8", "<f4", ">f4", "<f2", "i1", "u1", "<i8", ">u2", "?", "bfloat16"]
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_numpy_dtypes(tmp_path: Path, dtype: str, order: Any, suffix: str) -> None:
    """Every real dtype gives its numbers, in native order."""
    array = np.asarray(MATRIX.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype), order=order)
    if suffix == "npy":
        np.save(tmp_path / "x.npy", array)
    else:
        np.savez(tmp_path / "x.npz", X=array)
    read = read_x(tmp_path, f"x.{suffix}")
    assert read.dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    np.testing.assert_array_equal(read, array.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("suffix", ["npy", "safetensors#X"])
def test_floats_stay_mapped(tmp_path: Path, dtype: Any, suffix: str) -> None:
    """float32 and float64 are not copied into memory."""
    array = MATRIX.astype(dtype)
    np.save(tmp_path / "x.npy", array)
    save_file({"X": array}, tmp_path / "x.safetensors")
    read = read_x(tmp_path, f"x.{suffix}")
    while read.base is not None and not isinstance(read, np.memmap):
        read = read.base
    assert isinstance(read, np.memmap)


@pytest.mark.parametrize(
    "dtype",
    [
        *["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"],
        ml_dtypes.bfloat16,
    ],
)
def test_safetensors(tmp_path: Path, dtype: Any) -> None:
    """Tensors are found by their dotted names, whatever their dtype."""
    array: NDArray[Any] = MATRIX.astype(dtype)
    save_file({"layer.0.q": array, "pad": np.ones(1, np.uint8)}, tmp_path / "m.safetensors")
    read = read_x(tmp_path, "m.safetensors#layer.0.q")
    np.testing.assert_array_equal(read, array.astype(np.float64))


def test_relative_to_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File names are relative to the problem file, not to the working directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.save(tmp_path / "x.npy", MATRIX)
    np.testing.assert_array_equal(read_x(tmp_path, "x.npy"), MATRIX)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (header("(-1, 3)"), r"shape \(-1, 3\), which no array has"),
        (header("(1000000, 1000000)"), "promises 8,000,000,000,000 bytes of numbers, and 0 are there"),
        (header("(2, 2)") + bytes(31), "promises 32 bytes of numbers, and 31"),
        (header("(2,)", "'|O'") + bytes(99), "holds Python objects"),
        (header("(2,)", "'<c16'") + bytes(99), "holds complex numbers"),
        (header("(2,)", "'<U4'") + bytes(99), "holds text"),
        (header("(2,)", "'<m8[s]'") + bytes(99), "holds time spans"),
        (header("(2,)", "[('a', '<f8')]") + bytes(99), "holds records"),
        (header("(2, 0)"), "holds no numbers"),
        (header(f"(0, {2**62})"), "which no array has"),
        (header(f"(0, {10**30})"), "which no array has"),
        (header("(True, 2)"), "which no array has"),
        (header(str((1,) * 65)), r"its header gives the shape \(1, 1, "),
        (header("-" * 9000 + "1"), "is not a whole .npy file"),
        (header("()") + bytes(8), "0-D"),
        (header("(1"), "is not a whole .npy file"),
        (header("__import__('os')"), "is not a whole .npy file"),
        (b"\x93NUMPY\x09\x00", "is not a whole .npy file"),
        (b"PK", "is not a whole .npy file"),
        (b"", "is not a whole .npy file"),
    ],
)
def test_npy_refused(tmp_path: Path, data: bytes, match: str) -> None:
    """A header that lies is found out before anything is allocated."""
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(InputError, match=rf"X: x\.npy .*{match}"):
        read_x(tmp_path, "x.npy")


def test_npy_of_python_2(tmp_path: Path) -> None:
    """The long integers of an old header are read without a warning."""
    (tmp_path / "x.npy").write_bytes(header("(2L, 1L)") + MATRIX[0, :2].astype("<f8").tobytes())
    np.testing.assert_array_equal(read_x(tmp_path, "x.npy"), [[1], [2]])


def test_npz_names(tmp_path: Path) -> None:
    """A missing name is answered with those that are there."""
    np.savez(tmp_path / "d.npz", q=MATRIX, k=MATRIX)
    np.testing.assert_array_equal(read_x(tmp_path, "d.npz#q"), MATRIX)
    with pytest.raises(InputError, match=r'no array named "X"[\s\S]*it holds: q, k'):
        read_x(tmp_path, "d.npz")


def test_npz_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that would unpack to far more than it takes is refused."""
    monkeypatch.setattr(npz, "_LARGE", 1000)
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros((1000, 100)))
    with pytest.raises(InputError, match="would unpack to 800,128 bytes"):
        read_x(tmp_path, "d.npz")
    np.savez(tmp_path / "d.npz", X=np.zeros((1000, 100)))
    assert read_x(tmp_path, "d.npz").shape == (1000, 100)


def test_npz_damaged(tmp_path: Path) -> None:
    """Cut archives, broken members and doubled names are refused."""
    np.savez(tmp_path / "d.npz", X=np.arange(100.0))
    data = (tmp_path / "d.npz").read_bytes()
    for broken in (data[:-30], b"", data[:300] + b"\xff" + data[301:]):
        (tmp_path / "d.npz").write_bytes(broken)
        with pytest.raises(InputError, match=r"d\.npz is not a whole \.npz file"):
            read_x(tmp_path, "d.npz")
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("X.npy", b"")
    with pytest.raises(InputError, match="twice"):
        read_x(tmp_path, "d.npz")


@pytest.mark.parametrize(
    "packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_npz_with_any_byte_changed(tmp_path: Path, packing: int) -> None:
    """Whichever byte of an archive is wrong, it is read as it was or refused, however it is packed."""
    stream = io.BytesIO()
    np.save(stream, MATRIX.astype(float))
    with zipfile.ZipFile(tmp_path / "d.npz", "w", packing) as archive:
        archive.writestr("X.npy", stream.getvalue())
    data = (tmp_path / "d.npz").read_bytes()
    for at in range(len(data)):
        (tmp_path / "d.npz").write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            np.testing.assert_array_equal(read_x(tmp_path, "d.npz"), MATRIX)
        except InputError as error:
            assert "d.npz" in str(error)  # noqa: PT017


def safetensors(entry: Any, data: bytes = bytes(8)) -> bytes:
    text = json.dumps(entry).encode() if not isinstance(entry, bytes) else entry
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"abc", "it has only 3 bytes"),
        (struct.pack("<Q", 10**12) + b"{}", "its header claims 1,000,000,000,000 bytes"),
        (safetensors(b"{'a'}"), "its header is not JSON"),
        (safetensors([1]), "its header is not a mapping"),
        (safetensors({"X": 1}), 'entry for "X" is not valid'),
        (safetensors({"X": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}}), "is not valid"),
        (safetensors({"X": {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}}), "is not valid"),
        (safetensors({"X": {"dtype": [], "shape": [1], "data_offsets": [0, 8]}}), r'has the dtype "\[\]"'),
        (safetensors({"X": {"dtype": "F3", "shape": [1], "data_offsets": [0, 8]}}), 'has the dtype "F3"'),
        (safetensors({"X": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}), "does not agree with its shape"),
        (safetensors({"X": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}), "cut short"),
        (safetensors({"Y": {}, "__metadata__": {}}), r'no array named "X"[\s\S]*it holds: Y\n'),
    ],
)  # fmt: skip
def test_safetensors_refused(tmp_path: Path, data: bytes, match: str) -> None:
    """A header is held against the file before a tensor is mapped."""
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(InputError, match=match):
        read_x(tmp_path, "x.safetensors")


@pytest.mark.parametrize("spans", [[(0, 8), (0, 8)], [(0, 16), (8, 16)], [(16, 24), (0, 24), (24, 32)]])
def test_safetensors_that_overlap(tmp_path: Path, spans: list[tuple[int, int]]) -> None:
    """No byte belongs to two tensors, which the format's own library refuses as well."""
    entries = {
        name: {"dtype": "F64", "shape": [(end - begin) // 8], "data_offsets": [begin, end]}
        for name, (begin, end) in zip("XYZ", spans, strict=False)
    }
    data = safetensors(entries, bytes(max(end for _, end in spans)))
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(SafetensorError):
        load_tensors(data)
    with pytest.raises(
        InputError, match=r'not a whole safetensors file: "[XYZ]" and "[XYZ]" lie on the same bytes'
    ):
        read_x(tmp_path, "x.safetensors")


@pytest.mark.parametrize(
    ("reference", "match"),
    [
        ("https://example.com/x.npy", "URL, which is not fetched"),
        ("s3://bucket/x.npy", "URL, which is not fetched"),
        ("x.pt", r"x\.pt is not read: it may run code"),
        ("x.h5", r"x\.h5 is not read"),
        ("nope.npy", "cannot read nope.npy: there is no such file"),
        ("dir.npy", "dir.npy is a directory"),
        ("pipe.npy", "pipe.npy is not a regular file"),
        ("x.npy#q", "holds one array"),
        ("x.npz#", "a name must follow the #"),
        (r"a\0.npy", r"a<U\+0000>\.npy.* holds a character that no file name has"),
    ],
)
def test_references_refused(tmp_path: Path, reference: str, match: str) -> None:
    """Only regular files of known formats are opened, so that nothing hangs or runs."""
    (tmp_path / "dir.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    np.save(tmp_path / "x.npy", MATRIX)
    with pytest.raises(InputError, match=match) as caught:
        read_x(tmp_path, f'"{reference}"')
    assert caught.value.path == ("X",)
    assert caught.value.place is not None
    assert caught.value.place.line == 1


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
def test_a_result_that_is_a_pipe(tmp_path: Path, suffix: str) -> None:
    """A pipe or a device that is given for a result is refused before it is opened, which might never end."""
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        file = str(tmp_path / f"{name}.{suffix}")
        with pytest.raises(InputError, match="is not a regular file") as caught:
            read_result(file, ["output"])
        assert str(caught.value.place) == file


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors", "csv"])
def test_lfs_pointer(tmp_path: Path, suffix: str) -> None:
    """A Git LFS pointer is known in every format."""
    (tmp_path / f"x.{suffix}").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    with pytest.raises(InputError, match=r"Git LFS pointer[\s\S]*git lfs pull"):
        read_x(tmp_path, f"x.{suffix}")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.csv", "1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("x.csv", "\ufeff1, 2\r\n3, nan\r\n\r\n", [[1, 2], [3, np.nan]]),
        ("x.csv", '"1.5","−2"\n', [[1.5, -2]]),
        ("x.tsv", "1\t2\n3\t4", [[1, 2], [3, 4]]),
        ("X.CSV", "1,2", [[1, 2]]),
    ],
)
def test_csv(tmp_path: Path, name: str, text: str, expected: list[list[float]]) -> None:
    """Tables of numbers are read as they are, with a byte-order mark or quotes."""
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    np.testing.assert_array_equal(read_x(tmp_path, name), expected)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1;2\n3;4\n", r"has semicolons, as[\s\S]*x\.csv:1"),
        ("1,2\n1,5;2\n", r"semicolons and decimal commas[\s\S]*x\.csv:2"),
        ("1,2\n4,,6\n", r"X row 2, column 2 .*is empty in x\.csv[\s\S]*x\.csv:2"),
        ("1,2\n\n3\n", r"has 1 fields in row 2, but 2 in row 1[\s\S]*x\.csv:3"),
        ("a,b\n1,2\n", r"header line[\s\S]*x\.csv:1"),
        ("# 1,2\n1,2\n", "header line"),
        (",0,1\n0,1,2\n", "X row 1, column 1 .*is empty"),
        ("1,2\n3,x\n", r'X row 2, column 2 .*not a number: "x"[\s\S]*in x\.csv'),
        ("1,2\n3,true\n", r"X row 2, column 2 .*truth value"),
        ("1 2\n3 4\n", "more than one number"),
        ("\n\n", "is empty"),
        ('1,"2\n', "cannot be read"),
        ('"1\n2",3\n', 'holds more than one number: "1⏎2"'),
    ],
)
def test_csv_refused(tmp_path: Path, text: str, match: str) -> None:
    """Headers, holes, semicolons and ragged rows are refused by line, row and column."""
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=match):
        read_x(tmp_path, "x.csv")
