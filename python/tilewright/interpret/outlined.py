"""Statements of a function as a function of their own, which Python can run by itself: the variables that they read go in,
those that they set come out."""

from __future__ import annotations

import ast
import copy
import itertools
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..light_dataclass import dataclass
from ..own_frames import part_name
from ..taken_ways import Site
from .source import DEFINITIONS, FUTURE, children, inside, is_private, site_of, source_of, walk

RETURNED = "return"  # what comes out where they return; no variable is called so
_LOCALS, _PICK = "__tilewright_locals__", "__tilewright_pick__"
_GIVES = "__tilewright_gives__"
_UNSET: Any = type("_Unset", (), {"__repr__": lambda _: "unset"})()
# About the function that runs, whose own variables they read.
_ALL_VARIABLES = frozenset(["locals", "vars", "dir", "eval", "exec"])
_OF_THE_FRAME = frozenset(["super", "globals", "__class__"]) | _ALL_VARIABLES
# About where an array's elements lie, where Python has copies of the arrays of the call; and about how NumPy and Python warn.
_OF_THE_MEMORY = frozenset(["strides", "base", "ctypes", "flags", "setflags", "resize", "__array_interface__"])
_OF_NO_CALL = frozenset(
    [
        "as_strided", "shares_memory", "may_share_memory", "byte_bounds", "id", "seterr", "seterrcall", "setbufsize", "errstate",
        "simplefilter", "filterwarnings", "resetwarnings", "catch_warnings",
    ]
)  # fmt: skip
_KEPT, _MODES = ("ignore", "warn"), ("ignore", "warn", "raise", "call", "print", "log")  # of np.errstate
_NO_ERRORS = ("ignore", "default", "always", "module", "once")
_NOT_OUTLINED = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor,
    ast.AsyncWith, ast.Match, ast.TryStar,
)  # fmt: skip


@dataclass(frozen=True)
class Outline:
    """Such statements. `call` takes what they read by name, and gives a dict: {"return": value} where they return."""

    site: Site
    reads: tuple[str, ...]
    gives: tuple[str, ...]
    call: types.FunctionType
    records_warnings: bool = False
    own_keywords: str | None = None  # the dict of **keywords of the function's call, where nobody else reads it again


def part_site(first: ast.stmt, last: ast.stmt) -> Site:
    """Where such statements stand. A call may begin and end at the same places: its column is not below 0."""
    begin, end = site_of(first), site_of(last)
    return begin[0], -1 - begin[1], end[2], end[3]


def is_part(site: Site) -> bool:
    return site[1] < 0


