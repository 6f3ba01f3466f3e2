"""What ``attn check`` reads: files, folders of them, and the problems in each."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Sequence

from attncli.check.report import Report, check_expected
from attncli.errors import InputError, Place
from attncli.progress import counting
from attncli.readers import READERS, load, located
from attncli.readers.opening import STDIN
from attncli.text import quote

__all__ = ["check_files"]


def check_files(names: Sequence[str], settings: Sequence[str]) -> list[Report]:
    """Check the expected values of every problem in files and folders.

    Raises:
        InputError: A file cannot be read, or a problem has no expected values.
    """
    reports = []
    for name in (file for each in names for file in _files(each)):
        for problem in load(name, settings):
            with located(problem.origin), counting(f"{quote(name, marks='')}: trying reading") as tell:
                reports.append(check_expected(problem, tell))
    return reports


def _files(name: str) -> Iterator[str]:
    """Yield a file, or the problem files of a folder."""
    folder = pathlib.Path(name)
    if name == STDIN or not folder.is_dir():
        yield name
        return
    found = sorted(str(path) for path in folder.iterdir() if path.suffix.lower() in READERS)
    if not found:
        raise InputError(
            "the folder holds no problem files",
            context=f"their names end in {', '.join(READERS)}",
            place=Place(name),
        )
    yield from found
