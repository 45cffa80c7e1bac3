"""The end of a trace: the program's text, what it returns, and what has to be true of a call that it answers."""

from __future__ import annotations

from typing import Any

from ..guards import is_of_ours
from ..interpret.generators import OFFSET_BITS, at_most
from ..interpret.staged_draws import end
from ..interpret.unknown_callees import end_effects
from ..symbolic.graph import Value
from ..symbolic.size_guards import SizeGuard
from ..symbolic.sizes import Size
from ..symbolic.trace_limits import MAX_RANK
from ..symbolic.tracer import Tracer
from .emit import Emitter, digest_of, quoted
from .returned_values import ReturnedValues, result_of
from .returned_views import Leaf
from .traced import Traced


def finished(function: Any, tracer: Tracer, result: Any, contract: str, traced_by: str) -> Traced:
    """What comes of a trace of a call that returns `result`."""
    tracer.cache["inputs"].refuse_changed()
    for generator in tracer.generators:
        at_most(tracer, generator.drawn, 2**OFFSET_BITS - 1, "in one call")
    writes = _written_arguments(tracer)
    returned = ReturnedValues(tracer, result, bool(writes))
    behind = returned.settled()
    end(tracer)  # behind the last check
    end_effects(tracer)
    leaves, reasons = returned.leaves, returned.reasons
    given = [*(leaf for leaf in leaves if leaf.kind != "view"), *behind]  # by the plan
    if not given and not writes and not (result is None and returned.sets):
        reasons.append("it returns None" if result is None else "it returns its arguments and computes nothing")
    text, computed = "", False
    if given or writes:
        emitter = _emitted(tracer, given, writes, is_one=returned.is_one_value)
        text, writes = emitter.text(), emitter.writes
        for leaf, value in zip(given, emitter.results, strict=True):
            leaf.name = emitter.names[value.number]
        deepest = max((len(value.shape) for value in emitter.values), default=0)
        if deepest > MAX_RANK:
            reasons.append(f"it works on arrays of {deepest} dimensions, where at most {MAX_RANK} are compiled")
        # Numbers behind the results are no work of their own.
        pairs = zip(given, emitter.results, strict=True)
        outcomes = [value for leaf, value in pairs if leaf not in behind or leaf.kind != "int"]
        computed = bool(writes) or any(not value.is_argument and value.operation != "const" for value in outcomes)
        if not computed:
            reasons.append("it returns its arguments and computes nothing")
    for name, argument in tracer.written.items():
        if name not in writes:  # it holds what it held, and NumPy refuses to write that too
            tracer.guard_writeable(argument, True)
    size_guards = tuple(_all_size_guards(tracer))
    return Traced(
        program_text=text,
        digest=digest_of(text) if text else "",
        arguments=tuple(tracer.arguments),
        guards=tuple(one for one in tracer.python_guards.values() if not is_of_ours(one)),
        size_guards=size_guards,
        results=returned.results(),
        behind=tuple(map(result_of, behind)),
        fallback_reason="; ".join(dict.fromkeys(reasons)) or None,
        idle=not computed and bool(size_guards),
        untouched=not writes
        and not tracer.generators
        and (not tracer.orders or not leaves)
        and all(leaf.argument or leaf.value.is_argument or leaf.value.operation == "const" for leaf in leaves)
        and all(leaf.kind in ("argument", "int") for leaf in behind),
        contract=contract,
        writes=tuple(writes),
        writes_anything=bool(tracer.written),
        generators=tuple(
            (g.words.storage.argument.name, g.path, tracer.resolve(g.drawn))
            for g in tracer.generators
            if g.path is not None
        )
        + tuple((name, path, Size.constant(0)) for name, path in tracer.lent),
        handed=tuple(tracer.handed),
        reaching=tuple(dict.fromkeys(tracer.reaching)),
        set_objects=tuple(one.path for one in tracer.stand_ins),
        draws_are_stages=tracer.draws_are_stages,
        has_effects=tracer.effects_are_stages,
        leaves_ways=bool(tracer.one_way),
        stages={name: stage for name, stage in tracer.stages.items() if f"callee={quoted(name)}" in text},
        function=function,
        traced_by=traced_by,
        draws_move=bool(tracer.draws_move),
    )


def _written_arguments(tracer: Tracer) -> dict[str, Value]:
    """What is in them behind the call, by their names."""
    found = {}
    for array in tracer.cache["inputs"].arrays:
        argument = array.storage.argument
        if argument is None:
            continue
        if array.storage.value is not argument.program_value or tracer.shows_writes(argument):
            found[argument.name] = array.storage.value
    return found


def _emitted(tracer: Tracer, given: list[Leaf], writes: dict[str, Value], *, is_one: bool) -> Emitter:
    kinds = [leaf.kind if leaf.kind in ("int", "float", "bool", "held") else "" for leaf in given]
    return Emitter(tracer, [leaf.value for leaf in given], not is_one, [leaf.memory for leaf in given], writes, kinds)


def _all_size_guards(tracer: Tracer) -> list[SizeGuard]:
    """Those of the text, and the equalities that the text says by the arguments' types."""
    guards = list(tracer.guards)
    for atom, replacement in tracer.substitutions.items():
        if isinstance(atom, str) and atom in tracer.extents:
            guards.append(SizeGuard(Size.symbol(atom), "==", replacement, "", 0, True))
    return guards
