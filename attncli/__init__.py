"""attn, the attention calculator: every number between the matrices and the output."""

__version__ = "0.1.0"

__all__ = ["__version__"]
