"""Calls of functions that are not known to be pure, between kernels: each is made once, at its place among the others.

Where NumPy has to run a call of the compiled function after all, what such functions did already is not done again: they
are replayed. What they gave, raised and wrote is kept until the compiled call is over.
"""

from __future__ import annotations

import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from .arrays_held import arrays_held
from .callees import are_changed, contents_of, forms_of, refuse_shared, written_of
from .described_results import Array, given_back, held_of, is_part, leaves_of, pieces_of
from .held_elsewhere import handed_containers, held_elsewhere, kept_of, references, refuse_containers
from .kinds_of_values import arrays_in, containers_in, is_object
from .lent import States, caller_of_stages, current, drawn_so_far, handed, handed_arrays
from .light_dataclass import dataclass
from .outside_values import Change, Places, changes_since
from .put_instead import put_instead
from .strided_copies import copy_as_it_lies, same_view
from .taken_ways import Site, Way, times_watched


class _Differs(Exception):  # noqa: N818 - it never leaves the call: NumPy goes on behind it
    """What the function gave or wrote is of another kind than it was when it was seen."""


@dataclass
class Made:
    """One call that was made: what it was handed, as it was behind the call, and what came of it."""

    function: Callable[..., Any]
    way: Way
    given: list[Any]  # arrays, in order
    written: list[int]  # which of them
    is_reformed: bool = False  # whether one has another shape, dtype or flag
    containers: list[Any] = field(default_factory=list)  # lists, dicts and sets in the arguments, where it changed one
    result: Any = None
    error: BaseException | None = None
    outside: list[Change] = field(default_factory=list)  # of what the compiled function reads beside it
    states: list[Any] = field(default_factory=list)  # of the generators that it was handed, behind the call
    global_state: Any = None  # of NumPy's own generator, where the compiled function draws from that too
    drawn_from: States | None = None  # of the caller's generators from which that draws, behind the call
    kept: list[int] = field(default_factory=list)  # which of `given` somebody holds behind it
    handed: list[Any] = field(default_factory=list)  # its arguments' containers, where somebody holds one behind it
    shared: list[Any] = field(default_factory=list)  # arrays of its own that somebody else holds behind it

    def again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Its effects on the arguments of the same call in NumPy, and its result."""
        arguments = list(arrays_in((args, kwargs)))
        self._change(arguments, (args, kwargs))
        for generator, state in zip(generators_in((args, kwargs)), self.states, strict=True):
            generator.bit_generator.state = state
        if self.global_state is not None:
            np.random.set_state(self.global_state)
        if self.drawn_from is not None:
            self.drawn_from.put_back()
        result = None if self.error is not None else self._with(self.result, arguments)
        handed = handed_containers((args, kwargs))[1:]
        instead = [arguments[k] for k in self.kept] + handed[: len(self.handed)]
        kept = [*(self.given[k] for k in self.kept), *self.handed[: len(handed)]]
        while kept:
            # Where an error ended it, variables are left that hold it.
            put_instead(kept.pop(), instead.pop(), self.function, (args, kwargs), is_all_sought=self.error is None)
        if self.error is not None:
            raise self.error
        return result

    def _change(self, arguments: Sequence[Any], handed: Any) -> None:
        """What it wrote, and changed otherwise."""
        arrays = [pair for pair in zip(arguments, self.given, strict=True) if isinstance(pair[1], np.ndarray)]
        for theirs, mine in arrays if self.is_reformed else ():
            if (theirs.shape, theirs.dtype) != (mine.shape, mine.dtype):
                theirs.dtype, theirs.shape = mine.dtype, mine.shape
        for k in self.written:
            np.copyto(arguments[k], self.given[k])
        for theirs, mine in arrays if self.is_reformed else ():
            if not mine.flags.writeable:
                theirs.flags.writeable = False
        for theirs, mine in zip(list(containers_in(handed)), self.containers, strict=False):
            items = self._with(mine, arguments)
            if isinstance(theirs, list):
                theirs[:] = items
            else:
                theirs.clear()
                theirs.update(items)
        for change in self.outside:
            change.redo()

    def note_kept(
        self, handed: list[Any], before: tuple[list[int], list[int]], error: BaseException | None = None
    ) -> None:
        """What somebody may hold of what it was handed, containers too: all of which there are more references than `before`.
        Where an error ended the call, its traceback has variables."""
        now = references(self.given)
        if error is None:
            self.kept = list(kept_of(self.given, before[0], Counter(), _YOUNG))
        else:
            known = _variables_of(error, self.given)
            self.kept = [k for k, n in enumerate(now) if n > before[0][k] + known[k]]
        self.handed = handed[1:] if kept_of(handed, before[1], Counter(), _YOUNG) else []

    def _with(self, value: Any, arguments: Sequence[Any]) -> Any:
        """Arguments that were given back, also a part of one, are the caller's here."""
        for mine, theirs in zip(self.given, arguments, strict=True):
            if value is mine:
                return theirs
            if type(value) is type(mine) is np.ndarray and np.may_share_memory(value, mine):
                return same_view(value, mine, theirs)
        if is_object(value):
            return value
        if type(value) in (list, tuple):
            return type(value)(self._with(one, arguments) for one in value)
        if hasattr(value, "_fields"):
            return type(value)(*(self._with(one, arguments) for one in value))
        if type(value) is dict:
            return {key: self._with(one, arguments) for key, one in value.items()}
        return value


