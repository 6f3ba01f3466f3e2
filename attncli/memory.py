"""How much memory a run takes, held against what there is before any of it is taken.

Linux lends more than it has and later ends the process, so that waiting for a MemoryError is no
way to find out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from attncli.core.attention import Inputs
from attncli.errors import UnavailableError
from attncli.trace import Value

__all__ = ["available", "require", "require_stages"]

PASSING = 2
"""Arrays as large as the scores that masks and softmax make on the way and let go of."""


def require_stages(inputs: Inputs, dtype: str, *, large_details: bool = False) -> None:
    """Refuse a problem whose stages would not fit in memory.

    Counted is what has a number for each query and key, and what weights make of the tokens'
    vectors. Everything else is no larger than the inputs, which are in memory already.

    Args:
        inputs: What is to be computed.
        dtype: The precision; float16 and bfloat16 are computed in float32.
        large_details: Whether the details of that size are kept too.

    Raises:
        UnavailableError: It would not fit; the message says what would.
    """
    unit = _batch(inputs) * (8 if dtype == "float64" else 4)
    size = unit * inputs.num_heads * inputs.seq_q * inputs.seq_k
    count = _stages(inputs) + PASSING + (_details(inputs) if large_details else 0)
    projected = unit * _projected(inputs)
    need, left = count * size + projected, available()[0]
    fixes = [f"a sequence of at most {_fitting(max(inputs.seq_q, inputs.seq_k), left / max(need, 1))} tokens"]
    if projected > left:
        fixes = ["weights with fewer columns"]
    if dtype == "float64" and need / 2 <= left:
        fixes.append("--dtype float32, which takes half")
    if large_details:
        fixes.append("leave out --detail")
    pairs = f"{inputs.seq_q} queries × {inputs.seq_k} keys"
    what = f"{pairs} take {gib(size)} in each of {count} stages and steps"
    if projected > size:
        what += f"\nwhat the weights make of them takes {gib(projected)}"
    require(need, what, fix=", or ".join(fixes))


def _fitting(tokens: int, share: float) -> int:
    """Round the number of tokens that fits to two digits; memory grows with its square."""
    fits = int(tokens * math.sqrt(min(share, 1)))
    unit = 10 ** max(0, math.floor(math.log10(max(fits, 1))) - 1)
    return int(fits // unit * unit)


def require(size: int, what: str, *, fix: str) -> None:
    """Refuse to take more memory than there is.

    Args:
        size: Bytes.
        what: What they are for.
        fix: What would take less.

    Raises:
        UnavailableError: There is not that much.
    """
    left, limit = available()
    if size > left:
        raise UnavailableError(
            f"this needs {gib(size)} of memory, and {gib(left)} is left ({limit})", context=what, fix=fix
        )


def gib(size: float) -> str:
    """Spell a number of bytes."""
    return f"{size / 2**30:,.1f} GiB"


def available() -> tuple[int, str]:
    """Find how many bytes can still be taken, and which limit says so.

    Returns:
        The smallest of what is free on the machine, what `ulimit -v` leaves and what the control
        group leaves. A system that tells none of them has no limit that we know.
    """
    found = [limit for limits in (_machine(), _address_space(), _control_group()) for limit in limits]
    return min(found, default=(2**63, "no limit"))


def _machine() -> Iterator[tuple[int, str]]:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024, "free on this machine"
                return
    with suppress(AttributeError, OSError, ValueError):  # not Linux, or not Unix at all
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "memory of this machine"


def _address_space() -> Iterator[tuple[int, str]]:
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  (Unix only)

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            yield max(0, limit - pages * resource.getpagesize()), "ulimit -v"


def _control_group(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[tuple[int, str]]:
    """Find what the groups that the process is in, and those around them, leave."""
    with suppress(OSError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in {"", "memory"}:
                group = root / controllers / path.lstrip("/")
                for each in (group, *group.parents):
                    yield from _group(each)
                    if each == root:
                        break


def _group(folder: Path) -> Iterator[tuple[int, str]]:
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(OSError, ValueError):  # ValueError: "max", which is none
            most = int((folder / limit).read_text(encoding="ascii"))
            stat = (folder / "memory.stat").read_text(encoding="ascii").split()
            cache = int(stat[stat.index("inactive_file") + 1])  # given back when it is needed
            taken = int((folder / used).read_text(encoding="ascii")) - cache
            yield max(0, most - taken), "limit of the control group"


def _batch(inputs: Inputs) -> int:
    if not inputs.batch:
        return 1
    values = (getattr(inputs, each.name) for each in fields(inputs))
    arrays = [value.array for value in values if isinstance(value, Value)]
    shapes = [array.shape for array in arrays if hasattr(array, "shape")]
    return max((shape[0] for shape in shapes if len(shape) > 2), default=1)  # noqa: PLR2004  (batch, seq, dim)


def _projected(inputs: Inputs) -> int:
    """Count the numbers of queries, keys, values and outputs that weights make, for one item of the batch."""
    seq_q, seq_k = inputs.seq_q, inputs.seq_k
    made = (
        (seq_q, inputs.w_q),
        (seq_k, inputs.w_k),
        (seq_k, inputs.w_v),
        (seq_q, inputs.w_v),
        (seq_q, inputs.w_o),
    )
    return sum(rows * int(weight.array.shape[-1]) for rows, weight in made if weight)


def _stages(inputs: Inputs) -> int:
    """Count the stages that have a number for each query and key."""
    given = next((name for name in ("scores", "scaled", "masked") if getattr(inputs, name) is not None), "")
    made = (
        not given,  # scores
        given in {"", "scores"},  # scaled
        inputs.softcap is not None,
        inputs.bias is not None,
        inputs.mask is not None or inputs.additive is not None,  # masked, or masked_weights
        True,  # weights
        inputs.dropout is not None,
    )
    return sum(made) + (_hidden(inputs) if inputs.similarity.kind == "additive" else 0)


def _hidden(inputs: Inputs) -> int:
    """Count the numbers that additive scores take for each pair of query and key, on their way."""
    weights = [each for each in inputs.similarity.weights if each is not None]
    vectors = weights[0] if weights else inputs.q or inputs.w_q or inputs.x
    return 0 if vectors is None else int(vectors.array.shape[-1])


def _details(inputs: Inputs) -> int:
    """Count the arrays of that size in the details: the exponentials, and each weight times its value."""
    values = inputs.v or inputs.w_v or inputs.x_v or inputs.x
    width = int(values.array.shape[-1]) if values else 0
    return 1 + (width if inputs.by_head else width // inputs.num_kv_heads)
