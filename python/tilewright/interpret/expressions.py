"""Expressions of an interpreted function."""

from __future__ import annotations

import ast
import operator
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..ops.grids import built, is_builder
from ..symbolic.arrays import SymArray
from ..symbolic.known import constant_value
from ..symbolic.operators import BINARY, python_operator
from ..symbolic.run_numbers import RunBool
from ..symbolic.scalars import SymInt, known_exponent
from .array_lists import (
    ArrayList,
    ListItem,
    as_row,
    check_item,
    list_of_elements,
    list_of_range,
    made_arrays,
    of_comprehension,
    refuse_plain,
    repeated,
)
from .branches import Branches
from .calls import Calls
from .carried import memory_in, reached
from .comparisons import Comparisons
from .comprehensions import as_list, keep_where_slow
from .folds import FOLDED, Folds
from .frame import Frame, InterpretedFunction
from .iterators import TracedIterator
from .picked import READING, Use, picked
from .plain_arrays import made_by_call
from .pure import is_pure_numpy
from .sequences import SymRange, is_long, sequence_of
from .source import FunctionNode
from .staged_cells import ChangesShape
from .staged_lists import StagedList
from .state import Part, State
from .tables import item_of
from .variables import Variables

_NAMES: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
# Of `a + b`, of `a += b`, and the ufunc that both are of arrays.
_BINARY = {kind: (python_operator(name), python_operator(f"i{name}"), BINARY[name]) for kind, name in _NAMES.items()}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip

# Expressions, some 0.3 s; or so much time of the processor, looked at every so many: where each goes through a long list, say.
_MOST_WITHOUT_OPERATIONS, _MOST_WITHOUT_S, _LOOKED_AT = 50_000, 0.5, 1000
_MOST_IN_VAIN_S = 1.0  # where Python cannot make them alone
_TAKE_ALL = (sum, min, max, list, tuple, sorted)