def _variables_of(error: BaseException, arrays: Sequence[Any]) -> Counter[int]:
    """How many variables of the functions that an error ended hold each of the arrays, or a view of it: *args, too."""
    found = Counter[int]()
    tuples: dict[int, Any] = {}
    traceback = error.__traceback__ and error.__traceback__.tb_next  # this file's own was there before
    while traceback is not None:
        held = list(traceback.tb_frame.f_locals.values())
        tuples.update((id(one), one) for one in held if type(one) in (tuple, dict))
        _count(held, arrays, found)
        traceback = traceback.tb_next
    for one in tuples.values():
        _count(one.values() if isinstance(one, dict) else one, arrays, found)
    return found


def _count(values: Iterable[Any], arrays: Sequence[Any], found: Counter[int]) -> None:
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(k for k, array in enumerate(arrays) if value is array or value.base is array)


class _MadeByCall(list[Made]):
    """What the stages of one compiled call have called."""

    def __init__(self, caller: int) -> None:
        super().__init__()
        self.caller = caller  # whom C makes it for, see caller_of_stages()


class _Here(threading.local):
    """What the stages of this thread's compiled calls have called, innermost call last: one may call another."""

    def __init__(self) -> None:
        self.made: list[_MadeByCall] = []
        self.runs_plainly = False


_here = _Here()


LONG_CALL_S = 1e-3  # of what Python runs: what it calls may be worth a compilation


class Settling:
    """What goes on before it is known how functions that stages call are called best: how often something was found out,
    and how long calls took that were measured for it. What a call takes meanwhile says little of later ones."""

    events = 0
    measured_s = 0.0
    # Makes a compiled function of one that a stage calls; the decorator, which knows how, says so.
    compiled: ClassVar[Callable[[types.FunctionType], Any]]


def begin() -> int:
    """Before all stages of a compiled call."""
    caller = caller_of_stages()
    while _here.made and _here.made[-1].caller == caller:  # of a call of C's that Ctrl-C or a time limit has ended
        _here.made.pop()
    _here.made.append(_MadeByCall(caller))
    return 0


def under_way() -> int:
    """How many compiled calls of this thread have begun with their stages."""
    return len(_here.made)


def done(is_served: Any) -> int:
    """Behind all of them: NumPy does not run the call any more, unless a check has failed."""
    if is_served:
        _here.made.pop()
    return 0


