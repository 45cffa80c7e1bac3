"""Random generators in a module: Python around the compiled entry takes their states in and moves them on.

C takes the state as an argument, four uint64: state and increment, high halves first. It is read only; whoever goes on
drawing moves it on by as many draws.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

from ..errors import ExportError


@dataclass(frozen=True)
class Stream:
    """One state that the program reads."""

    argument: str  # of the program
    made_of: str  # Python: a parameter that is a generator, or default_rng(seed)
    draws: str  # Python: how far the caller's generator moves on; "" for one that is gone after the call


def check_stream(name: str, argument: Any) -> None:
    """ExportError for a generator that a module cannot have."""
    kind = argument.path[0][0]
    if kind != "default_rng" and (kind != "parameter" or len(argument.path) > 2):
        raise ExportError(
            f"{name}: it draws from a random generator that is not an argument; a module has no such object.",
            "Pass the generator as an argument.",
        )


def streams_of(traced: Any) -> list[Stream]:
    drawn = {name: size for name, _, size in traced.generators}
    found = []
    for argument in traced.arguments:
        if argument.path[-1][0] != "pcg64":
            continue
        kind, held = argument.path[0]
        if kind == "default_rng":
            seed = held[0][1] if isinstance(held, tuple) else repr(held)
            found.append(Stream(argument.name, f"_numpy.random.default_rng({seed})", ""))
        else:
            draws = re.sub(r"([A-Za-z_]\w*)\.(\d+)", r"_numpy.shape(\1)[\2]", str(drawn[argument.name]))
            found.append(Stream(argument.name, held, draws))
    return found


def inner_parameters(parameters: list[inspect.Parameter], streams: list[Stream]) -> list[inspect.Parameter]:
    """The compiled entry's: states in the place of generators."""
    generators = {stream.made_of for stream in streams}
    kept = [p.replace(kind=p.KEYWORD_ONLY) for p in parameters if p.name not in generators]
    return kept + [inspect.Parameter(stream.argument, inspect.Parameter.KEYWORD_ONLY) for stream in streams]


STREAM_LINES = '''

import numpy as _numpy


def _words(generator):
    """State and increment of a PCG64, high halves first."""
    try:
        return _face.pcg64_words(generator)
    except ValueError as error:
        raise TypeError(f'{error} Pass numpy.random.default_rng(seed).') from None


def _refuse_devices(function, generator, *arrays):
    for array in arrays:
        if _face.placed(array) is not None:
            raise TypeError(
                f'{function}: an argument is {type(array).__name__} on a device, and it draws from {generator}, whose state is on '
                'the host; such calls are not compiled. Draw before the call, and pass the numbers in.'
            ) from None'''.splitlines()


def stream_lines(  # noqa: PLR0917
    entry: str, kernel: str, signature: str, doc: str, inner: list[inspect.Parameter], streams: list[Stream]
) -> list[str]:
    """The function that a user calls."""
    states = {stream.argument: stream.made_of for stream in streams}
    arguments = [f"{p.name}=_words({states[p.name]})" if p.name in states else f"{p.name}={p.name}" for p in inner]
    living = [stream for stream in streams if stream.draws]
    lines = ["", "", f"def {entry}{signature}:", f"    {doc!r}"]
    lines += [f"    _words({stream.made_of})" for stream in living]  # whether it is one
    indent = "    "
    for stream in living:
        lines.append(f"{indent}with {stream.made_of}.bit_generator.lock:")
        indent += "    "
    call = f"{kernel}({', '.join(arguments)}, **({{}} if out is None else {{'out': out}}))"
    given = ", ".join(p.name for p in inner if p.name not in states)
    lines += [
        f"{indent}try:",
        f"{indent}    result = {call}",
        f"{indent}except TypeError:",
        f"{indent}    _refuse_devices({entry!r}, {streams[0].made_of.removeprefix('_numpy.random.')!r}, {given})",
        f"{indent}    raise",
    ]
    lines += [f"{indent}_face.move_pcg64_on({stream.made_of}, {stream.draws})" for stream in living]
    lines.append("    return result")
    return lines
