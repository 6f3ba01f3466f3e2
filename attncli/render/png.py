"""A sheet as PNG: the SVG, drawn by resvg."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from attncli.errors import UnavailableError
from attncli.render.svg import draw, lay_out, size_of
from attncli.render.terminal import Terminal
from attncli.sheet import Sheet

__all__ = ["render_png"]

_ZOOM = 2  # so that text is sharp on the screens of today
_MOST = 50e6  # pixels, of which each takes four bytes; a larger picture is drawn without the zoom


def render_png(sheet: Sheet, terminal: Terminal) -> Iterator[bytes]:
    """Draw a sheet as one PNG image.

    Raises:
        UnavailableError: resvg is not installed.
    """
    if importlib.util.find_spec("resvg_py") is None:
        raise UnavailableError(
            "png needs the package resvg-py, which is not installed", fix='pip install "attncli[png]"'
        )
    from resvg_py import svg_to_bytes  # noqa: PLC0415  (an extra)

    box = lay_out(sheet, terminal)
    width, height = size_of(box)
    zoom = _ZOOM if width * height * _ZOOM**2 <= _MOST else 1
    svg = "".join(draw(box, sheet.title, terminal.theme, titled=False))  # nobody points at a cell of it
    yield bytes(svg_to_bytes(svg_string=svg, zoom=zoom))