_UNARY_METHODS = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Expressions(Part):
    """The part of the interpreter that evaluates expressions."""

    def __init__(self, state: State, branches: Branches, calls: Calls) -> None:
        super().__init__(state)
        self.branches, self.choose, self.negated = branches, branches.choose, branches.negated
        self.calls = calls
        self.listed: Callable[[ast.ListComp, Any], Any] = lambda *_: None  # Comprehensions.listed
        self.operators = calls.operators
        self.folds = Folds(state, self.evaluate, lambda node: None)
        # What a generator goes through first, where that was evaluated before it.
        self.gone_through: tuple[ast.comprehension, Any] | None = None
        # By their identities, comprehensions whose lists nobody has but a function that reads them.
        self.handed_alone: dict[int, ast.ListComp] = {}
        # Of subscripts that give what nobody keeps: whether it is read, or unpacked.
        self.uses: dict[int, tuple[ast.expr, Use]] = {}
        self.comparisons = Comparisons(state, branches, calls, self.evaluate)
        self.variables = Variables(state, self.evaluate, calls.made.set, calls.operators)

    def evaluate(self, node: ast.expr) -> Any:
        state = self.state
        state.evaluated += 1
        if state.evaluated >= state.evaluated_before + state.looks * _LOOKED_AT:
            self._refuse_long(node)
        kind = type(node).__name__
        method = getattr(self, f"_eval_{kind}", None)
        if method is None:
            raise self.error(node, f"a {kind} expression", "it has no meaning in a compiled function")
        return method(node)

    def _refuse_long(self, node: ast.expr) -> None:
        """Work on Python's own values takes a trace a hundred times what it takes Python, of which no operation comes."""
        state, tracer = self.state, self.tracer
        begun, now_s = state.evaluated_before, time.thread_time()
        if tracer.made == state.made_before:
            state.looks += 1
            if state.evaluated - begun <= _MOST_WITHOUT_OPERATIONS and now_s - state.before_s <= _MOST_WITHOUT_S:
                return
        makes_nothing = tracer.made == state.made_before
        state.vain_s = state.vain_s + now_s - state.before_s if makes_nothing else 0.0
        state.evaluated_before, state.made_before, state.before_s, state.looks = state.evaluated, tracer.made, now_s, 1
        if makes_nothing and tracer.takes_effects and (not tracer.follows_all or state.vain_s > _MOST_IN_VAIN_S):
            refusal = self.error(
                node, "a long calculation of plain values", "Python makes it in less time than it takes to follow it"
            )
            refusal.is_plain_work = True
            refusal.long_since = (begun + state.evaluated) // 2 if not tracer.follows_all else None
            raise refusal

    def _eval_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _eval_Name(self, node: ast.Name) -> Any:
        self.at(node)
        return self.variables.load(node)

    def _eval_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._elements(node.elts))

    def _eval_List(self, node: ast.List) -> Any:
        items = self._elements(node.elts)
        place = self.place(node)
        if place in self.tracer.staged_lists:
            return StagedList(self.tracer, items, place=place)
        self.note_list(items, place)
        return items

    def _eval_Set(self, node: ast.Set) -> Any:
        return set(self._elements(node.elts))

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for element in nodes:
            if isinstance(element, ast.Starred):
                items.extend(self.unpacked(element.value))
            else:
                items.append(self.evaluate(element))
        return items

    def unpacked(self, node: ast.expr) -> Any:
        """What stands behind a star: its items are taken out."""
        value = self.evaluate(node)
        self.refuse_object(node, value)
        return value

    def _eval_Dict(self, node: ast.Dict) -> Any:
        table: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                table.update(self.unpacked(value))
            else:
                name = self.evaluate(key)  # before the value, as an assignment would not
                table[name] = self.evaluate(value)
        return table

    def _eval_BinOp(self, node: ast.BinOp) -> Any:
        self.is_only(node.left, "read")
        self.is_only(node.right, "read")
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        self.at(node)
        if self.operators.found(result := self.operators.binary(node, _NAMES[type(node.op)], left, right)):
            return result
        self.refuse_object(node, left, right)
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and self._is_repeated(left, right):
            return repeated(self.tracer, self.place(node), left, right)
        if isinstance(node.op, ast.Pow) and isinstance(left, SymArray):
            right = known_exponent(self.tracer, right)
        compute, _, _ = _BINARY[type(node.op)]
        return compute(left, right)

    def _is_repeated(self, items: Any, times: Any) -> bool:
        """Whether `items * times` is a list of one number that is not of the run."""
        is_one = type(items) is list and len(items) == 1 and type(items[0]) in (bool, int, float)
        return is_one and self.tracer.checked is not None and type(times) in (int, SymInt)

    def in_place(self, node: ast.operator, left: Any, right: Any) -> Any:
        by_method = self.operators.binary(node, _NAMES[type(node)], left, right, in_place=True)
        if self.operators.found(by_method):
            return by_method
        if isinstance(node, ast.Pow) and isinstance(left, SymArray):
            right = known_exponent(self.tracer, right)
        _, compute, _ = _BINARY[type(node)]
        return compute(left, right)

    def ufunc_of(self, node: ast.operator) -> np.ufunc:
        return _BINARY[type(node)][2]

    def _eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.evaluate(node.operand)
        self.at(node)
        method = _UNARY_METHODS.get(type(node.op), "")
        if self.operators.has(operand, method):
            return self.operators.call(node, operand, method)
        self.refuse_object(node, operand if not isinstance(node.op, ast.Not) else None)
        if isinstance(node.op, ast.Not):
            operand = self.as_truth(operand)
            if self.is_of_the_run(operand):
                return self.negated(node, operand)
            return not self.truth(node.operand, operand, "the condition of a not")
        return _UNARY[type(node.op)](operand)

    def condition(self, node: ast.expr) -> Any:
        """An expression of which only the truth counts: the parts of an `and` may be of any kinds."""
        if not isinstance(node, ast.BoolOp):
            return self._decided(self.as_truth(self.evaluate(node)))
        undo = self.undoing(node)
        try:
            return self._decided(self.as_truth(self.evaluate(node)))
        except ChangesShape:
            undo()
        return self._truth_of(isinstance(node.op, ast.And), node, node.values)

    def _decided(self, condition: Any) -> Any:
        """A truth that is the same in every call, as a bool: np.any() of constants."""
        if isinstance(condition, SymArray) and not condition.sizes and not condition.kinds:
            known = constant_value(self.tracer, condition.read())
            return condition if known is None else bool(known)
        return condition

    @staticmethod
    def as_truth(value: Any) -> Any:
        """What has the truth of a value, where that is of the run."""
        if isinstance(value, SymArray) and value.sizes:
            sizes = [value.tracer.resolve(size) for size in value.sizes]
            has_one = all(size.is_constant and value.tracer.value_of(size) == 1 for size in sizes)
            return value[(0,) * value.ndim] if has_one else value
        return value.length() != 0 if isinstance(value, (ArrayList, StagedList)) else value

    def _truth_of(self, is_and: bool, node: ast.BoolOp, parts: list[ast.expr]) -> Any:
        first, rest = self.condition(parts[0]), parts[1:]
        if not self.is_of_the_run(first):
            if not rest or self.truth(parts[0], first, f"the condition of an {'and' if is_and else 'or'}") != is_and:
                return first
            return self._truth_of(is_and, node, rest)
        if not rest:
            return first if isinstance(first, RunBool) else self.choose(node, first, lambda: True, lambda: False)

        def others() -> Any:
            held = self._truth_of(is_and, node, rest)
            return held if self.is_of_the_run(held) else self.truth(node, held, "the condition of an if")

        ways = (others, lambda: False) if is_and else (lambda: True, others)
        return self.choose(node, first, *ways)

    def _eval_BoolOp(self, node: ast.BoolOp) -> Any:
        return self._and_or(isinstance(node.op, ast.And), node, node.values)

    def _and_or(self, is_and: bool, node: ast.BoolOp, parts: list[ast.expr]) -> Any:
        first, rest = self.evaluate(parts[0]), parts[1:]
        if not rest:
            return first
        truth = self.as_truth(first)
        if self.is_of_the_run(truth):
            ways = (lambda: self._and_or(is_and, node, rest), lambda: first)
            return self.choose(node, truth, *(ways if is_and else ways[::-1]))
        if self.truth(parts[0], truth, f"the condition of an {'and' if is_and else 'or'}") != is_and:
            return first
        return self._and_or(is_and, node, rest)

    def _eval_Compare(self, node: ast.Compare) -> Any:
        return self.comparisons.compared_from(node, 0, self.evaluate(node.left))

    def _eval_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.condition(node.test)
        if not self.is_of_the_run(condition):
            holds: bool | None = self.truth(node.test, condition, "a conditional expression")
        elif (holds := self.branches.known_way(node, condition)) is None:
            with self.branches.known_where_refused(node, condition):
                return self.choose(
                    node, condition, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse)
                )
        return self.evaluate(node.body if holds else node.orelse)

    def _eval_Lambda(self, node: ast.Lambda) -> Any:
        return self.make_function(node)

    def _eval_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.evaluate(node.value)
        self.variables.assign(node.target, value)
        return value

    def _eval_Yield(self, node: ast.Yield) -> None:
        """In the generator of a context manager."""
        assert self.frame.at_yield is not None
        self.frame.at_yield(None if node.value is None else self.evaluate(node.value))

    def _eval_Starred(self, node: ast.Starred) -> Any:
        raise self.error(node, "a starred expression here", "there is no rule for it", "Write the items out.")

    def _eval_JoinedStr(self, node: ast.JoinedStr) -> str:
        parts = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            else:
                assert isinstance(value, ast.FormattedValue)
                held = self.evaluate(value.value)
                inner = self.inputs.objects_in(held)
                if inner is not None:
                    self.refuse_object(node, inner)
                if isinstance(held, SymArray):
                    raise self.error(node, f"formatting {ast.unparse(value.value)} into a string",
                                     "its elements are known only when the compiled function runs",
                                     "Format it at the caller.")  # fmt: skip
                spec = self._eval_JoinedStr(value.format_spec) if isinstance(value.format_spec, ast.JoinedStr) else ""
                if value.conversion in _CONVERSIONS:
                    held = _CONVERSIONS[value.conversion](held)
                parts.append(format(held, spec))
        return "".join(parts)

    # -- attributes, items, calls ----------------------------------------------------------------------------

    def _eval_Attribute(self, node: ast.Attribute) -> Any:
        if node.attr in READING:
            self.is_only(node.value, "read")
        owner = self.evaluate(node.value)
        self.at(node)
        return self.calls.get_attribute(node, owner, node.attr)

    def is_only(self, node: ast.expr, use: Use) -> None:
        if isinstance(node, ast.Subscript):
            self.uses[id(node)] = node, use

    def _eval_Subscript(self, node: ast.Subscript) -> Any:
        self.is_only(node.value, "read")
        owner = self.evaluate(node.value)
        key = self.evaluate(node.slice)
        self.at(node)
        if self.operators.has(owner, "__getitem__"):
            return self.operators.call(node, owner, "__getitem__", key)
        self.refuse_object(node, owner, *self.variables.in_key(owner, key))
        self.inputs.pin(key)
        refuse_plain(self.tracer, owner, key, is_written_in_region=False)
        item = picked(self.tracer, owner, key, self.uses.get(id(node), (node, ""))[1])
        if item is not NotImplemented:
            return item
        if is_builder(owner):
            return built(self.tracer, owner, key)
        if isinstance(owner, SymArray):
            return self._constant_or_held(owner[key])
        in_table = item_of(self.tracer, owner, key)
        return owner[key] if in_table is NotImplemented else in_table

    def _constant_or_held(self, element: Any) -> Any:
        """An integer of an array that the function itself makes of constants is that integer: widths of pads are sizes."""
        if (
            not isinstance(element, SymArray)
            or not element.is_scalar
            or element.kinds
            or element.dtype.kind not in "iu"
        ):
            return element
        known = constant_value(self.tracer, element.read())
        return element if known is None else element.dtype.type(known)

    def _eval_Slice(self, node: ast.Slice) -> slice:
        parts = [None if part is None else self.evaluate(part) for part in (node.lower, node.upper, node.step)]
        self.refuse_object(node, *parts)
        return slice(*parts)

    def _eval_Call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        if any(function is one for one in FOLDED) and node.args and self.folds.may_be(node, function):
            return self._fold(node, function)
        return self._call(node, function)

    def _fold(self, node: ast.Call, function: Any) -> Any:
        """sum(), any() or all() of a generator."""
        generator = node.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        value = self.evaluate(generator.generators[0].iter)
        if self.folds.goes_through(node, value):
            return self.folds.run(node, function, value)
        self.gone_through = generator.generators[0], value
        with self.folds.not_yet(node, value):
            return self._call(node, function)

    def _call(self, node: ast.Call, function: Any) -> Any:
        nodes = self._arguments(node, function)
        if is_pure_numpy(function) or any(function is one for one in _TAKE_ALL):
            self.handed_alone.update((id(one), one) for one in nodes if isinstance(one, ast.ListComp))
        if (function is np.array or function is np.asarray) and len(node.args) == 1 and not node.keywords:
            made_arrays(self.tracer).update(self.place(one) for one in nodes if isinstance(one, ast.ListComp))
        args, kwargs = self._elements(nodes), self.keywords(node)
        self.at(node)
        if function is list and len(args) == 1 and not kwargs and (made := self._listed(node, args[0])) is not None:
            return made
        given = self.calls.call_at(node, function, args, kwargs)
        return made_by_call(self.tracer, self.inputs, self.place(node), given)

    def _listed(self, node: ast.Call, items: Any) -> Any:
        """`list(items)`, where the list may lie in an array; None else."""
        if isinstance(items, (range, SymRange)):
            return list_of_range(self.tracer, self.place(node), items)
        if isinstance(items, SymArray) and items.sizes and is_long(self.tracer, self.tracer.resolve(items.sizes[0])):
            return list_of_elements(items, self.place(node))
        return None

    @staticmethod
    def _arguments(node: ast.Call, function: Any) -> list[ast.expr]:
        """A generator's items are all made at once where the function takes them all, in order, and does nothing else."""
        if (
            not node.args
            or not isinstance(node.args[0], ast.GeneratorExp)
            or not any(function is one for one in _TAKE_ALL)
        ):
            return node.args
        if any(isinstance(item, ast.NamedExpr) for item in ast.walk(node.args[0])):
            return node.args
        return [as_list(node.args[0]), *node.args[1:]]

    def keywords(self, node: ast.Call) -> dict[str, Any]:
        """The keyword arguments of a call."""
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(self.unpacked(keyword.value))
            else:
                kwargs[keyword.arg] = self.evaluate(keyword.value)
        return kwargs

    # -- comprehensions ------------------------------------------------------------------------------------

    def _eval_ListComp(self, node: ast.ListComp) -> Any:
        first = node.generators[0]
        value = self._first_items(first)
        if (made := self.listed(node, value)) is not None:
            return made
        items, begun = self.iterate(first.iter, value), self.tracer.blocks[-1].reductions()
        made_here = []
        for _ in self._comprehend(node.generators, items):
            made_here.append(self.evaluate(node.elt))
            if id(node) in self.handed_alone:
                keep_where_slow(self.tracer, self.place(node), begun)
        return of_comprehension(self.tracer, self.place(node), made_here)

    def _first_items(self, generator: ast.comprehension) -> Any:
        """What a comprehension goes through first."""
        known, self.gone_through = self.gone_through, None
        return known[1] if known is not None and known[0] is generator else self.evaluate(generator.iter)

    def _eval_ListItem(self, node: ListItem) -> Any:
        is_named = isinstance(node.value, ast.Name)
        item = as_row(self.tracer, node.place, self.evaluate(node.value), is_named)
        is_held = is_named or (isinstance(item, SymArray) and self._is_held(item))
        return check_item(self.tracer, node.place, item, is_held)

    def _is_held(self, array: SymArray) -> bool:
        """Whether variables lead to the array, also through objects and containers: who writes there writes into the item."""
        frame: Frame | None = self.frame
        while frame is not None:
            if any(one is array.storage for _, held in reached(frame, self.tracer) for one in memory_in(held)):
                return True
            frame = frame.caller
        return False

    def _eval_SetComp(self, node: ast.SetComp) -> Any:
        return {self.evaluate(node.elt) for _ in self._comprehend(node.generators)}

    def _eval_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        first = node.generators[0]
        items = iter(self.iterate(first.iter, self._first_items(first)))
        frame = self.frame.of_generator(node)
        return TracedIterator(
            self.state, (self.evaluate(node.elt) for _ in self._visit(node.generators, 0, items)), frame
        )

    def _eval_DictComp(self, node: ast.DictComp) -> Any:
        table = {}
        for _ in self._comprehend(node.generators):
            name = self.evaluate(node.key)
            table[name] = self.evaluate(node.value)
        return table

    def _comprehend(self, generators: list[ast.comprehension], items: Iterable[Any] | None = None) -> Iterator[None]:
        """Visits each combination; the loop variables are gone afterwards, as in Python."""
        names = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        frame = self.frame
        saved = {name: held for name, held in frame.variables.items() if name in names}
        try:
            yield from self._visit(generators, 0, items)
        finally:
            variables = frame.variables  # a branch on data puts others in their place
            for name in names:
                variables.pop(name, None)
            variables.update(saved)

    def _visit(
        self, generators: list[ast.comprehension], depth: int, items: Iterable[Any] | None = None
    ) -> Iterator[None]:
        if depth == len(generators):
            yield None
            return
        generator = generators[depth]
        for item in self.iterate(generator.iter, self.evaluate(generator.iter)) if items is None else items:
            self.variables.assign(generator.target, item)
            if all(self.truth(test, self.as_truth(self.evaluate(test)), "a condition") for test in generator.ifs):
                yield from self._visit(generators, depth + 1)

    def iterate(self, node: ast.AST, value: Any) -> Iterable[Any]:
        """What a for visits, one by one."""
        self.at(node)
        if isinstance(value, ArrayList):
            return iter(value)
        if (items := self.inputs.items_of(value)) is not None:
            return items
        self.refuse_object(node, value)
        return sequence_of(self.tracer, value) if isinstance(value, SymArray) else value

    def make_function(self, node: FunctionNode) -> InterpretedFunction:
        positional = tuple(self.evaluate(default) for default in node.args.defaults)
        keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        named = {one.arg: self.evaluate(default) for one, default in keywords if default is not None}
        return InterpretedFunction(self.calls.call_interpreted, node, self.frame, positional, named)
