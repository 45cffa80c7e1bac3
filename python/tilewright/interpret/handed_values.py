"""What a loop that is compiled by itself is handed in place of lists, texts and attributes of objects: arrays and numbers.

The loop is written anew for that. It makes lists of the arrays, which compiled code leaves in arrays, and gives those that it
writes; the characters of texts are integers in it; attributes are variables.
"""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .inner_objects import is_users_class

_ITEMS: dict[type, type[np.generic]] = {int: np.int64, float: np.float64, bool: np.bool_}
# Builtins that call nothing of the user's where they are handed numbers, texts and lists of such.
_HARMLESS = frozenset(
    [
        "abs",
        "bool",
        "divmod",
        "enumerate",
        "float",
        "int",
        "len",
        "max",
        "min",
        "ord",
        "pow",
        "range",
        "reversed",
        "round",
        "sum",
        "zip",
    ]
)
# Functions of NumPy that write an argument, and those whose third argument is no `out`.
_WRITE = frozenset(["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"])
_OF_THREE = frozenset(["arange", "clip", "full", "linspace", "where"])
NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_GO_THROUGH = frozenset(["enumerate", "len", "max", "min", "reversed", "sum", "zip"])


@dataclass(frozen=True)
class Handed:
    """`kinds`: of each variable of the loop: "" for what is handed as it is, "text", "bytes", or the rank of a list. What a
    loop was written for serves calls of the same kinds. `values`: of the attributes, then of the variables."""

    kinds: tuple[Any, ...]
    values: list[Any]
    arrays: bool  # whether any of them is one itself
    lists: dict[int, np.ndarray[Any, Any]]  # by the position of the variable, what is handed for a list


@dataclass(frozen=True)
class Uses:
    """What a loop does with the variables that it is handed. `attributes`: (position, name) of those that it only reads, of
    objects of which it does nothing else. `texts`: variables whose characters it compares. `lists`: those that may be lists
    of which nothing else is left; how many indices stand behind one that is written, where it is."""

    names: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...] = ()
    texts: frozenset[str] = frozenset()
    lists: dict[str, int | None] = field(default_factory=dict)
    flat: frozenset[str] = frozenset()  # of which it takes items that may not be lists: those it could write
    is_repeatable: bool = False  # where it fails: it writes nothing but lists, and what `+=` may write
    augments: bool = False  # variables, which may be arrays

    @property
    def owners(self) -> set[int]:
        return {position for position, _ in self.attributes}

    def handed(self, args: Sequence[Any]) -> Handed | None:
        """None: where they are nothing that compiled code can be handed in their place."""
        held = [_held(args[position], name) for position, name in self.attributes]
        if any(one is _NOTHING for one in held):
            return None
        seen: set[int] = set()
        owners = self.owners
        kinds: list[Any] = []
        values = held
        lists: dict[int, np.ndarray[Any, Any]] = {}
        for k, (name, value) in enumerate(zip(self.names, args, strict=True)):
            kind, one = ("", value) if k in owners else self._handed(name, value, seen)
            if kind is None:
                return None
            kinds.append(kind)
            if isinstance(kind, int):
                lists[k] = one
            if k not in owners:
                values.append(one)
        is_any_text = "text" in kinds
        if is_any_text and any(
            kind != "text" for name, kind in zip(self.names, kinds, strict=True) if name in self.texts
        ):
            return None
        arrays = any(type(one) is np.ndarray for one in (*args, *values[: len(self.attributes)]))
        made = Handed(tuple(kinds), values, arrays, lists)
        # What cannot be made again says in its error of what kind the sequence was: there may be one kind only.
        told = {"list" if isinstance(kind, int) else kind for kind in kinds if kind}
        return None if (self.written(kinds) or len(told) > 1) and not self.may_repeat(made) else made

    def may_repeat(self, handed: Handed) -> bool:
        """Whether a call that failed can be made again: it has written nothing."""
        named = zip(self.names, handed.kinds, strict=True)
        writes_arrays = any(not kind and self.lists.get(name) is not None for name, kind in named)
        return self.is_repeatable and not writes_arrays and not (self.augments and handed.arrays)

    def _handed(self, name: str, value: Any, seen: set[int]) -> tuple[Any, Any]:
        """Its kind, and the value; (None, None) where it is a list of something else."""
        if type(value) is str and name in self.texts:
            return "text", np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32)
        if type(value) is bytes and self.lists.get(name, 0) is None:
            return "bytes", np.frombuffer(value, np.uint8)
        if type(value) is not list:
            return "", value
        array = _as_array(value, seen) if name in self.lists else None
        if array is None or self.lists[name] not in (None, array.ndim) or (array.ndim > 1 and name in self.flat):
            return None, None
        return array.ndim, array

    def written(self, kinds: Sequence[Any]) -> list[int]:
        """Positions of lists that the loop writes."""
        lists = enumerate(zip(self.names, kinds, strict=True))
        return [k for k, (name, kind) in lists if isinstance(kind, int) and self.lists.get(name) is not None]


