"""Statements of a script's loops as functions of their own, where a loop runs once: at the top level, and in functions that are
called there. Such a loop never comes to a second call; what is array code in it, between prints and files, is compiled as
functions are. What a region reads goes in, what is read elsewhere of what it sets comes out. Expressions are regions likewise, in
statements that are none: what a list has appended, what a file is given."""

from __future__ import annotations

import ast
import copy
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..interpret.outlined import leaves_a_loop, read_first, stores
from ..interpret.plain_matches import with_matches_as_ifs
from ..interpret.source import DEFINITIONS, children, inside, made_from, walk, with_spelt_names
from ..own_frames import expression_name, is_of_region, part_name
from .script_text import NOT_CALLED, ScriptText, is_named, is_plain

# What an expression in a region may call: these, what the script has from modules of numbers, and methods of arrays and generators.
_BUILTINS = frozenset(
    [
        "abs",
        "bool",
        "complex",
        "divmod",
        "enumerate",
        "float",
        "int",
        "len",
        "max",
        "min",
        "pow",
        "range",
        "reversed",
        "round",
        "sum",
        "zip",
    ]
)
_METHODS = frozenset(
    [
        "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum",
        "diagonal", "dot", "fill", "flatten", "item", "max", "mean", "min", "nonzero", "partition", "prod", "ravel", "repeat",
        "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
        "at", "outer", "reduce", "accumulate",
        "random", "normal", "standard_normal", "uniform", "integers", "exponential", "poisson", "binomial", "multinomial", "beta", "gamma",
        "chisquare", "geometric", "laplace", "logistic", "lognormal", "pareto", "rayleigh", "standard_exponential", "standard_gamma", "standard_t",
        "triangular", "weibull", "multivariate_normal", "choice", "permutation", "shuffle",
        "rand", "randn", "randint",
    ]
)  # fmt: skip
_STATEMENTS = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.If,
    ast.For,
    ast.While,
    ast.Pass,
    ast.Break,
    ast.Continue,
)
_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Constant, ast.Tuple, ast.List,
    ast.Slice, ast.IfExp, ast.keyword, ast.Starred, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.operator, ast.unaryop,
    ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
# About where arrays lie, and who holds them: a region is handed what its function has.
_OF_THE_MEMORY = frozenset(["strides", "base", "ctypes", "flags", "setflags", "resize", "__array_interface__", "data"])
# `with` one of these, whatever is raised inside goes on; others may end it, and what was set before is read behind them.
_LET_ERRORS_PASS = frozenset(
    [
        "open", "errstate", "printoptions", "catch_warnings", "TemporaryDirectory", "NamedTemporaryFile", "TemporaryFile", "Pool",
        "ThreadPool", "ThreadPoolExecutor", "ProcessPoolExecutor",
    ]
)  # fmt: skip
# Expressions that may be regions, and those whose variables are not the function's.
_TAKEN = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Subscript, ast.Tuple)
_OWN_VARIABLES = (*DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Before Python 3.12 what stands in a formatted text has places that are not its own.
_UNPLACED = (ast.JoinedStr,) if sys.version_info < (3, 12) else ()
REGION = "__tilewright_region_"  # and a number: what a script calls a region by, among the builtins
_LEAST_OPERATIONS = 4  # on arrays, as far as a text says: less is not worth a call


@dataclass
class Region:
    """`node`: of the function; `for_python`: with the bodies of its loops as regions in their turn, which are called time and
    again while it runs itself; `around`: the name of the function that it is a part of, "<module>" at the top level."""

    name: str
    node: ast.FunctionDef
    for_python: ast.FunctionDef
    around: str

    def function(self, names: dict[str, Any], file: str) -> types.FunctionType:
        """With the script's names as its module's. Its frames stand for those of the function around it."""
        module = compile(ast.Module([self.for_python], []), file, "exec", dont_inherit=True)
        code = next(one for one in module.co_consts if isinstance(one, types.CodeType))
        qualname = self.node.name if self.around == "<module>" else f"{self.around}.{self.node.name}"
        made = types.FunctionType(code.replace(co_name=self.around, co_qualname=self.around), names, self.node.name)
        made.__qualname__ = qualname
        is_of_region(made.__code__)
        made_from(made, self.node)
        return made


@dataclass
class Regions:
    """Of a script: its regions, and as they were written the functions that call some."""

    regions: list[Region] = field(default_factory=list)
    whole: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def note_source(self, name: str, value: Any) -> None:
        """What the script has bound to a name is followed as it was written: no file has the code that calls regions."""
        node = self.whole.get(name)
        if node is not None and isinstance(value, types.FunctionType) and value.__code__.co_firstlineno == node.lineno:
            made_from(value, node)


@dataclass
class Surroundings:
    """What a cell finds: names of modules of numbers and of their functions, names of the user's functions and classes, what those
    read and set outside of them, and all names that have a value."""

    modules: set[str] = field(default_factory=set)
    from_modules: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    read_by_functions: set[str] = field(default_factory=set)
    set_by_functions: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)


