"""Array libraries by name: what is there, what is not, and how each precision rounds."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attncli.backends import BACKENDS, open_backend
from attncli.compute import compute
from attncli.errors import InputError, UnavailableError
from attncli.problem import Mask, Problem
from tests.computed import array_of, detail, stage

HALVES = ("float16", "bfloat16")
DTYPES = ("float64", "float32", *HALVES)


def draw(*shape: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(shape).normal(size=shape))


def of_every_kind(dtype: str) -> Problem:
    """Make a problem with batch, heads, a mask and an output weight."""
    mask = Mask(causal=True, lengths=(3, 1), query_padding=np.eye(2, 3) < 1)
    return Problem(X=draw(2, 3, 4), W_O=draw(4, 4), num_heads=2, temperature=0.7, mask=mask, dtype=dtype)


@pytest.fixture
def torch() -> Any:
    """Give torch, where it is installed."""
    return pytest.importorskip("torch", reason='needs torch: pip install "attncli[torch]"')


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Give the name of each backend whose library is installed."""
    name: str = request.param
    pytest.importorskip(name, reason=f'needs {name}: pip install "attncli[{name}]"')
    return name


# what is there


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "numpyy"}, "there is no backend 'numpyy'"),
        ({"device": "gpu"}, "there is no device 'gpu'"),
        ({"device": "cuda:x"}, "there is no device 'cuda:x'"),
        ({"device": "cuda:"}, "there is no device 'cuda:'"),
        ({"device": "cuda:-1"}, "there is no device 'cuda:-1'"),
        ({"device": "cuda:٣"}, "there is no device"),
        ({"name": "numpy", "device": "cuda"}, "numpy does not run on cuda, only on cpu"),
        ({"name": "jax", "device": "mps"}, "jax does not run on mps"),
    ],
)
def test_an_unknown_backend_or_device_is_an_input_error(arguments: dict[str, str], message: str) -> None:
    """The message names what was asked for, and the choices."""
    with pytest.raises(InputError, match=message) as caught:
        open_backend(**arguments)
    assert "cpu" in str(caught.value) or "numpy, torch, jax" in str(caught.value)


def test_numpy_on_a_gpu_is_answered_with_what_would_run_there() -> None:
    """No other library stands in silently; the fix says how to ask for it."""
    with pytest.raises(InputError, match=r"numpy does not run on cuda") as caught:
        open_backend("numpy", "cuda:1")
    assert caught.value.fix == "--backend torch --device cuda:1"


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend whose library is absent is unavailable, not an import error."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=f"needs the package {name}") as caught:
        open_backend(name)
    assert caught.value.fix == f'pip install "attncli[{name}]"'


def test_the_default_is_numpy_and_a_gpus_is_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name the CPU is NumPy's; a GPU is torch's, which must then be there."""
    assert (open_backend().backend, open_backend(device="cpu").backend) == ("numpy", "numpy")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match="backend torch"):
        open_backend(device="cuda")


def test_cuda_without_a_gpu_says_why(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch without CUDA and a machine without a GPU are told apart."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(UnavailableError, match="built without CUDA") as caught:
        open_backend("torch", "cuda")
    assert caught.value.fix == "--device cpu"
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    with pytest.raises(UnavailableError, match=r"device cuda:0 is not there: torch .* finds no NVIDIA GPU"):
        open_backend("torch", "cuda:0")
    assert open_backend("torch", "auto").device == "cpu"


def test_a_gpu_that_is_not_there_is_answered_with_those_that_are(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine with two GPUs, cuda:2 is the third."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UnavailableError, match="cuda:2 is not there; torch finds cuda:0, cuda:1"):
        open_backend("torch", "cuda:2")
    assert open_backend("torch", "cuda:1").device == "cuda:1"
    assert open_backend("torch").device == "cuda"


def test_mps_is_said_to_be_absent_or_to_lack_float64(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apple's GPU has no float64, and nothing falls back to float32 unasked."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UnavailableError, match="no Apple GPU"):
        open_backend("torch", "mps", "float32")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(UnavailableError, match="mps has no float64"):
        open_backend("torch", "mps")
    assert open_backend("torch", "mps", "float32").device == "mps"


# arrays in and out


@pytest.mark.parametrize("kind", ["<f8", ">f8", "f4", "f2", "longdouble", ml_dtypes.bfloat16])
def test_numbers_of_any_kind_become_the_precision(backend: str, kind: Any) -> None:
    """Whatever dtype a file had, each backend computes in the one that was asked for."""
    session = open_backend(backend, "cpu")
    numbers = np.array([1.5, -0.25, np.inf]).astype(kind)
    back = session.to_numpy(session.from_numpy(numbers))
    assert back.dtype == np.float64
    assert back.tolist() == [1.5, -0.25, np.inf]


@pytest.mark.parametrize("dtype", DTYPES)
def test_truth_and_positions_keep_their_kind(backend: str, dtype: str) -> None:
    """Booleans and whole numbers of a mask are not rounded to the precision."""
    session = open_backend(backend, "cpu", dtype)
    truth, positions = np.array([True, False]), np.array([2**40 + 1, -3])
    assert str(session.from_numpy(truth).dtype).endswith("bool")
    assert str(session.from_numpy(positions).dtype).endswith("int64")
    assert np.asarray(session.from_numpy(positions)).tolist() == positions.tolist()


def test_arrays_need_not_be_writable_or_in_order(backend: str) -> None:
    """Read-only arrays, views and negative strides are taken as they are."""
    session = open_backend(backend, "cpu")
    base = np.arange(12.0).reshape(3, 4)
    base.flags.writeable = False
    for view in (base, base.T, base[::-1, ::2], np.broadcast_to(base[0], (3, 4))):
        np.testing.assert_array_equal(session.to_numpy(session.from_numpy(view)), view)


def test_jax_computes_in_float64() -> None:
    """JAX makes float32 of float64, with only a warning, unless it is told otherwise first."""
    pytest.importorskip("jax", reason='needs jax: pip install "attncli[jax]"')
    array = open_backend("jax", "cpu").from_numpy(np.array([1 + 2.0**-40]))
    assert (str(array.dtype), float(array[0])) == ("float64", 1 + 2.0**-40)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6), ("float16", 4e-3), ("bfloat16", 4e-2)]
)
def test_a_problem_has_one_result_on_every_backend(backend: str, dtype: str, tolerance: float) -> None:
    """Each backend gives NumPy's stages, to the precision, and says what it ran on."""
    problem = of_every_kind(dtype)
    result, wanted = compute(problem, backend=backend, device="cpu"), compute(problem)
    assert (result.backend, result.device, result.dtype) == (backend, "cpu", dtype)
    for name in (record.stage.name for record in wanted.records):
        got, numpys = array_of(result, name), array_of(wanted, name)
        np.testing.assert_allclose(got, numpys, rtol=tolerance, atol=tolerance, err_msg=name)


