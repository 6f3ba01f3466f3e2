"""A function as a command of Typer, quick to start.

Typer makes the options of every command before it knows which one is meant, and loads pydantic to
read the first value: together that takes longer than the problem itself. Here a command is made
when it is asked for, and pydantic is loaded for a value that is not plain, such as a wrong one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from attncli.text import quote

__all__ = ["Group", "Later"]

DIGITS = 18
"""Digits of the longest number that is read here."""


class Later(TyperCommand):
    """A command that is made when it is asked for.

    Args:
        name: Its name, and that of the function that carries it out.
        room: The module of that function, and of a table ``HELP`` that says what its help says.
        epilog: What stands under its help.
    """

    def __init__(self, name: str, room: str, epilog: str) -> None:
        super().__init__(name, epilog=epilog)
        self._room = room

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return what its help begins with, up to a semicolon."""
        del limit
        first, *_ = import_module(self._room).HELP[self.name].splitlines()
        return f"{first.partition(';')[0].rstrip('.')}."

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Make the command, and have it read its arguments."""
        return self.made().make_context(*given, **more)

    def made(self) -> Any:
        """Make the command, with its options."""
        room = import_module(self._room)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, cls=_Command, help=room.HELP[self.name], epilog=self.epilog)(
            _expanded(getattr(room, str(self.name)))
        )
        return typer.main.get_command(app)


class Group(TyperGroup):
    """Commands that share a name, and options before theirs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what comes before the command's name."""
        _adapt(self.get_params(ctx))
        return super().parse_args(ctx, args)


class _Command(TyperCommand):
    """One command with its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read arguments and options."""
        _adapt(self.get_params(ctx))
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if getattr(error, "ctx", ctx) is None:  # an option without its value does not know whose it is
                error.ctx = ctx  # type: ignore[attr-defined]
            raise


def _adapt(parameters: list[Any]) -> None:
    """Let parameters read plain values themselves, and say in help what a reader needs, and no types."""
    for each in parameters:
        each.process_value = functools.partial(_read, each, each.process_value)
        each._get_number_range_help_str = functools.partial(_limits, each)  # noqa: SLF001  (Typer has no other)
        if each.param_type_name == "argument":
            each.display_type_rich = lambda **_: ""
            each.get_usage_pieces = functools.partial(_usage, each.get_usage_pieces)


def _usage(by_typer: Callable[..., list[str]], context: Any) -> list[str]:
    """Name an argument that must be there without the braces that Typer has for it."""
    return [piece.replace("{", "").replace("}", "") for piece in by_typer(context)]


def _limits(parameter: Any) -> str | None:
    """Say how large a number may be, where that is not clear by itself."""
    least, most = parameter.min, parameter.max
    return None if most is None or most >= 10**DIGITS else f"{least} to {most}"


def _read(parameter: Any, by_typer: Callable[..., Any], context: Any, value: Any) -> Any:
    """Read a value of a parameter, which is what Typer calls ``process_value``."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    is_word = kind in (str, list[str]) and value
    is_default = value is parameter.default and not parameter.required
    if kind is int and _is_number(value, parameter.min, parameter.max):
        value = int(value)
    elif not (is_word or is_default):
        try:
            return by_typer(context, value)
        except typer.BadParameter as error:
            if kind is int and isinstance(value, str):
                limits = f"to {parameter.max}" if parameter.max is not None else "on"
                error.message = f"{quote(value)} is no whole number from {parameter.min} {limits}"
            raise
    return parameter.callback(context, parameter, value) if parameter.callback else value


def _is_number(value: Any, least: int | None, most: int | None) -> bool:
    """Tell whether a value is a few digits, and what they say is in a range."""
    if not (isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= DIGITS):
        return False
    return (least is None or least <= int(value)) and (most is None or int(value) <= most)


def _expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's parameters that are groups of options by the options themselves."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        return command(**made, **given)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        inner = inspect.signature(groups[parameter.name]) if parameter.name in groups else None
        annotations = get_type_hints(groups[parameter.name], include_extras=True) if inner else hints
        for each in inner.parameters.values() if inner else (parameter,):
            kind = inspect.Parameter.KEYWORD_ONLY  # so that no order of defaults is asked for
            parameters.append(each.replace(kind=kind, annotation=annotations[each.name]))
    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
