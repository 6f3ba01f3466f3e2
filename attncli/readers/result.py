"""Results of other programs: arrays by the names of stages, or by names that others give them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attncli.archive import DOCUMENT
from attncli.errors import InputError, Path, Place
from attncli.frozen import Frozen
from attncli.meant import ALIASES
from attncli.problem import Problem, keys
from attncli.readers import archived, json_tree, npy, npz, safetensors_file
from attncli.readers.files import check_regular
from attncli.readers.keys import check_version
from attncli.readers.nested import floats
from attncli.readers.opening import decode, os_fault, read_bytes
from attncli.text import quote

__all__ = ["Dump", "is_bare", "is_result", "read_result"]

_PRECISIONS = ("float64", "float32", "float16", "bfloat16")

_Reader = tuple[
    Callable[[pathlib.Path, Path], dict[str, str]],
    Callable[[pathlib.Path, "str | None", Path], NDArray[Any]],
]
_READERS: Mapping[str, _Reader] = {
    ".npz": (npz.dtypes, npz.read),
    ".safetensors": (safetensors_file.dtypes, safetensors_file.read),
    ".npy": (npy.dtypes, lambda file, _name, path: npy.read(file, None, path)),
}


class Dump(Frozen, kw_only=True):
    """Arrays that a program wrote.

    Args:
        source: The file, as the user named it.
        arrays: By the stage that each is.
        precisions: The precision that each was computed in, as far as the file tells.
        notes: What was left aside, one sentence each.
        own: Whether attn wrote it, with its problem and with what it says of its stages.
    """

    source: str
    arrays: Mapping[str, NDArray[Any]]
    precisions: Mapping[str, str]
    notes: tuple[str, ...] = ()
    own: bool = False


def is_result(name: str) -> bool:
    """Tell whether a file holds arrays, or the stages of an earlier result, rather than a problem."""
    suffix = pathlib.Path(name).suffix.lower()
    if suffix in _READERS:
        return True
    return suffix == ".json" and pathlib.Path(name).is_file() and "stages" in _tree(name)


def read_result(name: str, stages: Collection[str], named: Mapping[str, str] | None = None) -> Dump:
    """Read the arrays of a result.

    Args:
        name: An .npz, .npy, .safetensors or .json file.
        stages: Names of the stages, and details, that there are to compare with.
        named: The stage that an array is, by the array's name, where that does not say it; None where
            nobody can say so.

    Raises:
        InputError: The file cannot be read, or none of its arrays is a stage.
    """
    try:
        there, precisions, read, own = _open(name, stages)
    except OSError as error:
        raise os_fault(error, name) from error
    except InputError as error:
        error.place = error.place or Place(name)
        raise
    chosen = _chosen(name, there, stages, named or {}, _naming(name, there, by_map=named is not None))
    known = {key.name for key in keys(Problem)}
    spare = [each for each in there if each not in chosen.values() and each not in known]
    return Dump(
        source=name,
        arrays={stage: read(member) for stage, member in chosen.items()},
        precisions={stage: precisions[member] for stage, member in chosen.items()},
        notes=(f"no stage of the problem, and left aside: {', '.join(map(quote, spare))}",) if spare else (),
        own=own,
    )


def is_bare(name: str) -> bool:
    """Tell whether a file holds arrays and nothing that says what problem they are of.

    Raises:
        InputError: It cannot be read as what its name says that it is.
    """
    return pathlib.Path(name).suffix.lower() in _READERS and not archived.has_document(name)


def _open(
    name: str, stages: Collection[str]
) -> tuple[list[str], dict[str, str], Callable[[str], NDArray[Any]], bool]:
    """List what a file holds, with its precisions; return what reads one of them, and whether attn wrote it."""
    file = pathlib.Path(name)
    suffix = file.suffix.lower()
    if suffix in _READERS:
        check_regular(file, name, ("result",))
        dtypes, read = _READERS[suffix]
        found = {member: _precision(dtype) for member, dtype in dtypes(file, ("result",)).items()}
        own = archived.has_document(name)
        if own:
            found = _stages_of(name, found, stages)
        return list(found), found, lambda member: _numbers(name, member, read(file, member, (member,))), own
    if suffix != ".json":
        raise InputError(
            f"{quote(name, limit=200, marks='')} is no result that attn reads",
            fix=f"save it as one of: {', '.join(_READERS)}, .json",
        )
    tree = _tree(name)
    if "stages" in tree:
        check_version(tree)
    arrays = tree.get("stages", tree)
    if not isinstance(arrays, dict):
        raise InputError("stages is no mapping of stages to arrays", path=("stages",), place=Place(name))
    for member, value in arrays.items():
        if "stages" in tree and not isinstance(value, list):
            raise InputError(
                f"{member} is no array of numbers",
                path=(member,),
                fix="write it as nested lists",
                place=Place(name),
            )
    arrays = {**_details_of(tree, stages), **arrays}
    precision = _stated(tree) or "float64"
    lists = [member for member, value in arrays.items() if isinstance(value, list)]
    own = "stages" in tree and isinstance(tree.get("meta"), dict) and "attn" in tree["meta"]
    return lists, dict.fromkeys(lists, precision), lambda member: _floats(name, member, arrays[member]), own


def _stages_of(name: str, found: Mapping[str, str], stages: Collection[str]) -> dict[str, str]:
    """Leave out what a result's own document says is no stage and no detail that there is to compare with."""
    tree, where = archived.placed(name)
    stated = _stated(tree)
    return {
        member: stated or precision
        for member, precision in found.items()
        if (path := where.get(member, ("stages",)))[0] == "stages"
        or (path[:-1] == ("meta", "details") and path[-1] in stages)
    }