def with_cell_regions(tree: ast.Module, prefix: str, found: Surroundings) -> list[Region]:
    """The same of a cell's top level. Whoever stops it, or sees an error, looks at its variables: all that regions set comes out. Its
    last statement stays, unless that is a loop: IPython shows what it gives."""
    script = ScriptText(tree)
    for name in ("modules", "from_modules", "defined", "read_by_functions", "set_by_functions"):
        getattr(script, name).update(getattr(found, name))
    if not script.modules or script.asks_for_all_names or not tree.body:
        return []
    end = len(tree.body) - (not isinstance(tree.body[-1], (ast.For, ast.While)))
    made = _Made(prefix)
    block = _Block(script, made, "<module>", script.of_loops, gives_all=True)
    tree.body[:end] = block.visited(tree.body[:end], {*found.known}, [(tree.body[end:], True)])
    return made.regions


def with_regions(tree: ast.Module, prefix: str = REGION) -> Regions:
    """Changes a script's tree: calls stand for regions, which are called by the prefix and a number. Gives these."""
    script, made = ScriptText(tree), _Made(prefix)
    found = Regions(made.regions)
    if not script.modules or script.asks_for_all_names:
        return found
    tree.body = _Block(script, made, "<module>", script.of_loops).visited(tree.body, set(), [])
    for function in script.called_once():
        count, as_written = len(made.regions), copy.deepcopy(function)
        _look_through(function, script, made)
        if len(made.regions) > count:
            found.whole[function.name] = with_matches_as_ifs(with_spelt_names(ast.Module([as_written], []))).body[0]  # type: ignore[assignment]
    return found


def regions_of(function: ast.FunctionDef, script: ScriptText, prefix: str, refused_line: int = 0) -> list[Region]:
    """Changes one function of a script likewise, or a method. `refused_line`: of it, why it is refused as a whole; 0: nobody knows."""
    made = _Made(prefix)
    if script.modules and not script.asks_for_all_names and is_plain(function):
        # Where it is not known what was refused, its loops are a part of that.
        _look_through(function, script, made, takes_loops=False, refused_line=refused_line)
    return made.regions


def _look_through(
    function: ast.FunctionDef, script: ScriptText, made: _Made, *, takes_loops: bool = True, refused_line: int = 0
) -> None:
    """`takes_loops`: of a function that runs once; all others are called time and again, as if in a loop."""
    given = {one.arg for one in walk(function.args) if isinstance(one, ast.arg)}
    declared = {
        name for one in inside(function.body) if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names
    }
    own = (given | stores(function.body)) - declared
    block = _Block(script, made, function.name, own, declared, takes_loops=takes_loops, refused_line=refused_line)
    function.body = block.visited(function.body, given, [], in_loop=not takes_loops)


# Statements that run one after the other, and whether they run for certain.
_Behind = list[tuple[Sequence[ast.stmt], bool]]


