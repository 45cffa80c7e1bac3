"""The variables of a running function, what stands for those that are not settled, and the ways out of its statements."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from typing import Any, NoReturn

from ..errors import TraceError
from ..light_dataclass import dataclass
from .source import DEFINITIONS, FunctionNode, inside


class Leaving(Enum):
    """How statements end before their block does."""

    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


class Control(Exception):
    """No error: how the interpreter goes on."""


class Break(Control):
    """break"""


class Continue(Control):
    """continue"""


class Return(Control):
    """return, with its value"""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Traversed:
    """What a loop goes through. `of`: the values that its items are parts of."""

    of: tuple[Any, ...]


class InArray:
    """A container of the traced function whose items lie in an array of the program."""

    array: Any


@dataclass
class Pending:
    """Stands for a variable whose value is not settled: `read` gives it, or says why there is none."""

    read: Callable[[], Any]
    of_last_iteration: bool = False
    was_set: bool = False  # before the loop
    leads_to: Callable[[], list[Any]] = list  # objects whose memory may be written through it
    # Of what a loop may have left as it was before: the loop's place and the variable, which its iterations have to begin with.
    needs: tuple[tuple[str, int, int], str] | None = None
    has_no_value: bool = False

    @classmethod
    def refused(cls, error: Callable[[], BaseException]) -> Pending:
        """Of a variable that has no value: reading it raises the error."""

        def read() -> NoReturn:
            raise error()

        return cls(read, has_no_value=True)


class BeginAgain(BaseException):
    """The trace begins again with a loop decided otherwise: unrolled because of `why`, or, without one, kept as a while
    whose condition is of the run but for the first iterations."""

    def __init__(self, place: tuple[str, int, int], why: TraceError | None = None) -> None:
        super().__init__(place)
        self.place = place
        self.why = why


class FirstApart(BaseException):
    """The first iteration of a loop leaves something of another form than it found: the trace begins again with it alone."""

    def __init__(self, place: tuple[str, int, int]) -> None:
        super().__init__(place)
        self.place = place


class ReadBehind(BaseException):
    """A variable is read behind a loop that may have left it as it was: the trace begins again, and each iteration begins with it."""

    def __init__(self, needs: tuple[tuple[str, int, int], str]) -> None:
        super().__init__(needs)
        self.needs = needs


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)  # whose variables are their own


class Frame:
    """The variables of one running function."""

    def __init__(
        self,
        node: FunctionNode,
        function: types.FunctionType | None,
        parent: Frame | None,
    ) -> None:
        self.node = node
        self.function = function
        self.parent = parent
        self.caller: Frame | None = None
        self.block: Any = None  # of the program, that was written into when it began
        self.entered: tuple[Any, Any] | None = None  # by which call in the source, and the function
        self.at_yield: Callable[[Any], None] | None = None  # of a context manager's generator
        self.tries = 0  # bodies of try statements that run
        self.shows_locals = False  # locals() was called
        self.variables: dict[str, Any] = {}
        self.given: dict[str, Any] = {}  # the variables that it began with
        self.locals, self.nonlocals, self.globals = _scopes(node)

    def of_generator(self, node: ast.GeneratorExp) -> Frame:
        """The frame of a generator expression in this one."""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        frame = Frame(ast.Lambda(nothing, node), None, self)
        frame.block = self.block
        frame.nonlocals = frame.locals  # of := alone
        frame.locals = frozenset(n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))
        return frame

    def as_locals(self, node: ast.Call, block: Any) -> dict[str, Any] | None:
        """What locals() gives, at the node, in that block of the program; None where it is not followed: a function has one
        dict, which its later calls write into, and which loops and branches would carry."""
        code = None if self.function is None else self.function.__code__
        if code is None or code.co_freevars or self.shows_locals or block is not self.block:
            return None
        body = self.node.body if isinstance(self.node.body, list) else []
        if not any(item is node for item in inside(body, *DEFINITIONS, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)):
            return None
        set_ones = [name for name in (*code.co_varnames, *code.co_cellvars) if name in self.variables]
        if any(isinstance(self.variables[name], Pending) for name in set_ones):
            return None
        self.shows_locals = True
        return {name: self.variables[name] for name in set_ones}

    @contextmanager
    def trying(self) -> Iterator[None]:
        self.tries += 1
        try:
            yield
        finally:
            self.tries -= 1

    @property
    def is_tried(self) -> bool:
        """Whether a try statement around may catch what is raised."""
        return self.tries > 0 or (self.caller is not None and self.caller.is_tried)

    def globals_of(self) -> dict[str, Any]:
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return frame.function.__globals__
            frame = frame.parent
        return {}


@lru_cache(maxsize=8192)
def _scopes(node: FunctionNode) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names that the function binds, and those it declares nonlocal or global."""
    bound = set(_binding(node).co_varnames)
    nonlocals: set[str] = set()
    declared_global: set[str] = set()
    of_comprehensions: set[ast.AST] = set()  # targets, which are variables of the comprehension alone
    for item in inside(node.body if isinstance(node.body, list) else [node.body], *DEFINITIONS, ast.Lambda):
        if isinstance(item, ast.comprehension):
            of_comprehensions.update(ast.walk(item.target))
        elif isinstance(item, DEFINITIONS):
            bound.add(item.name)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            if item not in of_comprehensions:
                bound.add(item.id)
        elif isinstance(item, ast.Nonlocal):
            nonlocals.update(item.names)
        elif isinstance(item, ast.Global):
            declared_global.update(item.names)
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).split(".")[0] for alias in item.names)
        elif isinstance(item, ast.ExceptHandler) and item.name:
            bound.add(item.name)
    return frozenset(bound - nonlocals - declared_global), frozenset(nonlocals), frozenset(declared_global)


_LOCALS = "<locals>"  # no parameter has this name


@lru_cache(maxsize=1024)
def _binding(node: FunctionNode) -> types.CodeType:
    bare = copy.copy(node.args)
    bare.defaults, bare.kw_defaults = [], [None] * len(bare.kwonlyargs)
    made = ast.Expression(ast.Lambda(bare, ast.Call(ast.Name(_LOCALS, ast.Load()), [], [])))
    function: types.FunctionType = eval(compile(ast.fix_missing_locations(made), "<parameters>", "eval"))
    return function.__code__


def parameters_of(
    node: FunctionNode, name: str, defaults: tuple[Any, ...], keywords: dict[str, Any]
) -> types.FunctionType:
    """A function that gives the variables which a call of the one at the node begins with: Python itself binds them."""
    made = types.FunctionType(_binding(node), {_LOCALS: locals}, name, defaults)
    made.__kwdefaults__ = keywords
    made.__qualname__ = name
    return made


class InterpretedFunction:
    """A def or lambda inside of an interpreted function, whose variables it sees."""

    def __init__(  # noqa: PLR0917
        self, call: Callable[[InterpretedFunction, list[Any], dict[str, Any]], Any], node: FunctionNode, frame: Frame,
        defaults: tuple[Any, ...], keywords: dict[str, Any],
    ) -> None:  # fmt: skip
        """`call` runs it."""
        self._call = call
        self.node = node
        self.frame = frame
        self.__name__ = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        self.parameters = parameters_of(node, self.__name__, defaults, keywords)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self, list(args), kwargs)