def taken_since(begun: int) -> list[Made]:
    """What the compiled call made that NumPy is about to run, for its plan did not come to its end. `begun`: how many calls were
    under way before it: where it has failed before its stages, what there is was made by one around it, which goes on."""
    made = _here.made[begun:]
    del _here.made[begun:]
    return made[0] if made else []


def taken_by(caller: int) -> list[Made]:
    """The same of a call that C makes: whom for, stands beside what its stages have called."""
    return _here.made.pop() if _here.made and _here.made[-1].caller == caller else []


@contextmanager
def as_they_are(*, are_short: bool) -> Iterator[None]:
    """Where calls are too short for anything in them to be worth a compilation, nobody looks into what stages call."""
    before, _here.runs_plainly = _here.runs_plainly, are_short
    try:
        yield
    finally:
        _here.runs_plainly = before


def generators_in(value: Any) -> Iterator[Any]:
    """Random generators among arguments, in order."""
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        yield value
    elif type(value) in (list, tuple, dict):
        for one in value.values() if type(value) is dict else value:
            yield from generators_in(one)


class Effect:
    """What a stage calls: the function, with arrays of their own, and its results piece by piece, then what it wrote."""

    def __init__(  # noqa: PLR0917
        self, function: Callable[..., Any], way: Way, gives: Any, written: Sequence[int], places: Places,
        run: Callable[..., Any], functions: Sequence[Any] = (), kept: Sequence[int] = (), read_only: Sequence[int] = (),
        lent: Sequence[tuple[str, Any]] = (),
    ) -> None:  # fmt: skip
        """`gives`, `written` and `kept`: as callees.Seen has them. `places`: what the compiled function reads beside it, which the
        function may not change, or NumPy goes on; one of C's has its arguments alone to change. `run`: what is called, the
        function or what does the same. `functions`: that it is handed. `read_only`: which of its arrays nobody may write.
        `lent`: by their names, the caller's generators from which the compiled function draws: the function may, too."""
        self.function, self.way, self.gives, self.written = function, way, gives, written
        self.run = run
        self.functions = functions
        self.kept = kept
        self.read_only = read_only
        self.lent = lent
        self.are_shared = [isinstance(leaf, Array) and leaf.is_shared for leaf in leaves_of(gives)]
        self.places = Places() if isinstance(function, types.BuiltinFunctionType) else places

    def looking_ns(self) -> int:
        """How long it takes to see that a call changes nothing of what the compiled function reads beside it, as it is now."""
        begun = time.thread_time_ns()  # whatever else runs here
        changes_since(self.places.as_they_are())
        return time.thread_time_ns() - begun

    def behind(self, checked: Any) -> Effect:
        """NumPy stops at a check that failed before."""
        if not checked:
            raise _Differs
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        before = list(arrays_in((args, kwargs)))
        copies = {id(one): copy_as_it_lies(one) for one in before if isinstance(one, np.ndarray)}
        args, kwargs = _copied(args, copies), _copied(kwargs, copies)
        given = [copies.get(id(one), one) for one in before]
        for k in self.read_only:
            given[k].flags.writeable = False
        contents = contents_of((args, kwargs))
        forms = forms_of(given)
        made = Made(self.function, self.way, given, [])
        calls, outside = len(_here.made), self.places.as_they_are()
        outside += handed_arrays()
        if calls:
            outside += [(one, one.copy()) for one in _shared_so_far(_here.made[-1])]
        handed = handed_containers((args, kwargs))
        held = references(given), references(handed)
        share = _share_memory(before)
        states = (States(generators_in((args, kwargs))), np.random.get_state(legacy=False)) if share else None
        try:
            made.result = (self.function if _here.runs_plainly else self.run)(*args, **kwargs)
        except BaseException as error:
            made.error = error
            made.note_kept(handed, held, error)
            raise
        finally:
            made.states = [one.bit_generator.state for one in generators_in((args, kwargs))]
            made.global_state = drawn_so_far()
            made.drawn_from = States(current(name) for name, _ in self.lent) if self.lent else None
            del _here.made[calls:]  # of calls inside that were interrupted
            made.written = written_of(before, given)
            writes_more = not set(made.written) <= set(self.written)
            made.is_reformed = forms_of(given) != forms
            made.containers = [one for one, _ in contents] if are_changed(contents) else []
            made.outside = changes_since(outside)
            for change in made.outside:
                change.undo()  # NumPy, which goes on, reads it before this call too
            is_refused = bool(self.read_only) and isinstance(made.error, ValueError)
            if states is not None and (writes_more or is_refused):
                # Each of the copies has memory of its own: what it wrote into one it did not find in another, and NumPy lets
                # an array be copied to itself that nobody may write. So this call is none: NumPy, which goes on, makes it with
                # the arrays themselves.
                states[0].put_back()
                np.random.set_state(states[1])
            elif calls:
                _here.made[-1].append(made)
        if made.containers or made.outside or made.is_reformed or writes_more:
            made.note_kept(handed, held)
            raise _Differs
        try:
            pieces = pieces_of(made.result, self.gives, given)
            inside = arrays_held(made.result, self.gives, [*given, *pieces])
            refuse_shared(pieces)
            refuse_containers([made.result], 2, inside, _YOUNG)
        except TypeError:
            raise _Differs from None
        kept = kept_of(given, held[0], given_back(self.gives), _YOUNG)
        keeps_containers = bool(kept_of(handed, held[1], Counter(), _YOUNG))
        shared = held_elsewhere(pieces, _YOUNG)
        is_as_seen = (
            not keeps_containers
            and set(kept) <= set(self.kept)
            and all(self.are_shared[k] and pieces[k].flags.c_contiguous for k in shared)
        )
        made.kept, made.shared = list(kept), [*(pieces[k] for k in shared), *(given[k] for k in kept)]
        made.handed = handed[1:] if keeps_containers else []
        if not is_as_seen:
            raise _Differs
        shared_pieces = [pieces[k] for k, is_shared in enumerate(self.are_shared) if is_shared]
        themselves = map(Itself, [*shared_pieces, *(given[k] for k in self.kept)])
        return [*pieces, *(given[k] for k in self.written), *held_of(made.result, self.gives), *themselves]


