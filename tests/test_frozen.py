"""What is declared with `Frozen` behaves as a frozen dataclass does."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from attncli.frozen import Frozen


class Point(Frozen):
    """Two numbers and a list."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)


class Named(Point, kw_only=True):
    """A point with a name."""

    name: str = "P"


@dataclass(frozen=True)
class Model:
    """The same, as the standard library makes it."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)


@pytest.mark.parametrize("declared", [Point, Model])
def test_a_field_is_set_once(declared: Any) -> None:
    """Neither a given field nor a default changes afterwards; the message says which."""
    made = declared(1)
    for name in ("x", "y"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(made, name, 5)


@pytest.mark.parametrize("declared", [Point, Model])
def test_fields_say_what_is_equal(declared: Any) -> None:
    """Two of a class are equal, and hash alike, when all of their fields are."""
    assert declared(1) == declared(1, 2, [])
    assert declared(1) != declared(2)
    assert hash(declared(1, 2, ())) == hash(declared(1, 2, ()))
    assert declared(1) != (1, 2, [])


def test_another_class_is_never_equal() -> None:
    """A subclass with the same fields is something else, as it is for dataclasses."""
    assert Point(1) != Named(x=1)


def test_it_prints_as_a_dataclass_does() -> None:
    """The representation names class and fields."""
    assert repr(Point(1)) == repr(Model(1)).replace("Model", "Point")
    assert repr(Named(1)) == "Named(x=1, y=2, tags=[], name='P')"


def test_the_tools_for_dataclasses_work() -> None:
    """`replace` and `fields` take it, and a factory makes a value of its own for each."""
    assert replace(Named(1), name="Q") == Named(1, name="Q")
    assert [each.name for each in fields(Named)] == ["x", "y", "tags", "name"]
    assert Point(1).tags is not Point(1).tags


def test_keywords_only_where_it_says_so() -> None:
    """``kw_only`` holds for the fields of the class that has it."""
    with pytest.raises(TypeError, match="positional argument"):
        Named(1, 2, [], "Q")  # type: ignore[call-arg]
