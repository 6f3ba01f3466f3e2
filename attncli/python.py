"""attn for Python and notebooks: read or write a problem, attend, and look at the result."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, Unpack

import numpy as np

from attncli import readers
from attncli.compute import Result, compute
from attncli.errors import InputError
from attncli.explain import explain
from attncli.meant import did_you_mean
from attncli.problem import Kind, Problem, Source, keys
from attncli.readers.keys import to_problem
from attncli.render import FORMATS
from attncli.render.explanation import explanation_text, style
from attncli.render.terminal import PAGE
from attncli.seen import TEXT, Seen, page, view_of
from attncli.sheet import View
from attncli.text import quote
from attncli.trace import Record

__all__ = ["Attention", "attend", "load"]

_ARRAYS = tuple(key.name for key in keys(Problem) if key.kind is Kind.ARRAY)


class Attention(Result):
    """A result that shows itself: as text at a prompt, and as a picture in a notebook."""

    def __getitem__(self, stage: str) -> Record:
        """Return the record of a stage by its name.

        Raises:
            InputError: The problem has no such stage.
        """
        names = [record.stage.name for record in self.records]
        if stage not in names:
            raise InputError(
                f"this problem has no stage {quote(stage)}",
                context=f"stages: {', '.join(names)}",
                fix=did_you_mean(stage, names, "take one of them"),
            )
        return super().__getitem__(stage)

    def __repr__(self) -> str:
        """Return the sheet as `attn compute` prints it."""
        return self.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Offer notebooks the sheet as SVG, and as text where they show no pictures."""
        del include, exclude
        return {"text/plain": self.text(), "image/svg+xml": self.svg()}

    def text(self, *, width: int = TEXT.width, scale: str | None = None, **view: Unpack[Seen]) -> str:
        """Write the sheet.

        Args:
            width: Cells in a line.
            scale: How the size of a number becomes the shade of a square, as in `svg`.
            **view: What to see of it, as in `View`: ``stages="weights"``, ``head=1``, ``full=True``.

        Raises:
            InputError: There is no such option, or not that choice of one.
        """
        sheet = page(width=width, scale=scale)
        seen = view_of(view, ("width", "scale"))
        sheets = FORMATS["table"].render([self._for(seen)], seen, sheet)
        return "".join(map(str, sheets)).rstrip("\n")

    def svg(
        self,
        *,
        width: int = PAGE,
        theme: Literal["auto", "dark", "light"] = "auto",
        palette: str = "blues",
        scale: str | None = None,
        **view: Unpack[Seen],
    ) -> str:
        """Draw the sheet.

        Args:
            width: Columns that it is laid out for.
            theme: Whether the background is dark or light; ``auto`` is light.
            palette: Colours of weights.
            scale: How the size of a number becomes a colour; None is linear, but ``sqrt`` in pictures of
                weights.
            **view: As in `text`, but without answers.

        Raises:
            InputError: There is no such option, or not that choice of one.
        """
        seen = view_of(view, ("width", "theme", "palette", "scale"))
        if seen.answers:
            raise InputError("an SVG is one picture, without answers", fix="text(…, answers=True)")
        sheet = page(width=width, theme=theme, palette=palette, scale=scale)
        return "".join(map(str, FORMATS["svg"].render([self._for(seen)], seen, sheet)))

    def save(
        self,
        file: str | pathlib.Path,
        *,
        format: str | None = None,  # noqa: A002  (as the option is called)
        width: int | None = None,
        theme: Literal["auto", "dark", "light"] = "auto",
        palette: str = "blues",
        scale: str | None = None,
        **view: Unpack[Seen],
    ) -> None:
        """Write the result to a file as `attn compute -o` does, in the format that its name ends in.

        Args:
            file: Such as ``result.json``, ``.npz``, ``.safetensors``, ``.png`` or ``.svg``.
            format: Its name, as ``--format`` takes it, where the file's name does not say it.
            width: Columns that it is laid out for; None is as wide as the format has it.
            theme: As in `svg`.
            palette: As in `svg`.
            scale: As in `svg`.
            **view: As in `text`. Of formats that hold the numbers as they are, only ``stages`` says what is
                kept.

        Raises:
            InputError: The name ends in no format, the format does not take that, or the file is one that
                the problem was read from.
            UnavailableError: The file cannot be written.
        """
        from attncli.deliver import Delivery  # noqa: PLC0415  (it brings the command line's options)
        from attncli.options import Output, all_there  # noqa: PLC0415
        from attncli.stored import only  # noqa: PLC0415

        page(width=PAGE if width is None else width, theme=theme, palette=palette, scale=scale)
        look: dict[str, Any] = {"theme": theme, "palette": palette, "scale": scale, "width": width}
        asked = Output(output=str(file), format=format, quiet=True, **look)
        delivery = Delivery(asked, [self.problem.origin.name, *self.problem.origin.files])
        seen = delivery.fit(view_of(view, ("format", *look)))
        all_there(self, seen.stages or ())
        delivery.write([only(self._for(seen), seen.stages)], seen)

    def _for(self, seen: View) -> Result:
        """Return what a view needs: with the details that are too large to be kept, these are computed again."""
        if not seen.detail:
            return self
        return compute(self.problem, backend=self.backend, device=self.device, large_details=True)

    def explain(self, cell: str, *, depth: int | None = None) -> str:
        """Write the arithmetic of one cell, such as ``weights[2,1]``, back to what was given.

        Raises:
            InputError: There is no such cell.
        """
        written = style(TEXT)
        return explanation_text(explain(self, cell, written, depth), written, TEXT).rstrip("\n")

    def array(self, stage: str) -> np.ndarray:
        """Return what a stage returned.

        Raises:
            InputError: The problem has no such stage.
        """
        array = self[stage].array
        assert array is not None, "every stage is kept"
        return np.asarray(array)


