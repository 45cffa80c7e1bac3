"""Runs a function as plain Python, and looks at what the functions give that it calls."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import types
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from ..callees import watching, watching_effects
from ..described_results import is_part
from ..effects import Made, Replay, is_asked, parts_of
from ..held_elsewhere import only_new_garbage
from ..light_dataclass import dataclass
from ..originals import original_of
from ..pure_functions import is_decided_by_data, is_pure
from ..taken_ways import Branch, Site, Way, watch_branches
from .inner_calls import run_by_python
from .outlined import RETURNED, Outline, outline_of, pick, replace_part
from .pure import is_numpys, may_be_stage, module_of
from .source import FUTURE, site_of, source_of
from .tried_functions import measured_inside

_NAME = "__tilewright_watch__"
_TRUTH = "__tilewright_truth__"
_INNER = "__tilewright_watched__"
_SHOWN = "__tilewright_shown__"
# Of one place, and of all together; and so many calls of each place in any case.
_PLACE_S, _ALL_PLACES_S, _TIMES = 0.1, 0.5, 4
_MOST_ENTERED = 2000  # calls of one function of which the calls inside are looked at: each takes 20 us more
_MOST_VISITS = 200  # of a place that no trace asked for: finding out that there is nothing to look at takes 10 us, too
_PART, _PICK, _LOCALS, _OUT = (
    "__tilewright_part__",
    "__tilewright_pick__",
    "__tilewright_locals__",
    "__tilewright_out__",
)


def run_watched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    root = getattr(function, "__func__", function)
    if not isinstance(root, types.FunctionType):
        return function(*args, **kwargs)
    look = Look(_look_at, watch_branches(root.__code__), parts=parts_of, limits=Limits())
    with only_new_garbage():
        return _watched(function, (), look)(*args, **kwargs)


def run_again(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Sequence[Made]) -> Any:
    """The function in NumPy, with the calls that were made already."""
    replay = Replay(made)
    return _watched(function, (), Look(replay.look, parts=replay.parts))(*args, **kwargs)


def _truth(_: Branch, condition: Any) -> bool:
    return bool(condition)


class Limits:
    """How much is looked at. Of what no trace has asked for, little: the next one may, and would have to wait for another
    call. Of what one place calls, as long as looking takes no longer than a user waits: lists and dicts are looked at item
    by item. What is not looked at is checked like all that compiled code calls."""

    def __init__(self) -> None:
        self.calls, self.bytes = 2000, 1 << 26
        self.looks: dict[Way, Looks] = {}
        self.looked_s = 0.0
        self.entered: Counter[types.CodeType] = Counter()
        self.visits: dict[Way, dict[Site, int]] = {}  # of calls in the function to which a way leads, how many are left
        self.taken: dict[Way, dict[Site, set[bool]]] = {}  # which ways the ifs there took

    def enters(self, code: types.CodeType) -> bool:
        """Whether one more call of a function is looked into."""
        self.entered[code] += 1
        return self.entered[code] <= _MOST_ENTERED

    def looks_at(self, way: Way) -> Looks | None:
        """What counts the time of looking at calls of that place; None where it is used up."""
        looks = self.looks.setdefault(way, Looks(self))
        is_long = looks.looked_s > _PLACE_S or self.looked_s > _ALL_PLACES_S
        return None if is_long and looks.times >= _TIMES else looks

    def take(self, number_of_bytes: int) -> bool:
        self.calls, self.bytes = self.calls - 1, self.bytes - number_of_bytes
        return self.calls >= 0 and self.bytes >= 0


class Looks:
    """How often, and how long, calls of one place were looked at."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.times, self.looked_s = limits, 0, 0.0

    def __call__(self, took_s: float) -> None:
        self.times += 1
        self.looked_s += took_s
        self.limits.looked_s += took_s


@dataclass(frozen=True)
class Look:
    """How calls and ifs are looked at. `call`: what stands for a function that is called on a way, or None for itself."""

    call: Callable[[Any, Way, Look], Any]
    truth: Callable[[Branch, Any], bool] = _truth
    around: tuple[Any, ...] = ()  # the functions whose calls are looked at, outermost first
    limits: Limits | None = None  # of looking at calls that no trace asked for
    # Statements of a function, given its code and the way to it, that are called as functions.
    parts: Callable[[Any, Way], list[Site]] = lambda *_: []
    # Functions with such statements, as they are called: a loop may call one many times.
    made: dict[Any, _Watching | None] = field(default_factory=dict)


