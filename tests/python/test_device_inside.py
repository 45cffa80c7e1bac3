"""Looks inside of device code: profiles, occupancy, what ptxas and the driver say, modules with assembled code."""

import hashlib
import os
import subprocess
import sys
import textwrap

import pytest
from device_helpers import fake_driver, needs_device, run_python, with_fake
from tilewright import _face, device_code
from tilewright.device_code import Multiprocessor, occupancy
from tilewright.device_profile import KernelRow, Profile
from tilewright.errors import ExportError
from tilewright.export.cubins import check_cubins, file_bytes, file_name

pytestmark = pytest.mark.device

SCRIPT = """
import numpy as np
def scaled(a, b):
    return a * 2 + b
a = np.arange(50000.0)
for _ in range(3): scaled(a, a)
"""

# Assembles nothing: the fake driver reads functions' names from the text, and takes no other code for an architecture.
FAKE_PTXAS = """#!{python}
import pathlib, sys
arch = next(word[6:] for word in sys.argv if word.startswith('-arch='))
if arch == 'sm_52': sys.exit('ptxas fatal: not for sm_52')
out = sys.argv[sys.argv.index('-o') + 1]
pathlib.Path(out).write_bytes(b'assembled ' + pathlib.Path(sys.argv[-1]).read_bytes())
"""


@pytest.fixture(scope="module")
def ptxas(tmp_path_factory):
    file = tmp_path_factory.mktemp("tools") / "ptxas"
    file.write_text(FAKE_PTXAS.format(python=sys.executable))
    file.chmod(0o755)
    return file


