"""CSV and TSV files of numbers: no header, one row on each line."""

from __future__ import annotations

import csv
import pathlib
import re

from attncli.errors import InputError, Path, Place, cell_name
from attncli.readers.nested import truth
from attncli.readers.numbers import NotANumber, number
from attncli.readers.opening import decode, read_bytes
from attncli.readers.tree import Plain, check_amount
from attncli.text import quote

__all__ = ["read"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read(file: pathlib.Path, member: str | None, path: Path) -> list[list[str]]:
    """Read the rows of a CSV or TSV file, as text.

    Args:
        file: Where it is; its suffix says what separates the fields.
        member: Must be None.
        path: The key that names it.

    Raises:
        InputError: If it holds a header, semicolons, holes, or rows of different lengths.
    """
    if member is not None:
        raise InputError(
            f"{cell_name(path)}: {quote(file.name, marks='')} holds one table",
            path=path,
            fix="leave out the #",
        )
    text = decode(read_bytes(str(file)), file.name)
    check_amount(text, file.name)
    _refuse_semicolons(text, file, path)
    rows, lines = _rows(text, file, path)
    if not rows:
        raise InputError(
            f"{cell_name(path)}: {quote(file.name, marks='')} is empty",
            path=path,
            fix="write one row on each line",
        )
    _refuse_header(rows[0], lines[0], file, path)
    _refuse_holes(rows, lines, file, path)
    return rows


def _rows(text: str, file: pathlib.Path, path: Path) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not blank, and the line on which each stands."""
    reader = csv.reader(
        text.splitlines(keepends=True), delimiter=_DELIMITERS[file.suffix.lower()], strict=True
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if any(map(str.strip, row)):
                rows.append([Plain(field.strip()) for field in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise _fault(file, path, reader.line_num, f"cannot be read: {error}", "check its quotes") from error
    return rows, lines


def _refuse_semicolons(text: str, file: pathlib.Path, path: Path) -> None:
    if ";" in text:
        line = text[: text.index(";")].count("\n") + 1
        comma = " and decimal commas" if re.search(r"\d,\d", text) else ""
        raise _fault(
            file,
            path,
            line,
            f"has semicolons{comma}, as European spreadsheets write them",
            "export it with commas between the fields and decimal points",
        )


def _refuse_header(first: list[str], line: int, file: pathlib.Path, path: Path) -> None:
    if first[0].startswith("#") or not any(_is_value(field) for field in first):
        raise _fault(
            file,
            path,
            line,
            f"starts with a header line, {quote(','.join(first))}, where numbers were expected",
            "take that line away: pandas does so with to_csv(header=False, index=False)",
        )


def _is_value(field: str) -> bool:
    for read_value in (number, truth):
        try:
            read_value(field)
        except NotANumber:
            continue
        return True
    return not field[:1].isalpha()  # no name, so the cell's own check says what is wrong with it


def _refuse_holes(rows: list[list[str]], lines: list[int], file: pathlib.Path, path: Path) -> None:
    """Refuse empty fields and rows of different lengths, by line of the file."""
    for index, (row, line) in enumerate(zip(rows, lines, strict=True)):
        if "" in row:
            where = (*path, index, row.index(""))
            raise InputError(
                f"{cell_name(where)} is empty in {quote(file.name, marks='')}",
                path=where,
                fix="fill it in; nan, if nothing is known",
                place=Place(file.name, line, text=",".join(row)),
            )
        if len(row) != len(rows[0]):
            message = f"has {len(row)} fields in row {index + 1}, but {len(rows[0])} in row 1"
            raise _fault(file, path, line, message, "make all rows equally long")


def _fault(file: pathlib.Path, path: Path, line: int, message: str, fix: str) -> InputError:
    return InputError(
        f"{cell_name(path)}: {quote(file.name, marks='')} {message}",
        path=path,
        fix=fix,
        place=Place(file.name, line),
    )
