"""Modules with CUDA code: made without a device, what they say, and what they do on a fake one."""

import ast
import json
import os
import subprocess
import sys

import pytest
from device_helpers import fake_driver, run_python
from tilewright.cli.app import main
from tilewright.device_code import parse
from tilewright.errors import ExportError
from tilewright.export.versions import isa_levels
from tilewright.machine import resolve_isa, targets_of

pytestmark = pytest.mark.device

SCRIPT = """
import numpy as np
def get_labels(X, means):
    d = ((X[:, None, :] - means[None, :, :]) ** 2).sum(-1)
    return np.argmin(d, axis=1)
rng = np.random.default_rng(0)
X = rng.standard_normal((50000, 2)); means = rng.standard_normal((3, 2))
for _ in range(3): get_labels(X, means)
"""


def autotune(folder, *arguments, **environment):
    (folder / "km.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "--quiet", *arguments, "km.py"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    for name, target in (("km_cuda", "cuda"), ("km_both", "x86-64,cuda")):
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
    assert "class DeviceError(RuntimeError): ..." in text


def test_without_a_device_the_module_says_so_or_runs_on_the_host(modules):
    run_python(
        """
        import numpy as np, km_both, km_cuda
        X = np.random.default_rng(1).standard_normal((1000, 2)); means = X[:3].copy()
        expected = np.argmin(((X[:, None, :] - means[None, :, :]) ** 2).sum(-1), axis=1)
        assert np.array_equal(km_both.get_labels(X, means), expected)
        try:
            km_cuda.get_labels(X, means)
        except km_cuda.DeviceError as error:
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
            (lambda: km_both.get_labels(d, means.tolist()), 'means is list. The arrays of a call lie on one device'),
            (lambda: km_both.get_labels(d, 2.0), 'means is float, but this module takes float64[:, :]. Pass an array.'),
            (lambda: km_both.get_labels(d, None), 'means is NoneType, but this module takes float64[:, :]'),
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


def test_a_module_in_a_forked_child(modules):
    """Its results are arrays of the library of its arguments, which allocates: the error of that is the call's."""
    run_python(
        """
        import os, sys
        import numpy as np, km_both, tilewright
        X = np.random.default_rng(1).standard_normal((1000, 2))
        d, e = tilewright.to_device(X), tilewright.to_device(X[:3])
        tilewright.jit(lambda a: a + 1)(d)
        pid = os.fork()
        if pid == 0:
            try:
                km_both.get_labels(d, e)
            except km_both.DeviceError as error:
                os._exit(0 if 'this process was forked' in str(error) else 1)
            except BaseException as error:
                print(repr(error), file=sys.stderr)
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        driver=fake_driver(),
        folder=modules,
    )


def test_a_module_that_draws(tmp_path):
    """The caller knows its generator, and nothing of the state that travels in its place."""
    run_python(
        """
        import numpy as np, sys, tilewright
        def noisy(a, rng): return a + rng.random(4)
        x = np.ones((3, 4))
        f = tilewright.jit(noisy)
        f(x, np.random.default_rng(0))
        f.export('noisy_module', targets=('x86-64', 'cuda'))
        sys.path.insert(0, '.')
        import noisy_module as m
        assert np.array_equal(m.noisy(x, np.random.default_rng(1)), noisy(x, np.random.default_rng(1)))
        generator = np.random.default_rng(1)
        before = generator.bit_generator.state
        try:
            m.noisy(m.to_device(x), generator)
        except TypeError as error:
            text = ('noisy: an argument is DeviceArray on a device, and it draws from rng, whose state is on the host; '
                    'such calls are not compiled. Draw before the call, and pass the numbers in.')
            assert str(error) == text, error
        else:
            raise AssertionError
        assert generator.bit_generator.state == before
        try: m.noisy(x.astype(str), generator)
        except TypeError as error: assert 'float64' in str(error), error
        """,
        driver=fake_driver(),
        cwd=tmp_path,
    )


def test_a_device_array_in_a_module_of_the_host(modules, tmp_path):
    done = autotune(tmp_path, "--target", "x86-64", "--build-only", "--out", "km_host")
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


DEVICE_SCHEDULE = """tilewright-schedule 1
schedule get_labels for cuda
argmin.split(i, io, it, 192, guard_with_if).gpu_blocks(io).gpu_threads(it)
argmin_best.compute_at(argmin, it)
d.compute_at(argmin_best, r)
"""
HOST_SCHEDULE = """tilewright-schedule 1
schedule get_labels for x86-64
argmin.split(i, io, it, 192, guard_with_if)
argmin_best.compute_at(argmin, it)
d.compute_at(argmin_best, r)
"""


def schedules_of(module, function="get_labels"):
    return {path.name: path.read_text() for path in (module / "schedules").iterdir()}


def test_a_module_is_built_with_a_schedule_by_hand(tmp_path):
    (tmp_path / "by_hand.tws").write_text(DEVICE_SCHEDULE)
    arguments = ("--build-only", "--schedule", "by_hand.tws", "--force")
    made = autotune(tmp_path, "--target", "x86-64,cuda", *arguments)
    assert made.returncode == 0, made.stderr
    assert (
        "get_labels: nothing measured (--build-only): it has the default schedules, the schedule of by_hand.tws"
        in made.stdout
    )
    with_it = [name for name, text in schedules_of(tmp_path / "km_tuned").items() if "split(i, io, it, 192" in text]
    assert with_it and all("sm_80" in name or "c80" in name or "cuda" in name for name in with_it), with_it
    (tmp_path / "by_hand.tws").write_text(HOST_SCHEDULE)
    made = autotune(tmp_path, "--target", "x86-64", *arguments)
    assert made.returncode == 0, made.stderr
    assert "(--build-only): it has the schedule of by_hand.tws\n" in made.stdout
    assert any("split(i, io, it, 192" in text for text in schedules_of(tmp_path / "km_tuned").values())


@pytest.mark.parametrize(
    ("text", "target", "why"),
    [
        (DEVICE_SCHEDULE, "host", "by_hand.tws: the schedule is for cuda-sm_80, and --target is host. Give --target cuda-sm_80, or a "),
        (HOST_SCHEDULE, "cuda", "by_hand.tws: the schedule is for x86-64, and --target is cuda. Give --target x86-64, or a schedule for cuda."),
        (DEVICE_SCHEDULE, "cuda-sm_70", "the schedule is for cuda-sm_80, and --target is cuda-sm_70. Give --target cuda-sm_80, or a "),
        (HOST_SCHEDULE.replace("x86-64", "x86-64-v3"), "x86-64", "the schedule is for x86-64-v3, and --target is x86-64."),
        (DEVICE_SCHEDULE.replace("get_labels", "labels"), "cuda", "the schedule is for the function labels, but the chosen functions are: get_labels. "),
        (DEVICE_SCHEDULE.replace("argmin_best.", "best."), "cuda", "by_hand.tws:4:1: best: there is no such stage."),
        (DEVICE_SCHEDULE.replace("192", "2048"), "cuda", "by_hand.tws:3:"),
    ],
)  # fmt: skip
def test_a_schedule_that_the_module_cannot_have(*, tmp_path, monkeypatch, capsys, text, target, why):
    (tmp_path / "by_hand.tws").write_text(text)
    (tmp_path / "km.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    assert main(["--quiet", "--target", target, "--build-only", "--schedule", "by_hand.tws", "km.py"]) == 2
    said = capsys.readouterr().err
    assert why in said, said
    assert not (tmp_path / "km_tuned").exists()


def test_code_that_gives_wrong_answers_is_in_no_module(tmp_path):
    """Kernels of the fake driver compute nothing."""
    place = {"TILEWRIGHT_LIBCUDA": str(fake_driver()), "FAKE_CUDA_CAPABILITY": "90", "FAKE_CUDA_DEVICES": "1"}
    arguments = ("--budget", "4s", "--trials", "2", "--db", "own.db")
    made = autotune(tmp_path, "--target", "x86-64,cuda", *arguments, **place)
    assert made.returncode == 3, made.stderr
    assert (
        "the module is for x86-64 alone: nothing that was built for the other target gave right results" in made.stderr
    )
    assert "isa cuda" not in (tmp_path / "km_tuned" / "plan0.txt").read_text()
    assert all(
        "cuda" not in level for level in json.loads((tmp_path / "km_tuned/evidence.json").read_text())["isa_levels"]
    )
    made = autotune(tmp_path, "--target", "cuda", "--devices", "0,7", *arguments, **place)
    assert made.returncode == 2 and "there is no device 7; this process sees 0" in made.stderr, made.stderr


def test_show_shows_each_target(tmp_path):
    (tmp_path / "km.py").write_text(SCRIPT)

    def show(*arguments):
        command = [sys.executable, "-m", "tilewright", "show", "--target", "host,cuda", *arguments, "km.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    host, device = map(json.loads, show("--json").splitlines())
    assert host["target"].startswith("x86-64") and device["target"] == "cuda-sm_80"
    assert "gpu_blocks" not in host["schedule"] and "gpu_blocks" in device["schedule"]
    assert "gpu_threads" in device["space"] and "gpu_threads" not in host["space"]
    _, _, text = show("--part", "schedule").partition("---- x86-64")
    host_text, _, device_text = text.partition("---- cuda-sm_80\n")
    assert "schedule get_labels for x86-64" in host_text and "schedule get_labels for cuda" in device_text


def test_an_export_is_for_the_targets_of_the_jit(tmp_path):
    out = run_python(
        """
        import json, sys
        import numpy as np, tilewright
        x = np.ones((4, 5))
        def double(a): return a * 2
        def levels(folder): return json.loads((folder / 'evidence.json').read_text())['isa_levels']
        for target in ('cuda', 'cuda-sm_70', 'host,cuda', 'x86-64', None):
            f = tilewright.jit(double, target=target)
            f.for_args(x)
            print(levels(f.export('m', force=True)))
            if target == 'cuda': print(levels(f.export('m', targets=('x86-64',), force=True)))
        f.for_args(tilewright.to_device(x))
        print(levels(f.export('m', force=True)))
        """,
        driver=fake_driver(),
        cwd=tmp_path,
    )
    top = isa_levels(("host",))
    expected = [["cuda-sm_80"], ["x86-64"], ["cuda-sm_70"], [*top, "cuda-sm_80"], ["x86-64"], top, [*top, "cuda-sm_80"]]
    assert out.splitlines() == list(map(str, expected))


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
    assert "--build-only" in out and "is not a list of different numbers" in out


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
    with pytest.raises(ExportError, match="is not known"):
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
