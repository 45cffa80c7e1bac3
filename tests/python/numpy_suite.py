"""NumPy's own tests with its functions taken through `tilewright.jit`: a module at a time, with us and without.

    python tests/python/numpy_suite.py                    # all modules of _core, lib, linalg and fft
    python tests/python/numpy_suite.py --seconds=3000 linalg/test_linalg    # one, for so long

Each module's tests run twice in processes of their own: as they are, and as a pytest plugin (this file) has them: what the
module calls `np` is NumPy with each function wrapped in a jitted one, not strict. A call that is refused goes to NumPy, so that
what fails with us alone is a wrong answer, a wrong type or a wrong error.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

FOLDERS = ("_core", "lib", "linalg", "fft")
# Whose tests ask for objects themselves, for threads, memory or texts.
OF_NO_FUNCTIONS = re.compile(
    "test_(_|abc|api|argparse|array_api|array_coercion|array_interface|arraymethod|arrayprint|casting|conversion|cpu|custom|cython"
    "|datetime|defchar|deprecat|dlpack|dtype|extint|finfo|getlimits|hashtable|limited|longdouble|mem_|memmap|multiproc|multithr"
    "|nditer|numerictypes|overrides|print|protocols|records|scalar|simd|string|unicode|umath_accuracy|arrayterator|format|io"
    "|loadtxt|mixins|recfunctions|utils|array_utils|lazyloading)"
)
NUMBERS = (bool, int, float, complex, np.number, np.bool_, np.ndarray)
LEFT = (
    "seterr",
    "geterr",
    "errstate",
    "set_printoptions",
    "array",
    "asarray",
    "asanyarray",
    "empty",
    "frombuffer",
    "test",
)


def takes(value: Any) -> bool:
    """Whether an argument is one that jitted functions take for what it is."""
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "biufc"
    if isinstance(value, (list, tuple)):
        return all(map(takes, value))
    return value is None or isinstance(value, (str, type, np.dtype, slice, type(...), *NUMBERS))


def wrapped(function: Any, name: str) -> Any:
    """The function through jit, one jitted function for each of its forms of a call."""
    import tilewright  # noqa: PLC0415 - of the process that runs the tests

    jitted: dict[Any, Any] = {}

    @functools.wraps(function, assigned=("__name__", "__doc__"))
    def call(*args: Any, **kwargs: Any) -> Any:
        has_arrays = any(isinstance(value, np.ndarray) for value in (*args, *kwargs.values()))
        if not has_arrays or not all(map(takes, (*args, *kwargs.values()))):
            return function(*args, **kwargs)
        form = len(args), tuple(kwargs)
        if form not in jitted:
            names = [f"x{k}" for k in range(len(args))]
            given = ", ".join([*names, *(f"{key}={key}" for key in kwargs)])
            text = f"def call({', '.join([*names, *kwargs])}):\n    return np.{name}({given})\n"
            jitted[form] = tilewright.jit(_compiled(text))
        return jitted[form](*args, **kwargs)

    return call


def _compiled(text: str) -> Any:
    import linecache  # noqa: PLC0415

    file = f"<numpy suite {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return scope["call"]


class Wrapped(types.ModuleType):
    """A module of NumPy's, with its functions through jit."""

    def __init__(self, module: Any, path: str = "") -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _path=path, _made={})

    def __getattr__(self, name: str) -> Any:
        if name in self._made:
            return self._made[name]
        value = getattr(self._module, name)
        if name in ("linalg", "fft") and not self._path:
            value = Wrapped(value, f"{name}.")
        elif name not in LEFT and not name.startswith("_") and isinstance(value, np.ufunc):
            value = Ufunc(value, wrapped(value, name))
        elif name not in LEFT and not name.startswith("_") and callable(value) and not inspect.isclass(value):
            value = wrapped(value, self._path + name)
        self._made[name] = value
        return value


class Ufunc:
    """A ufunc whose calls go through jit; all else of it is its own."""

    def __init__(self, ufunc: np.ufunc, call: Any) -> None:
        self.__dict__.update(_ufunc=ufunc, _call=call)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", ""))


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """The plugin: what the tests' modules call np."""
    for module in {item.module for item in items}:
        ours = Wrapped(np)
        # Lists of functions in classes are compared with what np has by identity.
        for kind in [value for value in vars(module).values() if inspect.isclass(value)]:
            for name, value in list(vars(kind).items()):
                if isinstance(value, list) and value and all(getattr(np, _name_of(one), None) is one for one in value):
                    setattr(kind, name, [getattr(ours, _name_of(one)) for one in value])
        for name, value in list(vars(module).items()):
            if value is np:
                setattr(module, name, ours)
            elif value is np.linalg or value is np.fft:
                setattr(module, name, Wrapped(value, value.__name__.rpartition(".")[2] + "."))
            elif inspect.isfunction(value) and (value.__module__ or "").startswith(("numpy.linalg", "numpy.lib._")):
                owner, found = (np.linalg, "linalg.") if "linalg" in value.__module__ else (np, "")
                if getattr(owner, name, None) is value:
                    setattr(module, name, wrapped(value, found + name))


def outcomes(path: Path, with_us: bool, limit_s: int) -> tuple[dict[str, str], str]:
    """Of each test: passed, failed, skipped; and the last lines of the run."""
    plugin = ["-p", "numpy_suite"] if with_us else []
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=line", "-q", "-c", os.devnull, "-p",
               "no:cacheprovider", "-m", "not slow", *plugin, str(path)]  # fmt: skip
    here = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=environment, check=False)
    except subprocess.TimeoutExpired as ended:
        return {}, f"more than {limit_s} s: {str(ended.stdout)[-200:]}"
    found = dict(
        reversed(pair)
        for pair in re.findall(r"(?m)^(PASSED|FAILED|XFAIL|XPASS|ERROR) \S*?::(\S.*?)(?: - .*)?$", run.stdout)
    )
    return found, "" if found else (run.stdout + run.stderr)[-600:]


def main() -> None:
    parser = argparse.ArgumentParser(description="NumPy's own tests through tilewright.jit, and without.")
    parser.add_argument("modules", nargs="*", metavar="linalg/test_linalg", help="by default those of all functions")
    parser.add_argument("--seconds", type=int, default=600, help="for a module's tests, at most")
    asked = parser.parse_args()
    root = Path(np.__file__).parent
    named = [one.partition("/") for one in asked.modules]
    paths = [root / folder / "tests" / f"{module}.py" for folder, _, module in named]
    every = [path for folder in FOLDERS for path in sorted((root / folder / "tests").glob("test_*.py"))]
    for path in paths or [path for path in every if not OF_NO_FUNCTIONS.match(path.name)]:
        alone, _ = outcomes(path, False, asked.seconds)
        ours, why = outcomes(path, True, asked.seconds)
        passing = [name for name, one in alone.items() if one == "PASSED"]
        lost = [name for name in passing if ours.get(name) != "PASSED"]
        print(f"{path.parent.parent.name}/{path.stem}: {len(passing) - len(lost)} of {len(passing)} {why}", flush=True)
        for name in lost if ours else []:
            print(f"    {name}", flush=True)


if __name__ == "__main__":
    main()