_NOTHING = object()


def _held(owner: Any, name: str) -> Any:
    """An attribute of an object's own that is an array or a number."""
    if not is_users_class(type(owner)) or hasattr(type(owner), name):
        return _NOTHING
    value = getattr(owner, "__dict__", {}).get(name)
    return value if type(value) is np.ndarray or isinstance(value, (int, float, np.generic)) else _NOTHING


def _as_array(items: list[Any], seen: set[int]) -> Any:
    """Of a list of numbers of one type, or of such lists of one length, each of which is another one."""
    rows = items if items and type(items[0]) is list else [items]
    if not rows[0]:
        return None
    kinds = {kind for row in rows if type(row) is list for kind in set(map(type, row))}
    if len(kinds) != 1 or not all(type(row) is list and len(row) == len(rows[0]) for row in rows):
        return None
    own = {*map(id, rows), id(items)}
    if len(own) < len(rows) + (rows is items) or not own.isdisjoint(seen):
        return None
    seen |= own
    kind = _ITEMS.get(*kinds)  # type: ignore[arg-type]
    if kind is None:
        return None
    try:
        flat = np.fromiter(itertools.chain.from_iterable(rows), kind, len(rows) * len(rows[0]))
        return flat if rows[0] is items else flat.reshape(len(rows), -1)
    except OverflowError:
        return None


def is_of_its_kind(items: list[Any], new: list[Any]) -> bool:
    """Whether what a list shall hold is of the one type of what it holds."""
    if type(items[0]) is list:
        return all(map(is_of_its_kind, items, new))
    return set(map(type, new)) == {type(items[0])}


def is_plain(value: Any) -> bool:
    """Whether it is an array, a random generator or what never changes."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    if isinstance(value, (*NUMBERS, np.random.Generator)):  # which compiled code leaves where NumPy leaves it
        return True
    return type(value) is np.ndarray and not value.dtype.hasobject


def write_back(items: list[Any], before: np.ndarray[Any, Any], new: list[Any]) -> None:
    """What is not as it was before, into a list, or into the lists in it: others may have written the rest meanwhile."""
    if before.ndim > 1:
        for row, one, there in zip(items, before, new, strict=True):
            write_back(row, one, there)
        return
    bits = np.dtype(f"u{before.itemsize}")  # in which -0.0 is not 0.0
    try:
        changed = np.flatnonzero(np.array(new, before.dtype).view(bits) != before.view(bits)).tolist()
    except OverflowError:
        changed = [k for k, (one, other) in enumerate(zip(before.tolist(), new, strict=True)) if one != other]
    for k in changed:
        items[k] = new[k]


def uses_of(function: types.FunctionType, loop: ast.AST, names: Sequence[str], gives: Sequence[str]) -> Uses:
    if not all(_is_harmless(function, item.func) for item in ast.walk(loop) if isinstance(item, ast.Call)):
        return Uses(tuple(names))
    parents = {id(child): item for item in ast.walk(loop) for child in ast.iter_child_nodes(item)}
    of = {name: [item for item in ast.walk(loop) if isinstance(item, ast.Name) and item.id == name] for name in names}
    read = [name for name in names if name not in gives and all(isinstance(item.ctx, ast.Load) for item in of[name])]
    attributes = [(names.index(name), one) for name in read for one in _only_attributes(of[name], parents)]
    texts = {name for name in read if _is_text_like(name, of[name], parents)}
    while rest := {name for name in texts if not _beside_texts(of[name], parents, texts)}:
        texts -= rest
    found = {name: _list_uses(of[name], parents) for name in read}
    lists = {name: one[0] for name, one in found.items() if one is not None}
    flat = frozenset(name for name, one in found.items() if one is not None and one[1])
    is_repeatable = _writes_only(function, loop, names, lists)
    if not is_repeatable:
        lists = {name: depth for name, depth in lists.items() if depth is None}
    augments = any(isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name) for item in ast.walk(loop))
    return Uses(tuple(names), tuple(sorted(attributes)), frozenset(texts), lists, flat, is_repeatable, augments)


def _is_harmless(function: types.FunctionType, called: ast.expr) -> bool:
    """Whether a call calls nothing of the user's: a builtin, or an attribute of a module, of an array, of a number."""
    if isinstance(called, ast.Attribute):
        return True
    code = function.__code__
    is_free = isinstance(called, ast.Name) and called.id not in (
        *code.co_varnames,
        *code.co_cellvars,
        *code.co_freevars,
    )
    name = called.id if isinstance(called, ast.Name) else ""
    return is_free and name in _HARMLESS and name not in function.__globals__ and hasattr(builtins, name)


