"""What a sheet holds: blocks of matrices with their labels, ready to be rendered in any format."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attncli.cells import Axes
from attncli.frozen import Frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Block", "Checks", "Kind", "Matrix", "Mixture", "Numbers", "Sheet", "Side", "View"]

Numbers: TypeAlias = "NDArray[np.floating]"


class View(Frozen, kw_only=True):
    """What a reader wants to see of a result.

    Args:
        stages: Names of the stages, and of given inputs; None is all.
        head: The only head; None is all, or the first where there are many.
        batch: The only item of the batch; None likewise.
        precision: Digits after the point; None chooses them by the size of the numbers.
        full: Hide nothing, however much there is.
        detail: Also the weights of the projections and the details of softmax.
        rows: The first query and the one after the last; None is all.
        columns: The first key and the one after the last.
        mean_heads: Weights as the mean over heads.
        heads_view: Weights of all heads as small pictures, rather than in numbers.
        percent: Whether weights are percentages; None leaves it to the format.
        blank: Names of the stages whose numbers the reader is to find.
        answers: Whether those numbers follow.
    """

    stages: tuple[str, ...] | None = None
    head: int | None = None
    batch: int | None = None
    precision: int | None = None
    full: bool = False
    detail: bool = False
    rows: tuple[int, int] | None = None
    columns: tuple[int, int] | None = None
    mean_heads: bool = False
    heads_view: bool = False
    percent: bool | None = None
    blank: tuple[str, ...] = ()
    answers: bool = False


class Kind(Enum):
    """How the numbers of a matrix are to be read."""

    VECTORS = "a vector for each row"
    SCORES = "a signed number for each query and key"
    WEIGHTS = "a share of 1 for each query and key"


class Side(Frozen, kw_only=True):
    """A number for each row, beside a matrix.

    Args:
        label: What it is.
        values: ``(rows,)``.
        spare: Whether it may go where there is no room for it, because its row or the self-check says
            it too.
    """

    label: str
    values: Numbers
    spare: bool = False


class Mixture(Frozen, kw_only=True):
    """Rows as what they are made of: weights times the values of keys.

    Args:
        weights: ``(rows, keys)``.
        hidden: True where the key is masked; None where all are seen.
        keys: One label for each key.
    """

    weights: Numbers
    hidden: NDArray[np.bool_] | None
    keys: tuple[str, ...]


class Matrix(Frozen, kw_only=True):
    """A table of numbers: one stage, or one head of it.

    Args:
        name: The stage, or the key of the problem file.
        symbol: Its symbol.
        part: Which part of the stage, such as ``head 1``; empty when it is the whole.
        kind: How to read the numbers.
        array: ``(rows, columns)``, a view into the result.
        axes: The array that it is of, by which its cells are named.
        lead: Where it stands along the axes before its own two; a range of what it is the mean of.
        rows: One label for each row; empty numbers them.
        columns: One label for each column; empty numbers them.
        hidden: True where a cell is masked; None where none is.
        filled: True where the mask made a score a finite number, which is none to compare; None where
            it did so nowhere.
        sides: Numbers beside the rows.
        given: Whether it was given rather than computed.
        mixture: What each row is a mixture of, where there are few keys.
        first_row: Position of the first row, where some before it are left out.
        first_column: Position of the first column.
        peaks: The largest number of each row, where some of its columns are left out.
        blank: Whether its numbers are left for the reader to find.
    """

    name: str
    symbol: str
    part: str = ""
    kind: Kind
    array: Numbers
    axes: Axes
    lead: tuple[int | range, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    hidden: NDArray[np.bool_] | None = None
    filled: NDArray[np.bool_] | None = None
    sides: tuple[Side, ...] = ()
    given: bool = False
    mixture: Mixture | None = None
    first_row: int = 0
    first_column: int = 0
    peaks: Numbers | None = None
    blank: bool = False


class Block(Frozen, kw_only=True):
    """A step of the computation.

    Args:
        title: A verb for the step.
        formulas: What was computed, such as ``S = Q·Kᵀ``.
        shape: The shape, where it is news.
        remarks: Constants and counts, such as ``× 0.7071``.
        decimals: Digits after the point that its numbers are usually read with.
        matrices: The numbers.
        heads: The weights of all heads, where they are to be seen side by side.
    """

    title: str
    formulas: tuple[str, ...]
    shape: str
    remarks: tuple[str, ...]
    decimals: int
    matrices: tuple[Matrix, ...]
    heads: tuple[Matrix, ...] = ()


class Checks(Frozen, kw_only=True):
    """What a result says about itself.

    Args:
        row_sum_error: Largest difference of a row's weights, with its sink's, from 1; None without
            such rows.
        sink: Whether a sink takes part of each row.
        allowed: How much of it rounding explains.
        nan: Number of NaNs in all stages.
        infinite: Number of infinities, not counting masked scores.
        kept: Number of pairs of query and key that see each other.
        pairs: Number of all pairs; 0 where nobody knows which are kept.
        blind_rows: Number of queries that see no key.
        entropies: Entropy of each row of weights in bits, over all heads and batch items.
    """

    row_sum_error: float | None
    sink: bool
    allowed: float
    nan: int
    infinite: int
    kept: int
    pairs: int
    blind_rows: int
    entropies: Numbers


class Sheet(Frozen, kw_only=True):
    """A result as it is read: from the first matrix to the output, with what it says of itself.

    Args:
        source: The problem's file as it was named; a name in angle brackets is no file.
        title: A short name for it.
        formula: The whole computation.
        facts: Backend, precision and sizes.
        blocks: The steps, in order.
        checks: The self-check; None when the weights were not kept.
        elided: Which heads and batch items are hidden, and how to see them, and how many queries and keys
            are left out; empty when none is.
        precision: Digits after the point, when the reader asked for a number of them.
        full: Whether tables are to be whole, however large.
        heads_view: Whether small pictures of all heads stand for the numbers of weights.
        percent: Whether weights are written as percentages.
        notes: What a reader should know, one sentence each.
        example: A cell that is worth a look at how it came about; empty when there is none.
    """

    source: str
    title: str
    formula: str
    facts: tuple[str, ...]
    blocks: tuple[Block, ...]
    checks: Checks | None
    elided: str = ""
    precision: int | None = None
    full: bool = False
    heads_view: bool = False
    percent: bool = True
    notes: tuple[str, ...] = ()
    example: str = ""
