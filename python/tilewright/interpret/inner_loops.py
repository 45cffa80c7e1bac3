"""Loops and list comprehensions of a function that Python runs, each as a function of its own: it is handed what a loop reads
and sets, and gives what the loop leaves in variables."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..light_dataclass import dataclass
from ..taken_ways import Site
from .handed_values import Handed, Uses, is_of_its_kind, is_plain, write_back
from .loops_anew import written_anew
from .outlined import in_closure, loads, names_variables, outline_in, part_site, read_first
from .queues_handed import QueueHanded, put_back
from .source import inside, made_from, site_of
from .uses_in_loops import uses_of

_IS_LOOP = "__tilewright_loop__"
# Where compiled code has lists of numbers instead.
_BEYOND = {"text": "string index out of range", "bytes": "index out of range"}


@dataclass(frozen=True)
class InnerLoop:
    """`function`: of the variables in `uses`, in order; it returns those in `gives`, as a tuple; one as it is, and None where
    there is none; of a comprehension the list."""

    node: ast.stmt | ast.ListComp
    function: types.FunctionType
    gives: tuple[str, ...]
    uses: Uses

    @property
    def name(self) -> str:
        return self.function.__name__

    def called(self, name: str) -> ast.AST:
        """What stands for the loop, in which it is called by that name."""
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in self.uses.names], [])
        made: ast.AST = call
        if isinstance(self.node, ast.stmt):
            targets = [ast.Name(one, ast.Store()) for one in self.gives]
            target = targets[0] if len(targets) == 1 else ast.Tuple(list(targets), ast.Store())
            made = ast.Assign([target], call) if targets else ast.Expr(call)
        return ast.fix_missing_locations(ast.copy_location(made, self.node))

    def compiled(self, kinds: tuple[Any, ...], jitted: Callable[[types.FunctionType], Any]) -> CompiledLoop:
        made = written_anew(self.node, self.uses, kinds, self.gives, partial(_as_function, self.function))
        return CompiledLoop(self, kinds, jitted(made))


class CompiledLoop:
    """A loop that is compiled by itself, for variables of some kinds."""

    def __init__(self, loop: InnerLoop, kinds: tuple[Any, ...], jitted: Any) -> None:
        self.loop, self.kinds, self.jitted = loop, kinds, jitted
        self.written = loop.uses.written(kinds)

    @property
    def refusals(self) -> list[str]:
        refusals: list[str] = self.jitted.refusals
        return refusals

    @property
    def waits(self) -> bool:
        waits: bool = self.jitted.waits
        return waits

    @property
    def numpy_calls(self) -> int:
        calls: int = self.jitted.numpy_calls
        return calls

    def is_followed(self, args: tuple[Any, ...], _: Mapping[str, Any]) -> bool:
        """Whether a trace does not refuse such a call."""
        handed = self.loop.uses.handed(args)
        followed: bool = handed is None or handed.kinds != self.kinds or self.jitted.is_followed(handed.values, {})
        return followed

    def __call__(self, *args: Any) -> Any:
        handed = self.loop.uses.handed(args)
        if handed is None or handed.kinds != self.kinds or not all(map(is_plain, handed.values)):
            return self.loop.function(*args)
        if not self.loop.uses.may_repeat(handed):
            try:
                return self.jitted(*handed.values)
            except IndexError as error:
                words = next((_BEYOND[kind] for kind in self.kinds if kind in _BEYOND), None)
                if words is None or str(error) != "list index out of range":
                    raise
                raise IndexError(words) from None
        kept = self.loop.uses.kept(args) if self.loop.uses.queues else []
        try:
            return self._in_place_of(args, handed, self.jitted(*handed.values))
        except Exception:  # noqa: BLE001  (the loop's own, in its words; lists are left as it has written them by then)
            for array, before in kept:
                array[...] = before
            return self.loop.function(*args)

    def _in_place_of(self, args: Sequence[Any], handed: Handed, result: Any) -> Any:
        """What the loop gives, of what the compiled one gave; lists and queues as it leaves them. An error where a list is one
        of several kinds from now on."""
        queues = [(k, kind) for k, kind in enumerate(handed.kinds) if isinstance(kind, QueueHanded)]
        if not self.written and not queues:
            return result
        count = len(self.loop.gives)
        results = result if count + len(self.written) + 2 * len(queues) > 1 else (result,)
        written = list(zip(self.written, results[count:], strict=False))
        if not all(is_of_its_kind(args[position], new) for position, new in written):
            raise TypeError("a list of items of several types")
        for position, new in written:
            write_back(args[position], handed.lists[position], new)
        ends = results[count + len(self.written) :]
        for number, (position, kind) in enumerate(queues):
            queue = self.loop.uses.queues[self.loop.uses.names[position]]
            put_back(queue, args[position], kind, handed.buffers[position], *ends[2 * number : 2 * number + 2])
        return results[:count] if count > 1 else results[0] if count else None


def is_loop(function: types.FunctionType) -> bool:
    return getattr(function, _IS_LOOP, None) is function.__code__


def loops_of(
    function: types.FunctionType, node: ast.FunctionDef, left: Collection[Site], made: dict[Site, InnerLoop | None]
) -> Iterator[InnerLoop]:
    """Its outermost loops that can stand alone; of a function that is a loop itself, and of a loop that is `left` to Python,
    those in that. `made`: those that were asked for before."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    known = {one.arg for one in given if one is not None}
    statements: Sequence[ast.stmt] = node.body
    if is_loop(function):
        loop = node.body[0]
        statements = loop.body if isinstance(loop, (ast.For, ast.While)) else ()
        known |= _targets(loop)
    if not names_variables(node):
        yield from _loops_in(function, node, statements, known, left, made)


