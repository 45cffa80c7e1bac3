"""What calls on a device promise beside their results: no waiting, no copies, and an error of its own for each thing that
can be wrong. On the fake driver what no machine shows at will, on a device what only one shows."""

from __future__ import annotations

import importlib.util
import textwrap
from typing import Any

import numpy as np
import pytest
import tilewright
from device_helpers import PRELUDE, needs_device, run_python, with_fake
from tilewright import _face

pytestmark = pytest.mark.device

REFUSED = """
def told(kind, call, *texts):
    text = refused(kind, call)
    for one in texts: assert one in text, text
"""


def on_fake(script: str, **environment: str) -> None:
    with_fake(REFUSED + textwrap.dedent(script), **environment)


def on_device(script: str, **environment: str) -> str:
    return run_python(PRELUDE + REFUSED + textwrap.dedent(script), driver="libcuda.so.1", **environment)  # type: ignore[arg-type]


# ---- bad input, on the fake driver ------------------------------------------------------------------------------------


def test_no_device_and_old_drivers() -> None:
    for environment, text in (
        ({"FAKE_CUDA_DEVICES": "0"}, "the CUDA driver has no device. Is CUDA_VISIBLE_DEVICES empty"),
        ({"FAKE_CUDA_VERSION": "11020"}, "the CUDA driver is too old: it supports CUDA 11.2. Update NVIDIA's driver"),
        ({"FAKE_CUDA_INIT": "803"}, "the CUDA driver and its kernel module are of different"),
    ):
        on_fake(
            f"""
            told(tilewright.DeviceError, lambda: tilewright.to_device(x), {text!r})
            told(tilewright.DeviceError, lambda: f(x, x), {text!r})
            """,
            **environment,
        )


def test_devices_that_the_code_is_not_for() -> None:
    on_fake(
        """
        told(tilewright.DeviceError, lambda: f(x, x), 'f: its code is for compute capability 8.0 and later',
             'device 0 (Fake GPU) has 6.1. Devices from compute capability 7.0 on are served')
        """,
        FAKE_CUDA_CAPABILITY="61",
    )
    on_fake(
        """
        @tilewright.jit(target='cuda-sm_86')
        def g(a): return a + 1
        text = 'g: its code is for compute capability 8.6 and later, and device 0 (Fake GPU) has 8.0. Build it for a target that the device has: cuda-sm_80.'
        told(tilewright.DeviceError, lambda: g(tilewright.to_device(x)), text)
        told(tilewright.DeviceError, lambda: g(x), text)
        @tilewright.jit(target='host,cuda-sm_86')
        def h(a): return a + 1
        assert np.array_equal(h(x), x + 1)
        """,
        FAKE_CUDA_CAPABILITY="80",
    )


def test_memory_of_the_device_that_runs_out() -> None:
    on_fake(
        """
        d = tilewright.to_device(np.zeros(1000))
        told(MemoryError, lambda: tilewright.to_device(np.zeros(1 << 20)), 'cuda:0: no 8388608 bytes of device memory are left')
        @tilewright.jit
        def outer(a): return a[:, None] + a[None, :]
        told(MemoryError, lambda: outer(d), 'no 8000000 bytes')
        assert f(d, d).shape == (1000,)  # nothing is lost
        """,
        FAKE_CUDA_MEMORY=str(1 << 20),
    )


def test_a_child_of_a_process_that_used_the_device() -> None:
    on_fake(
        """
        import os, sys
        d = tilewright.to_device(x)
        f(d, d)
        @tilewright.jit
        def h(a): return a + 1
        pid = os.fork()
        if pid == 0:
            try:
                told(tilewright.DeviceError, lambda: f(d, d), 'this process was forked from one that had used the device')
                told(tilewright.DeviceError, lambda: tilewright.to_device(x), 'cuda:0: this process was forked')
                told(tilewright.DeviceError, lambda: f(Foreign(d), d), 'f: x is Foreign', 'this process was forked')
                told(tilewright.DeviceError, lambda: h(d), 'h: cuda: this process was forked')
            except BaseException as error:
                print(error, file=sys.stderr)
                os._exit(1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        f(d, d)
        """
    )