def _share_memory(arrays: Sequence[Any]) -> bool:
    """Whether two of the caller's arrays that a stage is handed lie in one place, by their lowest and highest addresses."""
    pairs = combinations([one for one in arrays if isinstance(one, np.ndarray)], 2)
    return any(one is not other and np.may_share_memory(one, other) for one, other in pairs)


@dataclass(frozen=True)
class Itself:
    """An array that somebody else holds, which stages hold as it is: of views they hold copies."""

    array: Any


_YOUNG = 1  # generations of garbage that a call may have made
_MOST_SHARED = 64


def _shared_so_far(made: Sequence[Made]) -> list[Any]:
    """Arrays that kernels may read and somebody else may write; of those of a long loop the last ones."""
    found = {id(array): array for one in made for array in one.shared}
    return list(found.values())[-_MOST_SHARED:]


class Pure(Effect):
    """Such a stage of a function that is known to be pure, and gives what the data decide. NumPy may call it again."""

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        result = self.run(*args, **kwargs)
        try:
            pieces = pieces_of(result, self.gives, list(arrays_in((args, kwargs))))
            refuse_shared(pieces)
        except TypeError:
            raise _Differs from None
        return [*pieces, *held_of(result, self.gives)]


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_copied(one, copies) for one in value)
    if type(value) is dict:
        return {key: _copied(one, copies) for key, one in value.items()}
    return copies.get(id(value), value)