Parents = dict[int, ast.AST]


def _only_attributes(items: Sequence[ast.Name], parents: Parents) -> set[str]:
    found = set()
    for item in items:
        parent = parents.get(id(item))
        if (
            not isinstance(parent, ast.Attribute)
            or not isinstance(parent.ctx, ast.Load)
            or hasattr(np.ndarray, parent.attr)
        ):
            return set()
        around = parents.get(id(parent))
        if isinstance(around, ast.Call) and around.func is parent:
            return set()
        found.add(parent.attr)
    return found


def _item_of(item: ast.AST, parents: Parents) -> ast.Subscript | None:
    """`x[i]`, for its x."""
    parent = parents.get(id(item))
    is_item = (
        isinstance(parent, ast.Subscript)
        and parent.value is item
        and not isinstance(parent.slice, (ast.Slice, ast.Tuple))
    )
    return parent if is_item else None  # type: ignore[return-value]


def _is_call(node: Any, *names: str) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and not node.keywords
    )


def _is_text_like(name: str, items: Sequence[ast.Name], parents: Parents) -> bool:
    """Whether nothing but characters of it are compared, and its length is asked for."""
    return bool(items) and all(
        _is_call(parents.get(id(item)), "len")
        or (
            (one := _item_of(item, parents)) is not None
            and isinstance(one.ctx, ast.Load)
            and _is_of_a_character(one, parents)
        )
        for item in items
    )


def _is_of_a_character(one: ast.Subscript, parents: Parents) -> bool:
    around = parents.get(id(one))
    return _is_call(around, "ord") or _others_in(one, around) is not None


def _others_in(one: ast.expr, around: Any) -> ast.expr | None:
    """The other side of `x[i] == other`."""
    if (
        not isinstance(around, ast.Compare)
        or len(around.ops) != 1
        or not isinstance(around.ops[0], (ast.Eq, ast.NotEq))
    ):
        return None
    return around.comparators[0] if around.left is one else around.left


def _beside_texts(items: Sequence[ast.Name], parents: Parents, texts: set[str]) -> bool:
    """Whether its characters are compared with single ones, and with those of other texts."""
    for item in items:
        one = _item_of(item, parents)
        other = None if one is None else _others_in(one, parents.get(id(one)))
        if other is None:
            continue
        is_character = isinstance(other, ast.Constant) and isinstance(other.value, str) and len(other.value) == 1
        is_item = isinstance(other, ast.Subscript) and isinstance(other.value, ast.Name) and other.value.id in texts
        if not is_character and not is_item:
            return False
    return True


def _list_uses(items: Sequence[ast.Name], parents: Parents) -> tuple[int | None, bool] | None:
    """How many indices stand behind a list where its items are set, None where they are only read; and whether an item is taken
    that may be a list itself. None where it is used in another way."""
    depths: set[int] = set()
    takes_rows = False
    for item in items:
        node: ast.AST = item
        depth = 0
        while (one := _item_of(node, parents)) is not None:
            node, depth = one, depth + 1
        around = parents.get(id(node))
        if isinstance(getattr(node, "ctx", None), ast.Store):
            depths.add(depth)
            continue
        is_argument = isinstance(around, ast.Call) and node in around.args
        if isinstance(getattr(node, "ctx", None), ast.Del) or depth > 2:
            return None
        if is_argument and _is_call(around, "len"):
            continue
        if depth == 0:
            is_gone_through = isinstance(around, (ast.For, ast.comprehension)) and around.iter is node
            if not is_gone_through and not (is_argument and _is_call(around, *_GO_THROUGH)):
                return None
            takes_rows = True
        elif isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node:
            return None  # a slice, a method
        elif depth == 1 and not (is_argument and _is_call(around, "max", "min", "sum")):
            takes_rows = True
    return None if len(depths) > 1 else (depths.pop() if depths else None, takes_rows)


