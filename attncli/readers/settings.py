"""``--set KEY=VALUE``: values of the command line in place of those of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attncli.errors import InputError, Path, Place
from attncli.frozen import Frozen
from attncli.problem import Source
from attncli.readers.keys import mapping_at_top
from attncli.readers.tree import Tree
from attncli.text import quote

__all__ = ["Overridden", "Setting", "apply", "parse_setting"]

# Of two ways to say one thing, the one on the command line replaces the other in the file.
_INSTEAD = {"scale": "divide_by", "divide_by": "scale"}


class Setting(Frozen):
    """One ``--set``.

    Args:
        text: As it was written: ``mask.causal=true``.
        path: The keys to the value.
        value: What it is set to.
    """

    text: str
    path: tuple[str, ...]
    value: Tree

    @property
    def place(self) -> Place:
        """Where errors about it point."""
        return Place(f"--set {self.text}")


class Overridden(Source, kw_only=True):
    """A source of which some values come from the command line.

    Args:
        base: Where the other values come from.
        settings: What replaces them.
    """

    base: Source
    settings: tuple[Setting, ...]

    def locate(self, path: Path) -> tuple[int, int, str] | None:
        """Return the place in the file, or None for a value that is not from there."""
        return None if self._setting(path) else self.base.locate(path)

    def place(self, path: Path) -> Place:
        """Return the option, or the place in the file, that gave the value at ``path``."""
        setting = self._setting(path)
        return setting.place if setting else self.base.place(path)

    def _setting(self, path: Path) -> Setting | None:
        covering = [each for each in self.settings if path[: len(each.path)] == each.path]
        return covering[-1] if covering else None


def parse_setting(text: str) -> Setting:
    """Read ``KEY=VALUE``, where dots in KEY lead into mappings and VALUE is YAML.

    Raises:
        InputError: If there is no equals sign, or the value is not YAML.
    """
    key, equals, value = text.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    place = Place(f"--set {text}")
    if not equals or not all(path):
        raise InputError(
            f"{quote(text)} sets nothing", fix="write --set KEY=VALUE, such as --set scale=0.5", place=place
        )
    from attncli.readers import yaml_tree  # noqa: PLC0415  (only --set needs YAML where the problem is JSON)

    try:
        value.encode()
        return Setting(text, path, yaml_tree.parse(value or '""', f"--set {text}"))
    except UnicodeEncodeError as error:
        raise InputError("the value is not text in this locale's encoding", place=place) from error


def apply(tree: Tree, settings: Sequence[Setting]) -> Tree:
    """Return a tree in which the settings replace what the file says.

    Args:
        tree: What the file says; it stays as it is.
        settings: Later ones replace earlier ones.

    Raises:
        InputError: If a dotted key leads into a value that has no keys.
    """
    mapping_at_top(tree)
    result = dict(tree)
    for setting in settings:
        result.pop(_INSTEAD.get(setting.path[0], ""), None)
        _put(result, setting)
    return result


def _put(target: dict[str, Tree], setting: Setting) -> None:
    for depth, name in enumerate(setting.path[:-1], start=1):
        inner = target.get(name, {})
        if setting.path[:depth] == ("mask",):
            inner = _mask_mapping(inner)
        if not isinstance(inner, Mapping):
            shown = ".".join(setting.path[:depth])
            raise InputError(
                f"{shown} is no mapping, so {'.'.join(setting.path)} cannot be set in it",
                fix=f"set {shown} as a whole",
                place=setting.place,
            )
        target[name] = dict(inner)
        target = target[name]
    target[setting.path[-1]] = setting.value


def _mask_mapping(value: Tree) -> Tree:
    """Return the mapping that a short form of mask stands for."""
    if isinstance(value, str) and value in {"causal", "none"}:
        return {"causal": "true"} if value == "causal" else {}
    return {"keep": value} if isinstance(value, list) else value
