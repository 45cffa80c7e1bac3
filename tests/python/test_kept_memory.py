"""NumPy's own large arrays in memory of the pool: what they hold, what is kept, and what others see of it."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name
from tilewright import _face, kept_memory

pytestmark = pytest.mark.fast

OURS, NUMPYS = "tilewright_kept", "default_allocator"
LARGE = 64 << 10  # bytes from which arrays come from the pool
MIB = 1 << 20


@pytest.fixture
def kept() -> Iterator[None]:
    assert kept_memory.keep()
    yield
    kept_memory.give_back()


def run_python(code: str, **environment: str) -> str:
    path = os.pathsep.join([str(Path(_face.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults_of(call: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_arrays_are_ours_until_memory_is_given_back() -> None:
    before = np.ones(LARGE)
    assert get_handler_name() == NUMPYS
    assert kept_memory.keep()
    assert kept_memory.keep()  # twice is once
    one = np.ones(LARGE)
    live = _face.pool_info()["live_bytes"]
    assert get_handler_name(one) == OURS
    assert one.flags.owndata
    assert one.ctypes.data % 64 == 0
    assert live >= one.nbytes
    assert get_handler_name(before) == NUMPYS
    del before
    assert kept_memory.give_back() >= 0
    assert get_handler_name() == NUMPYS
    assert get_handler_name(np.ones(LARGE)) == NUMPYS
    assert one.sum() == LARGE
    del one  # by the handler that made it
    assert _face.pool_info()["live_bytes"] < live


def test_small_arrays_have_numpys_memory(kept: None) -> None:
    live = _face.pool_info()["live_bytes"]
    small = [np.empty(n, np.uint8) for n in range(LARGE) if n % 1000 == 0]
    assert _face.pool_info()["live_bytes"] == live
    small.append(np.empty(LARGE, np.uint8))
    assert _face.pool_info()["live_bytes"] > live


def test_what_is_freed_is_taken_again_without_a_fault(kept: None) -> None:
    mask = np.random.default_rng(0).random(300_000) < 0.5

    def loop() -> None:
        for _ in range(100):
            np.where(mask, 1.0, 2.0) * 3.0 + np.bincount(mask, minlength=300_000)

    loop()
    assert faults_of(loop) < 1000
    assert _face.pool_info()["pooled_bytes"] > 0


def test_memory_that_libraries_have_from_malloc_is_kept_as_well() -> None:
    code = """
        import resource
        import numpy as np
        from tilewright import kept_memory
        assert kept_memory.keep()
        a = np.random.default_rng(0).random(100_003)  # a prime: the transform has large memory of its own
        np.fft.fft(a)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.fft.fft(a)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 5000
    """
    run_python(code)


def test_zeros_are_zeros_also_in_memory_that_was_written(kept: None) -> None:
    for size in (LARGE, 1 << 20, (1 << 20) + 1, 5 << 20, 40 << 20):
        written = np.full(size, 255, np.uint8)
        address = written.ctypes.data
        del written
        zeros = np.zeros(size, np.uint8)
        assert size > 32 * MIB or zeros.ctypes.data == address
        assert not zeros.any()


def test_resized_arrays_hold_what_they_held(kept: None) -> None:
    sizes = [
        LARGE,
        10,
        3 * LARGE,
        40 * LARGE,
        41 * LARGE,
        300 * LARGE,
        1000,
        1,
        7 * LARGE + 3,
        100 * LARGE,
        90 * LARGE,
        2 * LARGE,
    ]
    a = np.arange(sizes[0], dtype=np.uint32)
    expected = a.copy()
    for size in sizes:
        a.resize(size, refcheck=False)
        resized = np.zeros(size, np.uint32)
        resized[: expected.size] = expected[:size]
        assert (a == resized).all()
        expected = resized
    assert get_handler_name(a) == OURS


@pytest.mark.parametrize("seed", range(4))
def test_random_sequences_of_allocations_keep_their_contents(kept: None, seed: int) -> None:
    rng = random.Random(seed)
    held: list[tuple[np.ndarray, int]] = []
    for step in range(600):
        size = int(2 ** rng.uniform(0, 22 if step % 20 == 0 else 18))
        value, dtype = step % 100 + 1, rng.choice([np.uint8, np.int32, np.float64])
        kind = rng.randrange(8)
        if kind == 0:
            new = np.zeros(size, dtype)
            assert not new.any()
            new[...] = value
        elif kind == 1:
            new = np.empty((size // 8 + 1, 8), dtype, order=rng.choice("CF"))
            new[...] = value
        elif kind == 2 and held:
            old, value = held.pop(rng.randrange(len(held)))
            new = np.concatenate([old.ravel(), old.ravel()[: len(old) // 2]])
        elif kind == 3 and held:
            old, value = held[rng.randrange(len(held))]
            new = old[: old.shape[0] // 2 + 1]  # a view holds the memory of its base
        elif kind == 4 and held:
            old, value = held.pop(rng.randrange(len(held)))
            new = old.ravel().copy()
            before = new.size
            new.resize(size, refcheck=False)
            assert not new[before:].any()
            new[before:] = value
        elif kind == 5 and held:
            old, value = held[rng.randrange(len(held))]
            new = old.astype(dtype)
        elif kind == 6:
            new = np.fromiter((value for _ in range(size % 20_000)), dtype)
        else:
            new = np.full(size, value, dtype)
        held.append((new, value))
        while len(held) > 40 or sum(a.nbytes for a, _ in held) > 200 * MIB:
            held.pop(rng.randrange(len(held)))
        if step % 10 == 0:
            assert all((a == v).all() for a, v in held)
    info = _face.pool_info()
    assert info["pooled_bytes"] <= info["limit_bytes"]


def test_arrays_without_elements_are_freed_as_what_they_are(kept: None) -> None:
    live = _face.pool_info()["live_bytes"]
    arrays = [
        np.empty((0, 1_000_000)),
        np.zeros((1_000_000, 0)),
        np.empty(0),
        np.empty(10**6, "V0"),
        np.empty((0, 10**6)).T.copy(),
    ]
    changed = np.ones((10, 10_000))
    changed.dtype = np.uint8
    assert changed.sum() > 0
    del arrays, changed
    assert _face.pool_info()["live_bytes"] == live


def test_no_more_is_kept_than_the_limit_and_all_of_it_goes_back(kept: None) -> None:
    info = _face.pool_info()
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < info["limit_bytes"] <= max(1 << 30, physical)
    arrays = [
        np.empty(10 * MIB, np.uint8) for _ in range(info["limit_bytes"] // (10 * MIB) + 10)
    ]  # no page of them is touched
    del arrays
    info = _face.pool_info()
    assert 0 < info["pooled_bytes"] <= info["limit_bytes"]
    assert kept_memory.give_back() == info["pooled_bytes"]
    assert _face.pool_info()["pooled_bytes"] == 0


def test_arrays_of_ever_new_sizes_take_a_little_more_than_what_is_there_at_once() -> None:
    code = """
        import resource
        import numpy as np
        from tilewright import _face, kept_memory
        assert kept_memory.keep()
        rng = np.random.default_rng(0)
        held = [np.ones(1000)] * 10
        for step in range(3000):
            held[step % 10] = np.ones(int(2 ** rng.uniform(13, 19)))
            info = _face.pool_info()
            assert info["pooled_bytes"] + info["live_bytes"] <= 1.25 * 11 * 8 * 2**19 * 1.13 + (64 << 20), (step, info)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for step in range(1000):  # a little larger each time
            held[step % 10] = np.ones(100_000 + 37 * step)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 20_000
    """
    run_python(code)


def test_what_nobody_takes_for_some_seconds_goes_back() -> None:
    run_python("""
        import time
        import numpy as np
        from tilewright import _face, kept_memory
        assert kept_memory.keep()
        arrays = [np.ones(1 << 20) for _ in range(8)]
        del arrays
        assert _face.pool_info()["pooled_bytes"] >= 64 << 20
        time.sleep(4.5)
        for _ in range(3000):  # small arrays alone
            np.empty(10)
        assert _face.pool_info()["pooled_bytes"] == 0
    """)


def test_threads_have_it_and_free_each_others_arrays(kept: None) -> None:
    def work(seed: int) -> list[np.ndarray]:
        assert get_handler_name() == OURS
        assert sys.getprofile() is None
        rng = np.random.default_rng(seed)
        given = []
        for _ in range(60):
            n = int(rng.integers(1, 400_000))
            zeros = np.zeros(n)
            assert not zeros.any()
            zeros += seed
            given.append(zeros[: n // 2 + 1].copy())
            if len(given) > 5:
                assert (given.pop(0) == seed).all()
        return given

    with ThreadPoolExecutor(4) as pool:
        for seed, given in enumerate(pool.map(work, range(12))):
            assert all((a == seed).all() for a in given)
    kept_memory.give_back()
    names: list[str] = []
    thread = threading.Thread(target=lambda: names.append(get_handler_name()))
    thread.start()
    thread.join()
    assert names == [NUMPYS]
    assert threading.getprofile() is None


def test_a_profile_function_of_the_program_is_left_alone(kept: None) -> None:
    kept_memory.give_back()

    def profile(*arguments: object) -> None: ...

    threading.setprofile(profile)
    try:
        assert kept_memory.keep()
        assert threading.getprofile() is profile
        kept_memory.give_back()
        assert threading.getprofile() is profile
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]


def test_tracemalloc_sees_arrays(kept: None) -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        a = np.ones(1_000_000)
        assert tracemalloc.get_traced_memory()[0] - before >= a.nbytes
        a.resize(2_000_000, refcheck=False)
        assert tracemalloc.get_traced_memory()[0] - before >= a.nbytes
        del a
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()


def test_memory_that_cannot_be_had_is_numpys_error(kept: None) -> None:
    for make in (np.empty, np.zeros, np.ones):
        with pytest.raises(MemoryError, match="Unable to allocate"):
            make(1 << 46)
    a = np.ones(100_000)
    with pytest.raises(MemoryError):
        a.resize(1 << 46, refcheck=False)
    assert (a == 1).all()


def test_what_is_kept_makes_room_where_memory_is_short() -> None:
    run_python("""
        import resource
        import numpy as np
        from tilewright import _face, kept_memory
        assert kept_memory.keep()
        arrays = [np.ones(1_000_000) for _ in range(20)]
        del arrays
        assert _face.pool_info()["pooled_bytes"] > 100_000_000
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, resource.RLIM_INFINITY))
        large = np.ones(15_000_000)
        assert large.sum() == 15_000_000 and _face.pool_info()["pooled_bytes"] == 0
        try:
            np.ones(30_000_000)
        except MemoryError:
            pass
        else:
            raise AssertionError("there is memory")
    """)


def test_forked_children_go_on() -> None:
    run_python("""
        import os, threading
        import numpy as np
        from tilewright import _face, kept_memory
        assert kept_memory.keep()
        np.empty(40_000_000)  # as much may be kept from now on
        limit = _face.pool_info()["limit_bytes"]
        stop = threading.Event()
        def churn():
            while not stop.is_set():
                np.ones(100_000) + 1
        threads = [threading.Thread(target=churn) for _ in range(3)]
        for t in threads: t.start()
        mine = np.arange(200_000)
        for i in range(20):
            child = os.fork()
            if child == 0:
                import signal
                signal.alarm(60)
                zeros = np.zeros(200_000)
                good = not zeros.any() and (mine == np.arange(200_000)).all() and (np.ones(300_000) + i).sum() == 300_000 * (1 + i)
                os._exit(0 if good and _face.pool_info()["limit_bytes"] < limit else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for t in threads: t.join()
    """)


@pytest.mark.parametrize("ends", ["", "import sys; sys.exit(0)", "import os; os._exit(0)", "kept_memory.give_back()"])
def test_arrays_outlive_the_interpreter(ends: str) -> None:
    code = """
        import atexit, gc, threading, time
        import numpy as np
        from tilewright import kept_memory
        assert kept_memory.keep()
        np.mine = np.ones(1_000_000)            # freed with the module
        class Holder:
            def __init__(self): self.a = np.ones(500_000); self.me = self
            def __del__(self): self.a = np.zeros(400_000)
        holders = [Holder() for _ in range(3)]
        atexit.register(lambda: np.ones(300_000) + 1)
        def churn():
            while True: np.ones(100_000) + 1
        threading.Thread(target=churn, daemon=True).start()
        time.sleep(0.05)
        """
    run_python(textwrap.dedent(code) + ends)


def test_another_handler_is_left_alone() -> None:
    code = """
        import ctypes
        import numpy as np
        from numpy._core.multiarray import get_handler_name, _ARRAY_API
        from tilewright import _face, kept_memory
        new, name = ctypes.pythonapi.PyCapsule_New, ctypes.c_char_p(b"mem_handler")
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = ctypes.cast(get(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
        default = ctypes.cast(table[306], ctypes.POINTER(ctypes.py_object))[0]
        # NumPy's own functions under another name.
        theirs = ctypes.create_string_buffer(ctypes.string_at(get(default, b"mem_handler"), 127 + 1 + 5 * 8))
        theirs[:7] = b"theirs\\0"
        capsule = new(ctypes.addressof(theirs), name, None)
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])
        set_handler(capsule)
        assert get_handler_name() == "theirs"
        assert not kept_memory.keep()
        assert get_handler_name(np.ones(100_000)) == "theirs"
        kept_memory.give_back()
        assert get_handler_name() == "theirs"
        set_handler(default)
        assert kept_memory.keep()
        ours = np.ones(100_000)
        set_handler(capsule)
        kept_memory.give_back()
        assert get_handler_name() == "theirs" and get_handler_name(ours) == "tilewright_kept" and ours.sum() == 100_000
    """
    run_python(code)


def test_nothing_is_kept_where_the_pool_keeps_nothing() -> None:
    code = """
        import numpy as np
        from tilewright import _face, kept_memory
        assert kept_memory.keep() is {kept}
        np.ones(1_000_000) + 1
        assert _face.pool_info()["pooled_bytes"] <= {megabytes} << 20
    """
    for megabytes, keeps in ((0, False), (4, True), (50, True)):
        run_python(code.format(kept=keeps, megabytes=megabytes), TILEWRIGHT_POOL_MB=str(megabytes))


def test_numpy_is_not_imported_for_it() -> None:
    code = """
        import sys
        from tilewright import kept_memory
        assert kept_memory.keep() and kept_memory.keep()
        assert "numpy" not in sys.modules and "tilewright._face" not in sys.modules
        {between}
        import numpy as np
        from numpy._core.multiarray import get_handler_name
        assert get_handler_name(np.ones(100_000)) == {handler!r}, get_handler_name()
        assert not any("kept_memory" in type(finder).__module__ for finder in sys.meta_path)
        assert "exec_module" not in vars(np.__spec__.loader)
    """
    run_python(code.format(between="", handler=OURS))
    run_python(code.format(between="import importlib.util; assert importlib.util.find_spec('numpy')", handler=OURS))
    run_python(code.format(between="kept_memory.give_back()", handler=NUMPYS))


def test_results_of_kernels_are_still_theirs(kept: None) -> None:
    import tilewright  # noqa: PLC0415

    @tilewright.jit
    def f(a: np.ndarray) -> np.ndarray:
        return np.sqrt(a) * 2.0 + np.sin(a)

    a = np.linspace(0, 1, 300_000)
    for _ in range(3):
        result = f(a)
        assert np.allclose(result, np.sqrt(a) * 2.0 + np.sin(a))
    assert get_handler_name() == OURS
    assert get_handler_name(result) in ("tilewright_pool", OURS)


@pytest.mark.parametrize(("names", "handler"), [("set()", NUMPYS), ("None", OURS)])
def test_autotune_run_keeps_memory_and_runs_the_script_as_it_is_beside(
    tmp_path: Path, names: str, handler: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nassert 'numpy' not in sys.modules\nimport numpy as np\n"
        "from numpy._core.multiarray import get_handler_name\nprint(get_handler_name(np.ones(100_000)))\n"
    )
    code = f"""
        import os, sys
        from pathlib import Path
        from tilewright.patched_run import run_script
        from tilewright.script import Script
        read, write = os.pipe()
        sys.exit(run_script(0, write, {names}, Script(Path({str(script)!r}))))
    """
    assert run_python(code).strip() == handler