def _details_of(tree: Mapping[str, Any], stages: Collection[str]) -> dict[str, Any]:
    """Find the details that a result keeps apart from its stages, those that there are to compare with."""
    meta = tree.get("meta")
    details = meta.get("details") if isinstance(meta, dict) else None
    return {each: details[each] for each in stages if each in details} if isinstance(details, dict) else {}


def _stated(tree: Mapping[str, Any]) -> str | None:
    """Return the precision that a result says it was computed in, where that is one for all stages."""
    meta = tree.get("meta")
    stated = meta.get("dtype") if isinstance(meta, dict) else None
    return stated if isinstance(stated, str) and stated in _PRECISIONS else None


def _numbers(name: str, member: str, array: NDArray[Any]) -> NDArray[Any]:
    """Refuse what is no number, such as a mask that has the name of a stage."""
    if array.dtype.kind == "b":
        raise InputError(
            f"{quote(member)} holds truth values, where numbers were expected",
            path=(member,),
            fix="--map says which array is which stage",
            place=Place(name),
        )
    return np.asarray(array)


def _floats(name: str, member: str, value: Any) -> NDArray[Any]:
    try:
        return floats(value, (member,))
    except InputError as error:
        error.place = error.place or Place(name)
        raise


def _tree(name: str) -> dict[str, Any]:
    text = decode(read_bytes(name), name)
    (tree, _), *_ = json_tree.documents(text, name, several=True)
    if not isinstance(tree, dict):
        raise InputError("a result is a mapping of stages to arrays", place=Place(name))
    return tree


def _precision(dtype: str) -> str:
    return dtype if dtype in _PRECISIONS else "float64"


def _naming(name: str, there: Sequence[str], *, by_map: bool) -> str:
    """Say how to tell which stage an array is."""
    if by_map:
        return f"--map {there[0] if len(there) == 1 else 'NAME'}=weights says which stage an array is"
    if pathlib.Path(name).suffix.lower() == ".npy":
        return "call the file after its stage, such as weights.npy"
    return "give the arrays the names of stages, such as weights"


def _chosen(
    name: str, there: Collection[str], stages: Collection[str], named: Mapping[str, str], fix: str
) -> dict[str, str]:
    """Find the array that is each stage."""
    for member, stage in named.items():
        if member not in there:
            raise InputError(
                f"--map names {quote(member)}, which is not there",
                context=f"it holds {', '.join(map(quote, there))}",
                place=Place(name),
            )
        if stage not in stages:
            raise InputError(
                f"--map says {quote(stage)}, and this problem has no such stage",
                context=f"it has {', '.join(stages)}",
            )
    chosen: dict[str, str] = {}
    for member in there:
        for stage in _meanings(member, named):
            if stage in stages and stage not in chosen:
                chosen[stage] = member
                break
    chosen = {**chosen, **{stage: member for member, stage in named.items()}}
    if not chosen:
        archive = pathlib.Path(name).suffix.lower() in archived.ARCHIVES
        lost = f", and no {DOCUMENT}, the document of a result" if archive and is_bare(name) else ""
        raise InputError(
            "none of its arrays has the name of a stage",
            context=f"it holds {', '.join(map(quote, there)) or 'no arrays'}{lost}\nthe stages are {', '.join(stages)}",
            fix=fix,
            place=Place(name),
        )
    return {stage: chosen[stage] for stage in stages if stage in chosen}


def _meanings(member: str, named: Mapping[str, str]) -> Iterator[str]:
    """Yield the stages that a name may mean: itself first, then what others call so."""
    if member in named:
        return
    yield member
    last = member.rpartition(".")[2].lower().removeprefix("hook_")
    yield from ALIASES.get(last, (last,))
