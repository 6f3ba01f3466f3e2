"""attn, the attention calculator: every number between the matrices and the output.

>>> from attncli import attend, load
>>> attend(X=[[1, 0], [0, 1]], mask="causal").array("weights").tolist()[0]
[1.0, 0.0]
"""

from __future__ import annotations

from attncli.version import __version__

TYPE_CHECKING = False  # typing's own takes longer than all until Ctrl-C is heeded
if TYPE_CHECKING:
    from typing import Any

    from attncli.python import Attention, attend, load

__all__ = ["Attention", "__version__", "attend", "load"]


def __getattr__(name: str) -> Any:
    """Bring NumPy in only when somebody computes: `attn --help` imports this module, too."""
    if name in {"Attention", "attend", "load"}:
        from attncli import python  # noqa: PLC0415

        return getattr(python, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
