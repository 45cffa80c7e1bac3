"""What the parts of the interpreter share: the trace, the frame that runs, the loops around it, and what is refused everywhere."""

from __future__ import annotations

import ast
import collections
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from ..errors import TraceError
from ..light_dataclass import dataclass
from ..own_attributes import attributes_of, hold, let_go
from ..symbolic.arrays import SymArray
from ..symbolic.located import LEAVE_IT_OUT, NO_RULE
from ..symbolic.number import described
from ..symbolic.run_numbers import RunScalar
from ..symbolic.scalars import SymInt
from ..symbolic.stages import ON_DEVICE
from ..symbolic.tracer import Tracer
from ..taken_ways import Branch, Site, Way
from .arguments import Inputs
from .carried import may_change, memory_of
from .carried_attributes import ITEM_KEYS, AttributeNeeded, LoopAttributes, put_in_order
from .frame import Frame
from .plain_arrays import WrittenWithTraced, place_of
from .source import site_of


@dataclass
class State:
    """Of one trace's interpreter."""

    tracer: Tracer
    inputs: Inputs
    # Of the function that runs; outside of all there is none, and nobody asks.
    frame: Frame = None  # type: ignore[assignment]
    # Of each region around: Python's own containers from outside, by identity.
    containers: list[dict[int, Any]] = field(default_factory=list)
    # Of each of them: which attributes of objects it carries, None of one that leaves all to what is around it.
    attributes: list[LoopAttributes | None] = field(default_factory=list)
    # Of each loop around that is a region: the variable of its breaks; "" without one, and of loops that are unrolled.
    stopped: list[str] = field(default_factory=list)
    unrolling: list[tuple[str, int, int]] = field(default_factory=list)  # the places of loops around that are unrolled
    traversed: list[Any] = field(default_factory=list)  # what loops around go through
    cells: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)  # of loops around, by their places
    at_yield: Callable[[Any], None] | None = None  # of the generator that is about to run
    # By which call in the source the function is that is about to run, and itself.
    entered: tuple[Any, Any] | None = None
    # Of each context manager around: dicts from outside that it changes, as they were before, and why not to leave them so.
    changes: list[dict[int, tuple[Any, Any, TraceError]]] = field(default_factory=list)
    advanced: list[Any] | None = None  # iterators of which a loop takes items that Python may not ask for
    raised: list[Exception] = field(default_factory=list)  # by raise statements
    handled: list[Exception] = field(default_factory=list)  # of except clauses around
    ways_left: int = 0  # branches on data where a way left its block
    evaluated: int = 0  # expressions
    evaluated_before: int = 0  # when it was looked at last whether operations come of them
    made_before: int = 0  # operations by then
    before_s: float = field(default_factory=time.thread_time)  # of the processor, by then
    vain_s: float = 0.0  # of the processor, for expressions of which no operation came
    looks: int = 1  # the how many-th look since then is the next one


_ACTING = (
    ast.Call, ast.Attribute, ast.NamedExpr, ast.comprehension, ast.Starred, ast.JoinedStr, ast.Yield, ast.YieldFrom,
)  # fmt: skip


