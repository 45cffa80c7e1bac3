"""Modules with CUDA code: made without a device, what they say, and what they do on a fake one."""

import ast
import json
import subprocess
import sys

import pytest
from device_helpers import fake_driver, run_python
from tilewright.device_code import parse
from tilewright.errors import ExportError
from tilewright.export.versions import isa_levels
from tilewright.machine import resolve_isa, targets_of

SCRIPT = """
import numpy as np
def get_labels(X, means):
    d = ((X[:, None, :] - means[None, :, :]) ** 2).sum(-1)
    return np.argmin(d, axis=1)
rng = np.random.default_rng(0)
X = rng.standard_normal((50000, 2)); means = rng.standard_normal((3, 2))
for _ in range(3): get_labels(X, means)
"""


def autotune(folder, *arguments):
    (folder / "km.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "--quiet", *arguments, "km.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    for name, target in (("km_cuda", "cuda"), ("km_both", "host,cuda")):
        done = autotune(folder, "--target", target, "--build-only", "--out", name)
        assert done.returncode == 0, done.stderr
        assert "nothing measured (--build-only)" in done.stdout
    return folder


def test_names_of_targets():
    assert resolve_isa("cuda") == "cuda-sm_80" and resolve_isa("cuda-sm_75") == "cuda-sm_75"
    assert isa_levels(("cuda",)) == ["cuda-sm_80"]
    assert isa_levels(("x86-64-v3", "cuda")) == ["x86-64-v3", "x86-64", "cuda-sm_80"]
    assert targets_of("cuda").host is None and targets_of("host").device is None
    assert targets_of(None).device == "cuda-sm_80"
    with pytest.raises(ValueError, match="two of one kind"):
        targets_of("cuda,cuda-sm_75")
    with pytest.raises(ValueError, match="cuda-sm_86"):
        resolve_isa("cuda-sm_90")


def test_a_module_is_made_without_a_device(modules):
    folder = modules / "km_cuda"
    objects = sorted(file.name for file in (folder / "objects").iterdir())
    assert objects and all(".c80" in name for name in objects)
    assert b".target sm_80" in (folder / "objects" / objects[0]).read_bytes()
    assert "for cuda-sm_80" in (folder / "schedules" / "get_labels.cuda_default.tws").read_text()
    assert json.loads((folder / "evidence.json").read_text())["isa_levels"] == ["cuda-sm_80"]
    both = {file.name for file in (modules / "km_both" / "objects").iterdir()}
    assert any(".v1" in name for name in both) and any(".c80" in name for name in both)


def test_the_stub_lists_both_kinds_of_arrays(modules):
    text = (modules / "km_both" / "__init__.pyi").read_text()
    ast.parse(text)
    assert "def get_labels(X: NDArray[np.float64], means: NDArray[np.float64]" in text
    assert "def get_labels(X: _Array, means: _Array, *, out: _Array | None = ...) -> _Array:" in text
    assert "__cuda_array_interface__" in text and "class DeviceArray:" in text


def test_without_a_device_the_module_says_so_or_runs_on_the_host(modules):
    run_python(
        """
        import numpy as np, km_both, km_cuda
        X = np.random.default_rng(1).standard_normal((1000, 2)); means = X[:3].copy()
        expected = np.argmin(((X[:, None, :] - means[None, :, :]) ** 2).sum(-1), axis=1)
        assert np.array_equal(km_both.get_labels(X, means), expected)
        try:
            km_cuda.get_labels(X, means)
        except km_cuda._face.DeviceError as error:
            assert isinstance(error, RuntimeError) and 'driver' in str(error)
        else:
            raise AssertionError
        assert 'copied to the device' in km_cuda.__doc__ and 'computed with on the host' in km_both.__doc__
        """,
        folder=modules,
    )


def test_two_modules_take_each_others_arrays(modules):
    run_python(
        """
        import numpy as np, km_both, km_cuda
        X = np.random.default_rng(1).standard_normal((1000, 2)); means = X[:3].copy()
        d, e = km_cuda.to_device(X), km_cuda.to_device(means)
        assert type(km_cuda.get_labels(d, e)) is km_cuda.DeviceArray
        km_both.get_labels(d, e)
        before = km_both._face.driver_calls()
        for _ in range(1000): result = km_both.get_labels(d, e)
        after = km_both._face.driver_calls()
        assert {n: after[n] - before[n] for n in after if after[n] != before[n]} == {'launches': 1000}
        assert type(result) is km_cuda.DeviceArray  # its library's
        assert km_cuda.get_labels(X, means).shape == (1000,)
        assert km_cuda.get_labels(X.tolist(), means).shape == (1000,)
        assert km_cuda.get_labels(d[::2], e).shape == (500,)
        for call, text in (
            (lambda: km_both.get_labels(d, means), 'means is a NumPy array on the host'),
            (lambda: km_cuda.get_labels(d, km_cuda.to_device(means.astype('f4'))), 'takes float64[:, :]'),
        ):
            try:
                call()
            except TypeError as error:
                assert text in str(error), error
            else:
                raise AssertionError
        try:
            km_cuda.get_labels(d, km_cuda.to_device(means[:, :1]))
        except ValueError as error:
            assert 'means.shape[1] must equal' in str(error)
        """,
        driver=fake_driver(),
        folder=modules,
    )


def test_a_device_array_in_a_module_of_the_host(modules, tmp_path):
    done = autotune(tmp_path, "--target", "host", "--build-only", "--out", "km_host")
    assert done.returncode == 0, done.stderr
    run_python(
        f"""
        import sys; sys.path.insert(0, {str(modules)!r})
        import numpy as np, km_host, km_cuda
        d = km_cuda.to_device(np.ones((5, 2)))
        try:
            km_host.get_labels(d, d)
        except TypeError as error:
            assert 'no code for CUDA devices' in str(error) and 'host,cuda' in str(error), error
        else:
            raise AssertionError
        """,
        driver=fake_driver(),
        folder=tmp_path,
    )


def test_tuning_for_cuda_needs_a_device(tmp_path):
    from device_helpers import ROOT  # noqa: F401

    (tmp_path / "km.py").write_text(SCRIPT)
    out = run_python(
        """
        import sys
        from tilewright.cli.app import main
        sys.stderr = sys.stdout
        assert main(['--target', 'cuda', 'km.py']) == 2
        assert main(['--devices', 'a', 'km.py']) == 2
        """.replace("'km.py'", repr(str(tmp_path / "km.py")))
    )
    assert "--build-only" in out and "is no list of different numbers" in out


def test_what_ptxas_says_is_read():
    said = """ptxas info    : Compiling entry function 'k_s0' for 'sm_90'
ptxas info    : Function properties for k_s0
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 2048 bytes smem, 400 bytes cmem[0]
"""
    (one,) = parse(said)
    assert (one.name, one.registers, one.shared_bytes, one.spilled_bytes) == ("k_s0", 64, 2048, 8)
    assert one.occupancy == 0.5 and "8 bytes spilled" in one.text()


def test_a_module_of_an_unknown_target_is_refused():
    import numpy as np
    import tilewright

    @tilewright.jit
    def f(a):
        return a + 1

    f(np.arange(5.0))
    with pytest.raises(ExportError, match="none of ours"):
        f.export("unused", targets=("cuda-sm_12",))


def triangular_solve(lower, b):
    import numpy as np

    x = np.zeros_like(b)
    for i in range(lower.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def test_sums_that_grow_with_a_loop_are_exported(tmp_path):
    """What a plan asks for says nothing of the loop's index, which is no size of the call."""
    import numpy as np
    import tilewright

    solve = tilewright.jit(strict=True)(triangular_solve)
    lower = np.tril(np.ones((50, 50)))
    assert np.array_equal(solve(lower, np.ones(50)), triangular_solve(lower, np.ones(50)))
    solve.export(str(tmp_path / "solve"), targets=("cuda",))
    plan = (tmp_path / "solve" / "plan0.txt").read_text()
    assert "for i from 0 to lower.0" in plan
    asked = [line for line in plan.splitlines() if line.startswith("require")]
    assert asked and not any(" i " in line for line in asked)
