"""What ``attn check`` and ``attn diff`` read: problems, folders of them, and results of other programs."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.check.compare import COMPARED, Comparison, Side, check_result, numbers_of, reference
from attncli.check.differ import check_diff, computed
from attncli.check.report import Refused, Report, check_expected
from attncli.errors import InputError, Place
from attncli.frozen import Frozen
from attncli.problem import Problem
from attncli.progress import progress
from attncli.readers import READERS, load, located
from attncli.readers.opening import STDIN
from attncli.readers.result import Dump, is_result, read_result
from attncli.stored import stored_result
from attncli.text import quote

__all__ = ["Way", "against_result", "check_files", "diff", "has_expected", "stage_names"]


class Way(Frozen):
    """One side of ``attn diff``.

    Args:
        file: A problem or a result.
        settings: What replaces keys of a problem, as KEY=VALUE.
        backend: What computes it.
        device: Where.
    """

    file: str
    settings: tuple[str, ...] = ()
    backend: str | None = None
    device: str = "auto"


def check_files(names: Sequence[str], settings: Sequence[str], read: list[str]) -> list[Report | Refused]:
    """Check the expected values of every problem in files and folders.

    Among several files, one that cannot be checked is reported beside the others.

    Args:
        names: Files and folders.
        settings: What replaces keys of the problems, as KEY=VALUE.
        read: Gathers the names of all files that are read, which must not be written to.

    Raises:
        InputError: The only file cannot be read, or its problem has no expected values.
    """
    files = [file for name in names for file in _files(name)]
    read += files
    if len(files) == 1:
        return [*_reports(files[0], settings, read)]
    found: list[Report | Refused] = []
    for file in files:
        try:
            found += (_named(report) for report in _reports(file, settings, read))
        except InputError as error:
            found.append(Refused(source=file, message=str(error).partition("\n")[0]))
    return found


def _reports(file: str, settings: Sequence[str], read: list[str]) -> Iterator[Report]:
    for problem in _load(file, settings, read):
        with located(problem.origin), progress(f"{quote(file, marks='')}: trying readings") as tell:
            yield check_expected(problem, tell)


def _load(file: str, settings: Sequence[str], read: list[str]) -> list[Problem]:
    problems = load(file, settings)
    read += (name for problem in problems for name in problem.origin.files)
    return problems


def _named(report: Report) -> Report:
    """Say in each note which of several files it is about."""
    return replace(report, notes=tuple(f"{report.source}: {note}" for note in report.notes))


def _files(name: str) -> Iterator[str]:
    """Yield a file, or the problem files of a folder."""
    folder = pathlib.Path(name)
    if name in {"", STDIN} or not folder.is_dir():  # of no name, pathlib makes the folder one is in
        yield name
        return
    found = sorted(str(path) for path in folder.iterdir() if path.suffix.lower() in READERS)
    if not found:
        raise InputError(
            "the folder holds no problem files",
            context=f"their names end in {', '.join(READERS)}",
            fix="results are checked one at a time: attn check FILE RESULT" if _holds_results(folder) else "",
            place=Place(name),
        )
    yield from found


def _holds_results(folder: pathlib.Path) -> bool:
    return any(is_result(str(path)) for path in folder.iterdir())


def against_result(
    name: str, result: str, settings: Sequence[str], named: Mapping[str, str], read: list[str]
) -> list[Comparison]:
    """Hold the stages of a result against what a problem computes to.

    Args:
        name: The problem's file.
        result: The result's file.
        settings: What replaces keys of the problem, as KEY=VALUE.
        named: The stage that an array of the result is, by the array's name.
        read: Gathers the names of the files that the problem takes arrays from.

    Raises:
        InputError: A file cannot be read, or its arrays do not fit.
    """
    problem = _one(name, settings, read)
    with located(problem.origin), progress("trying readings") as tell:
        dump = _read(result, list(numbers_of(reference(problem))), named)
        side = Side(name="the result", arrays=dump.arrays, precisions=dump.precisions)
        return [check_result(problem, result, side, dump.notes, tell)]


def has_expected(name: str, settings: Sequence[str]) -> bool:
    """Tell whether a problem has expected values."""
    return any(problem.expected for problem in load(name, settings))


def stage_names(texts: Sequence[str]) -> dict[str, str]:
    """Read ``mine=weights``: which stage an array is.

    Raises:
        InputError: There is no equals sign, or no stage of that name.
    """
    named = {}
    for text in texts:
        member, equals, stage = text.rpartition("=")
        if not equals or stage not in COMPARED:
            raise InputError(
                f"--map {quote(text)} names no stage",
                context=f"stages: {', '.join(COMPARED)}",
                fix="write --map NAME=STAGE, such as --map mine=weights",
            )
        named[member] = stage
    return named


def diff(a: Way, b: Way, read: list[str]) -> list[Comparison]:
    """Compare two results, two problems, or one problem in two ways.

    Args:
        a: One side.
        b: The other.
        read: Gathers the names of the files that problems take arrays from.

    Raises:
        InputError: A file cannot be read, or the two do not fit.
    """
    one, problem = _side(a, "A", read)
    other, _ = _side(b, "B", read)
    with progress("trying readings") as tell:
        return [check_diff((_said(a), _said(b)), (one, other), problem, tell)]


def _side(way: Way, name: str, read: list[str]) -> tuple[Side, Problem | None]:
    if is_result(way.file) and not way.settings and way.backend is None:
        dump = _read(way.file, list(COMPARED))
        return Side(name=name, arrays=dump.arrays, precisions=dump.precisions), None
    problem = _one(way.file, way.settings, read)
    with located(problem.origin):
        return computed(problem, name, way.backend, way.device), problem


def _read(name: str, stages: Sequence[str], named: Mapping[str, str] | None = None) -> Dump:
    """Read the arrays of a result; one of attn's own is refused where `attn show` would refuse it."""
    dump = read_result(name, stages, named)
    for problem in load(name) if dump.own else ():
        with located(problem.origin):
            stored_result(problem)
    return dump


def _said(way: Way) -> str:
    return " ".join([way.file, *way.settings, *([way.backend] if way.backend else [])])


def _one(name: str, settings: Sequence[str], read: list[str]) -> Problem:
    problems = _load(name, settings, read)
    if len(problems) != 1:
        raise InputError(f"one problem is compared, and there are {len(problems)}", place=Place(name))
    return problems[0]