def test_an_array_of_a_device_where_there_is_none() -> None:
    """An object with an interface alone is asked about before anything else of the call: an error, no abort."""
    script = """
        class Claimed:
            __cuda_array_interface__ = {'shape': (3, 4), 'typestr': '<f8', 'data': (0x10000, False), 'version': 3}
        text = 'Claimed, which says by __cuda_array_interface__ that it lies on a CUDA device, but '
        @tilewright.jit
        def g(a): return a + 1
        g(x)
        for call in (lambda: g(Claimed()), lambda: f(Claimed(), x), lambda: f(x, Claimed()), lambda: _face.placed(Claimed()),
                     lambda: f.tune(Claimed(), x, budget=1), lambda: _face.host_copy(Claimed())):
            told(tilewright.DeviceError, call, text, WHY)
        told(tilewright.DeviceError, lambda: g(Claimed()), 'g: ', ' is Claimed')
        told(tilewright.DeviceError, lambda: f(Claimed(), x), 'f: an argument is Claimed')
        told(tilewright.DeviceError, lambda: tilewright.to_device(Claimed()), WHY)
        assert np.array_equal(g(x), x + 1)
    """
    run_python(PRELUDE + REFUSED + textwrap.dedent(script.replace("WHY", repr("there is no CUDA driver here"))))
    for environment, text in (
        ({"FAKE_CUDA_DEVICES": "0"}, "the CUDA driver has no device"),
        ({"FAKE_CUDA_VERSION": "11020"}, "the CUDA driver is too old"),
        ({"FAKE_CUDA_INIT": "803"}, "the CUDA driver and its kernel module are of different"),
    ):
        on_fake(script.replace("WHY", repr(text)), **environment)


def test_pointers_that_cannot_be() -> None:
    on_fake("""
        class Claimed:
            def __init__(self, pointer, shape=(3, 4)):
                self.__cuda_array_interface__ = {'shape': shape, 'typestr': '<f8', 'data': (pointer, False), 'version': 3}
            __cuda_array_interface__ = None
        d = tilewright.to_device(x)
        f(d, d)
        unknown = "Claimed, whose __cuda_array_interface__ gives the pointer 0x10000, which is not memory of a CUDA device"
        null = 'Claimed of shape [3, 4], whose pointer is null. Is its memory freed?'
        told(TypeError, lambda: f(Claimed(0x10000), d), 'f: x is ' + unknown)
        told(TypeError, lambda: f(d, Claimed(x.ctypes.data)), 'f: y is Claimed', hex(x.ctypes.data))
        told(TypeError, lambda: f(d, Claimed(0)), 'f: y is ' + null)
        told(TypeError, lambda: f(d, d, out=Claimed(0)), null)
        told(TypeError, lambda: _face.host_copy(Claimed(0)), null)
        @tilewright.jit(target='cuda')
        def g(a): return a + 1
        told(TypeError, lambda: g(Claimed(0x10000)), 'g: an argument is ' + unknown)
        told(TypeError, lambda: g(Claimed(0)), 'g: an argument is ' + null)
        class Half:
            __cuda_array_interface__ = {'shape': (3, 4), 'typestr': '<f8'}
        lacks = 'Half, whose __cuda_array_interface__ lacks a shape, a typestr or data'
        told(TypeError, lambda: f(d, Half()), 'f: y is ' + lacks)
        told(TypeError, lambda: g(Half()), 'g: an argument is ' + lacks)
        assert f(Claimed(0, (0, 4)), Claimed(0x10000, (0, 4))).shape == (0, 4)  # nothing is read
        assert f(d, d).shape == (3, 4)
    """)


def test_streams_that_the_call_cannot_use() -> None:
    on_fake("""
        import ctypes, os
        driver = ctypes.CDLL(os.environ['TILEWRIGHT_LIBCUDA'])
        d = tilewright.to_device(x)
        e = tilewright.to_device(x, 'cuda:1')  # its context is there
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
        assert driver.cuCtxPushCurrent_v2(context) == 0
        assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        def on_it(address):
            with tilewright.device('cuda', stream=address): f(d, d)
        told(tilewright.DeviceError, lambda: on_it(stream.value), 'on a stream of another context or of another device')
        told(tilewright.DeviceError, lambda: on_it(0x123456780), 'on a stream that is not there any more')
        foreign = Foreign(d, stream=stream.value)
        told(tilewright.DeviceError, lambda: f(foreign, foreign), 'on a stream of another context')
        f(d, d)  # nothing is lost
        with tilewright.device('cuda', stream=2): f(d, d)
    """)


# ---- on a device ------------------------------------------------------------------------------------------------------


