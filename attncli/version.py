"""The version, for the package, for `attn --version` and for results."""

__all__ = ["__version__"]

__version__ = "0.1.0"
