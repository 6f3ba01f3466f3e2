"""What a text is rendered for: a terminal, a pipe or a file."""

from __future__ import annotations

from typing import Literal, get_args

from attncli.frozen import Frozen

__all__ = ["PAGE", "THEMES", "Terminal", "Theme"]

Theme = Literal["dark", "light"]
THEMES: tuple[Theme, ...] = get_args(Theme)
"""Backgrounds that colours are chosen for."""

PAGE = 120
"""Columns of a page: of a picture, and of what is packed side by side where there is no terminal to fill."""


class Terminal(Frozen, kw_only=True):
    """Where a rendered text goes.

    Args:
        width: Cells in a line.
        color: How many colours there are; None is plain text.
        unicode: Whether the stream takes more than ASCII.
        interactive: Whether a person sits in front of it; a pipe gets signs that programs read.
        theme: Whether its background is dark or light.
        palette: Colours of weights.
        scale: How the size of a number becomes a colour; None is linear, but √ in pictures of weights.
        paper: Whether it is a page, whose length nobody scrolls through line by line.
    """

    width: int = 80
    color: Literal["8", "16", "256", "truecolor"] | None = None
    unicode: bool = True
    interactive: bool = True
    theme: Theme = "dark"
    palette: str = "blues"
    scale: str | None = None
    paper: bool = False

    @property
    def shaded(self) -> bool:
        """Whether there are colours enough to show the size of a number by one."""
        return self.color in {"256", "truecolor"}