# precisions


@pytest.mark.parametrize("dtype", HALVES)
def test_half_precisions_round_after_every_stage(backend: str, dtype: str) -> None:
    """Each stage's numbers are ones that the precision has."""
    problem = of_every_kind(dtype)
    own = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    for record in compute(problem, backend=backend, device="cpu").records:
        assert record.array is not None
        assert record.array.dtype == np.float32
        np.testing.assert_array_equal(record.array, record.array.astype(own).astype(np.float32))


def test_scores_overflow_in_float16_as_they_would_in_an_engine(backend: str) -> None:
    """200·200 + 200·200 is more than 65504: scores are infinite before the scale could help."""
    keys: dict[str, Any] = {
        "Q": np.array([[200.0, 200.0]]),
        "K": np.array([[200.0, 200.0], [1.0, 1.0]]),
        "V": np.array([[1.0], [2.0]]),
    }
    result = compute(Problem(**keys, dtype="float16"), backend=backend, device="cpu")
    assert array_of(result, "scores").tolist() == [[np.inf, 400.0]]
    assert np.isnan(array_of(result, "weights")[0, 0])
    np.testing.assert_allclose(stage("scaled", **keys), [[56568.5425, 282.8427]], rtol=1e-6)
    assert stage("output", **keys).tolist() == [[1.0]]


def test_bfloat16_rounds_as_torch_does_bit_for_bit(torch: Any) -> None:
    """NumPy's stand-in for bfloat16 and torch's own agree on every pattern of bits tried."""
    rng = np.random.default_rng(0)
    single = rng.integers(0, 2**32, size=100_000, dtype=np.uint32).view(np.float32)
    double = np.concatenate([rng.normal(size=100_000), 1 + 2.0 ** -np.arange(5, 12)])
    session = open_backend("numpy", dtype="bfloat16")
    for numbers in (single, double):
        with np.errstate(invalid="ignore"):
            ours = session.from_numpy(numbers)
        theirs = torch.from_numpy(numbers).to(torch.bfloat16).to(torch.float32).numpy()
        np.testing.assert_array_equal(ours, theirs)
        assert not np.array_equal(ours, numbers.astype(np.float32), equal_nan=True)


def test_a_finite_fill_depends_on_the_precision() -> None:
    """−1e9 is −∞ in float16, and finfo_min is each precision's own."""
    nothing = {"scaled": np.zeros((1, 2)), "mask": Mask(keep=np.zeros((1, 2), dtype=bool))}
    assert stage("masked", **nothing, mask_fill=-1e9, dtype="float16").tolist() == [[-np.inf] * 2]
    lowest = {dtype: stage("masked", **nothing, mask_fill="finfo_min", dtype=dtype)[0, 0] for dtype in DTYPES}
    assert lowest == {
        "float64": np.finfo(np.float64).min,
        "float32": np.finfo(np.float32).min,
        "float16": -65504.0,
        "bfloat16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).min),
    }


def test_details_are_finer_than_the_precision_and_not_rounded_again() -> None:
    """The log-sum-exp of a bfloat16 result is taken in float32 from the rounded scores."""
    lse = detail("lse", scaled=np.zeros((1, 3)), dtype="bfloat16")
    np.testing.assert_allclose(lse, np.log(3), rtol=1e-6)


# what an import costs


@pytest.mark.parametrize(
    ("module", "banned"),
    [
        (
            "attncli.core.attention",
            {"numpy", "array_api_compat", "torch", "jax", "ml_dtypes", "rich", "typer"},
        ),
        ("attncli.problem", {"numpy", "array_api_compat", "torch", "jax", "ml_dtypes", "rich", "typer"}),
        ("attncli.compute", {"array_api_compat", "torch", "jax", "ml_dtypes", "rich", "typer", "yaml"}),
    ],
)
def test_importing_a_room_does_not_load_what_it_does_not_need(module: str, banned: set[str]) -> None:
    """The mathematics loads no array library, and computing with NumPy loads no other."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "attncli" in loaded
    assert not loaded & banned


def test_a_library_is_loaded_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening NumPy asks for no package: the others cost seconds."""

    def refuse(name: str) -> ModuleType:
        raise AssertionError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    assert open_backend("numpy", dtype="float32").dtype == "float32"