def pick(variables: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Those of the variables that are set."""
    return {name: variables[name] for name in names if name in variables}


_OUTLINES: weakref.WeakKeyDictionary[types.FunctionType, dict[Site, Outline | None]] = weakref.WeakKeyDictionary()


def outline_of(function: types.FunctionType, site: Site) -> Outline | None:
    """The statements at that place; None where they cannot stand alone."""
    known = _OUTLINES.setdefault(function, {})
    if site not in known:
        node = source_of(function)
        known[site] = outline_in(function, node, site) if isinstance(node, ast.FunctionDef) else None
    return known[site]


def place_in(statements: Sequence[ast.stmt], site: Site) -> tuple[int, int] | None:
    """From which to which of the statements a part reaches."""
    begins = [k for k, one in enumerate(statements) if site_of(one)[:2] == (site[0], -1 - site[1])]
    ends = [k for k, one in enumerate(statements) if site_of(one)[2:] == site[2:]]
    return (begins[0], ends[0]) if begins and ends and begins[0] <= ends[0] else None


def replace_part(node: ast.FunctionDef, site: Site, instead: list[ast.stmt]) -> None:
    """Other statements in place of those, in the function itself."""
    for block in blocks_in(node):
        if (place := place_in(block, site)) is not None:
            block[place[0] : place[1] + 1] = instead
            return


def blocks_in(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Lists of statements that are the function's own."""
    for item in inside([node], *DEFINITIONS, ast.Lambda) if not isinstance(node, DEFINITIONS) else [node]:
        for _, value in ast.iter_fields(item):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value
                for one in value:
                    if not isinstance(one, DEFINITIONS):
                        yield from blocks_in(one)
            elif isinstance(value, list) and value and isinstance(value[0], ast.ExceptHandler):
                for handler in value:
                    yield handler.body
                    for one in handler.body:
                        yield from blocks_in(one)


def outline_in(function: types.FunctionType, node: ast.FunctionDef, site: Site) -> Outline | None:
    """`node`: of the function, which may be statements of another one itself."""
    found = next(((block, place) for block in blocks_in(node) if (place := place_in(block, site)) is not None), None)
    if found is None or has_private_names(function, node):
        return None
    block, (first, last) = found
    statements = block[first : last + 1]
    if not _stands_alone(statements):
        return None
    if stores(statements) & _declared(inside(node.body), ast.Nonlocal):
        return None  # as a function of their own they would set a variable of that
    globals_set = sorted(stores(statements) & _declared(inside(node.body, *DEFINITIONS), ast.Global))
    code = function.__code__
    # The code of a region may have some of its variables in regions of its own.
    declared = _declared(inside(node.body), ast.Global) | _declared(inside(node.body), ast.Nonlocal)
    own = {*code.co_varnames, *code.co_cellvars, *(stores(node.body) - declared)}
    reads = sorted(read_first(statements, set()) & own)
    # What is read behind them: of a block inside of others anywhere else in the function.
    if block is node.body:
        needed = read_first(block[last + 1 :], set())
    else:
        skipped = set(map(id, statements))
        needed = {name for one in node.body for name in _loads_outside(one, skipped)} | set(reads)
    # Functions inside of it, made outside of the statements, may be called behind them.
    there = {id(item) for item in inside(statements)}
    functions = [
        item for item in inside(node.body) if isinstance(item, (*DEFINITIONS, ast.Lambda)) and id(item) not in there
    ]
    needed |= {name for one in functions for name in loads(one)}
    needed |= set(getattr(function, _GIVES, ()))
    if {item.id for one in node.body for item in walk(one) if isinstance(item, ast.Name)} & _ALL_VARIABLES:
        needed |= set(own)
    begin = site_of(statements[0])[:2]
    named = set(map(id, _functions_given(node.body, list(own)))) if block is not node.body else set()
    earlier = [one for one in functions if site_of(one)[:2] < begin or id(one) in named]
    if stores(statements) & {name for one in earlier for name in loads(one)}:
        return None  # those would go on seeing the variable of the function itself
    gives = sorted(stores(statements) & own & needed)
    # Functions that are made inside, and given out, see the variables of the part, not what is assigned to those later.
    behind = block[last + 1 :] if block is node.body else node.body
    if {name for one in _functions_given(statements, gives) for name in loads(one)} & stores(behind):
        return None
    keywords = node.args.kwarg.arg if node.args.kwarg is not None and node.args.kwarg.arg not in needed else None
    call = _compiled(function, node, statements, reads, gives, globals_set, site, keywords)
    return Outline(site, tuple(reads), tuple(gives), call, _records_warnings(statements), keywords)


def first_that_sees(statements: Sequence[ast.stmt], first: int, last: int) -> int:
    """Where to begin so that functions which read what the statements set are made among them."""
    set_there = stores(statements[first : last + 1])
    made = (
        k for k, one in enumerate(statements[:first]) if isinstance(one, ast.FunctionDef) and loads(one) & set_there
    )
    return min(made, default=first)


def _functions_given(statements: Iterable[ast.stmt], gives: Sequence[str]) -> Iterator[ast.AST]:
    for item in inside(statements, *DEFINITIONS, ast.Lambda):
        if isinstance(item, DEFINITIONS) and item.name in gives:
            yield item
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Lambda):
            yield item.value