class Part:
    """A part of the interpreter. What it needs of others beside the state it is given when it is made."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.tracer = state.tracer
        self.inputs = state.inputs

    @property
    def frame(self) -> Frame:
        return self.state.frame

    def functions(self) -> list[tuple[Site, Any]] | None:
        """Where each function that runs was called, and itself, outermost first, but for the one that is compiled; None where
        a watched call does not go there."""
        found: list[tuple[Site, Any]] = []
        frame = self.frame
        while (caller := frame.caller) is not None:
            if frame.function is None and frame.parent is not None:
                frame = frame.parent  # a watched call looks at what a function calls where that function is written
                continue
            if frame.entered is None:
                return None
            found.append(frame.entered)
            frame = caller
        return found[::-1] if frame.function is self.tracer.cache["function"] else None  # or a generator's frame

    def way_to(self, site: Site | None) -> Way | None:
        """To a call in the function that runs."""
        functions = self.functions()
        return None if functions is None or site is None else (*(one for one, _ in functions), site)

    def branch(self, node: ast.AST) -> Branch | None:
        """How an if is called where watched calls come by."""
        functions = self.functions()
        return None if functions is None else (tuple(one for one, _ in functions), site_of(node))

    def at(self, node: ast.AST) -> None:
        line = getattr(node, "lineno", None)
        if line is not None and self.tracer.frames:
            self.tracer.frames[-1][2] = line

    def refuse_effect(self, node: ast.Call, what: str) -> TraceError:
        return self.error(
            node,
            f"{what} in {ast.unparse(node)[:80]}",
            "it may do more than compute: it must happen at every call, and a compiled function would never do it",
            "Move it to the caller, or leave it out of the compiled function.",
        )

    def error(self, node: ast.AST, asked: str, why: str = NO_RULE, what_to_do: str = LEAVE_IT_OUT) -> TraceError:
        self.at(node)
        return self.tracer.error(asked, why, what_to_do)

    def note_list(self, made: Any, place: Any = None) -> None:
        """A list that the function that runs makes, and where its text is."""
        self.tracer.cache.setdefault("lists", {})[id(made)] = (made, place, self.frame)

    def list_noted(self, held: Any) -> tuple[Any, Frame | None]:
        """The place and the frame of such a list."""
        _, place, frame = self.tracer.cache.get("lists", {}).get(id(held), (None, None, None))
        return place, frame

    def place(self, node: Any) -> tuple[str, int, int]:
        return self.tracer.frames[-1][0], node.lineno, node.col_offset

    def undoing(self, node: ast.AST | None = None) -> Callable[[], None]:
        """What undoes what is evaluated from here on, so that it may be evaluated again: nothing that it draws or calls
        happens twice. `node`: that alone."""
        made, variables = self.tracer.made, dict(self.frame.variables)
        memories = list(memory_of(self.frame, self.tracer)) if node is None or self._may_act(node) else []
        objects = [(one, attributes_of(one)) for one in self.tracer.made_objects.values()]

        def undo() -> None:
            self.tracer.undone.append(range(made, self.tracer.made))
            self.frame.variables = variables
            for one, attributes in objects:
                for name in attributes_of(one).keys() - attributes.keys():
                    let_go(one, name)
                for name, held in attributes.items():
                    hold(one, name, held)
                put_in_order(one, list(attributes))
            for memory in memories:
                memory.storage.value, memory.storage.version = memory.value, memory.version

        return undo

    def _may_act(self, node: ast.AST) -> bool:
        """Whether an expression may call or write: its operators do where objects have their own."""
        if self.tracer.made_objects or any(one.kind == "object" for one in self.tracer.arguments):
            return True
        known = self.tracer.cache.setdefault("acting", {})
        if id(node) not in known:  # by their identities; which are the nodes' as long as they are held
            known[id(node)] = node, any(isinstance(one, _ACTING) for one in ast.walk(node))
        return bool(known[id(node)][1])

    def truth(self, node: ast.AST, value: Any, what: str) -> bool:
        """Whether a condition holds. Sizes decide under a guard; elements cannot decide."""
        if isinstance(value, SymArray):
            self.at(node)
            condition = ast.unparse(node)
            why, what_to_do = "it depends on elements that are known only when the compiled function runs", LEAVE_IT_OUT
            if value.sizes:
                why, what_to_do = "the truth of an array of several elements is an error", "Use np.any or np.all."
            raise self.tracer.error(f"loops: {what} on {condition}, {described(value)}"[:400], why, what_to_do)
        if self.inputs.is_object(value):
            if type(value).__bool__ if hasattr(type(value), "__bool__") else hasattr(type(value), "__len__"):
                self.refuse_object(node, value)
            return True
        return bool(value)

    def is_of_the_run(self, condition: Any) -> bool:
        """Whether a truth is one number that only the running function knows."""
        if isinstance(condition, SymInt):
            return self.tracer.decide_if_same_in_all_iterations("!=", condition.size, 0) is None
        return isinstance(condition, RunScalar) or (isinstance(condition, SymArray) and not condition.sizes)

    def refuse_object(self, node: ast.AST, *values: Any) -> None:
        """Operators of a user's class run code that would not be followed."""
        for value in values:
            if self.inputs.is_object(value):
                raise self.error(
                    node,
                    f"{ast.unparse(node)}, with a {type(value).__name__} object",
                    "only the attributes and methods of objects are followed",
                    "Pass what it holds as arrays and numbers.",
                )
            if isinstance(value, (str, bytes)) and any(isinstance(other, SymArray) for other in values):
                raise self.error(
                    node,
                    f"{ast.unparse(node)}, of an array and a {type(value).__name__}",
                    "only arithmetic on numbers is compiled",
                    "Pass numbers and arrays of numbers.",
                )

    def refuse_outer(self, node: ast.AST, owner: Any, asked: str) -> None:
        """Changing what lives outside of the function would happen only once."""
        self.refuse_in_region(node, owner, asked)
        is_container = isinstance(owner, (list, dict, set, collections.deque))
        if (is_container and self.inputs.is_outer(owner)) or self.inputs.is_object(owner):
            raise self.error(
                node,
                asked,
                "it lives outside of the function, and the change would happen only once, while tracing",
                "Return the value, and keep it at the caller.",
            )

    def sets_items(self, owner: Any, key: Any) -> bool:
        """Whether a list or dict of the caller gets its new item behind the call; not in a loop or branch of the run."""
        tracer = self.tracer
        is_followed = tracer.checked is not None and tracer.untaken is not ON_DEVICE
        if type(owner) not in (list, dict) or type(key) not in (int, str) or not is_followed:
            return False
        if self.state.containers or self.state.changes:
            return False  # also where no variable leads to it, but an object of the caller
        return self.inputs.set_container(owner) is not None

    def is_own_item(self, owner: Any, key: Any) -> bool:
        """Whether a dict that the function makes has such an item: loops and branches of the run may set it."""
        if type(owner) is not dict or type(key) not in ITEM_KEYS or key not in owner or self.state.changes:
            return False
        is_of_an_object = any(getattr(one, "__dict__", None) is owner for one in self.tracer.made_objects.values())
        return not is_of_an_object and not self.inputs.is_outer(owner) and not self.inputs.is_held(owner)

    def carry_in_regions(self, owner: Any, name: Any, may: bool, refuse: Callable[[], None]) -> None:
        """That an attribute, or an item of a dict, is set: each loop around that has its owner from outside carries it. `may`:
        whether a loop can."""
        in_branch = False
        for around, attributes in zip(self.state.containers[::-1], self.state.attributes[::-1], strict=True):
            in_branch = in_branch or attributes is None
            if id(owner) in around and attributes is not None and not attributes.carries(owner, name):
                if attributes.is_fixed or not may or not attributes.may_add(owner, name, in_branch):
                    refuse()
                raise AttributeNeeded(owner, name, in_branch)

    def changes_outer(self, node: ast.AST, owner: Any, asked: str) -> None:
        """The same, but for a dict that a context manager changes and leaves as it was."""
        try:
            self.refuse_outer(node, owner, asked)
        except TraceError as refusal:
            if not self.state.changes or type(owner) is not dict or not self.inputs.is_outer(owner):
                raise
            self.refuse_in_region(node, owner, asked)
            self.state.changes[-1].setdefault(id(owner), (owner, dict(owner), refusal))

    def refuse_in_region(self, node: ast.AST, owner: Any, asked: str) -> None:
        """A list, dict or set from outside of a loop of the run is one in all iterations: no value of the program is it."""
        if (may_change(owner) or self.tracer.is_made(owner)) and any(
            id(owner) in held for held in self.state.containers
        ):
            if isinstance(owner, np.ndarray) and (place := place_of(self.tracer, [owner])) is not None:
                self.at(node)
                written = self.tracer.error_of(
                    WrittenWithTraced, f"loops: {asked} in a run-time loop or branch.", LEAVE_IT_OUT
                )
                written.place = place
                raise written
            kinds = "attributes of objects" if self.tracer.is_made(owner) else "lists, dicts and sets"
            raise self.error(
                node, f"loops: {asked} in a run-time loop or branch",
                f"{kinds} are Python's own while tracing, and a run-time loop is traced as one iteration",
                "Write into an array that is made before the loop.",
            )  # fmt: skip
