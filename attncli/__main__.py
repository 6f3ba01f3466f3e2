"""``python -m attncli``, and the ``attn`` command."""

from __future__ import annotations

import gc
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        _settle()  # Ctrl-C may come while anything is imported, so that all of it is imported in here
        gc.set_threshold(200_000)  # nothing that is imported is garbage, and looking through it takes time
        from attncli.cli import run  # noqa: PLC0415

        status = run()
    except KeyboardInterrupt:
        status = 130
    gc.freeze()  # what is left goes with the process
    sys.exit(status)


def _settle() -> None:
    import signal  # noqa: PLC0415

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that half a file is cleared away
    # A file must not take the number of a standard stream that is closed: what a library writes
    # there would end up in it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004
        pass
    os.close(descriptor)


if __name__ == "__main__":
    main()