def autotune(folder, *arguments, **environment):
    (folder / "s.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments, "s.py"],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_occupancy_names_its_limit():
    sm_90 = Multiprocessor()
    assert occupancy(32, 256, 0, sm_90).text() == "occupancy 100% (8 blocks a multiprocessor, limited by threads)"
    assert occupancy(128, 256, 0, sm_90).text() == "occupancy 25% (2 blocks a multiprocessor, limited by registers)"
    assert occupancy(32, 64, 0, sm_90).limit == "threads"  # 32 blocks are all that threads allow as well
    assert occupancy(16, 32, 0, sm_90).text() == "occupancy 50% (32 blocks a multiprocessor, limited by blocks)"
    shared = occupancy(32, 256, 100 << 10, sm_90)
    assert (shared.blocks, shared.limit) == (2, "shared memory")
    assert occupancy(255, 1024, 0, sm_90).blocks == 0  # such a block cannot be launched


def test_a_profile_tells_each_kernel():
    out = with_fake("""
        d, e = tilewright.to_device(x), tilewright.to_device(x)
        of = f.for_args(d, e)
        before = _face.driver_calls()
        profile = of.profile(d, e, runs=5)
        (row,) = profile
        assert (row.grid, row.block, row.median_ns, row.registers) == ((1, 1, 1), (256, 1, 1), 5e5, 32), row
        assert row.occupancy.blocks == 8 and row.array_bytes == 3 * x.nbytes and profile.moved_bytes == 3 * x.nbytes and profile.runs == 5
        assert of.profile(x, x, runs=1).rows == profile.rows  # NumPy arrays are copied there once
        # Calls that nobody profiles record no events.
        assert calls_of(lambda: f(d, e), 10) == {'launches': 10}
        print(profile)
        print(refused(ValueError, lambda: of.profile(d, e, runs=0)))
        @tilewright.jit
        def g(x): return x + 1
        print(refused(tilewright.DeviceError, lambda: g.for_args(x).profile(x)))
        assert g.for_args(x) is g.for_args(d) and len(g.for_args(x).profile(d)) == 1  # made for NumPy arrays first
    """)
    assert "kernels of a call on Fake GPU, medians of 5 calls:" in out
    assert (
        "f_k0_device0: 500 us, 288 bytes of arrays (0.0 GB/s), grid 1, block 256, 32 registers, 0 bytes of shared memory, occupancy 100%"
        in out
    )
    assert "together 500 us; arguments and results, each once: 288 bytes" in out
    assert "runs: 0 is out of range. Give an int from 1 to " in out and "such a call runs on the host" in out


def test_loops_launch_kernel_by_kernel_while_they_are_profiled():
    with_fake("""
        @tilewright.jit(target='cuda')
        def steps(a, n):
            for _ in range(n):
                a = (a[:-1] + a[1:]).sum() + a * 0.5
            return a
        a = tilewright.to_device(np.ones(1000))
        of = steps.for_args(a, 300)
        profile = of.profile(a, 300, runs=1)
        assert sum(row.launches for row in profile) >= 300, profile
        assert calls_of(lambda: of.profile(a, 300, runs=1)).get('launches', 0) >= 300
    """)


def test_without_a_device_a_profile_is_refused():
    run_python("""
        import numpy as np, tilewright
        @tilewright.jit(target='cuda')
        def f(x): return x + 1
        x = np.ones(5)
        try:
            f.for_args(x).profile(x)
        except tilewright.DeviceError as error:
            assert 'no CUDA driver' in str(error)
        else:
            raise AssertionError
        text = f.explain(source=False, code=True)
        assert 'a call moves at least 80 bytes: arguments and results, each once' in text
    """)


def test_what_is_not_available_is_said(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_PTXAS", "")
    monkeypatch.setattr(_face, "devices", list)
    functions, why = device_code.functions_of("", "cuda-sm_80")
    assert not functions and "no device is here, and no ptxas" in why
    monkeypatch.setattr(device_code, "_tool", lambda name: None)
    assert "no nvdisasm and no cuobjdump" in device_code.sass_of("", "sm_90")[1]


def test_sass_by_the_tools_of_the_toolkit(tmp_path, monkeypatch, ptxas):
    tool = tmp_path / "nvdisasm"
    tool.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nprint('SASS of', pathlib.Path(sys.argv[1]).read_text())\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_PTXAS", str(ptxas))
    assert device_code.sass_of("text", "sm_90") == ("SASS of assembled text\n", "")
    assert device_code.sass_of("text", "sm_52") == ("", "ptxas fatal: not for sm_52")
    package = tmp_path / "triton" / "backends" / "nvidia" / "bin"
    package.mkdir(parents=True)
    (tmp_path / "triton" / "__init__.py").write_text("raise AssertionError")
    tool.rename(package / "ptxas")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TILEWRIGHT_PTXAS")
    monkeypatch.setenv("CUDA_HOME", "")
    if not os.path.exists("/usr/local/cuda/bin/ptxas"):
        assert device_code.ptxas_path() == package / "ptxas"


def test_text_of_a_profile():
    rows = [KernelRow("library matmul (cuBLAS)", (0, 0, 0), (0, 0, 0), 0, 2e3, 1)]
    text = Profile(rows, "a device", 3, 4000, 4.0, 2).text()
    assert "  library matmul (cuBLAS): 2 us\n" in text.replace("2.00", "2") and "grid" not in text
    assert "2 launches more were not timed" in text and "50% of this device's measured limit" in text


def test_show_tells_kernels_where_a_device_is(tmp_path):
    fake = {"TILEWRIGHT_LIBCUDA": str(fake_driver())}
    (tmp_path / "s.py").write_text(SCRIPT)
    done = run_show(tmp_path, "--part", "profile", **fake)
    assert "kernels of a call on Fake GPU" in done.stdout, done.stderr
    done = run_show(tmp_path, "--part", "profile", TILEWRIGHT_LIBCUDA="/nonexistent")
    assert "kernels of a call: not timed: cuda: there is no CUDA driver here" in done.stdout, done.stderr
    done = run_show(tmp_path, "--json", **fake)
    assert '"kernels": {"rows": [{"kernel": "scaled_k0_device0"' in done.stdout, done.stderr


def run_show(folder, *arguments, **environment):
    command = [sys.executable, "-m", "tilewright", "show", "s.py", "--target", "cuda", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_module_carries_assembled_code(tmp_path, ptxas):
    made = autotune(tmp_path, "--target", "cuda", "--build-only", "--cubins", "sm_80,sm_90", "--out", "m",
                    TILEWRIGHT_PTXAS=str(ptxas))  # fmt: skip
    assert made.returncode == 0, made.stderr
    files = sorted((tmp_path / "m" / "cubins").iterdir())
    assert {file.name.split(".")[1] for file in files} == {"sm_80", "sm_90"}
    for file in files:
        first, _, code = file.read_bytes().partition(b"\n")
        assert first.split()[-1].decode() == hashlib.sha256(code).hexdigest()
    script = """
        import numpy as np, m
        a = m.to_device(np.ones(9))
        m.scaled(a, a); m.scaled(a, a)
        calls = m._face.driver_calls()
        print(calls['module_loads'], calls['cubin_loads'])
    """
    assert "sm_80, sm_90 is assembled already" in (tmp_path / "m" / "__init__.py").read_text()
    assert run_python(script, driver=fake_driver(), folder=tmp_path) == "1 1\n"
    # 8.6 runs what was assembled for 8.0, and a device of another generation takes the PTX.
    assert run_python(script, driver=fake_driver(), folder=tmp_path, FAKE_CUDA_CAPABILITY="86") == "1 1\n"
    assert run_python(script, driver=fake_driver(), folder=tmp_path, FAKE_CUDA_CAPABILITY="100") == "1 0\n"
    # Kernels start early there: what is assembled waits for those before it, as the PTX does (the driver looks).
    assert run_python(script, driver=fake_driver(), folder=tmp_path, FAKE_CUDA_CAPABILITY="90") == "1 1\n"
    for file in files:
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    out = run_python(
        textwrap.dedent(script).replace("m.scaled(a, a); m.scaled(a, a)", "try: m.scaled(a, a)\nexcept RuntimeError as error: print(error)"),
        driver=fake_driver(),
        folder=tmp_path,
    )  # fmt: skip
    assert "its hash differs. Export the module again" in out


def test_without_ptxas_a_module_is_made_and_says_nothing_of_cubins(tmp_path):
    made = autotune(tmp_path, "--target", "cuda", "--build-only", "--out", "m", TILEWRIGHT_PTXAS="",
                    TILEWRIGHT_LIBCUDA=str(fake_driver()))  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert not (tmp_path / "m" / "cubins").exists()
    assert "cubins" not in (tmp_path / "m" / "__init__.py").read_text()
    made = autotune(tmp_path, "--target", "cuda", "--build-only", "--cubins", "sm_90", "--force", TILEWRIGHT_PTXAS="")
    assert made.returncode == 2 and "there is no ptxas" in made.stderr


def test_the_devices_that_are_here_are_assembled_for(tmp_path, ptxas):
    made = autotune(tmp_path, "--target", "cuda", "--build-only", "--out", "m", TILEWRIGHT_PTXAS=str(ptxas),
                    TILEWRIGHT_LIBCUDA=str(fake_driver()))  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert {file.name.split(".")[1] for file in (tmp_path / "m" / "cubins").iterdir()} == {"sm_80"}
    none = autotune(tmp_path, "--target", "cuda", "--build-only", "--cubins", "none", "--out", "n",
                    TILEWRIGHT_PTXAS=str(ptxas), TILEWRIGHT_LIBCUDA=str(fake_driver()))  # fmt: skip
    assert none.returncode == 0 and not (tmp_path / "n" / "cubins").exists()
    refused = autotune(tmp_path, "--target", "cuda", "--build-only", "--cubins", "sm_70", "--out", "o",
                       TILEWRIGHT_PTXAS=str(ptxas))  # fmt: skip
    assert refused.returncode == 2, refused.stderr
    assert (
        "cubins for sm_70: the module's code is for compute capability 8.0 and later. Leave sm_70 out" in refused.stderr
    )
    assert not (tmp_path / "o").exists()


def test_each_architecture_is_assembled_from_code_that_it_runs(tmp_path, ptxas):
    made = autotune(tmp_path, "--target", "cuda,cuda-sm_70", "--build-only", "--cubins", "sm_75,sm_90", "--out", "m",
                    TILEWRIGHT_PTXAS=str(ptxas))  # fmt: skip
    assert made.returncode == 0, made.stderr
    kinds = [file.name.split(".")[1] for file in (tmp_path / "m" / "cubins").iterdir()]
    assert 0 < kinds.count("sm_75") < kinds.count("sm_90")
    assert "compiling scaled for cuda-sm_80: default" in made.stderr  # said while it takes its time


def test_what_a_ptxas_does_not_know(tmp_path):
    file = tmp_path / "ptxas"
    file.write_text(
        "#!/bin/sh\necho \"ptxas fatal: Value 'sm_110' is not defined for option 'gpu-name'\" >&2\nexit 1\n"
    )
    file.chmod(0o755)
    made = autotune(tmp_path, "--target", "cuda", "--build-only", "--cubins", "sm_110", "--out", "m",
                    TILEWRIGHT_PTXAS=str(file))  # fmt: skip
    assert made.returncode == 2, made.stderr
    assert "cubins for sm_110: ptxas refuses the code: ptxas fatal: Value 'sm_110' is not defined" in made.stderr
    assert "name another in TILEWRIGHT_PTXAS, or leave sm_110 out" in made.stderr


def test_names_of_architectures():
    with pytest.raises(ExportError, match="'hopper' is not an architecture"):
        check_cubins(("hopper",))
    assert file_name("ptx", "sm_90").endswith(".sm_90.cubin")
    assert file_bytes("ptx", "sm_90", b"code").startswith(b"tilewright-cubin 2 sm_90 ")


@needs_device
def test_a_profile_on_a_device():
    import numpy as np
    import tilewright

    @tilewright.jit(target="cuda")
    def f(x, y):
        return x * 2 + y

    x = tilewright.to_device(np.ones(1 << 20))
    profile = f.for_args(x, x).profile(x, x)
    (row,) = profile
    assert row.median_ns > 0 and row.registers > 0 and row.occupancy.blocks > 0
    assert profile.moved_bytes == 3 * 8 << 20 and profile.gbps > 0
    assert "(by the driver)" in f.explain(source=False, code=True)


@needs_device
@pytest.mark.skipif(device_code.ptxas_path() is None, reason="no ptxas")
def test_assembled_code_is_what_a_device_loads(tmp_path):
    arch = device_code.arch_of(_face.devices()[0])
    (tmp_path / "s.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "--target", "cuda", "--build-only", "--out", "m", "s.py"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert {file.name.split(".")[1] for file in (tmp_path / "m" / "cubins").iterdir()} == {arch}
    script = """import numpy as np, m
a = np.arange(9.0)
assert np.array_equal(m.scaled(a, a), a * 3)
print(m._face.driver_calls()["cubin_loads"])"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