@needs_device
def test_a_process_that_sees_no_device() -> None:
    on_device(
        "told(tilewright.DeviceError, lambda: tilewright.to_device(x), 'no device', 'CUDA_VISIBLE_DEVICES')",
        CUDA_VISIBLE_DEVICES="",
    )


@needs_device
def test_memory_that_runs_out_on_a_device() -> None:
    on_device("""
        d = tilewright.to_device(np.ones(1 << 17))
        @tilewright.jit
        def outer(a, b): return a[:, None] + b[None, :]
        n = tilewright.to_device(np.ones((1 << 14) - 1))
        class Long(Foreign):  # zero strides: many elements of little memory
            @property
            def __cuda_array_interface__(self):
                return {**super().__cuda_array_interface__, 'shape': ((1 << 30),), 'strides': (0,), 'data': (self.array.pointer, True)}
        held = []
        def fill():
            while True: held.append(f(Long(d), Long(d)))
        told(MemoryError, fill, 'cuda:0: no 8589934592 bytes of device memory are left')
        assert len(held) > 3
        held.clear()
        assert np.array_equal(f(d, d).copy_to_host(), np.full(1 << 17, 3.0))
    """)


@needs_device
def test_a_kernel_that_reads_what_is_not_there() -> None:
    out = on_device("""
        class Torn(Foreign):
            @property
            def __cuda_array_interface__(self):
                return {**super().__cuda_array_interface__, 'shape': (1 << 30,), 'strides': (8,)}
        @tilewright.jit
        def total(a): return a.sum()
        d = tilewright.to_device(x)
        def lost():
            r = total(Torn(d))
            return r.copy_to_host() if hasattr(r, 'copy_to_host') else r
        told((RuntimeError, ValueError), lost)
        print(refused(Exception, lost))
    """)
    assert "nothing works on the device in this process any more" in out, out
    # That process alone is affected.
    assert np.array_equal(tilewright.to_device(np.arange(5.0)).copy_to_host(), np.arange(5.0))


@needs_device
def test_a_stream_of_another_context() -> None:
    out = on_device("""
        import ctypes
        driver = ctypes.CDLL('libcuda.so.1')
        d = tilewright.to_device(x)
        before = f(d, d).copy_to_host()
        context, stream, device = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        driver.cuDeviceGet(ctypes.byref(device), 0)
        assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
        assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        def on_it():
            with tilewright.device('cuda', stream=stream.value):
                f(d, d)
        print(refused(RuntimeError, on_it))
        print(refused(RuntimeError, lambda: f(Foreign(d, stream=stream.value), Foreign(d, stream=stream.value))))
        assert np.array_equal(f(d, d).copy_to_host(), before)
    """)
    assert "context" in out.splitlines()[0] and "context" in out.splitlines()[1], out


def _torch() -> Any:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not here")
    return pytest.importorskip("torch")


def _jacobi(a, b, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        b[1:-1] = 0.25 * (a[:-2] + 2 * a[1:-1] + a[2:])
        a[1:-1] = 0.25 * (b[:-2] + 2 * b[1:-1] + b[2:])


def _several(a, b):  # type: ignore[no-untyped-def]
    return a + b, (a * b).sum(axis=1), np.argmin(a, axis=1), a.max()


def _softmax(a):  # type: ignore[no-untyped-def]
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@needs_device
@pytest.mark.parametrize("kind", ["several", "softmax", "written", "out"])
def test_a_thousand_calls_on_a_stream_of_torch(kind: str) -> None:
    torch = _torch()
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(64, 33)), rng.normal(size=(64, 33))
    s, t = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    calls: dict[str, Any] = {}
    several, softmax, jacobi = tilewright.jit(_several), tilewright.jit(_softmax), tilewright.jit(_jacobi)
    out = torch.empty_like(s)
    calls["several"] = lambda: several(s, t)
    calls["softmax"] = lambda: softmax(s)
    calls["written"] = lambda: jacobi(s, t, 4)
    calls["out"] = lambda: softmax(s, out=out)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(3):
            result = calls[kind]()
        before = _face.driver_calls()
        for _ in range(1000):
            result = calls[kind]()
        after = _face.driver_calls()
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    print(kind, changed)
    assert not set(changed) - {
        "launches",
        "graph_launches",
        "graph_kernels",
        "threads",
        "events",
        "allocations",
        "frees",
    }, changed
    assert changed.get("allocations", 0) <= 8, changed  # the pool has them
    stream.synchronize()
    if kind == "softmax":
        np.testing.assert_allclose(result.cpu().numpy(), _softmax(a), rtol=1e-13)