def _declared(nodes: Iterable[ast.AST], kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    return {name for one in nodes if isinstance(one, kind) for name in one.names}


def has_private_names(function: types.FunctionType, node: ast.AST) -> bool:
    """Names in it that the class around a function spells in another way: of functions that it makes, the rest is spelt so."""
    path = function.__code__.co_qualname.split(".")
    if not any(here != "<locals>" != behind for here, behind in itertools.pairwise(path)):
        return False
    items = (item for item in walk(node) if item is not node)
    names = (getattr(item, field, None) for item in items for field in ("id", "attr", "arg", "name"))
    return any(isinstance(name, str) and is_private(name) for name in names)


def _stands_alone(statements: Sequence[ast.stmt]) -> bool:
    items = [item for one in statements for item in walk(one)]
    if any(isinstance(item, _NOT_OUTLINED) for item in items):
        return False
    silencing = {id(item) for one in items if isinstance(one, ast.With) for item in _silencing(one)}
    items = [item for item in items if id(item) not in silencing]
    attributes = {item.attr for item in items if isinstance(item, ast.Attribute)}
    names = {getattr(item, field, None) for item in items for field in ("id", "name")}
    if attributes & _OF_THE_MEMORY or (attributes | names) & (_OF_THE_FRAME | _OF_NO_CALL):
        return False
    return not any(leaves_a_loop(one) for one in statements)


def _silencing(node: ast.With) -> Iterator[ast.expr]:
    """What `with warnings.catch_warnings(): warnings.simplefilter("ignore")` and `with np.errstate(all="ignore")` call: behind
    the block nothing is left of it. Errors that warnings become are none in what is compiled by itself inside."""
    for made in (one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call)):
        if (
            _is_called(made, "errstate")
            and not made.args
            and all(_is_literal(one.value, _MODES) for one in made.keywords)
        ):
            yield made.func
        if _is_called(made, "catch_warnings") and not made.args and all(map(_is_record, made.keywords)):
            yield made.func
            for item in inside(node.body):
                if isinstance(item, ast.Call) and _is_called(item, "simplefilter", "filterwarnings"):
                    actions = [*item.args[:1], *(one.value for one in item.keywords if one.arg == "action")]
                    if len(actions) == 1 and _is_literal(actions[0], _NO_ERRORS):
                        yield item.func


def _is_record(keyword: ast.keyword) -> bool:
    return keyword.arg == "record" and isinstance(keyword.value, ast.Constant)


def _records_warnings(statements: Sequence[ast.stmt]) -> bool:
    """Whether what they call has to warn, or to raise, as in NumPy."""
    items = [item for one in statements for item in walk(one)]
    raises = [
        one.value
        for item in items
        if isinstance(item, ast.Call) and _is_called(item, "errstate")
        for one in item.keywords
    ]
    records = any(_is_record(item) for item in items if isinstance(item, ast.keyword))
    return records or any(not _is_literal(value, _KEPT) for value in raises)


def _is_called(node: ast.Call, *names: str) -> bool:
    return getattr(node.func, "attr", getattr(node.func, "id", None)) in names


def _is_literal(node: ast.expr, values: Sequence[str]) -> bool:
    return isinstance(node, ast.Constant) and node.value in values


def names_variables(node: ast.FunctionDef) -> bool:
    """Whether a function sets variables that are not its own, deletes some, or may read them in ways that its text does not
    say."""
    names = {item.id for item in walk(node) if isinstance(item, ast.Name)}
    items = [item for item in walk(node) if isinstance(item, (ast.Global, ast.Nonlocal, ast.Delete))]
    # Statements as a function delete what they were handed unset.
    deleted = {
        part.id for item in items if isinstance(item, ast.Delete) for part in item.targets if isinstance(part, ast.Name)
    }
    declares = any(not isinstance(item, ast.Delete) for item in items)
    return bool(names & _OF_THE_FRAME) or declares or not deleted <= {one.arg for one in node.args.kwonlyargs}