class Replay:
    """Stands for the functions that a compiled call has called, in the same order, while NumPy runs it."""

    def __init__(self, made: Sequence[Made]) -> None:
        self.rest = list(made)

    def parts(self, _: Any, around: Way) -> list[Site]:
        """Statements of the function to which a way leads that the compiled call had Python run."""
        return [made.way[-1] for made in self.rest if made.way[:-1] == around and made.way[-1][1] < 0]

    def look(self, function: Any, way: Way, *_: Any) -> Any:
        """What is called instead of a function there; None for itself."""
        if not self.rest or self.rest[0].way != way:
            return None
        made = self.rest.pop(0)

        def again(*args: Any, **kwargs: Any) -> Any:
            return made.again(args, kwargs)

        return again


_asked: dict[tuple[Any, Way], int] = {}  # and how often the compiled function was watched before
_reached: set[tuple[Any, Way]] = set()
_LEAST_WATCHED = 2  # calls that do not come to a place, before it is one that calls do not come to
_asked_pure: dict[Any, int] = {}  # the same of functions that are known to be pure, wherever they are called
_asked_parts: dict[tuple[Any, Way], None] = {}  # statements, the last ones asked for last


def ask(function: Any, way: Way, root: types.CodeType) -> bool:
    """The function is to be looked at when a watched call calls it there. Whether no watched call came there so far."""
    watched = times_watched(root)
    asked = _asked.setdefault((function, way), watched)
    for one in [one for one in _asked_parts if _covers(one[1], way)]:
        del _asked_parts[one]  # another trace's: what is inside of it is found on another way
        if one != (function, way):
            _asked.pop(one, None)  # calls that are watched from now on do not look for it
    if is_part(function):
        _asked_parts[function, way] = None
    return (function, way) not in _reached and watched - asked >= _LEAST_WATCHED


def is_out_of_sight(key: Any, root: types.CodeType) -> bool:
    """Whether calls were watched in vain for what a pure function gives: what calls it cannot be looked into."""
    watched = times_watched(root)
    return watched - _asked_pure.setdefault((key, root), watched) > _LEAST_WATCHED


def _covers(part: Way, way: Way) -> bool:
    """Whether the statements at the end of a way are those at the other one's, or around what it leads to."""
    *around, (line, column, *end) = part
    if tuple(around) != way[: len(around)] or len(way) < len(part):
        return False
    first, second, *last = way[len(around)]
    return (line, -1 - column) <= (first, second if second >= 0 else -1 - second) and last <= end


def parts_of(code: Any, around: Way) -> list[Site]:
    """Statements of the function to which a way leads that are to be looked at, the last ones asked for first."""
    return [way[-1] for one, way in reversed(_asked_parts) if way[:-1] == around and one.__tilewright_part__ is code]


def is_asked(function: Any, way: Way) -> bool:
    try:
        is_one = (function, way) in _asked
    except TypeError:  # nothing unhashable was asked for
        return False
    if is_one:
        _reached.add((function, way))
    return is_one


def looking_ns(stages: Mapping[str, Any]) -> int:
    """What looking takes at least in a call that makes one of those stages; 0 where nobody looks."""
    looking = (one.callee for one in stages.values() if type(one.callee) is Effect and one.callee.places.found)
    first = next(looking, None)
    if first is None:
        return 0
    return min(first.looking_ns(), first.looking_ns())  # a first look finds nothing in the caches


def names_of_seeing(stages: Mapping[str, Any]) -> str:
    """Of those that may look at more than they are given: functions of C (print, say) do not."""
    found = {text: one for text, one in stages.items() if isinstance(one.callee, Effect)}
    blind = types.BuiltinFunctionType
    return names_of_effects({text: one for text, one in found.items() if not isinstance(one.callee.function, blind)})


def names_of_effects(stages: Mapping[str, Any]) -> str:
    """Which functions these are, as texts of a program's stages call them."""
    found = dict.fromkeys(f"{one.name}()" for one in stages.values() if isinstance(one.callee, Effect))
    takes_others = any(one.callee is handed for one in stages.values())
    return ", ".join(found) or ("what takes arrays that no kernel knows" if takes_others else "")
