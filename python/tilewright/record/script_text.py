"""What the text of a script says of its names: modules of numbers, functions and classes of its own, who may look at variables."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from ..interpret.outlined import loads, stores
from ..interpret.source import DEFINITIONS, inside, walk

MODULES = frozenset(["numpy", "math", "scipy"])
# Of those modules: files, settings, and what calls back.
NOT_CALLED = frozenset(
    [
        "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "set_printoptions", "seterr",
        "seterrcall", "errstate", "printoptions", "vectorize", "apply_along_axis", "apply_over_axes", "frompyfunc", "fromfunction",
        "seed", "default_rng", "set_state", "get_state", "fromiter", "shares_memory", "may_share_memory", "as_strided",
    ]
)  # fmt: skip
# Whoever asks for all names of a function or a module may ask for those that a region does not give; so do numexpr and pandas, whose
# expressions are texts with the caller's variables in them.
_OF_ALL_NAMES = frozenset(["globals", "locals", "vars", "dir", "eval", "exec"])
# Whoever is given a text to run, or a formula, reads the variables that it names.
_OF_TEXTS = frozenset(["timeit", "repeat", "Timer", "runctx"])
_OF_FORMULAS = frozenset(["evaluate", "re_evaluate", "eval", "query"])
_RUN_A_TEXT = frozenset(["cProfile", "profile"])
# Whoever asks a generator for all that it has, or for what it needs, and keeps nothing of it.
_EXHAUSTING = frozenset(["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"])


def may_have_regions(source: bytes) -> bool:
    """Whether a text names a module of numbers at all."""
    return any(name.encode() in source for name in MODULES)


class ScriptText:
    """What the text of a script says of its names."""

    def __init__(self, tree: ast.Module) -> None:
        """`tree`: as it was written."""
        self.tree = tree
        nodes = walk(tree)
        self.modules: set[str] = set()  # names of modules of numbers, and of what is imported from those
        self.from_modules: set[str] = set()
        for one in nodes:
            if isinstance(one, ast.Import):
                self.modules |= {
                    (alias.asname or alias.name).partition(".")[0]
                    for alias in one.names
                    if alias.name.partition(".")[0] in MODULES
                }
            elif isinstance(one, ast.ImportFrom) and not one.level and (one.module or "").partition(".")[0] in MODULES:
                self.from_modules |= {alias.asname or alias.name for alias in one.names if alias.name not in NOT_CALLED}
        self.defined = {one.name for one in nodes if isinstance(one, DEFINITIONS)}
        self.classes = {one.name for one in nodes if isinstance(one, ast.ClassDef)}
        of_one = {
            id(one.func)
            for one in nodes
            if isinstance(one, ast.Call) and one.args and is_named(one.func, ("vars", "dir"))
        }
        self.asks_for_all_names = any(
            (is_named(one, _OF_ALL_NAMES) and id(one) not in of_one)
            or is_named(one, _OF_FORMULAS)
            or (isinstance(one, ast.Attribute) and one.attr in _OF_FORMULAS)
            or _reads_as_a_module(one)
            or _runs_a_text(one)
            for one in nodes
        )
        # What functions read from outside of them, at any time.
        self.read_by_functions = {
            name for one in nodes if isinstance(one, (*DEFINITIONS, ast.Lambda)) for name in loads(one)
        } | {name for one in self.lasting_generators(nodes) for name in loads(one)}
        self.set_by_functions = {
            name for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names
        }
        # Whether those are set is not for a text to say.
        self.deleted = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Del)}
        # What loops at the top level set, or write items of, is handed to their regions; all else is read there as what it is, of the
        # module.
        loops = [one for one in inside(tree.body, *DEFINITIONS, ast.Lambda) if isinstance(one, (ast.For, ast.While))]
        self.of_loops = {name for one in loops for name in (*stores([one]), *_written(one))}

    def lasting_generators(self, nodes: Sequence[ast.AST]) -> list[ast.GeneratorExp]:
        """Those that may go on when the expression that they stand in is over."""
        over = {
            id(one.args[0])
            for one in nodes
            if isinstance(one, ast.Call)
            and one.args
            and is_named(one.func, _EXHAUSTING)
            and not is_named(one.func, self.defined)
        }
        return [one for one in nodes if isinstance(one, ast.GeneratorExp) and id(one) not in over]

    def called_once(self) -> Iterator[ast.FunctionDef]:
        """Functions that the top level calls, outside of loops, and nobody else names."""
        functions = {one.name: one for one in self.tree.body if isinstance(one, ast.FunctionDef)}
        named: dict[str, int] = {}
        for one in walk(self.tree):
            if isinstance(one, ast.Name) and one.id in functions:
                named[one.id] = named.get(one.id, 0) + 1
        in_loops = {
            id(item)
            for one in inside(self.tree.body, *DEFINITIONS)
            if isinstance(one, (ast.For, ast.While))
            for item in walk(one)
        }
        for one in inside(self.tree.body, *DEFINITIONS, ast.Lambda):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and id(one) not in in_loops:
                function = functions.get(one.func.id)
                if (
                    function is not None
                    and named[one.func.id] == 1
                    and not function.decorator_list
                    and is_plain(function)
                ):
                    yield function


def is_named(node: ast.AST, names: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _reads_as_a_module(node: ast.AST) -> bool:
    """Whether it comes to the script as a module, whose attributes all its variables are."""
    if isinstance(node, ast.Import):
        return any(alias.name == "__main__" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module == "__main__" or (node.module == "sys" and any(one.name == "modules" for one in node.names))
    return isinstance(node, ast.Attribute) and node.attr == "modules" and is_named(node.value, ("sys",))


def _runs_a_text(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    runs = name == "run" and isinstance(function, ast.Attribute) and is_named(function.value, _RUN_A_TEXT)
    return runs or (name in _OF_TEXTS and any(_is_text(item) for one in _given(node) for item in walk(one)))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_plain(function: ast.FunctionDef) -> bool:
    """Whether it is no generator or coroutine."""
    items = list(walk(function))
    return not any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in items)


def _written(loop: ast.AST) -> set[str]:
    """Names of what has items written."""
    items = (one.value for one in walk(loop) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store))
    return {one.id for one in items if isinstance(one, ast.Name)}