def leaves_a_loop(node: ast.AST) -> bool:
    """Whether a break or continue of a loop around is in it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, (*DEFINITIONS, ast.expr)):
        return False
    if isinstance(node, (ast.For, ast.While)):
        return any(map(leaves_a_loop, node.orelse))
    return any(map(leaves_a_loop, children(node)))


def stores(statements: Iterable[ast.stmt]) -> set[str]:
    """Names to which they may give a value, but for variables of comprehensions."""
    found: set[str] = set()
    of_comprehensions: set[ast.AST] = set()
    for item in inside(statements, *DEFINITIONS, ast.Lambda):
        if isinstance(item, ast.comprehension):
            of_comprehensions.update(walk(item.target))
        elif isinstance(item, DEFINITIONS):
            found.add(item.name)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            if item not in of_comprehensions:
                found.add(item.id)
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).split(".")[0] for alias in item.names)
        elif isinstance(item, ast.ExceptHandler) and item.name:
            found.add(item.name)
    return found


def loads(node: ast.AST | None) -> set[str]:
    """Names that an expression or a simple statement reads, but for those that it binds inside."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if node is None or not node._fields or isinstance(node, ast.Constant):
        return set()
    if isinstance(node, (ast.Lambda, ast.FunctionDef)):
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        parameters = {item.arg for item in walk(node.args) if isinstance(item, ast.arg)}
        own = parameters | (stores(node.body) if isinstance(node, ast.FunctionDef) else set())
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        return {name for one in body for name in loads(one)} - own | {name for one in defaults for name in loads(one)}
    found: set[str] = set()
    for child in children(node):
        found |= loads(child)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        bound = {item.id for one in node.generators for item in walk(one.target) if isinstance(item, ast.Name)}
        return (found - bound) | loads(node.generators[0].iter)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    return found


def _loads_outside(node: ast.AST, skipped: set[int]) -> set[str]:
    if id(node) in skipped:
        return set()
    if not any(isinstance(child, (ast.stmt, ast.ExceptHandler)) for child in children(node)):
        return loads(node)
    return {name for child in children(node) for name in _loads_outside(child, skipped)}


def read_first(statements: Iterable[ast.stmt], known: set[str]) -> set[str]:
    """What they may read before they set it. `known`: what is set for certain, also behind them."""
    found: set[str] = set()

    def reads(*nodes: ast.AST | None) -> None:
        found.update(name for node in nodes for name in loads(node) if name not in known)

    def inner(block: Iterable[ast.stmt], also: Iterable[str] = ()) -> set[str]:
        set_there = {*known, *also}
        found.update(read_first(block, set_there))
        return set_there

    for node in statements:
        if isinstance(node, ast.If):
            reads(node.test)
            ways = [inner(block) for block in (node.body, node.orelse)]
            behind = [way for way, block in zip(ways, (node.body, node.orelse), strict=True) if not _ends_there(block)]
            known |= set.intersection(*(behind or ways))
        elif isinstance(node, ast.For):
            reads(node.iter, node.target)
            inner(node.body, stores([ast.Expr(node.target)]))
            inner(node.orelse)
        elif isinstance(node, ast.While):
            reads(node.test)
            inner(node.body)
            inner(node.orelse)
        elif isinstance(node, ast.With):
            for item in node.items:
                reads(item.context_expr)
            known |= {
                name for item in node.items if item.optional_vars for name in stores([ast.Expr(item.optional_vars)])
            }
            inner(node.body)
        elif isinstance(node, ast.Match):
            reads(node.subject)
            for case in node.cases:
                bound = stores([ast.Expr(case.pattern)])  # type: ignore[arg-type]
                found.update(
                    name for part in (case.pattern, case.guard) for name in loads(part) if name not in known | bound
                )
                inner(case.body, bound)
        elif isinstance(node, (ast.Try, ast.TryStar)):
            inner(node.body)
            for handler in node.handlers:
                reads(handler.type)
                inner(handler.body, [handler.name] if handler.name else [])
            inner(node.orelse)
            inner(node.finalbody)
        else:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):  # which may call itself, by that name
                reads(*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
                known.add(node.name)
            reads(node)
            known |= stores([node]) - {
                item.target.id
                for item in walk(node)
                if isinstance(item, ast.NamedExpr) and isinstance(item.target, ast.Name)
            }
    return found


def _ends_there(block: Sequence[ast.stmt]) -> bool:
    """Whether nothing runs behind such statements."""
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Break, ast.Continue))


