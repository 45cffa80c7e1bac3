"""What the text of a loop does with its variables: whether they may be lists, texts or objects of which it reads attributes."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .handed_values import Uses
from .queues_handed import are_builtins_known, queue_of

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
_GO_THROUGH = frozenset(["enumerate", "len", "max", "min", "reversed", "sum", "zip"])


def uses_of(function: types.FunctionType, loop: ast.AST, names: Sequence[str], gives: Sequence[str]) -> Uses:
    if not all(_is_harmless(function, item.func) for item in ast.walk(loop) if isinstance(item, ast.Call)):
        return Uses(tuple(names))
    parents = {id(child): item for item in ast.walk(loop) for child in ast.iter_child_nodes(item)}

    def named(name: str) -> list[ast.Name]:
        return [item for item in ast.walk(loop) if isinstance(item, ast.Name) and item.id == name]

    of = {name: named(name) for name in names}
    read = [name for name in names if name not in gives and all(isinstance(item.ctx, ast.Load) for item in of[name])]
    attributes = [(names.index(name), one) for name in read for one in _only_attributes(of[name], parents)]
    texts = {name for name in read if _is_text_like(name, of[name], parents)}
    while rest := {name for name in texts if not _beside_texts(of[name], parents, texts)}:
        texts -= rest
    found = {name: _list_uses(of[name], parents) for name in read}
    lists = {name: one[0] for name, one in found.items() if one is not None}
    flat = frozenset(name for name, one in found.items() if one is not None and one[1])
    is_repeatable = _writes_only(function, loop, names, lists)
    queues = {name: one for name in read if (one := queue_of(of[name], parents)) is not None}
    if queues and not (are_builtins_known(function) and _can_be_put_back(function, loop, names, queues)):
        queues = {}
    if not is_repeatable and not queues:
        lists = {name: depth for name, depth in lists.items() if depth is None}
    augments = any(isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name) for item in ast.walk(loop))
    rows = {name: parts for name in read if (parts := _parts_of_rows(of[name], parents, named, gives)) is not None}
    is_compared = {name: any(_is_beside_a_character(item, parents) for item in of[name]) for name in texts}
    return Uses(
        tuple(names), tuple(sorted(attributes)), frozenset(texts), lists, flat, rows, queues, _stored(loop),
        any(is_compared.values()), is_repeatable, augments,
    )  # fmt: skip


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


def is_call(node: Any, *names: str) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and not node.keywords
    )


def _is_text_like(name: str, items: Sequence[ast.Name], parents: Parents) -> bool:
    """Whether nothing but characters of it are compared, and its length is asked for."""
    return bool(items) and all(
        is_call(parents.get(id(item)), "len")
        or (
            (one := _item_of(item, parents)) is not None
            and isinstance(one.ctx, ast.Load)
            and _is_of_a_character(one, parents)
        )
        for item in items
    )


def _is_of_a_character(one: ast.Subscript, parents: Parents) -> bool:
    around = parents.get(id(one))
    return is_call(around, "ord") or _others_in(one, around) is not None


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


def _is_beside_a_character(item: ast.Name, parents: Parents) -> bool:
    """Whether it is a text of which a character is compared with a single one, or its number is asked for."""
    one = _item_of(item, parents)
    around = None if one is None else parents.get(id(one))
    return is_call(around, "ord") or (one is not None and isinstance(_others_in(one, around), ast.Constant))


def _parts_of_rows(
    items: Sequence[ast.Name], parents: Parents, of: Callable[[str], list[ast.Name]], gives: Sequence[str]
) -> int | None:
    """Of a list whose rows loops go through and only read: into how many variables an item of a row goes, 0 for one that is
    no tuple. None where it is used in another way."""
    found: set[int] = set()
    is_read_otherwise = False
    for item in items:
        around = parents.get(id(item))
        if is_call(around, "len"):
            continue
        if (target := row_target(around, parents.get(id(around)), item)) is not None:
            if target.id in gives or not all(_reads_row(one, parents) for one in of(target.id) if one is not target):
                return None
            found.add(0)
            is_read_otherwise = True
            continue
        row = _item_of(item, parents)
        if row is None or not isinstance(row.ctx, ast.Load) or not _is_read_alike_twice(row.slice):
            return None
        around = parents.get(id(row))
        if isinstance(around, ast.For) and around.iter is row:
            parts = parts_of(around.target)
            if not all(isinstance(one, ast.Name) for one in parts):
                return None
            found.add(len(parts) if isinstance(around.target, ast.Tuple) else 0)
        elif not is_call(around, "len"):
            if not _reads_row(row, parents):
                return None
            is_read_otherwise = True
    return None if len(found) != 1 or (is_read_otherwise and found != {0}) else found.pop()


def row_target(around: ast.AST | None, beyond: ast.AST | None, rows: ast.expr) -> ast.Name | None:
    """The variable that `for row in rows` or `for k, row in enumerate(rows)` gives each row."""
    if isinstance(around, ast.For) and around.iter is rows and isinstance(around.target, ast.Name):
        return around.target
    is_counted = is_call(around, "enumerate") and isinstance(beyond, ast.For) and beyond.iter is around
    if not is_counted or len(around.args) != 1 or not isinstance(beyond.target, ast.Tuple):  # type: ignore[union-attr]
        return None
    match beyond.target.elts:  # type: ignore[union-attr]
        case [ast.Name(id=counter), ast.Name() as target] if counter != target.id:
            return target
    return None


def parts_of(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _reads_row(row: ast.expr, parents: Parents) -> bool:
    """Whether a row is gone through, measured, searched, and its items and parts are read, and nothing else."""
    around = parents.get(id(row))
    if isinstance(around, ast.Subscript):
        is_read = around.value is row and isinstance(around.ctx, ast.Load)
        return is_read and (not isinstance(around.slice, ast.Slice) or _reads_row(around, parents))
    if isinstance(around, ast.Compare):
        return around.left is not row and all(isinstance(one, (ast.In, ast.NotIn)) for one in around.ops)
    is_gone_through = isinstance(around, (ast.For, ast.comprehension)) and around.iter is row
    return is_gone_through or (is_call(around, *_GO_THROUGH) and not isinstance(getattr(row, "ctx", None), ast.Store))


def _is_read_alike_twice(index: ast.expr) -> bool:
    """Whether an index can be evaluated twice: it calls nothing and sets nothing."""
    expressions = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Subscript)
    return all(not isinstance(part, ast.expr) or isinstance(part, expressions) for part in ast.walk(index))


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
        if is_argument and is_call(around, "len"):
            continue
        if depth == 0:
            is_gone_through = isinstance(around, (ast.For, ast.comprehension)) and around.iter is node
            if not is_gone_through and not (is_argument and is_call(around, *_GO_THROUGH)):
                return None
            takes_rows = True
        elif isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node:
            return None  # a slice, a method
        elif depth == 1 and not (is_argument and is_call(around, "max", "min", "sum")):
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


def _can_be_put_back(
    function: types.FunctionType, loop: ast.AST, names: Sequence[str], queues: Collection[str]
) -> bool:
    """Whether all that a loop changes, beside its queues, are items of what it is handed."""
    own = {
        *names,
        *(item.id for item in ast.walk(loop) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)),
    }
    for item in ast.walk(loop):
        if isinstance(item, (ast.Attribute, ast.Subscript)) and not isinstance(item.ctx, ast.Load):
            if _root_of(item) not in names:
                return False
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            owner = item.func.value
            is_queue = isinstance(owner, ast.Name) and owner.id in queues
            if not is_queue and not _writes_nothing(item):
                return False
        elif isinstance(item, ast.Name) and item.id not in own and not _is_constant(function, item.id):
            return False
    return True


def _root_of(node: ast.AST) -> str | None:
    """The x of `x[i][j]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _stored(loop: ast.AST) -> frozenset[str]:
    """Variables into whose items something is stored, or to which something is added in place."""
    stored = {
        _root_of(item)
        for item in ast.walk(loop)
        if isinstance(item, ast.Subscript) and not isinstance(item.ctx, ast.Load)
    }
    augmented = {_root_of(item.target) for item in ast.walk(loop) if isinstance(item, ast.AugAssign)}
    return frozenset(one for one in stored | augmented if one is not None)


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
