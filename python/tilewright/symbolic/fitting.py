"""Guards that keep a Python integer made of sizes within 64 bits: Python's has no limit, a value of the program has."""

from __future__ import annotations

from ..errors import TraceError
from .sizes import LIMITS, Interval, Ranges, Size
from .tracer import Tracer

_LARGEST_EXTENT = 2**31  # that kernels index
_MOST_ITERATIONS = 2**45  # of a loop that ends: a year of the fastest iterations


def fitting(tracer: Tracer, size: Size, ends: Interval = LIMITS) -> Size:
    """`size` under guards by which its value lies between `ends` in each call.

    Where it may leave them, the numbers that it is made of get limits within which it cannot. A call with a number
    beyond its limit has that number as a constant, with which Python computes exactly.
    """
    while True:
        size = tracer.resolve(size)
        if size.is_constant and not _inside((size.constant_part,) * 2, ends):
            raise _too_large(tracer, size)
        if _stays_inside(_ranges(tracer, None), size, ends):
            return size
        limits = (1 << bits for bits in range(62, -1, -1))
        limit = next((most for most in limits if _stays_inside(_ranges(tracer, most), size, ends)), 0)
        leaves = _leaves(tracer, size)
        beyond = next((symbol for symbol in leaves if not limit or abs(tracer.sizes[symbol]) > limit), None)
        if beyond is not None:
            tracer.fix_symbol(beyond)  # one less: this ends
            continue
        if not limit:
            raise _too_large(tracer, size)
        message = f"an integer beyond {limit}, with which others leave 64 bits"
        for symbol in leaves:
            if symbol not in tracer.extents:
                tracer.require(">=", Size.symbol(symbol), -limit, message, OverflowError)
            if symbol not in tracer.extents or limit < _LARGEST_EXTENT:
                tracer.require("<=", Size.symbol(symbol), limit, message, OverflowError)
        return size


def _too_large(tracer: Tracer, size: Size) -> TraceError:
    error = tracer.error(
        f"the integer {size}"[:120], "a compiled int has 64 bits",
        "Use a float, or leave it out of the compiled function.",
    )  # fmt: skip
    error.depends_on_values = True
    return error


def _stays_inside(ranges: Ranges, size: Size, ends: Interval) -> bool:
    """Whether the value does, and what it is divided from, or chosen from, fits 64 bits: sums and products may leave them on
    their way, and come back."""
    parts = [part for atom in size.atoms() if not isinstance(atom, str) for part in atom[1:]]
    return _inside(ranges.of(size), ends) and all(_inside(ranges.of(part), LIMITS) for part in parts)


def _inside(interval: Interval, ends: Interval) -> bool:
    return ends[0] <= interval[0] and interval[1] <= ends[1]


def _leaves(tracer: Tracer, size: Size) -> list[str]:
    """The extents and integer arguments that decide a size; those behind the indices of loops are in the loops' ends."""
    found: dict[str, None] = {}
    pending = sorted(size.symbols(), key=tracer.symbol_order.__getitem__)
    seen = set(pending)
    while pending:
        symbol = pending.pop(0)
        loop = tracer.loops.get(symbol)
        if loop is None:
            found[symbol] = None
            continue
        ends = [tracer.resolve(end) for end in (loop.first, loop.last) if end is not None]
        more = {inner for end in ends for inner in end.symbols()} - seen
        seen |= more
        pending += sorted(more, key=tracer.symbol_order.__getitem__)
    return list(found)


def _ranges(tracer: Tracer, limit: int | None) -> Ranges:
    """Between which numbers sizes lie, where none that they are made of is beyond `limit`."""

    def of_symbol(symbol: str) -> Interval:
        loop = tracer.loops.get(symbol)
        if loop is not None:
            if symbol in tracer.reads or loop.first is None or loop.last is None:
                return -(2**31), 2**31  # what is read from data fits 32 bits, or NumPy runs the call
            first, last = (ranges.of(tracer.resolve(end)) for end in (loop.first, loop.last))
            way = loop.step * _MOST_ITERATIONS
            return (
                max(min(first[0], last[0]), first[0] + min(way, 0)),
                min(max(first[1], last[1]), first[1] + max(way, 0)),
            )
        if symbol in tracer.extents:
            return 0, _LARGEST_EXTENT if limit is None else min(limit, _LARGEST_EXTENT)
        low, high = tracer.known_range(symbol)
        return (low, high) if limit is None else (max(low, -limit), min(high, limit))

    ranges = Ranges(of_symbol, tracer.extents)
    return ranges
