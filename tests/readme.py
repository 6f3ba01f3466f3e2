"""Console blocks of a document: the commands in them, and what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Step", "rewrite", "run", "steps"]

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command, and what the document says that it prints."""

    command: str
    printed: str


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of the console blocks; a line that starts with ``$`` begins one."""
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield Step(command, printed)


def run(command: str) -> str:
    """Run a command of a document in the project's folder, and return all that it prints."""
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        environment.pop(name, None)
    shell = shutil.which("bash") or "sh"
    done = subprocess.run(
        [shell, "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode()


def rewrite(path: Path) -> None:
    """Write what the commands of a document print into it."""

    def filled(match: re.Match[str]) -> str:
        parts = [f"$ {step.command}\n{run(step.command)}" for step in steps(match[0])]
        return "```console\n" + "".join(parts) + "```"

    path.write_text(_BLOCK.sub(filled, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