def _writes_only(
    function: types.FunctionType, loop: ast.AST, names: Sequence[str], lists: dict[str, int | None]
) -> bool:
    """Whether a loop that has failed can be run again with the same lists: it writes nothing else that others see, and reads
    none of these under another name."""
    own = {
        *names,
        *(item.id for item in ast.walk(loop) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)),
    }
    for item in ast.walk(loop):
        if isinstance(item, (ast.Attribute, ast.Subscript)) and not isinstance(item.ctx, ast.Load):
            root: ast.AST = item
            while isinstance(root, (ast.Attribute, ast.Subscript)):
                root = root.value
            if not isinstance(root, ast.Name) or lists.get(root.id) is None:
                return False
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and not _writes_nothing(item):
            return False
        if isinstance(item, ast.Name) and item.id not in own and not _is_constant(function, item.id):
            return False
    return True


def _is_constant(function: types.FunctionType, name: str) -> bool:
    """Whether a name from outside means a module, a number, a text or a builtin."""
    if name in function.__code__.co_freevars:
        return False
    value = function.__globals__.get(name, getattr(builtins, name, None))
    return isinstance(value, (types.ModuleType, int, float, str, types.BuiltinFunctionType, type))


def _writes_nothing(call: ast.Call) -> bool:
    """Whether it is a call of a module's function that writes none of its arguments: `out` may be the third one."""
    called: Any = call.func
    is_of_module = isinstance(called.value, ast.Name) and called.value.id in ("np", "numpy", "math")
    is_open = any(one.arg in (None, "out", "copy") for one in call.keywords)
    is_open = is_open or any(isinstance(one, ast.Starred) for one in call.args)
    function = getattr(np, called.attr, None)
    most = 3 if called.attr in _OF_THREE else function.nin if isinstance(function, np.ufunc) else 2
    return is_of_module and not is_open and called.attr not in _WRITE and len(call.args) <= most


class _Anew(ast.NodeTransformer):
    """Attributes as variables, characters as integers."""

    def __init__(self, attributes: dict[tuple[str, str], str], texts: set[str]) -> None:
        self.attributes, self.texts = attributes, texts

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        name = self.attributes.get((node.value.id, node.attr)) if isinstance(node.value, ast.Name) else None
        return node if name is None else ast.copy_location(ast.Name(name, ast.Load()), node)

    def _is_character(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.texts

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        sides = [node.left, *node.comparators]
        if any(map(self._is_character, sides)):
            for side in sides:
                if isinstance(side, ast.Constant):
                    side.value = ord(side.value)  # type: ignore[arg-type]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        if _is_call(node, "ord") and self._is_character(node.args[0]):
            node.func = ast.copy_location(ast.Name("int", ast.Load()), node.func)
        return self.generic_visit(node)


def written_anew(
    loop: ast.AST, uses: Uses, kinds: Sequence[Any], gives: Sequence[str],
    as_function: Callable[[list[ast.AST], list[str], list[str]], types.FunctionType],
) -> types.FunctionType:  # fmt: skip
    """The loop as a function of what is handed, which gives what it gave and then the lists that it writes."""
    taken = {item.id for item in ast.walk(loop) if isinstance(item, ast.Name)} | set(uses.names)
    names = {(uses.names[k], one): _free(f"{uses.names[k]}_{one}", taken) for k, one in uses.attributes}
    parameters, made = list(names.values()), list[ast.stmt]()
    for k, (name, kind) in enumerate(zip(uses.names, kinds, strict=True)):
        if k in uses.owners:
            continue
        if kind:
            array = _free(f"{name}_array", taken)
            made.append(_listed(name, array, loop, len(made)))
            name = array  # noqa: PLW2901
        parameters.append(name)
    texts = {name for name, kind in zip(uses.names, kinds, strict=True) if kind == "text"}
    body = _Anew(names, texts).visit(copy.deepcopy(loop))
    return as_function([*made, body], parameters, [*gives, *(uses.names[k] for k in uses.written(kinds))])


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _listed(name: str, array: str, loop: Any, count: int) -> ast.stmt:
    """`name = array.tolist()`, at a place of its own before the loop: by those calls and statements are known."""
    statement = ast.parse(f"{name} = {array}.tolist()").body[0]
    for part in _placed(statement):
        part.lineno = part.end_lineno = loop.lineno - 1
        part.col_offset = part.end_col_offset = 1000 * (count + 1) + part.col_offset
    return statement


def _placed(node: ast.AST) -> Iterator[Any]:
    return (part for part in ast.walk(node) if isinstance(part, (ast.expr, ast.stmt)))