def load(name: str | pathlib.Path) -> Problem:
    """Read a problem file.

    Raises:
        InputError: It cannot be read as one problem; says where, and why.
    """
    problems = readers.load(str(name))
    if len(problems) != 1:
        raise InputError(f"{name} holds {len(problems)} problems", fix="read them with attncli.readers.load")
    return problems[0]


def attend(
    problem: Problem | str | pathlib.Path | None = None,
    *,
    backend: str | None = None,
    device: str = "auto",
    **given: Any,
) -> Attention:
    """Compute every stage of attention.

    Args:
        problem: What to compute, or the file that says it; None starts from nothing.
        backend: Name of the array library; None is NumPy, or torch when the device is no CPU.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        **given: Keys of the problem file, which replace what the problem says: arrays as NumPy
            arrays, tensors or nested lists, everything else as YAML would have it: ``mask="causal"``.
            What is None is not given.

    Raises:
        InputError: The problem cannot be computed as it is written.
        UnavailableError: The backend or device is not here, or memory would not suffice.
    """
    whole = _problem(_base(problem), {name: value for name, value in given.items() if value is not None})
    with readers.located(whole.origin):
        result = compute(whole, backend=backend, device=device)
    return Attention(**{each.name: getattr(result, each.name) for each in fields(Result)})


def _base(problem: object) -> Problem | None:
    if isinstance(problem, (str, pathlib.Path)):
        return load(problem)
    if problem is None or isinstance(problem, Problem):
        return problem
    raise InputError(
        f"attend was given a value of type {type(problem).__name__}, where a problem or a file was expected",
        fix="name what it is, such as attend(X=…), or attend(Q=…, K=…, V=…)",
    )


def _problem(base: Problem | None, given: Mapping[str, Any]) -> Problem:
    arrays = {name: _array(value) for name, value in given.items() if _is_array(name, value)}
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub" or not array.size or array.ndim not in range(1, 5):
            raise InputError(
                f"{name} is an array of {array.dtype} of shape {array.shape}",
                path=(name,),
                context="1 to 4 axes of real numbers were expected",
            )
    read: dict[str, Any] = {}
    if rest := {name: _tree(value) for name, value in given.items() if name not in arrays}:
        parsed = to_problem(rest, Source(), pathlib.Path())
        read = {name: getattr(parsed, name) for name in rest}
    for name, array in arrays.items():
        read[name] = array if array.dtype.kind == "f" else array.astype(float)
    return replace(base or Problem(), **read)


def _is_array(name: str, value: object) -> bool:
    return name in _ARRAYS and not isinstance(value, (str, Mapping, Sequence))


def _array(value: Any) -> np.ndarray:
    """Take an array of any library; NumPy has no bfloat16, and knows no gradients."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _precision(value: Any) -> str:
    """Name a precision of NumPy, JAX or torch; empty where a value is none."""
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if isinstance(value, (type, np.dtype)) or (callable(value) and hasattr(value, "dtype")):
        return str(np.dtype(value).name)
    return ""


def _tree(value: Any) -> Any:
    """Write a value as a file's parser would hand it over."""
    if precision := _precision(value):
        return precision
    if isinstance(value, Mapping):
        return {str(name): _tree(each) for name, each in value.items()}
    if isinstance(value, float) and math.isinf(value):
        return str(value)  # spelled, as in a file: a number that is infinite was too large for float64
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if hasattr(value, "tolist"):
        array = _array(value)
        infinite = array.dtype.kind == "f" and np.isinf(array).any()
        return _tree(array.tolist()) if infinite else array.tolist()
    return [_tree(each) for each in value] if isinstance(value, Iterable) else str(value)
