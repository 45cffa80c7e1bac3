"""`autotune doctor`: what works here and what is missing, one line each."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__, settings
from ..quantities import counted
from .exit_codes import OK, SCRIPT_RAISED

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_ANY_PROGRAM = "tilewright-program 1\nfunction f\narg x: float64[x.0]\nr: float64[x.0] = negative(x)\nreturn r\n"


@app.command()
def doctor(db: Annotated[Path | None, typer.Option(help="Store to check.")] = None) -> int:
    """Say what works on this machine and what is missing. Exit code 1 when tuning cannot work."""
    checks: list[tuple[str, Callable[[], str], bool]] = [
        ("tilewright", lambda: f"{__version__} in {Path(__file__).resolve().parent.parent}", True),
        ("python", lambda: f"{sys.version.split()[0]} at {sys.executable}", True),
        ("numpy", _numpy, True),
        ("runtime", _runtime, True),
        ("compiler", _compiler, True),
        ("worker", _worker, True),
        ("a kernel, end to end", _end_to_end, True),
        ("cpu", _cpu, True),
        ("cuda", _cuda, False),
        ("ptxas", _ptxas, False),
        ("cuBLAS", _cublas, False),
        ("environment", _environment, False),
        ("passes", _passes, True),
        ("memory for data", _memory, False),
        ("object cache", _cache, False),
        ("store", lambda: _store(db), False),
    ]
    failed = False
    for name, check, needed in checks:
        try:
            print(f"ok       {name}: {check()}")
        except Exception as error:  # noqa: BLE001  (a doctor reports every failure, whatever its type)
            text = str(error) or type(error).__name__
            print(f"{'MISSING' if needed else 'warning'}  {name}: {text}")
            failed = failed or needed
    return SCRIPT_RAISED if failed else OK


def _environment() -> str:
    if problems := settings.problems():
        raise RuntimeError("; ".join(problems))
    given = [name for name in settings.VARIABLES if os.environ.get(name)]
    return f"{', '.join(f'{name}={os.environ[name]}' for name in given) or 'no variable of ours is set'}"


def _passes() -> str:
    """Which passes of the translator run. TranslateError where TILEWRIGHT_PASSES names one that does not exist."""
    from ..native import compiler

    off = settings.passes()
    compiler().passes(_ANY_PROGRAM, {})
    return f"all but {off.replace('-', '').replace(',', ', ')} (TILEWRIGHT_PASSES)" if off else "all"


def _numpy() -> str:
    import numpy

    version = tuple(int(part) for part in numpy.__version__.split(".")[:1])
    if version < (2,):
        raise RuntimeError(f"{numpy.__version__} is too old. Install numpy>=2.0.")
    return numpy.__version__


def _runtime() -> str:
    from .. import _face

    return f"{_face.get_num_threads()} threads, parallel loops by {_face.parallel_backend()}"


def _compiler() -> str:
    from ..native import compiler

    native = compiler()
    return f"for {native.host_isa()}"


def _worker() -> str:
    from ..native import worker_path

    path = worker_path()
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"{path} may not be executed")
    return str(path)


def _end_to_end() -> str:
    import numpy as np

    from ..decorator import JitFunction

    function = JitFunction(_probe, strict=True)
    function.keeps_traces = False  # to follow is what is tried, too
    data = np.arange(100_000, dtype=np.float64)
    start = time.perf_counter()
    result = function(data)
    spent = time.perf_counter() - start
    if not np.array_equal(result, _probe(data)):
        raise RuntimeError("compiled code gives another answer than NumPy. Please report it.")
    return f"compiled, loaded and right, {1e3 * spent:.0f} ms"


def _probe(x: Any) -> Any:
    return x * 2 + 1


def _cpu() -> str:
    from ..machine import cpu_model, host_isa, usable_cores

    return f"{cpu_model()}, {host_isa()}, {usable_cores()} cores usable"


def _cuda() -> str:
    from .. import _face

    why = _face.no_device_reason()
    if why:
        raise RuntimeError(f"{why} --target cuda --build-only writes modules all the same.")
    found = _face.devices()
    version = found[0]["driver_version"]
    each = [
        f"cuda:{d['ordinal']} {d['name']}, compute capability {d['capability'][0]}.{d['capability'][1]}, "
        f"{d['memory_bytes'] >> 30} GiB"
        for d in found
    ]
    return f"driver for CUDA {version // 1000}.{version % 1000 // 10}; {'; '.join(each)}"


def _ptxas() -> str:
    from ..device_code import ptxas_path

    path = ptxas_path()
    if path is None:
        raise RuntimeError(
            "not on PATH, in CUDA_HOME, a package (triton) or TILEWRIGHT_PTXAS: registers of kernels are told on a device alone, and modules "
            "carry no assembled code"
        )
    return str(path)


def _cublas() -> str:
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    raise RuntimeError(
        "not there: matrix products on a device run in kernels of ours, or in the cuBLAS that torch or CuPy brings"
    )


def _memory() -> str:
    free = shutil.disk_usage("/dev/shm").free
    if free < 1 << 30:
        raise RuntimeError(f"/dev/shm has {free >> 20} MiB free; the data of a search goes to disk then")
    return f"/dev/shm has {free >> 20} MiB free"


def _cache() -> str:
    from ..cache import object_cache

    folder = settings.cache_folder()
    if not settings.cache_enabled():
        return "off (TILEWRIGHT_CACHE)"
    if folder is None:
        raise RuntimeError("no home directory: objects are compiled anew in each process. Set XDG_CACHE_HOME.")
    return f"{folder}, {object_cache().size_bytes() >> 10} KiB of {settings.cache_limit_bytes() >> 20} MiB"


def _store(db: Path | None) -> str:
    from ..native import compiler

    path = settings.store_path(db)
    if path is None:
        raise RuntimeError("no home directory: nothing learnt is kept. Give --db, or set TILEWRIGHT_DB.")
    if not os.path.exists(path):
        return f"{path}, none yet"
    store = compiler().Store(str(path))
    problems = store.check()
    if problems:
        raise RuntimeError(f"{path}: {problems[0]}")
    return f"{path}, {counted(len(store.list()), 'workload')}"