@dataclass
class _Made:
    """What was made so far. `prefix`: of what it is called by."""

    prefix: str
    regions: list[Region] = field(default_factory=list)


@dataclass
class _Block:
    """A function, or the top level, whose statements are looked through. `own`: variables that are handed in and out;
    `foreign`: those that are others'; `gives_all`: whether others may read whatever is set, at any time."""

    script: ScriptText
    made: _Made
    around: str
    own: set[str]
    foreign: set[str] = field(default_factory=set)
    gives_all: bool = False
    takes_loops: bool = True  # as regions, as a whole
    refused_line: int = 0  # what stands there is none, and loops without it may be some; 0: nobody knows

    def visited(
        self, statements: list[ast.stmt], known: set[str], behind: _Behind, in_loop: bool = False
    ) -> list[ast.stmt]:
        """`known`: variables that are set for certain. `behind`: what runs behind these statements."""
        found: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for k, one in enumerate([*statements, None]):
            if one is not None and self._is_clean(one) and self._may_be_taken(one):
                run.append(one)
                continue
            if run:
                found += self._as_region(run, known, [(statements[k:], True), *behind], in_loop)
                run = []
            if one is not None:
                self._look_into(one, known, [(statements[k + 1 :], True), *behind], in_loop)
                read_first([one], known)
                known -= _unset_in(one)
                found.append(one)
        return found

    def _may_be_taken(self, node: ast.stmt) -> bool:
        if self.refused_line and node.lineno <= self.refused_line <= (node.end_lineno or node.lineno):
            return False
        return self.takes_loops or self.refused_line > 0 or not _has_loop(node)

    def _look_into(self, node: ast.stmt, known: set[str], behind: _Behind, in_loop: bool) -> None:
        at_each_turn = known - _unset_in(node)
        if in_loop or isinstance(node, ast.While):
            self._take_expressions(node, at_each_turn if isinstance(node, ast.While) else known)
        if isinstance(node, (ast.For, ast.While)):
            at_each_turn |= stores([ast.Expr(node.target)]) if isinstance(node, ast.For) else set()
            node.body = self.visited(node.body, at_each_turn, [([node], False), *behind], True)
        elif isinstance(node, ast.If):
            node.body = self.visited(node.body, {*known}, behind, in_loop)
            node.orelse = self.visited(node.orelse, {*known}, behind, in_loop)
        elif isinstance(node, ast.With) and all(self._lets_errors_pass(one.context_expr) for one in node.items):
            named = {name for one in node.items if one.optional_vars for name in stores([ast.Expr(one.optional_vars)])}
            node.body = self.visited(node.body, known | named, behind, in_loop)

    def _as_region(self, run: list[ast.stmt], known: set[str], behind: _Behind, in_loop: bool) -> list[ast.stmt]:
        before, set_there = {*known}, set[str]()
        reads = read_first(run, set_there) & self.own
        known |= set_there
        has_loop = any(isinstance(one, (ast.For, ast.While)) for one in run)
        if not has_loop and not (in_loop and _is_of_arrays(run)):
            return run
        set_by_it = stores(run)
        gives = set_by_it if self.gives_all else set_by_it & self._needed(behind)
        reads |= (gives - set_there) & self.own  # on some ways it leaves them as they are
        if reads <= before and gives <= known and set_by_it <= self.own:  # all else is the module's, also in it
            return [self._call(run, sorted(reads), sorted(gives), before, behind)]
        if len(run) == 1 or not has_loop:
            return run
        found: list[ast.stmt] = []
        for k, one in enumerate(run):  # loops may be regions by themselves
            rest: _Behind = [(run[k + 1 :], True), *behind]
            found += self._as_region([one], before, rest, in_loop) if isinstance(one, (ast.For, ast.While)) else [one]
            read_first([one], before)
        return found

    def _take_expressions(self, node: ast.AST, known: set[str]) -> None:
        """Calls of regions in place of the expressions that a statement has itself, where they are array code: the largest ones."""
        if isinstance(node, (*_OWN_VARIABLES, *_UNPLACED)):
            return
        for name, value in ast.iter_fields(node):
            several = value if isinstance(value, list) else [value]
            if not several or not isinstance(several[0], (ast.expr, ast.keyword, ast.withitem)):
                continue
            for k, one in enumerate(several):
                call = self._as_call(one, known) if isinstance(one, _TAKEN) else None
                if call is not None:
                    several[k] = call
                elif isinstance(one, ast.AST):
                    self._take_expressions(one, known)
            if not isinstance(value, list):
                setattr(node, name, several[0])

    def _as_call(self, node: ast.expr, known: set[str]) -> ast.expr | None:
        """None of an expression that is no region."""
        alone = [ast.Expr(node)]
        is_read = isinstance(getattr(node, "ctx", None), (ast.Load, types.NoneType))
        if not (is_read and self._are_allowed(walk(node)) and _is_of_arrays(alone)):
            return None
        reads = sorted(read_first(alone, set()) & self.own)
        if not known.issuperset(reads):
            return None
        given = ast.copy_location(ast.Return(node), node)
        return self._made(
            expression_name(node.lineno, node.col_offset + 1), reads, [given], [copy.deepcopy(given)], node
        )

    def _needed(self, behind: _Behind) -> set[str]:
        """Variables that may be read there before they are set; none of those that functions may read is set in a region."""
        found, known = set[str](), set[str]()
        goes_on = True  # to the end of the loop's body
        for statements, do_run in behind:
            if not do_run:
                found |= read_first(statements, {*known})
                goes_on = not any(map(leaves_a_loop, statements))  # behind the loop, which may leave one around it
                continue
            for one in statements:
                goes_on = goes_on and not leaves_a_loop(one)
                found |= read_first([one], known if goes_on else {*known})
        return found

    def _lets_errors_pass(self, manager: ast.expr) -> bool:
        function = manager.func if isinstance(manager, ast.Call) else None
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
        return name in _LET_ERRORS_PASS and name not in self.script.defined

    def _call(
        self, run: list[ast.stmt], reads: list[str], gives: list[str], known: set[str], behind: _Behind
    ) -> ast.stmt:
        first, last = run[0], run[-1]
        values = [ast.Name(one, ast.Load()) for one in gives]
        # What it gives has places of its own, behind the last statement.
        several = ast.Tuple(list(values), ast.Load())
        given = ast.Return(several if len(values) > 1 else values[0] if values else None)
        parts: list[ast.stmt | ast.expr] = [given, several, *values]
        for k, part in enumerate(parts):
            part.lineno, part.end_lineno = last.end_lineno or last.lineno, last.end_lineno
            part.col_offset = (last.end_col_offset or 0) + 1 + k
            part.end_col_offset = part.col_offset + 1
        for_python = copy.deepcopy(run)
        name = part_name(first.lineno, last.end_lineno or last.lineno)
        call = self._made(name, reads, [*run, given], [*for_python, given], first)
        for k, one in enumerate(for_python):
            self._look_into(one, {*known}, [([*for_python[k + 1 :], given], True)], False)
            read_first([one], known)
        targets = [ast.Name(one, ast.Store()) for one in gives]
        target: ast.expr = targets[0] if len(targets) == 1 else ast.Tuple(list(targets), ast.Store())
        made = ast.Assign([target], call) if gives else ast.Expr(call)
        return ast.fix_missing_locations(ast.copy_location(made, first))

    def _made(
        self,
        called: str,
        reads: list[str],
        body: list[ast.stmt],
        for_python: list[ast.stmt],
        place: ast.stmt | ast.expr,
    ) -> ast.expr:
        """The call of a region of those statements, which Python runs as the others."""
        regions = self.made.regions
        name = f"{self.made.prefix}{len(regions)}__"
        arguments = ast.arguments([], [ast.arg(one) for one in reads], None, [], [], None, [])
        node, other = (
            ast.fix_missing_locations(ast.copy_location(ast.FunctionDef(called, arguments, one, [], None), place))
            for one in (body, for_python)
        )
        if self.gives_all:
            other.lineno = 1  # the code of a cell begins there, which IPython shows lines by
        regions.append(Region(name, node, other, self.around))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one, ast.Load()) for one in reads], [])
        return ast.fix_missing_locations(ast.copy_location(call, place))

    def _is_clean(self, node: ast.stmt) -> bool:
        """Whether a statement is array code as far as its text says."""
        bound, script = stores([node]), self.script
        if bound & (self.foreign | script.defined | script.modules | script.from_modules | script.read_by_functions):
            return False  # generators and operators of the script's classes may read them meanwhile, or set them
        if isinstance(node, ast.AnnAssign) and self.around == "<module>":
            return False  # a module keeps its annotations
        return _is_within_loops(node) and self._are_allowed(walk(node))

    def _are_allowed(self, items: Sequence[ast.AST]) -> bool:
        called = {id(one.func) for one in items if isinstance(one, ast.Call)}
        # What a class of the script's holds may be read there: members of enumerations, constants.
        holders = {
            id(one.value)
            for one in items
            if isinstance(one, ast.Attribute)
            and isinstance(one.ctx, ast.Load)
            and id(one) not in called
            and is_named(one.value, self.script.classes)
        }
        # A generator that goes on elsewhere reads variables when it is asked, not when it is made.
        lasting = {id(one) for one in self.script.lasting_generators(items)}
        return all(id(one) in holders or (id(one) not in lasting and self._is_allowed(one)) for one in items)

    def _is_allowed(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Call)
        if isinstance(node, ast.Name):
            # Functions of the script's are compiled by themselves, and may look at anything.
            script = self.script
            return not any(node.id in names for names in (script.defined, script.set_by_functions, script.deleted))
        if isinstance(node, ast.Attribute):
            return node.attr not in _OF_THE_MEMORY and not node.attr.startswith("__")
        if isinstance(node, ast.AnnAssign):
            return node.value is not None and isinstance(node.target, ast.Name)
        if isinstance(node, ast.Call):
            return self._is_called(node.func)
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, bytes)
        return isinstance(node, (*_STATEMENTS, *_EXPRESSIONS))

    def _is_called(self, function: ast.expr) -> bool:
        script = self.script
        if isinstance(function, ast.Name):
            return function.id in script.from_modules or (function.id in _BUILTINS and function.id not in self.own)
        if not isinstance(function, ast.Attribute) or function.attr in NOT_CALLED:
            return False
        root: ast.expr = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return function.attr in _METHODS or (isinstance(root, ast.Name) and root.id in script.modules)