class _Returns(ast.NodeTransformer):
    """`return x` as `return {"return": x}`, not in functions inside."""

    def visit_Return(self, node: ast.Return) -> ast.AST:  # noqa: N802
        given = ast.Dict([ast.Constant(RETURNED)], [node.value or ast.Constant(None)])
        return ast.copy_location(ast.Return(given), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:  # noqa: N802
        return node


def _compiled(  # noqa: PLR0917
    function: types.FunctionType, node: ast.FunctionDef, statements: Sequence[ast.stmt], reads: Sequence[str],
    gives: Sequence[str], globals_set: Sequence[str], site: Site, keywords: str | None,
) -> types.FunctionType:  # fmt: skip
    code = function.__code__
    name = part_name(site[0], site[2])
    unset = "__tilewright_unset__"
    dropped = [
        ast.If(
            ast.Compare(ast.Name(one, ast.Load()), [ast.Is()], [ast.Name(unset, ast.Load())]),
            [ast.Delete([ast.Name(one, ast.Del())])], [],
        )
        for one in reads
    ]  # fmt: skip
    listed = ast.Tuple([ast.Constant(one) for one in gives], ast.Load())
    variables = ast.Call(ast.Name(_LOCALS, ast.Load()), [], [])
    given = ast.Return(ast.Call(ast.Name(_PICK, ast.Load()), [variables, listed], []))
    declared = [ast.Global(list(globals_set))] if globals_set else []
    # They may change it, and what they are handed is not theirs.
    own = [ast.parse(f"{keywords} = {{**{keywords}}}").body[0]] if keywords in reads else []
    body = [*declared, *dropped, *own, *(_Returns().visit(copy.deepcopy(one)) for one in statements), given]
    parameters = ast.arguments([], [], None, [ast.arg(one) for one in reads], [None] * len(reads), None, [])
    part = ast.copy_location(ast.FunctionDef(name, parameters, body, [], None), statements[0])
    cells = {_LOCALS: types.CellType(locals), _PICK: types.CellType(pick), unset: types.CellType(_UNSET)}
    made = in_closure(part, function, cells, f"{function.__qualname__}.{name}")
    made.__kwdefaults__ = dict.fromkeys(reads, _UNSET)
    setattr(made, _GIVES, tuple(gives))
    made.__tilewright_part__ = code  # type: ignore[attr-defined]
    made.__tilewright_node__ = part  # type: ignore[attr-defined]
    return made


_INNER = "__tilewright_defined__"


def in_closure(
    definition: ast.FunctionDef, function: types.FunctionType, cells: Mapping[str, types.CellType], qualified_name: str
) -> types.FunctionType:
    """A function of that definition, with the defaults, the module and the variables from outside of another one, and these
    cells."""
    code = function.__code__
    inner = copy.copy(definition)
    inner.name, inner.decorator_list, inner.returns = _INNER, [], None
    names = list(dict.fromkeys([*code.co_freevars, *cells]))
    arguments = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, [])
    around = ast.copy_location(ast.FunctionDef("around", arguments, [inner], [], None), definition)
    module = ast.fix_missing_locations(ast.Module([around], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE, dont_inherit=True)
    outer = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    made = next(one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name == _INNER)
    made = made.replace(co_name=definition.name, co_qualname=qualified_name)
    known = {**dict(zip(code.co_freevars, function.__closure__ or (), strict=True)), **cells}
    closure = tuple(known[one] for one in made.co_freevars)
    result = types.FunctionType(made, function.__globals__, definition.name, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__, result.__module__ = qualified_name, function.__module__
    return result
