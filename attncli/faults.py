"""What went wrong, as one message in one look, and the exit status that it has."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from attncli.errors import AttnError, ExitCode
from attncli.text import quote
from attncli.version import __version__

__all__ = ["verdict"]


def verdict(error: Exception) -> tuple[str, ExitCode]:
    """Find what to say of an exception, and the exit status.

    Args:
        error: Anything that a command raised.

    Returns:
        The message and the status.
    """
    if isinstance(error, AttnError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        return _usage(error), ExitCode.INPUT
    # torch's own, which is a RuntimeError, says that a GPU is full
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return _memory(error), ExitCode.CANNOT
    return _bug(error), ExitCode.CANNOT


def _usage(error: typer.TyperException) -> str:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    first, *rest = text.rstrip(".").splitlines() or ["bad usage"]
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "attn"
    if setting := _setting(error, context):
        return f"no such option: {error.option_name}\n  fix: {setting}"  # type: ignore[attr-defined]
    return "\n".join(
        [_lowered(first), *(f"       {line.strip()}" for line in rest), f"  fix: {command} --help"]
    )


def _setting(error: typer.TyperException, context: typer.Context | None) -> str:
    """Say how to set what an option that there is not is a key of; empty where it is none."""
    from attncli.problem import Problem, keys  # noqa: PLC0415  (only errors need it)

    name = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
    options = [each for parameter in context.command.params for each in parameter.opts] if context else []
    if "--set" not in options or name not in {key.name for key in keys(Problem)}:
        return ""
    return "--causal, or --set mask=…" if name == "mask" else f"--set {name}=…"


def _memory(error: Exception) -> str:
    detail = quote(_lowered(str(error)), limit=200, marks="")
    return "\n".join(
        [
            f"memory does not suffice: {detail}" if detail else "memory does not suffice",
            "  fix: a shorter sequence, or --dtype float32",
        ]
    )


def _bug(error: Exception) -> str:
    if os.environ.get("ATTN_DEBUG"):
        return "internal error\n" + "".join(traceback.format_exception(error)).rstrip()
    return "\n".join(
        [
            f"internal error: {type(error).__name__}: {quote(str(error), limit=200, marks='')}",
            f"       attn {__version__}, Python {sys.version.partition(' ')[0]}, {sys.platform}",
            "  fix: please report it, with the input and what ATTN_DEBUG=1 adds to this message",
        ]
    )


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