def _loops_in(  # noqa: PLR0917
    function: types.FunctionType, node: ast.FunctionDef, statements: Sequence[ast.stmt], known: set[str],
    left: Collection[Site], made: dict[Site, InnerLoop | None],
) -> Iterator[InnerLoop]:  # fmt: skip
    """`known`: variables that are set for certain before the statements."""
    for one in statements:
        if isinstance(one, (ast.For, ast.While)):
            site = site_of(one)
            if site not in left and site not in made:
                made[site] = _alone(function, node, one, known)
            if site not in left and (found := made[site]) is not None:
                yield found
            else:
                yield from _loops_in(function, node, one.body, known | _targets(one), left, made)
        elif isinstance(one, ast.If):
            yield from _loops_in(function, node, one.body, set(known), left, made)
            yield from _loops_in(function, node, one.orelse, set(known), left, made)
        elif isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            for part in _comprehensions_in(one):
                site = site_of(part)
                if site not in left and site not in made:
                    made[site] = _comprehension(function, part, known)
                if site not in left and (found := made[site]) is not None:
                    yield found
        read_first([one], known)  # none that others see behind an error: in a try, in a with
        known -= {item.name for item in ast.walk(one) if isinstance(item, ast.ExceptHandler) and item.name}


def _comprehensions_in(node: ast.AST) -> Iterator[ast.ListComp]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.ListComp):
            yield part
        elif not isinstance(part, (ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            yield from _comprehensions_in(part)


def _comprehension(function: types.FunctionType, node: ast.ListComp, known: set[str]) -> InnerLoop | None:
    if any(isinstance(item, (ast.NamedExpr, ast.Lambda, ast.Await)) for item in ast.walk(node)):
        return None
    code = function.__code__
    bound = {item.id for part in node.generators for item in ast.walk(part.target) if isinstance(item, ast.Name)}
    read = loads(node) & {*code.co_varnames, *code.co_cellvars}
    if not known.issuperset(read) or bound & (read | known):
        return None  # a variable that is not set by then, or one of both names
    names = tuple(sorted(read))
    alone = _as_function(function, [copy.deepcopy(node)], names, ())
    setattr(alone, _IS_LOOP, alone.__code__)
    return InnerLoop(node, alone, (), uses_of(function, node, names, ()))


def _targets(loop: ast.stmt) -> set[str]:
    """Variables that each iteration of a for sets."""
    names = ast.walk(loop.target) if isinstance(loop, ast.For) else ()
    return {item.id for item in names if isinstance(item, ast.Name)}


def _alone(
    function: types.FunctionType, node: ast.FunctionDef, loop: ast.For | ast.While, known: set[str]
) -> InnerLoop | None:
    if any(isinstance(item, (ast.Return, ast.FunctionDef, ast.Lambda)) for item in inside([loop])):
        return None
    outline = outline_in(function, node, part_site(loop, loop))
    if outline is None or not known.issuperset((*outline.reads, *outline.gives)):
        return None
    names = tuple(sorted({*outline.reads, *outline.gives}))
    alone = _as_function(function, [copy.deepcopy(loop)], names, outline.gives)
    setattr(alone, _IS_LOOP, alone.__code__)
    return InnerLoop(loop, alone, outline.gives, uses_of(function, loop, names, outline.gives))


def _as_function(
    function: types.FunctionType, parts: list[ast.AST], names: Sequence[str], gives: Sequence[str]
) -> types.FunctionType:
    """`parts`: statements, the last of which may be an expression; that one's value is returned before what is given."""
    loop: Any = parts[-1]
    behind = ast.Return(None)
    # Places are what calls and statements are known by: each has its own, behind the loop.
    values = [ast.Name(one, ast.Load()) for one in gives]
    placed: list[Any] = [behind, *values]
    for k, part in enumerate(placed):
        part.lineno = part.end_lineno = loop.end_lineno
        part.col_offset = loop.end_col_offset + 1 + k
        part.end_col_offset = part.col_offset + 1
    behind.end_col_offset = loop.end_col_offset + len(values) + 3
    results = [*([loop] if isinstance(loop, ast.expr) else ()), *values]
    several = ast.copy_location(ast.Tuple(list(results), ast.Load()), behind)
    behind.value = several if len(results) > 1 else results[0] if results else None
    statements: list[Any] = [*(one for one in parts if isinstance(one, ast.stmt)), behind]
    parameters = ast.arguments([], [ast.arg(one) for one in names], None, [], [], None, [])
    name = f"loop_{loop.lineno}"
    alone = ast.copy_location(ast.FunctionDef(name, parameters, statements, [], None), loop)
    made = in_closure(ast.fix_missing_locations(alone), function, {}, f"{function.__qualname__}.{name}")
    made.__defaults__ = made.__kwdefaults__ = None
    made_from(made, alone)
    return made


def cell_of(site: Site) -> str:
    """The name of the variable by which the loop at a place is called."""
    return "__tilewright_loop_" + "_".join(map(str, site))


class LoopsByCells(ast.NodeTransformer):
    """Loops as calls of what they were made into."""

    def __init__(self, loops: Mapping[Site, InnerLoop]) -> None:
        self.loops = loops

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.For, ast.While, ast.ListComp)) and (loop := self.loops.get(site_of(node))) is not None:
            return loop.called(cell_of(site_of(node)))
        return self.generic_visit(node)
