"""All programs of this folder and of a checkout of NPBench, with their data: what defaults.py and harm.py measure. Programs are those of cases/, everyday/,
passes.py, operations.py and defaults_rows.py."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from case_list import CASES, Case, everyday_cases
from defaults_rows import ROWS
from operations_rows import ROWS as OPERATIONS
from passes import PROGRAMS


class Program(NamedTuple):
    """A function with its data, by the name that tables have."""

    name: str
    load: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]


def of_case(rules: Case) -> Program:
    def load() -> tuple[Callable[..., Any], tuple[Any, ...]]:
        module = rules.module()
        return getattr(module, rules.function), tuple(module.make_data(**rules.data))

    return Program(rules.name, load)


def of_npbench(root: Path, name: str, size: str) -> Program:
    """A program of a checkout of NPBench, as its own runner makes its data."""

    def load() -> tuple[Callable[..., Any], tuple[Any, ...]]:
        info = json.loads((root / "bench_info" / f"{name}.json").read_text(encoding="utf-8"))["benchmark"]
        sys.path.insert(0, str(root))
        module = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
        data = dict(info["parameters"][size])
        np.random.seed(0)  # noqa: NPY002  (some initializers draw from it)
        if made := info.get("init"):
            values = getattr(importlib.import_module(module), made["func_name"])(*[data[a] for a in made["input_args"]])
            names = made["output_args"]
            data.update(zip(names, (values,) if len(names) == 1 else values, strict=True))
        function = getattr(importlib.import_module(f"{module}_numpy"), info["func_name"])
        return function, tuple(data[name] for name in info["input_args"])

    return Program(f"{name}_{size}", load)


def programs(npbench: Path | None, sizes: list[str], *, small: bool = False) -> Iterator[Program]:
    """`small`: those of everyday/ with their small data too, and cases that are too short for the clock."""
    for row in ROWS:
        yield Program(row.name, lambda row=row: (row.function, row.data()))
    named = set()
    for rules in CASES:
        if (not rules.tuned_as or (small and rules.calls_per_turn > 1)) and (
            rules.group != "npbench" or rules.data["size"] in sizes
        ):
            named.add(rules.name)
            yield of_case(rules)
    if npbench is not None:
        for file in sorted((npbench / "bench_info").glob("*.json")):
            for size in sizes:
                if f"{file.stem}_{size}" not in named:  # those of cases/ start from noise
                    yield of_npbench(npbench, file.stem, size)
    for rules in everyday_cases():
        if small or not rules.name.endswith("_small"):
            yield of_case(rules)
    seen = set()
    for given in (each for of_pass in PROGRAMS.values() for each in of_pass):
        if " " not in given.name and given.name not in seen:  # the others are of cases/
            seen.add(given.name)
            yield Program(f"passes_{given.name}", lambda given=given: (given.function, given.arguments()))
    for row in OPERATIONS:
        yield Program(f"operation_{row.name}", lambda row=row: (row.function, row.data(False)))


class Restored:
    """Puts back what a call writes into its arguments."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self._arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        self._originals = [array.copy() for array in self._arrays]

    def keep_written(self) -> None:
        """After a first call: from now on only what that changed."""
        pairs = [
            (array, original)
            for array, original in zip(self._arrays, self._originals, strict=True)
            if not np.array_equal(array, original, equal_nan=array.dtype.kind in "fc")
        ]
        self._arrays, self._originals = [list(each) for each in zip(*pairs, strict=True)] or [[], []]

    @property
    def is_needed(self) -> bool:
        return bool(self._arrays)

    def written(self) -> list[np.ndarray]:
        return [array.copy() for array in self._arrays]

    def __call__(self) -> None:
        for array, original in zip(self._arrays, self._originals, strict=True):
            np.copyto(array, original)
