"""``python -m attncli``, and the ``attn`` command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        from attncli.cli import run  # noqa: PLC0415  (Ctrl-C may come while it is imported)

        status = run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()