def can_be_watched(function: Any) -> bool:
    """Whether calls inside of a Python function can be looked at."""
    return not is_numpys(function) and _copy_that_watches(function, (), Look(_look_at)) is not None


def _look_at(function: Any, way: Way, look: Look) -> Any:
    """What looks at the results of a call; None where nothing is to be seen."""
    looks = look.limits.looks_at(way) if look.limits is not None else None
    if looks is None:
        return None
    is_looked_at = is_pure(function) or is_decided_by_data(function)
    watched = watching(function, _watched(function, way, look), looks) if is_looked_at else None
    if is_asked(function, way):
        outline = outline_of(look.around[-1], way[-1]) if is_part(function) else None
        if outline is not None and not outline.records_warnings:
            # Python runs it later on too: what takes long in it is measured meanwhile.
            watched = measured_inside(function, run_by_python)
        return watching_effects(function, watched or _watched(function, way, look), way, look.around, looks)
    # Of NumPy's, which are many, a few calls of each place.
    is_rare = looks.times < _TIMES or not _is_of_numpy(function)
    if watched is None and look.limits is not None and may_be_stage(function) and is_rare:
        return watching_effects(function, _watched(function, way, look), way, look.around, looks, look.limits.take)
    return watched


def _is_of_numpy(function: Any) -> bool:
    return module_of(function).split(".")[0] in ("numpy", "builtins")


def _watched(function: Any, way: Way, look: Look) -> Any:
    """What stands for a function whose calls are looked at: itself, where they cannot be."""
    function = original_of(function)
    if isinstance(function, types.MethodType) and isinstance(original_of(function.__func__), types.FunctionType):
        watched = _watched(function.__func__, way, look)
        return function if watched is original_of(function.__func__) else types.MethodType(watched, function.__self__)
    if isinstance(function, types.FunctionType) and not is_numpys(function):
        if look.limits is not None and not look.limits.enters(function.__code__):
            return function
        return _copy_that_watches(function, way, look) or function
    called = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(called, types.FunctionType):
        watched = _watched(called, way, look)
        return function if watched is called else types.MethodType(watched, function)
    return function


class _Calls(ast.NodeTransformer):
    """`f(x)` as `watch(f, site)(x)`, `if c` as `if truth(c, site)`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        names = isinstance(node.func, ast.Name) and node.func.id in ("locals", "vars", "dir") and not node.args
        self.generic_visit(node)
        watched = ast.Call(ast.Name(_NAME, ast.Load()), [node.func, _written(site_of(node))], [])
        node.func = ast.copy_location(watched, node.func)
        ast.copy_location(watched.func, node.func)
        return ast.copy_location(ast.Call(ast.Name(_SHOWN, ast.Load()), [node], []), node) if names else node

    def visit_If(self, node: ast.If) -> ast.AST:  # noqa: N802
        site = site_of(node)
        self.generic_visit(node)
        asked = ast.Call(ast.Name(_TRUTH, ast.Load()), [node.test, _written(site)], [])
        node.test = ast.copy_location(asked, node.test)
        return node


def _shown(variables: Any) -> Any:
    """What locals() gives, or dir(), without ours."""
    ours = [one for one in variables if str(one).startswith("__tilewright_")]
    if not ours or type(variables) not in (dict, list):
        return variables
    kept = [one for one in variables if one not in ours]
    return kept if type(variables) is list else {one: variables[one] for one in kept}


def _written(site: Site) -> ast.expr:
    return ast.Tuple([ast.Constant(number) for number in site], ast.Load())


def _with_parts(node: ast.FunctionDef, function: types.FunctionType, sites: list[Site]) -> list[tuple[Site, Outline]]:
    """Puts calls in place of statements, of the first of those that overlap."""
    taken: list[tuple[Site, Outline]] = []
    for site in sites:
        outline = outline_of(function, site)
        if outline is None or any(_overlap(site, other) for other, _ in taken):
            continue
        replace_part(node, site, _called(outline))
        taken.append((site, outline))
    return taken


def _overlap(one: Site, other: Site) -> bool:
    begins = max((one[0], -1 - one[1]), (other[0], -1 - other[1]))
    return one == other or begins < min(one[2:], other[2:])


def _called(outline: Outline) -> list[ast.stmt]:
    """`out = watch(part[site], site)(**pick(locals(), reads))`, and what came out as the variables that they set."""
    place = repr(outline.site)
    text = [f"{_OUT} = {_NAME}({_PART}[{place}], {place})(**{_PICK}({_LOCALS}(), {outline.reads!r}))"]
    text += [f"if {RETURNED!r} in {_OUT}: return {_OUT}[{RETURNED!r}]"]
    text += [f"if {name!r} in {_OUT}: {name} = {_OUT}[{name!r}]" for name in outline.gives]
    statements = ast.parse("\n".join(text)).body
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, (ast.stmt, ast.expr)):
                node.lineno = node.end_lineno = outline.site[0]
                node.col_offset = node.end_col_offset = -1 - outline.site[1]
    return statements


_Watching = tuple[types.CodeType, dict[Site, Any]]  # the code, and the statements that it calls as functions
_made: dict[
    int, tuple[types.CodeType, _Watching | None]
] = {}  # by the identity of a function's code, which it keeps alive


def _code_that_watches(function: types.FunctionType, sites: list[Site], made: dict[Any, Any]) -> _Watching | None:
    """The function's code with each call looked at; None without source."""
    if sites:  # which are of this function, with what is around it
        key = function, *sites
        if key not in made:
            made[key] = _compiled(function, sites)
        return made[key]  # type: ignore[no-any-return]
    code = function.__code__
    if id(code) not in _made:
        _made[id(code)] = code, _compiled(function, [])
    return _made[id(code)][1]


