"""Classes of named values, declared like frozen dataclasses, in a quarter of the time.

``@dataclass(frozen=True)`` writes and compiles six methods for each class. For the sixty classes
that one run needs, that took longer than Typer takes to load.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

__all__ = ["Frozen"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """What has its fields declared as a dataclass has; each is set once."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclass(repr=False, eq=False, kw_only=kw_only)(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        inner = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
        return f"{type(self).__qualname__}({inner})"

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))
