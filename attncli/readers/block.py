"""Blocks of text: rows on lines, and printouts of NumPy, torch and JAX pasted as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from attncli.errors import InputError, Path, cell_name
from attncli.readers.signs import Seen, wide_signs
from attncli.readers.tree import Folded, Plain, Tree
from attncli.text import quote

__all__ = ["cell_at", "is_block", "rows"]

_WRAPPER = re.compile(
    r"\s*(?:Parameter containing:\s*)?(?:[A-Za-z_]\w*\.)*(?:tensor|array|Array|matrix|Tensor)\(\s*(?P<body>\[.*\])\s*"
    r"(?P<rest>(?:,\s*(?:dtype|device|grad_fn|requires_grad|size|shape|layout|weak_type)\s*=\s*"
    r"(?:<[^<>]*>|'[^']*'|[\w.]*\([\d,\s\[\]]*\)|[\w.]+)\s*)*),?\s*\)[,;]?\s*",
    re.DOTALL,
)
_ELSEWHERE = (
    (r"^[-－]\s*\[", "a blank is missing after the dash", "write - [1, 2], one dash and one blank before each row"),
    (r";", "rows are parted by semicolons, as in MATLAB", "write each row on a line of its own, or in brackets: [[1, 2], [3, 4]]"),
    (r"&|\\begin|\\\\", "this is LaTeX", "write each row on a line of its own, with blanks or commas between numbers"),
    (r"(?m)^[ \t]*(>>>|In \[|\w+[ \t]*=)", "this is more than the printout of one array", "paste only from tensor( or array( to its closing bracket"),
    (r"(np|numpy)\.(float|int)\d+\(", "these are numbers as NumPy 2 shows them in a list", "print the array itself, or numpy.set_printoptions(legacy='1.25') first"),
    (r"(?s)\[\s*(\w+\.)?(tensor|array)\(", "this is a list of arrays", "stack them before they are printed: torch.stack(xs), numpy.stack(xs)"),
)  # fmt: skip
_SEVERAL = re.compile(r"\s*[+-]?\.?\d[^\s,]*[\s,]+[+-]?\.?\d")
_LINE = re.compile(r".*\S.*")
_CELL = re.compile(r"[^\s,]+")
_TOKEN = re.compile(r"[\[\],]|[^\s\[\],]+")


def is_block(text: str) -> bool:
    """Tell whether a text is meant as rows of numbers: it has lines, brackets, or several numbers."""
    return "\n" in text or "[" in text or _SEVERAL.match(text) is not None


def rows(text: str, path: Path) -> list[Tree]:
    """Cut a block of text into nested lists of cells.

    Args:
        text: As it was written; brackets say how it is nested, or else each line is a row.
        path: The key that it stands under.

    Raises:
        InputError: If brackets do not match, or numbers were left out of the printout.
    """
    if re.search(r"\.\.\.|…", text):
        raise InputError(
            f"{cell_name(path)} is a printout with numbers left out (…)",
            path=path,
            fix="print all of it: numpy.set_printoptions(threshold=sys.maxsize) or torch.set_printoptions(profile='full')",
        )
    match = _WRAPPER.fullmatch(text)
    body = match["body"] if match else text.strip()
    _no_other_signs(body, path)
    if "[" in body or "]" in body:
        return _nested(body, path)
    if isinstance(text, Plain | Folded):
        raise InputError(
            f"{cell_name(path)} is text whose lines YAML has joined into one: {quote(text)}",
            path=path,
            fix="put | after the key's colon, with the rows on the lines below it, or write [[1, 2], [3, 4]]",
        )
    return [_row(line) for line in filter(str.strip, body.splitlines())]


def cell_at(text: str, start: int, indices: Sequence[int]) -> int | None:
    """Find a cell of a block in the file that holds it.

    Args:
        text: The whole file.
        start: Where the block's ``|`` stands.
        indices: Of the cell, or of a row.

    Returns:
        Its offset in the file; None where there is no such cell.
    """
    body = text.find("\n", start) + 1
    first = _LINE.search(text, body)
    if not body or first is None:
        return None
    return _bracketed(text, body, [*indices]) if "[" in first[0] else _on_lines(text, body, indices)


def _on_lines(text: str, body: int, indices: Sequence[int]) -> int | None:
    row, column = (*indices, 0)[:2]
    line = next(islice(_LINE.finditer(text, body), row, None), None)
    cells = _CELL.finditer(text, line.start(), line.end()) if line else iter(())
    cell = next(islice(cells, column, None), None)
    return cell.start() if cell else None


def _bracketed(text: str, body: int, indices: list[int]) -> int | None:
    here: list[int] = []
    for word in _TOKEN.finditer(text, body):
        sign = word[0]
        if here == indices and sign not in {",", "]"}:
            return word.start()
        if sign == "[":
            here.append(0)
        elif sign != "," and here:
            del here[len(here) - (sign == "]") :]
            if not here:
                return None
            here[-1] += 1
    return None


def _no_other_signs(text: str, path: Path) -> None:
    """Refuse what parts rows and numbers elsewhere, before half of it is taken for a number."""
    sign = next((each for each in wide_signs(text) if not text[each.offset].isspace()), None)
    for pattern, what, fix in () if sign else _ELSEWHERE:
        if found := re.search(pattern, text):
            sign = Seen(found.start(), what, fix)
            break
    if sign:
        row = text.count("\n", 0, sign.offset)
        line = text.splitlines()[row]
        raise InputError(
            f"{cell_name(path)} line {row + 1}, {quote(line.strip())}: {sign.what}",
            path=path if "[" in text else (*path, row),
            fix=sign.fix,
        )


def _row(line: str) -> list[Tree]:
    """Cut one line at its commas, or at its blanks if it has none."""
    if "," not in line:
        return [Plain(cell) for cell in line.split()]
    cells = [cell.strip() for cell in line.strip().removesuffix(",").split(",")]
    return [Plain(cell) for cell in cells]


def _nested(text: str, path: Path) -> list[Tree]:
    """Read brackets; commas between items may be missing, as NumPy prints, but not doubled."""
    root: list[Tree] = []
    stack, previous = [root], "["
    for word in _TOKEN.findall(text):
        if word == "," and previous in "[,":
            raise _bracket_fault(path, "has an empty item before a comma")
        if word == "[":
            stack[-1].append([])
            stack.append(stack[-1][-1])
        elif word == "]":
            stack.pop()
            if not stack:
                break
        elif word != ",":
            stack[-1].append(Plain(word))
        previous = word
    if len(stack) != 1:
        raise _bracket_fault(path, "has a bracket without its partner")
    if len(root) != 1 or not isinstance(root[0], list):
        raise _bracket_fault(path, "has something outside its outermost brackets")
    return root[0]


def _bracket_fault(path: Path, what: str) -> InputError:
    return InputError(
        f"{cell_name(path)} {what}",
        path=path,
        fix="paste the whole printout, from the first bracket to the last",
    )
