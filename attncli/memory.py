"""How much memory a run takes, held against what there is before any of it is taken.

Linux lends more than it has and later ends the process, so that waiting for a MemoryError is no
way to find out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from attncli.errors import UnavailableError

__all__ = ["Room", "available", "gib", "require"]

Room: TypeAlias = tuple[int, str]
"""How many bytes can still be taken, and which limit says so."""


def require(size: int, what: str, *, fix: str, room: Room | None = None) -> None:
    """Refuse to take more memory than there is.

    Args:
        size: Bytes.
        what: What they are for.
        fix: What would take less.
        room: What there is, where that was found before.

    Raises:
        UnavailableError: There is not that much.
    """
    left, limit = room or available()
    if size > left:
        raise UnavailableError(
            f"this needs {gib(size)} of memory, and {gib(left)} is left ({limit})", context=what, fix=fix
        )


def gib(size: float) -> str:
    """Spell a number of bytes."""
    return f"{size / 2**30:,.1f} GiB"


def available() -> Room:
    """Find how many bytes can still be taken, and which limit says so.

    Returns:
        The smallest of what is free on the machine, what `ulimit -v` leaves and what the control
        group leaves. A system that tells none of them has no limit that we know.
    """
    found = [limit for limits in (_machine(), _address_space(), _control_group()) for limit in limits]
    return min(found, default=(2**63, "no limit"))


def _machine() -> Iterator[Room]:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024, "free on this machine"
                return
    with suppress(AttributeError, OSError, ValueError):  # not Linux, or not Unix at all
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "memory of this machine"


def _address_space() -> Iterator[Room]:
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  (Unix only)

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            yield max(0, limit - pages * resource.getpagesize()), "ulimit -v"


def _control_group(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[Room]:
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


def _group(folder: Path) -> Iterator[Room]:
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(OSError, ValueError):  # ValueError: "max", which is none
            most = int((folder / limit).read_text(encoding="ascii"))
            stat = (folder / "memory.stat").read_text(encoding="ascii").split()
            cache = int(stat[stat.index("inactive_file") + 1])  # given back when it is needed
            taken = int((folder / used).read_text(encoding="ascii")) - cache
            yield max(0, most - taken), "limit of the control group"
