"""Objects that a compiled function makes: Python's own while tracing, with traced values as their attributes."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import types
from collections.abc import Callable
from typing import Any

from ..guards import Same
from ..originals import original_of
from ..own_attributes import attributes_of, hold, slots_of
from ..symbolic.arrays import SymArray
from ..symbolic.number import Number
from ..symbolic.stages import ON_DEVICE
from .carried import MISSING
from .carried_attributes import LoopAttributes, is_same, set_attribute
from .frame import Pending
from .pure import is_of_namedtuple
from .set_objects import StandIn, begin_with_stand_in, can_be_stood_for, is_plain, own_ways_of, stand_in_of
from .source import source_of
from .state import Part, State

_COPIED = (
    "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__",
    "__getnewargs_ex__",
)  # fmt: skip
_NEVER_CHANGE = (Number, bool, int, float, complex, str, bytes, type(None), type, types.FunctionType)


class _MoreThanAttributes(Exception):
    """An object is not copied by copying what it holds."""


def _is_copied_by_attributes(cls: type) -> bool:
    return all(inspect.getattr_static(cls, name, None) is getattr(object, name, None) for name in _COPIED)


class MadeObjects(Part):
    """The part of the interpreter that makes objects of users' classes, and reads and sets their attributes."""

    def __init__(self, state: State, call: Callable[..., Any], call_function: Callable[..., Any]) -> None:
        """`call` and `call_function` are those of Calls."""
        super().__init__(state)
        self.call = call
        self.call_function = call_function

    def can_make(self, cls: type) -> bool:
        """Whether making an object is running __init__, and its attributes are what is set."""
        if is_bunch(cls) or cls is types.SimpleNamespace:
            return True
        own_ways = own_ways_of(cls)
        if _is_frozen(cls):
            own_ways -= {"__setattr__", "__delattr__"}
        return not own_ways and is_plain(cls)

    def make(self, node: ast.Call, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if is_bunch(cls):
            return self._make_bunch(cls, args, kwargs)
        if cls is types.SimpleNamespace:
            namespace = cls(*args, **kwargs)
            self.tracer.made_objects[id(namespace)] = namespace
            return namespace
        made: Any = object.__new__(cls)  # or Python's own TypeError of an abstract class
        self.tracer.made_objects[id(made)] = made
        method = inspect.getattr_static(cls, "__init__")
        if not isinstance(method, types.FunctionType):
            if args or kwargs:
                raise TypeError(f"{cls.__name__}() takes no arguments")
        elif "__dataclass_fields__" in vars(cls) and source_of(method) is None:
            self._fill_fields(node, made, method, args, kwargs)
        else:
            self.call_function(self.inputs.of_class(cls, "__init__"), [made, *args], kwargs)
        return made

    def copied(self, owner: Any, deep: bool) -> Any:
        """What copy.copy() and copy.deepcopy() give of an object that the function makes; NotImplemented where that is more than
        its attributes, or they are nothing that is known to be copied."""
        if not self.tracer.is_made(owner) or stand_in_of(self.tracer, owner) is not None:
            return NotImplemented
        memo: dict[int, Any] = {}

        def copy_of(held: Any) -> Any:
            held = held.read() if isinstance(held, Pending) else held
            kind = type(held)
            if id(held) in memo:
                return memo[id(held)]
            if self.tracer.is_made(held):
                if not _is_copied_by_attributes(kind) or not self.can_make(kind):
                    raise _MoreThanAttributes
                made = memo[id(held)] = object.__new__(kind)
                self.tracer.made_objects[id(made)] = made
                for name, value in attributes_of(held).items():
                    value = value.read() if isinstance(value, Pending) else value  # noqa: PLW2901
                    hold(made, name, copy_of(value) if deep else value)
                return made
            if kind is list:
                memo[id(held)] = made = []
                made += map(copy_of, held)
                return made
            if kind is tuple:
                return tuple(map(copy_of, held))
            if kind is dict and all(isinstance(key, _NEVER_CHANGE) for key in held):
                memo[id(held)] = made = {}
                made.update((key, copy_of(value)) for key, value in held.items())
                return made
            if not isinstance(held, (SymArray, *_NEVER_CHANGE)):
                raise _MoreThanAttributes
            memo[id(held)] = copy.deepcopy(held)
            return memo[id(held)]

        try:
            return copy_of(owner)
        except _MoreThanAttributes:
            return NotImplemented

    def _make_bunch(self, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A tuple with attributes beside its parts, whose class SciPy writes as collections.namedtuple does."""
        made = cls.__new__(cls, *args, **kwargs)
        self.tracer.made_objects[id(made)] = made
        init = self.inputs.of_class(cls, "__init__")
        self.call_function(init, [made, *args], kwargs)
        return made

    def _fill_fields(self, node: ast.Call, made: Any, method: types.FunctionType, args: Any, kwargs: Any) -> None:
        """What the __init__ does that dataclasses writes."""
        cls = type(made)
        self.inputs.of_class(cls, "__init__")  # its code is guarded
        given = inspect.signature(method).bind(made, *args, **kwargs).arguments
        fields = {field.name: field for field in dataclasses.fields(cls)}
        if given.keys() - {"self"} - fields.keys():
            raise self.error(node, f"making a {cls.__name__} object", "it has an InitVar", "Write its __init__ out.")
        for name, field in fields.items():
            if name in given:
                value = given[name]
            elif field.default is not dataclasses.MISSING:
                value = self.inputs.outside((("object", Same(field)), ("attribute", "default")), field.default)
            elif field.default_factory is not dataclasses.MISSING:
                value = self.call(node, field.default_factory, [], {})
            else:
                continue
            hold(made, name, value)
        if isinstance(inspect.getattr_static(cls, "__post_init__", None), types.FunctionType):
            self.call_function(self.inputs.of_class(cls, "__post_init__"), [made], {})

    def get(self, node: ast.AST, owner: Any, name: str) -> Any:
        """An attribute, found as Python finds it; what the class has is read at each call."""
        kind = type(owner)
        stand_in = stand_in_of(self.tracer, owner)
        if stand_in is not None:
            if name == "__dict__":
                raise self.error(node, f"the __dict__ of a {kind.__name__}, whose attributes the function sets",
                                 "what it holds besides is not followed", "Read its attributes by name.")  # fmt: skip
            stand_in.need(name)
            if name not in attributes_of(owner):
                stand_in.lacks(name)
        held = original_of(inspect.getattr_static(kind, name, None))
        if name == "__dict__":
            for one, value in attributes_of(owner).items():
                set_attribute(owner, one, value.read() if isinstance(value, Pending) else value)
            return vars(owner)  # or Python's own error
        if type(held) is property and isinstance(held.fget, types.FunctionType):
            return self.call_function(self.inputs.getter(kind, name, held), [owner], {})
        if held is None or name in getattr(owner, "__dict__", {}) or isinstance(held, types.MemberDescriptorType):
            value = getattr(owner, name)  # or Python's own error
            return value.read() if isinstance(value, Pending) else value
        found = self.inputs.of_class(kind, name)
        return types.MethodType(found, owner) if isinstance(held, types.FunctionType) else found

    def set(self, node: ast.Attribute, owner: Any, value: Any) -> None:
        stand_in = stand_in_of(self.tracer, owner)
        if stand_in is not None:
            stand_in.need(node.attr)
        elif not self.tracer.is_made(owner):
            self._set_of_the_caller(node, owner)
        held = inspect.getattr_static(type(owner), node.attr, None)
        if type(held) is property and isinstance(held.fset, types.FunctionType):
            path = (("object", Same(type(owner))), ("attribute", node.attr), ("attribute", "fset"))
            self.call_function(self.inputs.outside(path, held.fset), [owner, value], {})
            return
        if hasattr(type(held), "__set__") and not isinstance(held, (property, types.MemberDescriptorType)):
            raise self.error(node, f"assigning {ast.unparse(node)}, of which a {type(held).__name__} of the class decides what it means",
                             "only properties are followed", "Return the value, and assign it at the caller.")  # fmt: skip
        if held is not None:
            self._need_own(owner, node.attr)
        is_plain = type(owner).__setattr__ is object.__setattr__
        if is_plain and is_same(attributes_of(owner).get(node.attr, MISSING), value):
            return
        if stand_in is not None:
            self._refuse_in_regions(node, stand_in, value)
        self.carry_in_regions(
            owner, node.attr, is_plain, lambda: self.refuse_in_region(node, owner, f"assigning {ast.unparse(node)}")
        )
        setattr(owner, node.attr, value)  # or Python's own error

    def _refuse_in_regions(self, node: ast.Attribute, stand_in: StandIn, value: Any) -> None:
        """An attribute that a region sets, and cannot hand to the object of the caller as it is."""
        if not self.state.containers:
            return
        self.tracer.need_stand_ins(stand_in.path)
        if isinstance(value, SymArray) and value.chain and not value.is_scalar:
            self.refuse_in_region(node, stand_in.made, f"assigning a view to {ast.unparse(node)}")
        if node.attr not in attributes_of(stand_in.made) and not self._set_in_each_iteration(stand_in.made):
            # Which attributes an object has, and in which order, its __dict__ shows.
            self.refuse_in_region(
                node, stand_in.made, f"assigning {ast.unparse(node)}, which the object does not have yet,"
            )

    def _set_in_each_iteration(self, owner: Any) -> bool:
        """Whether what is set here is set for certain behind the regions around: loops alone, whose first iterations set attributes
        in the order in which their bodies do. That each has an iteration is asked where the attribute is read."""
        around = zip(self.state.containers, self.state.attributes, strict=True)
        return all(isinstance(attributes, LoopAttributes) for held, attributes in around if id(owner) in held)

    def stays(self, owner: Any, name: str, held: Any, value: Any) -> bool:
        """Whether an object of the caller would be given what it has: `self.u += x` sets `u` to the array that it is."""
        is_plain = type(owner).__setattr__ is object.__setattr__ and name in attributes_of(owner)
        if inspect.getattr_static(type(owner), name, None) is not None:
            self._need_own(owner, name)
        return is_plain and not self.tracer.is_made(owner) and is_same(held, value)

    def _need_own(self, owner: Any, name: str) -> None:
        """Before an attribute is set that the class has, too: what the object of the caller has is its own in each call."""
        stand_in = stand_in_of(self.tracer, owner)
        held = stand_in.before if stand_in is not None else {} if self.tracer.is_made(owner) else attributes_of(owner)
        if name in held and name not in slots_of(type(owner)):
            self.inputs.holds(owner, name)

    def _set_of_the_caller(self, node: ast.Attribute, owner: Any) -> None:
        """Raises SetsAttribute, or the refusal of an object that nothing can stand for."""
        self._begin_with_stand_in(owner)
        kind = type(owner).__name__
        raise self.error(
            node, f"assigning {ast.unparse(node)}", f"objects of the class {kind} are only read in a compiled function",
            "Return the value, and assign it at the caller.",
        )  # fmt: skip

    def _begin_with_stand_in(self, owner: Any) -> None:
        """Raises SetsAttribute where one of the function's own objects can stand for an object of the caller."""
        path, cls = self.inputs.path_of(owner), type(owner)
        is_followed = (
            self.inputs.is_object(owner) and self.tracer.checked is not None and self.tracer.untaken is not ON_DEVICE
        )
        if path is not None and path[0][0] == "parameter" and is_followed and can_be_stood_for(cls):
            raise begin_with_stand_in(self.tracer, path, owner)

    def super_of(self, node: ast.Call, args: list[Any]) -> Any:
        """super() in a method of an object that the function made, or was given, or of a class."""
        function = self.frame.function
        names = function.__code__.co_freevars if function is not None else ()
        if not args and function is not None and "__class__" in names and function.__code__.co_argcount:
            path = (*self.inputs.path_of_function(function), ("cell", "__class__"))
            cls = (function.__closure__ or ())[names.index("__class__")].cell_contents
            args = [self.inputs.outside(path, cls), self.frame.variables[function.__code__.co_varnames[0]]]
        is_followed = len(args) == 2 and (  # noqa: PLR2004
            isinstance(args[1], type) or self.tracer.is_made(args[1]) or self.inputs.is_object(args[1])
        )
        if is_followed:
            return super(*args)
        raise self.error(node, "super()", "inherited methods are not followed through it",
                         "Call the method of the class by name.")  # fmt: skip

    def get_of_super(self, node: ast.AST, owner: Any, name: str) -> Any:
        made = owner.__self__
        classes = owner.__self_class__.__mro__
        later = classes[classes.index(owner.__thisclass__) + 1 :]
        base = next((cls for cls in later if name in vars(cls)), None)
        if base is object and name == "__init__":
            return type(None)  # which does nothing
        if base is None:
            return getattr(owner, name)  # Python's own error
        held = original_of(vars(base)[name])
        if isinstance(held, types.FunctionType) and not isinstance(made, type):
            return types.MethodType(self.inputs.of_class(base, name), made)
        if isinstance(held, classmethod) and isinstance(original_of(held.__func__), types.FunctionType):
            return types.MethodType(self.inputs.of_class(base, name).__func__, owner.__self_class__)
        raise self.error(node, f"super().{name}", "only methods are followed through it", "Call it by name.")


def is_bunch(cls: type) -> bool:
    """Whether objects of the class are tuples with names for their parts, and an __init__ sets attributes beside those."""
    if not issubclass(cls, tuple) or not hasattr(cls, "_fields") or type(cls) is not type:
        return False
    new, init, sets = (inspect.getattr_static(cls, name) for name in ("__new__", "__init__", "__setattr__"))
    new = getattr(new, "__func__", new)
    reads = cls.__getattribute__ is tuple.__getattribute__ and not hasattr(cls, "__getattr__")
    written = all(isinstance(one, types.FunctionType) and is_of_namedtuple(one) for one in (new, sets))
    return written and reads and isinstance(init, types.FunctionType)


def _is_frozen(cls: type) -> bool:
    parameters = vars(cls).get("__dataclass_params__")
    return parameters is not None and parameters.frozen
