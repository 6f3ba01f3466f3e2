"""Array libraries by name: each is loaded when it is first used, and none stands in for another."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from attncli.errors import InputError, Place, UnavailableError
from attncli.frozen import Frozen
from attncli.trace import Array

if TYPE_CHECKING:  # help lists the backends, and must not wait for NumPy
    import numpy as np

__all__ = ["BACKENDS", "Session", "open_backend"]

HALF = ("float16", "bfloat16")
"""Precisions that round after every stage."""


class Session(Frozen):
    """An array library on one device, at one precision.

    Args:
        backend: Name of the library.
        device: The device, as the library names it.
        dtype: The precision.
        from_numpy: Takes a NumPy array to the device, at the precision unless it is boolean or integer.
        to_numpy: Brings an array back to NumPy, in float32 or float64.
        rounder: Makes, for a precision, what rounds an array to it; None where the arrays have it.
        fused: Computes softmax(q·kᵀ)·v in one kernel, causal or not; None where there is none.
    """

    backend: str
    device: str
    dtype: str
    from_numpy: Callable[[np.ndarray], Array]
    to_numpy: Callable[[Array], np.ndarray]
    rounder: Callable[[str], Callable[[Array], Array] | None]
    fused: Callable[[Array, Array, Array, bool], Array] | None = None


class Backend(Frozen):
    """How to get at an array library.

    Args:
        devices: Kinds of device that it knows.
        open: Makes a session from a device (``auto`` for its own choice) and a dtype.
    """

    devices: tuple[str, ...]
    open: Callable[[str, str], Session]


def _is_number(array: np.ndarray) -> bool:
    return array.dtype.kind not in "biu"


def _open_numpy(_device: str, dtype: str) -> Session:
    import numpy as np  # noqa: PLC0415

    # For the halves, NumPy computes in float32 and rounds after each stage, as hardware that
    # accumulates in float32 and stores halves does.
    own = np.dtype("float32" if dtype in HALF else dtype)

    def rounder(precision: str) -> Callable[[Array], Array] | None:
        target = _bfloat16() if precision == "bfloat16" else np.dtype(precision)
        if target == own:
            return None

        def rounded(array: Array) -> Array:
            with np.errstate(over="ignore"):  # an overflow is a number of the result: infinity
                return np.asarray(array).astype(target).astype(own)

        return rounded

    def from_numpy(array: np.ndarray) -> Array:
        if not _is_number(array):
            return array
        exact = rounder(dtype)
        return exact(array) if exact else np.asarray(array, dtype=own)

    return Session("numpy", "cpu", dtype, from_numpy, lambda a: a, rounder)


def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes  # noqa: PLC0415  (rarely needed)
    import numpy as np  # noqa: PLC0415

    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def _import(name: str) -> Any:
    if importlib.util.find_spec(name) is None:
        raise UnavailableError(
            f"the backend {name} needs the package {name}, which is not installed",
            fix=f'pip install "attncli[{name}]"',
        )
    return importlib.import_module(name)


def _open_torch(device: str, dtype: str) -> Session:
    import numpy as np  # noqa: PLC0415

    torch = _import("torch")
    kind = device.partition(":")[0]
    if device == "auto":
        device = kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        _need_cuda(torch, device)
    if kind == "mps":
        if not torch.backends.mps.is_available():
            raise UnavailableError("torch finds no Apple GPU (mps) on this machine", fix="--device cpu")
        if dtype == "float64":
            raise UnavailableError("mps has no float64", fix="--dtype float32, or --device cpu")
    own = getattr(torch, dtype)

    def to_torch(array: np.ndarray) -> Array:
        # torch takes neither read-only arrays nor negative strides, foreign byte orders or bfloat16
        # from NumPy, so it gets a plain copy; NumPy rounds to float16 once, torch by way of float32.
        if not _is_number(array):
            return torch.from_numpy(np.array(array, order="C")).to(device)
        exact = np.dtype("float16" if dtype == "float16" else "float64")
        # The precision comes first: an Apple GPU has no float64 to put the numbers in.
        return torch.from_numpy(np.array(array, dtype=exact, order="C")).to(own).to(device)

    def to_numpy(tensor: Array) -> np.ndarray:
        wide = tensor.to(torch.float32) if dtype in HALF and tensor.is_floating_point() else tensor
        return np.asarray(wide.cpu().numpy())

    def rounder(precision: str) -> Callable[[Array], Array] | None:
        target = getattr(torch, precision)
        return None if target == own else lambda tensor: tensor.to(target).to(own)

    return Session("torch", device, dtype, to_torch, to_numpy, rounder, partial(_torch_fused, torch))


def _torch_fused(torch: Any, q: Array, k: Array, v: Array, causal: bool) -> Array:
    # With fewer than four axes, torch takes a way that makes all scores at once.
    four = [each.reshape((1,) * (4 - each.ndim) + tuple(each.shape)) for each in (q, k, v)]
    output = torch.nn.functional.scaled_dot_product_attention(*four, is_causal=causal, scale=1.0)
    return output.reshape((*q.shape[:-1], v.shape[-1]))


def _need_cuda(torch: Any, device: str) -> None:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        build = "is built without CUDA" if torch.version.cuda is None else "finds no NVIDIA GPU"
        raise UnavailableError(
            f"device {device} is not there: torch {torch.__version__} {build}", fix="--device cpu"
        )
    index = device.partition(":")[2]
    if index and int(index) >= count:
        there = ", ".join(f"cuda:{i}" for i in range(count))
        raise UnavailableError(f"device {device} is not there; torch finds {there}")


def _open_jax(device: str, dtype: str) -> Session:
    import numpy as np  # noqa: PLC0415

    jax = _import("jax")
    # Without this, JAX makes float32 of every float64, with no more than a warning.
    jax.config.update("jax_enable_x64", True)
    kind = None if device == "auto" else device.partition(":")[0]
    try:
        found = jax.devices(kind)
    except RuntimeError as error:
        raise UnavailableError(f"device {device} is not there for JAX", fix="--device cpu") from error
    index = int(device.partition(":")[2] or 0)
    if index >= len(found):
        raise UnavailableError(f"device {device} is not there; JAX finds {len(found)} of {kind}")
    own = jax.numpy.dtype(dtype)

    def to_jax(array: np.ndarray) -> Array:
        return jax.device_put(np.asarray(array, dtype=own if _is_number(array) else None), found[index])

    def to_numpy(array: Array) -> np.ndarray:
        return np.asarray(array, dtype=np.float32 if dtype in HALF else None)

    def rounder(precision: str) -> Callable[[Array], Array] | None:
        target = jax.numpy.dtype(precision)
        return None if target == own else lambda array: array.astype(target).astype(own)

    return Session("jax", str(found[index].platform), dtype, to_jax, to_numpy, rounder)


BACKENDS: dict[str, Backend] = {
    "numpy": Backend(("cpu",), _open_numpy),
    "torch": Backend(("cpu", "cuda", "mps"), _open_torch),
    "jax": Backend(("cpu", "cuda"), _open_jax),
}


def open_backend(name: str | None = None, device: str = "auto", dtype: str = "float64") -> Session:
    """Open an array library.

    Args:
        name: A name of `BACKENDS`; None is NumPy, or torch when the device is no CPU.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        dtype: ``float64``, ``float32``, ``float16`` or ``bfloat16``.

    Raises:
        InputError: The name or device is unknown, or the backend has no such device.
        UnavailableError: The library or the device is not on this machine.
    """
    kind, colon, index = device.partition(":")
    known = dict.fromkeys(kind for backend in BACKENDS.values() for kind in backend.devices)
    if (kind not in known and device != "auto") or (colon and not (index.isdecimal() and index.isascii())):
        raise InputError(
            f"there is no device {device!r}",
            context=f"devices: auto, {', '.join(known)}, cuda:1",
            place=Place(f"--device {device}"),
        )
    chosen = name or ("numpy" if kind in {"auto", "cpu"} else "torch")
    if chosen not in BACKENDS:
        raise InputError(
            f"there is no backend {chosen!r}",
            context=f"backends: {', '.join(BACKENDS)}",
            place=Place(f"--backend {chosen}"),
        )
    backend = BACKENDS[chosen]
    if kind not in (*backend.devices, "auto"):
        raise InputError(
            f"{chosen} does not run on {kind}, only on {', '.join(backend.devices)}",
            fix=f"--backend torch --device {device}",
            place=Place(f"--device {device}"),
        )
    return backend.open(device, dtype)
