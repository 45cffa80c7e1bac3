"""A plugin of pytest that keeps what tests hand to the translator, in their own process and in those that they start (sitecustomize.py):

    PYTHONPATH=tests/replay TILEWRIGHT_RECORD=FILE python -m pytest -p recorder tests/python/test_jit.py

FILE gets a line for each entry; `replay.py record` makes the corpus of it."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

_WITH_OPTIONS = ("build", "describe", "default_schedule", "default_space", "loops", "variants", "check_schedule")
_WITHOUT = ("verify_program", "program_digest", "split_complex")
_seen: set[str] = set()


def watch() -> None:
    """From here on this process records."""
    from tilewright import _native

    for names, has_options in ((_WITH_OPTIONS, True), (_WITHOUT, False)):
        for name in names:
            setattr(_native, name, _watched(getattr(_native, name), has_options))


def _watched(function: Callable[..., Any], has_options: bool) -> Callable[..., Any]:
    if hasattr(function, "__wrapped__"):
        return function  # as a process of its own it was watched at its start

    @functools.wraps(function)
    def call(program: str, *arguments: Any, **keywords: Any) -> Any:
        _keep(program, arguments[0] if has_options else {})
        return function(program, *arguments, **keywords)

    return call


def _keep(program: str, options: Mapping[str, Any]) -> None:
    entry = {
        "program": program,
        "layouts": dict(options.get("layouts", {})),
        "sizes": {name: int(size) for name, size in options.get("sizes", {}).items()},
        "variant": dict(options.get("variant", {})),
        "contract": options.get("contract", "numpy"),
    }
    key = json.dumps(entry, sort_keys=True)
    if key in _seen:
        return
    _seen.add(key)
    line = json.dumps({"test": os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0], **entry}) + "\n"
    with open(os.environ["TILEWRIGHT_RECORD"], "a") as file:
        file.write(line)


def pytest_configure() -> None:
    watch()


def pytest_collection_finish() -> None:
    """Tests of the translator alone send their programs to a process that is not Python's."""
    if (module := sys.modules.get("translator_process")) is None:
        return
    run = module.Evaluator.run

    @functools.wraps(run)
    def recorded(self: Any, program: str, arguments: Any, **keywords: Any) -> Any:
        _keep(program, {key: value for key, value in keywords.items() if value and key != "schedule"})
        return run(self, program, arguments, **keywords)

    module.Evaluator.run = recorded