def _unset_in(node: ast.AST) -> set[str]:
    """Variables that may be without a value behind it."""
    items = list(walk(node))
    deleted = {item.id for item in items if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Del)}
    return deleted | {item.name for item in items if isinstance(item, ast.ExceptHandler) and item.name}


def _has_loop(node: ast.stmt) -> bool:
    return any(isinstance(one, (ast.For, ast.While)) for one in walk(node))


def _is_within_loops(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether each break and continue is of a loop in it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return in_loop
    if isinstance(node, (ast.For, ast.While)):
        return all(_is_within_loops(one, True) for one in node.body) and all(
            _is_within_loops(one, in_loop) for one in node.orelse
        )
    return all(_is_within_loops(one, in_loop) for one in children(node) if isinstance(one, ast.stmt))


def _is_of_arrays(statements: Sequence[ast.stmt]) -> bool:
    """Whether there is some work in them, on arrays as far as their text says: that on single numbers is less than a call is."""
    items = [item for one in statements for item in walk(one)]
    operations = sum(isinstance(item, (ast.BinOp, ast.AugAssign, ast.Call, ast.Compare)) for item in items)
    methods = any(isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) for item in items)
    return operations >= _LEAST_OPERATIONS and (methods or any(isinstance(item, ast.Slice) for item in items))
