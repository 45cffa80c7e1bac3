"""A session's cells: each is looked at before it runs, so that its functions are seen where they are defined, and array code in loops
at its top level is compiled as functions are.

IPython parses a cell, hands its tree to `ast_transformers`, and runs its statements one after the other.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import sys
import threading
import types
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import kept_memory
from .own_frames import leave_out_ours
from .record.cells import Texts, surroundings
from .record.hooks import hook_cell
from .record.left_alone import looks_at_frames, used_as_objects
from .record.regions import Region, with_cell_regions

if TYPE_CHECKING:
    from .session import Session

_BOUND, _BEGINS, _REGION = "__tilewright_cell_bound__", "__tilewright_cell_begins__", "__tilewright_cell_region_"
# Whoever steps through functions, lists them or asks what they are sees the user's own.
_DEBUGS = ("%debug", "%mdb", "breakpoint(", "set_trace(", "%pdb", "%run -d", "%run -i -d", "%who")
_ASK = frozenset(["type", "isinstance", "help", "vars", "dir", "id"])
_DEBUGGER_ID = 0  # sys.monitoring.DEBUGGER_ID
# After which statements IPython shows values: others would show those of regions.
_SHOWN_LAST = ("last_expr", "last_expr_or_assign", "none")


class Cells:
    """A session in IPython, on a terminal or in a notebook. `visit` is what IPython calls of a transformer."""

    def __init__(self, session: Session, shell: Any) -> None:
        self._session, self._shell = session, shell
        self._texts = Texts()
        self._is_watching = self._shows_errors = False
        self._shower: Any = None
        self._begun: dict[str, list[tuple[Region, str]]] = {}  # of cells that have not begun to run, by digest
        self._paused: Any = None
        self._reloads = self._is_debugged = False
        self._depth = 0

    @property
    def names(self) -> dict[str, Any]:
        names: dict[str, Any] = self._shell.user_ns
        return names

    # ---- from when to when -----------------------------------------------------------------------------------------------

    def watch(self) -> None:
        if self._is_watching:
            return
        self._is_watching = True
        for text in list(self.names.get("In") or ()):
            self._texts.add_text(text)
        setattr(builtins, _BOUND, lambda name: self._session.bound(name, self.names))
        setattr(builtins, _BEGINS, self._begin)
        self._shell.events.register("pre_run_cell", self._before)
        self._shell.events.callbacks["pre_run_cell"].sort(
            key=lambda one: one != self._before
        )  # ahead of what reloads modules
        self._shell.events.register("post_run_cell", self._behind)
        self._shell.ast_transformers.append(self)

    def leave(self) -> None:
        if not self._is_watching:
            return
        self._is_watching = False
        for event, callback in (("pre_run_cell", self._before), ("post_run_cell", self._behind)):
            with suppress(ValueError):
                self._shell.events.unregister(event, callback)
        with suppress(ValueError):
            self._shell.ast_transformers.remove(self)
        self._depth = 0
        self._show_errors_as_before()
        self._go_on()
        # What has begun runs to its end.
        setattr(builtins, _BOUND, lambda name: None)
        setattr(builtins, _BEGINS, lambda digest: None)

    # ---- events ----------------------------------------------------------------------------------------------------------

    def _before(self, info: Any = None) -> None:
        """A cell is about to run, perhaps inside of another one."""
        self._depth += 1
        kept_memory.keep()  # the handler of arrays' memory is of a context, and each cell may have its own
        text = getattr(info, "raw_cell", None) or ""
        self._reloads = any(one.endswith("autoreload") for one in self._shell.extension_manager.loaded)
        self._is_debugged = is_debugged() or any(one in text for one in _DEBUGS)
        if self._paused is None and (self._is_debugged or self._reloads):
            self._pause()

    def _behind(self, result: Any = None) -> None:
        """A cell has run."""
        self._depth = max(0, self._depth - 1)
        if self._depth:
            return
        self._show_errors_as_before()
        self._go_on()
        self._session.look(self.names)
        self._session.prune()

    def _pause(self) -> None:
        self._paused = self._session.paused()
        self._paused.__enter__()

    def _go_on(self) -> None:
        if self._paused is not None:
            paused, self._paused = self._paused, None
            paused.__exit__(None, None, None)

    # ---- trees -----------------------------------------------------------------------------------------------------------

    def visit(self, tree: ast.AST) -> ast.AST:
        """A cell's tree, or that of `%%time`, as it is run."""
        if not isinstance(tree, ast.Module) or not self._is_of_namespace(sys._getframe(2)):
            return tree
        self._show_errors_without_ours()
        if self._reloads and not self._is_debugged:
            self._go_on()  # modules are as they are to be
        try:
            changed = copy.deepcopy(tree)
            self._change(changed)
        except RecursionError:  # nested too deep for us
            return tree
        finally:
            self._texts.add(tree)
        return changed

    def _is_of_namespace(self, frame: types.FrameType) -> bool:
        """Whether what is asked for runs with the session's names as its own: `%timeit` makes a function of it. `frame`: that of
        whoever transforms a tree."""
        if frame.f_code.co_name == "time":
            local = frame.f_locals.get("local_ns")
            return local is None or local is self.names
        return frame.f_code.co_name == "run_cell_async"

    def _change(self, tree: ast.Module) -> None:
        if self._paused is None and (looks_at_frames(tree) or self._asks_what_functions_are(tree)):
            self._pause()  # what it looks at is to be the user's
        self._session.used_as_objects(used_as_objects(tree))
        if self._paused is None and self._shows_errors and self._shell.ast_node_interactivity in _SHOWN_LAST:
            self._add_regions(tree)
        hook_cell(tree, _BOUND)

    def _asks_what_functions_are(self, tree: ast.Module) -> bool:
        asked = (
            one.args[0]
            for one in ast.walk(tree)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in _ASK and one.args
        )
        return any(isinstance(one, ast.Name) and self._session.stands(self.names.get(one.id)) for one in asked)

    def _add_regions(self, tree: ast.Module) -> None:
        if not any(isinstance(one, (ast.For, ast.While)) for one in ast.walk(tree)):
            return
        found = surroundings(self.names, self._texts)
        named = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        parts = [ast.dump(tree, include_attributes=True), *(sorted(one & named) for one in vars(found).values())]
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        regions = with_cell_regions(tree, f"{_REGION}{digest}_", found)
        if not regions:
            return
        texts = [ast.dump(one.node, include_attributes=True) for one in regions]
        self._begun[digest] = list(zip(regions, texts, strict=True))
        begin = ast.Expr(ast.Call(ast.Name(_BEGINS, ast.Load()), [ast.Constant(digest)], []))
        future = (k for k, one in enumerate(tree.body) if not _is_future(one))
        at = next(future, 0)
        ast.copy_location(begin, tree.body[at])
        tree.body.insert(at, ast.fix_missing_locations(begin))

    def _begin(self, digest: str) -> None:
        """A cell with regions runs now, of which its code knows the file."""
        file = sys._getframe(1).f_code.co_filename
        for region, text in self._begun.pop(digest, ()):
            self._session.region(region, self.names, file, text)

    # ---- errors ----------------------------------------------------------------------------------------------------------

    def _show_errors_without_ours(self) -> None:
        if not self._shell.custom_exceptions:
            self._shell.set_custom_exc((BaseException,), self._shown)
            self._shows_errors, self._shower = True, self._shell.CustomTB

    def _show_errors_as_before(self) -> None:
        if self._shows_errors:
            self._shows_errors = False
            if self._shell.CustomTB is self._shower:  # the cell has set none of its own
                self._shell.set_custom_exc((), None)

    def _shown(self, shell: Any, kind: type[BaseException], error: BaseException, *_: Any, **__: Any) -> None:
        """As IPython shows it, with the cell's lines alone; its variables are what they were there."""
        self._session.give_names(error, self.names)
        leave_out_ours(error)
        shell.showtraceback(running_compiled_code=True)


def is_debugged() -> bool:
    """Whether somebody follows what runs, line by line."""
    monitoring = getattr(sys, "monitoring", None)
    by_debugger = monitoring is not None and monitoring.get_tool(_DEBUGGER_ID) is not None
    return sys.gettrace() is not None or threading.gettrace() is not None or by_debugger


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
