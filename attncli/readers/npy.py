"""NumPy's .npy files: the header is read and held against the file before anything is mapped."""

from __future__ import annotations

import math
import pathlib
import tokenize
import warnings
from collections.abc import Sequence
from typing import IO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from attncli.errors import InputError, Path, cell_name
from attncli.readers.dtypes import refuse_dtype, small_float, widened
from attncli.text import quote

__all__ = ["Header", "dtypes", "is_shape", "read", "read_header", "read_text"]

_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}

# The header is Python, and each way to fail at parsing it has an error of its own.
_UNPARSED = (ValueError, TypeError, SyntaxError, EOFError, tokenize.TokenError, RecursionError, MemoryError)


class Header(NamedTuple):
    """What an .npy file says about its array.

    Args:
        shape: Length of each axis.
        order: ``C`` or ``F``.
        dtype: As numbers are stored.
        offset: Where they start, in bytes.
    """

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[np.generic]
    offset: int


def read(file: pathlib.Path, member: str | None, path: Path) -> NDArray[np.generic]:
    """Map the array of an .npy file into memory.

    Args:
        file: Where it is.
        member: Must be None: an .npy file holds one array.
        path: The key that names it.

    Raises:
        InputError: If the header lies, or the dtype is no real number.
    """
    if member is not None:
        raise InputError(
            f"{cell_name(path)}: {quote(file.name, marks='')} holds one array, and #{quote(member, marks='')} names another",
            path=path,
            fix="leave out the # and what follows it",
        )
    with file.open("rb") as stream:
        header = read_header(stream, file.stat().st_size, file.name, path)
    if 0 in header.shape:
        return np.empty(header.shape)
    mapped = np.memmap(file, header.dtype, "r", header.offset, header.shape, header.order)
    return widened(np.asarray(mapped))


def dtypes(file: pathlib.Path, path: Path) -> dict[str, str]:
    """Name the dtype of the one array of an .npy file, under the file's own name.

    Raises:
        InputError: If the header lies, or the dtype is no real number.
    """
    with file.open("rb") as stream:
        return {file.stem: read_header(stream, file.stat().st_size, file.name, path).dtype.name}


def read_header(stream: IO[bytes], size: int, name: str, path: Path) -> Header:
    """Read the header at the start of ``stream``, and check it.

    Args:
        stream: The file, at its start; it is left at the first number.
        size: How many bytes the file has in all.
        name: Its name, for messages.
        path: The key that names it.

    Raises:
        InputError: If it is no header, or describes an array that the file cannot hold.
    """
    shape, fortran, dtype = _parsed(stream, name, path)
    if dtype == np.dtype("V2"):  # what np.save makes of bfloat16
        dtype = small_float("bfloat16")
    refuse_dtype(dtype, name, path)
    if not is_shape(shape):
        raise _damaged(name, path, f"its header gives the shape {shape}, which no array has")
    offset = stream.tell()
    _check_there(math.prod(shape) * dtype.itemsize, size - offset, name, path)
    return Header(shape, "F" if fortran else "C", dtype, offset)


def read_text(stream: IO[bytes], size: int, name: str, path: Path) -> str | bytes:
    """Read an array that is one text; the arguments are those of `read_header`.

    Raises:
        InputError: If it is no header, or the header of anything but one text.
    """
    shape, _, dtype = _parsed(stream, name, path)
    if shape != () or dtype.kind not in "SU":
        raise _damaged(name, path, f"one text was expected, and it holds {dtype} of shape {shape}")
    _check_there(dtype.itemsize, size - stream.tell(), name, path)
    text: str | bytes = np.frombuffer(stream.read(), dtype, count=1).item()
    return text


def _parsed(stream: IO[bytes], name: str, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Read shape, order and dtype, as the header gives them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # NumPy's remark that the header is Python 2's; it is read all the same
            return _HEADERS[npy_format.read_magic(stream)](stream)
    except KeyError:
        raise _damaged(name, path, "its format is newer than 2.0") from None
    except _UNPARSED as error:
        raise _damaged(name, path, (str(error) or type(error).__name__).splitlines()[0]) from error


def _check_there(needed: int, there: int, name: str, path: Path) -> None:
    if needed > there:
        raise _damaged(
            name, path, f"its header promises {needed:,} bytes of numbers, and {there:,} are there"
        )


def is_shape(lengths: Sequence[int]) -> bool:
    """Tell whether there can be an array of this shape, without making it."""
    try:
        np.broadcast_to(np.float64(0), tuple(lengths))
    except (ValueError, TypeError):
        return False
    return True


def _damaged(name: str, path: Path, why: str) -> InputError:
    return InputError(
        f"{cell_name(path)}: {quote(name, marks='')} is not a whole .npy file: {quote(why, limit=120, marks='')}",
        path=path,
        fix="write it again with numpy.save",
    )