def _compiled(function: types.FunctionType, sites: list[Site]) -> _Watching | None:
    node = source_of(function)
    if node is None or isinstance(node, ast.AsyncFunctionDef):
        return None
    code = function.__code__
    if _NAME in code.co_freevars or _TRUTH in code.co_freevars:
        return None  # a function inside of one whose calls are looked at
    made = _Calls().visit(copy.deepcopy(node))
    parts = _with_parts(made, function, sites) if isinstance(made, ast.FunctionDef) else []
    if isinstance(made, ast.FunctionDef):
        made.decorator_list = []
        made.name = _INNER  # its own name stays the global that a recursive call reads
        body: list[ast.stmt] = [made]
    else:
        body = [ast.copy_location(ast.Expr(made), made)]
    # Variables of functions around it stay those.
    names = [*code.co_freevars, _NAME, _TRUTH, _PART, _PICK, _LOCALS, _SHOWN]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    around = ast.copy_location(ast.FunctionDef("around", arguments, body, [], None), node)
    module = ast.fix_missing_locations(ast.Module([around], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE, dont_inherit=True)
    outer = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    inner = next(
        (one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name in (_INNER, code.co_name)),
        None,
    )
    if inner is None or not (parts or set(code.co_names) <= {*inner.co_names}):
        return None  # names of a class, which another place would spell in another way
    inner = inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return inner, {site: outline.call for site, outline in parts}


def _copy_that_watches(function: types.FunctionType, way: Way, look: Look) -> Callable[..., Any] | None:
    """The function, to which `way` leads, with each call looked at; None without source."""

    look = replace(look, around=(*look.around, function))
    visits = look.limits.visits.setdefault(way, {}) if look.limits is not None else None
    taken = look.limits.taken.setdefault(way, {}) if look.limits is not None else {}

    def watch(called: Any, site: Site) -> Any:
        if visits is not None:
            left = visits.get(site, _MOST_VISITS)
            if left == 0:
                return called
            if left > 1 or not is_asked(called, (*way, site)):
                visits[site] = left - 1
        if type(called) is functools.partial:
            return functools.partial(watch(called.func, site), *called.args, **called.keywords)
        instead = look.call(called, (*way, site), look)
        return _watched(called, (*way, site), look) if instead is None else instead

    def truth(condition: Any, site: Site) -> bool:
        holds = bool(condition)
        known = taken.setdefault(site, set())
        if holds not in known:
            known.add(look.truth((way, site), holds))
        return holds

    code = function.__code__
    found = _code_that_watches(function, look.parts(code, way), look.made)
    if found is None:
        return None
    inner, parts = found
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[_NAME], cells[_TRUTH] = types.CellType(watch), types.CellType(truth)
    cells[_PART] = types.CellType(parts)
    cells[_PICK], cells[_LOCALS], cells[_SHOWN] = types.CellType(pick), types.CellType(locals), types.CellType(_shown)
    closure = tuple(cells[name] for name in inner.co_freevars)
    copied = types.FunctionType(inner, function.__globals__, function.__name__, function.__defaults__, closure)
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__qualname__, copied.__module__, copied.__dict__ = (
        function.__qualname__,
        function.__module__,
        function.__dict__,
    )
    return copied
