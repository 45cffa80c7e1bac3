"""Symbolic arrays: what stands for an ndarray or a NumPy scalar while a function is traced.

An array is a storage and a chain of views on it. A write makes a new version of the storage's value (SSA), which every
view on it then sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..guards import path_text
from ..structure import OF
from .array_like import ArrayLike, calling, refusing
from .graph import WHOLE, NewAxis, Slice, Value, unchanged
from .known import known_value
from .located import LEAVE_IT_OUT
from .refusals import WrittenSelection
from .registry import OPERATIONS
from .scalars import int_of
from .sizes import Size
from .stages import ON_DEVICE
from .storage import PARTS, Shown, Storage, View, index_first, simplified
from .trace_limits import MAX_UNROLLED_ITERATIONS
from .tracer import Tracer


class SymArray(ArrayLike):
    """An ndarray (or, with `is_scalar`, a NumPy scalar) of the traced function."""

    __slots__ = ("_chain", "_read", "_storage", "dtype", "is_scalar", "kinds", "seen", "sizes", "which")

    def __init__(
        self,
        tracer: Tracer,
        storage: Storage,
        chain: tuple[View, ...] = (),
        is_scalar: bool = False,
    ) -> None:
        self.tracer = tracer
        self._storage = storage
        self._chain = chain
        self.dtype = storage.value.dtype
        self.sizes: tuple[Size, ...] = chain[-1].shape if chain else storage.value.shape
        self.is_scalar = is_scalar
        self.kinds: frozenset[str] = frozenset()
        self.which = None
        # The memory's value when the view was taken, or when the first of the views on the way was that may be a copy.
        self.seen = storage.value
        self._read: tuple[int, Value] | None = None

    @classmethod
    def fresh(cls, tracer: Tracer, value: Value, is_scalar: bool | None = None, c_order: bool = False) -> SymArray:
        """A new array that holds `value`; 0-d results of NumPy calls are scalars."""
        scalar = not value.shape if is_scalar is None else is_scalar
        return cls(tracer, Storage(value, c_order=c_order), is_scalar=scalar)

    @property
    def storage(self) -> Storage:
        if self._storage.apart:
            self._follow_apart()
        return self._storage

    @property
    def chain(self) -> tuple[View, ...]:
        if self._storage.apart:
            self._follow_apart()
        return self._chain

    def is_seen_as(self, other: SymArray) -> bool:
        """Whether both are the same view of one array."""
        return self.storage is other.storage and self.chain == other.chain

    def of_one_kind(self) -> SymArray:
        return SymArray(self.tracer, self.storage, self.chain, self.is_scalar)

    def take_form_of(self, other: SymArray) -> None:
        """The same object, seen as another array of its memory is: `x.shape = …`."""
        self._chain, self.sizes, self.seen, self._read = other.chain, other.sizes, other.seen, None

    def seen_as(self, view: View) -> SymArray:
        made = SymArray(self.tracer, self.storage, (*self.chain, view))
        if self.may_be_a_copy():
            made.seen = self.seen
        return made

    def sources(self) -> tuple[tuple[Storage, Value], ...]:
        """The memory that a view of it shows, which is memory of its own here, and its value now."""
        return (self.storage, self.storage.value), *(self.storage.chosen_from or ())

    def is_stale(self) -> bool:
        """Whether what it stands for was written after it was made."""
        return any(was_written(self.tracer, *source) for source in self.storage.chosen_from or ())

    def _is_broadcast(self) -> bool:
        return any(view.operation == "broadcast_to" for view in self.chain)

    def is_read_only(self) -> bool | None:
        """Whether NumPy lets nobody write it, of an argument as it was in the recorded call. None where data decide."""
        return True if self._is_broadcast() else self.storage.read_only

    def is_made_read_only(self) -> bool | None:
        """The same of what the function makes, whatever the caller's arrays are."""
        return self.is_read_only() if self.storage.argument is None else self._is_broadcast()

    def may_be_a_copy(self) -> bool:
        return any(view.uncertain for view in self.chain)

    @property
    def strides(self) -> tuple[Any, ...]:
        """In bytes; known of C-contiguous arrays with elements, in which no axis of one element may have any stride, and of their
        slices."""
        if self.chain and self.chain[-1].operation == "index" and not self.chain[-1].uncertain:
            items = self.chain[-1].attributes["index"]
            if not any(isinstance(item, NewAxis) for item in items):
                around = SymArray(self.tracer, self.storage, self.chain[:-1]).strides
                steps = [
                    (stride, item.step) for stride, item in zip(around, items, strict=True) if isinstance(item, Slice)
                ]
                # NumPy takes no steps through no elements.
                return tuple(
                    stride * (step if number else 1) for (stride, step), number in zip(steps, self.shape, strict=True)
                )
        sizes: list[Any] = list(self.shape)
        of_data = any(map(self.tracer.is_of_data, self.sizes))
        is_known = self.is_scalar or not (of_data or any(self._is_short(size) for size in self.sizes))
        if not self.is_scalar and not self.is_c_contiguous():
            self.tracer.need_layout(self.storage.argument)
            is_known = False
        if not is_known:
            raise self.tracer.error(f"array.strides on {self._type_text()}", "they are known only of C-contiguous arrays with elements",
                                    "Take np.ascontiguousarray() of it, or np.lib.stride_tricks.sliding_window_view().")  # fmt: skip
        strides = [self.itemsize]
        for number in sizes[:0:-1]:
            strides.append(strides[-1] * number)
        return tuple(strides[::-1]) if sizes else ()

    def _is_short(self, size: Size) -> bool:
        """Whether an axis of that length may have any stride: of none elements, and beside others of one."""
        decide = self.tracer.decide
        return decide("==", size, 0) or (len(self.sizes) > 1 and decide("==", size, 1))

    @property
    def flags(self) -> Any:
        return OPERATIONS.flags_of(self)

    @property
    def flat(self) -> Any:
        return OPERATIONS.flat_of(self)

    def is_c_contiguous(self) -> bool:
        """For certain, in each call that the guards admit."""
        if not self.is_scalar and not self.storage.is_c_contiguous:
            return False
        shape: tuple[Size, ...] = self.storage.value.shape
        for view in self.chain:
            if view.operation == "broadcast_to" or (
                view.operation == "transpose" and view.attributes["axes"] != sorted(view.attributes["axes"])
            ):
                return False
            if view.operation == "index" and not self._is_one_block(view.attributes["index"], shape, view.shape):
                return False
            shape = view.shape
        return True

    def keeps_order_of_axes(self) -> bool:
        """Whether what NumPy computes of it element by element is C-contiguous, for certain: it lies in memory as C has it,
        perhaps with gaps."""
        if self.is_scalar or self.is_c_contiguous():
            return True
        return self.storage.is_c_contiguous and all(
            view.operation == "index"
            and all(isinstance(item, (Size, NewAxis)) or item.step > 0 for item in view.attributes["index"])
            for view in self.chain
        )

    def _is_one_block(self, items: list[Any], shape: tuple[Size, ...], seen: tuple[Size, ...]) -> bool:
        """Whether it picks one piece of C-contiguous memory: positions, then one slice, then whole axes."""
        axes = iter(shape)
        extents = iter(seen)
        part_taken = False
        for item in items:
            extent = None if isinstance(item, Size) else next(extents)
            whole = None if isinstance(item, NewAxis) else self.tracer.resolve(next(axes))
            if isinstance(item, NewAxis):
                continue
            if part_taken and (not isinstance(item, Slice) or self.tracer.resolve(extent) != whole or item.step != 1):  # type: ignore[arg-type]
                return False
            if isinstance(item, Slice):
                if item.step != 1:
                    return False
                part_taken = True
        return True

    # -- reading and writing -----------------------------------------------------------------------

    def read(self) -> Value:
        """The value at this point of the function."""
        if self.storage.chosen_from and self.is_stale():
            if self.storage.anew is None:
                raise self._of_stale()
            return self._through_views(self.storage.anew())
        if self.storage.elements_of is not None and was_written(self.tracer, *self.storage.elements_of):
            raise self._of_elements("reading a view of what a boolean mask picks out after that was written")
        if not self.chain:
            return self.storage.value
        if self.is_scalar and self._read is not None:
            return self._read[1]  # a NumPy scalar is a copy
        if self._read is None or self._read[0] != self.storage.version or not self.tracer.is_visible(self._read[1]):
            if self.may_be_a_copy() and root_of(self.tracer, self.storage.value) is not root_of(self.tracer, self.seen):
                asked = "reading a reshaped array after the array itself was written"
                raise self._of_no_layout(asked, "Reshape after the last write, or take a .copy().")
            self._read = (self.storage.version, self._through_views(self.storage.value))
        return self._read[1]

    def _through_views(self, value: Value) -> Value:
        chain = self.chain
        while chain:
            if len(chain) > 1 and (both := index_first(*chain[:2])) is not None:
                chain = (both, *chain[2:])
            value, chain = chain[0].apply(self.tracer, value), chain[1:]
        return value

    def _follow_apart(self) -> None:
        """Behind a write through a view that may be a copy: what is seen through it is in that memory."""
        while found := next(
            ((k, own) for view, own in self._storage.apart for k, one in enumerate(self._chain) if one is view), None
        ):
            position, self._storage = found
            self._chain, self._read = self._chain[position + 1 :], None
            self.seen = self._storage.value

    def _take_apart(self, position: int) -> bool:
        """Before a write through a view that may be a copy, of memory that the function has just made: a copy stands for what it
        shows, and nobody reads the memory itself from then on. Whether that can be."""
        storage = self.storage
        is_other = storage.part_of or storage.chosen_from or storage.elements_of or storage.may_be
        is_here = storage.value.home is self.tracer.blocks[-1] and storage.value.operation != "parameter"
        if storage.argument is not None or is_other or not is_here or storage.read_only is not False:
            return False
        whole = SymArray(self.tracer, storage, self.chain[: position + 1])
        whole.seen = self.seen
        own = Storage(whole.read())
        storage.apart.append((self.chain[position], own))
        storage.chosen_from = ((own, own.value),)
        return True

    def _of_no_layout(self, asked: str, what_to_do: str) -> Exception:
        self.tracer.need_layout(self.storage.argument)
        why = "whether NumPy's reshape is a view or a copy depends on the memory layout here"
        return self.tracer.error(asked, why, what_to_do)

    def _of_elements(self, asked: str) -> Exception:
        what = f"{asked}; it is one array in NumPy, and two here."
        return self.tracer.error_of(
            WrittenSelection, what, "Store under the mask itself (x[mask] = …), or use np.where."
        )

    def _of_stale(self) -> Exception:
        if self.storage.apart:
            asked = "reading an array after a reshaped array of it was written"
            return self._of_no_layout(asked, "Read it before the write, or reshape a .copy().")
        if self.storage.part_of:
            return self.tracer.error(
                f"reading .{self.storage.part_of} of an array after the array itself was written",
                "it is a view in NumPy and a copy here",
                f"Take .{self.storage.part_of} again after the write, or a .copy() before it.",
            )
        return self.tracer.error(
            "loops: reading what a loop or a branch on data chose after one of its arrays was written",
            "whose memory it is depends on the data",
            "Copy it where it is chosen (.copy()).",
        )

    def begin_write(self) -> None:
        """NumPy asks whether it may write also where it writes no element."""
        argument = self.storage.argument
        if argument is not None:
            self.tracer.written[argument.name] = argument
        is_read_only = self.is_read_only()
        if is_read_only is None:
            raise self.tracer.error(
                "writing into an array that a loop or a branch on data chose",
                "the data decide whether it is read-only",
                "Take a .copy() of what np.broadcast_to or np.diagonal gives.",
            )
        if is_read_only:
            raise ValueError("assignment destination is read-only")

    def write(self, value: Value) -> None:
        """Replace all that this array shows; `value` has its dtype and its shape."""
        argument = self.storage.argument
        is_copied = argument is not None and argument.kind == "hidden" and self.tracer.untaken is ON_DEVICE
        if argument is not None and (is_copied or not argument.may_be_written):
            is_of_an_argument = argument.path[:1] and argument.path[0][0] == "parameter"
            name = path_text(argument.path) if is_of_an_argument else argument.name
            raise self.tracer.error(
                f"writing into {name}, which lives outside of the function",
                "only arrays that are passed in are written in place",
                f"Pass it as an argument, or work on a copy ({name}.copy()).",
            )
        if argument is not None and argument.kind == "hidden" and len(self.tracer.blocks) > 1:
            self.tracer.need_stand_ins(argument.path)
        self.begin_write()
        for position, view in enumerate(self.chain):
            if view.uncertain and self._take_apart(position):
                break
            if view.uncertain:
                raise self._of_no_layout(
                    "writing through a reshaped array", "Write before the reshape, or take a .copy()."
                )
        shown = self.storage.shown
        if shown is not None and self.storage.part_of in PARTS and shown.block is self.tracer.blocks[-1]:
            self._write_part(shown.array, value)
            return
        if self.storage.part_of:
            raise self.tracer.error(
                f"writing into .{self.storage.part_of} of an array",
                "there is no rule for it",
                "Make the complex array from its parts (re + 1j * im)."
                if self.storage.part_of in PARTS
                else "Write into the array itself.",
            )
        if self.storage.elements_of is not None:
            raise self._of_elements("writing into a view of what a boolean mask picks out")
        if self.storage.apart:
            asked = "writing into an array after a reshaped array of it was written"
            raise self._of_no_layout(asked, "Write into one of them alone, or reshape a .copy().")
        if self.storage.chosen_from is not None:
            raise self.tracer.error(
                "loops: writing into an array that a loop or a branch on data chose",
                "whose memory it is depends on the data",
                "Write into a copy (.copy()), or before the loop or branch.",
            )
        self.storage.value = self._rebuilt(self.storage.value, self.chain, value)
        self.storage.version += 1

    def _write_part(self, whole: SymArray, value: Value) -> None:
        """Of a view that is the real or the imaginary part: the array itself is written."""
        tracer, name = self.tracer, self.storage.part_of
        if self.is_stale():
            raise self._of_stale()
        part, held = self._rebuilt(self.storage.value, self.chain, value), whole.read()
        other = tracer.add("imag" if name == "real" else "real", (held,), {}, part.dtype, held.shape)
        parts = (part, other) if name == "real" else (other, part)
        whole.write(tracer.add("complex", parts, {}, held.dtype, held.shape))
        self.storage.value, self.storage.version = part, self.storage.version + 1
        self.storage.chosen_from = whole.sources()

    def _rebuilt(self, base: Value, chain: tuple[View, ...], value: Value) -> Value:
        if not chain:
            return value
        chain = simplified(chain)
        view = chain[0]
        inner = self._rebuilt(view.apply(self.tracer, base), chain[1:], value) if len(chain) > 1 else value
        tracer = self.tracer
        if view.operation == "transpose":
            axes: list[int] = view.attributes["axes"]
            inverse = [axes.index(axis) for axis in range(len(axes))]
            return tracer.add("transpose", (inner,), {"axes": inverse}, base.dtype, base.shape)
        if view.operation == "reshape":
            return tracer.add("reshape", (inner,), {}, base.dtype, base.shape)
        items = view.attributes["index"]
        if any(isinstance(item, NewAxis) for item in items):
            kept = [item for item in items if not isinstance(item, Size)]
            drop = [Size.constant(0) if isinstance(item, NewAxis) else WHOLE for item in kept]
            shape = [n for n, item in zip(inner.shape, kept, strict=True) if not isinstance(item, NewAxis)]
            inner = tracer.add("index", (inner,), {"index": drop}, inner.dtype, shape)
            items = [item for item in items if not isinstance(item, NewAxis)]
        return tracer.add("update", (base, inner), {"index": items}, base.dtype, base.shape)

    # -- what NumPy code asks of an array ------------------------------------------------------------

    def in_place(self, ufunc: np.ufunc, other: Any) -> Any:
        return OPERATIONS.apply_in_place(self, ufunc, other)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(int_of(self.tracer, size) for size in self.sizes)

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def size(self) -> Any:
        return int_of(self.tracer, self.tracer.total(self.sizes))

    @property
    def T(self) -> SymArray:
        return self.transpose()

    @property
    def mT(self) -> SymArray:
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> SymArray:
        return self._part("real") if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        if self.dtype.kind == "c":
            return self._part("imag")
        number = SymArray.fresh(self.tracer, self.tracer.constant(0, self.dtype), is_scalar=self.is_scalar)
        if self.is_scalar:
            return number
        # New zeros; NumPy lets nobody write into them.
        made = SymArray.fresh(self.tracer, number.seen_as(View("broadcast_to", {}, self.sizes)).read(), is_scalar=False)
        made.storage.read_only = True
        made.storage.shown = Shown(self, self.tracer.blocks[-1], f"{OF}.imag")
        return made

    def _part(self, name: str) -> SymArray:
        value = self.read()
        part = self.tracer.add(name, (value,), {}, np.dtype(f"f{value.dtype.itemsize // 2}"), value.shape, name)
        made = SymArray.fresh(self.tracer, part, is_scalar=self.is_scalar)
        made.storage.part_of = name
        if not self.is_scalar:
            made.storage.chosen_from = self.sources()
            made.storage.shown = Shown(self, self.tracer.blocks[-1], f"{OF}.{name}")
        return made

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return OPERATIONS.call_numpy(self.tracer, function, (self, *args), kwargs)

    def _type_text(self) -> str:
        return f"{self.dtype}[{', '.join(str(self.tracer.resolve(size)) for size in self.sizes)}]"

    def described(self) -> str:
        return f"<array {self._type_text()}>"

    @property
    def __class__(self) -> Any:
        # Without source, the function's own isinstance(x, np.ndarray) is asked.
        if self.tracer.follow is not None:
            return SymArray
        return self.dtype.type if self.is_scalar else np.ndarray

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ of a traced array is fixed")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(np.ndarray, name):
            raise self.tracer.error(
                f"array.{name} on {self.dtype}[{', '.join(str(s) for s in self.sizes)}]",
            )
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def refused(self, what: str) -> Exception:
        return self.tracer.error(
            f"{what} of a traced array, {self._type_text()}",
            "its elements are known only when the compiled function runs",
            "Use np.where for a choice between values, or leave the branch or loop out of the compiled function.",
        )

    def known(self) -> Any:
        return known_value(self.tracer, self.read())

    __bool__, __complex__ = refusing("loops: the truth value", bool), refusing("the complex value", complex)
    __round__, tolist = refusing("round()", round), refusing(".tolist()", lambda known: known.tolist())
    argmax, argmin, argpartition, argsort, choose, cumsum, cumprod, diagonal, nonzero, repeat, searchsorted, take, trace = map(
        calling,
        ("argmax", "argmin", "argpartition", "argsort", "choose", "cumsum", "cumprod", "diagonal", "nonzero", "repeat", "searchsorted", "take", "trace"),
    )  # fmt: skip
    astype, ravel, squeeze, swapaxes = map(calling, ("astype", "ravel", "squeeze", "swapaxes"))

    def __hash__(self) -> int:
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        raise self.refused("the hash (as in a set or a dict)")

    def copy(self, order: str = "C") -> SymArray:
        # Of a scalar np.copy makes an array, the method a scalar.
        return self.of_one_kind() if self.is_scalar else self._call(np.copy, order)

    def item(self, *args: Any) -> Any:
        return OPERATIONS.item_of(self[args] if args else self)

    def __len__(self) -> int:
        if not self.sizes:
            raise TypeError("len() of unsized object")
        return self.tracer.fix(self.sizes[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.sizes:
            raise TypeError("iteration over a 0-d array")
        if self.tracer.value_of(self.sizes[0]) > MAX_UNROLLED_ITERATIONS:
            raise self.tracer.error(
                f"loops: iterating over {self.tracer.value_of(self.sizes[0])} rows of an array",
                f"a loop over a traced size is unrolled up to {MAX_UNROLLED_ITERATIONS} iterations in this release",
                "Write it with array operations, or leave the loop out of the compiled function.",
            )
        return (self[k] for k in range(self.tracer.fix(self.sizes[0])))

    def __getitem__(self, key: Any) -> Any:
        return OPERATIONS.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        OPERATIONS.set_item(self, key, value)

    def transpose(self, *axes: Any) -> SymArray:
        given = _given_as_one(axes)
        return self._call(np.transpose, None if len(given) == 0 or given[0] is None else given)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> SymArray:
        return self._call(np.reshape, tuple(_given_as_one(shape)), order=order, copy=copy)

    def view(self, dtype: Any = None, type: Any = None) -> SymArray:  # noqa: A002
        if type is not None:
            raise self.tracer.error(
                "ndarray.view(type=…)", "only arrays of NumPy's own class are compiled", LEAVE_IT_OUT
            )
        if dtype is None or np.dtype(dtype) == self.dtype:
            same = self.of_one_kind()
            return same if same.is_scalar else OPERATIONS.get_item(same, Ellipsis)  # type: ignore[no-any-return]
        return self._call(np.ndarray.view, dtype)

    def byteswap(self, *args: Any, **kwargs: Any) -> SymArray:
        return self._call(np.ndarray.byteswap, *args, **kwargs)

    def flatten(self, order: str = "C") -> SymArray:
        return OPERATIONS.flatten(self.tracer, self, order=order)

    def fill(self, value: Any) -> None:
        if getattr(value, "ndim", 0) and not isinstance(value, np.generic):
            raise ValueError("setting an array element with a sequence.")
        self[...] = value

    def conj(self) -> SymArray:
        # Of real arrays the method gives the array itself, np.conjugate a new one.
        return self._call(np.conjugate) if self.dtype.kind == "c" else self

    conjugate = conj

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return OPERATIONS.call_numpy(self.tracer, np.compress, (condition, self, axis, out), {})

    def sort(self, *args: Any, **kwargs: Any) -> None:
        self._call(np.ndarray.sort, *args, **kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        self._call(np.ndarray.partition, *args, **kwargs)

    def put(self, *args: Any, **kwargs: Any) -> None:
        self._call(np.ndarray.put, *args, **kwargs)


@contextmanager
def before_regions(array: SymArray, *others: Value) -> Iterator[SymArray]:
    """The array as it is before the loops and branches that are being traced and do not change it: what is made of it inside
    is made there, as far as the other values are known there too."""
    tracer = array.tracer
    value = root_of(tracer, array.storage.value) if len(tracer.blocks) > 1 else array.storage.value
    homes = [one.home for one in (value, *others)]
    depths = [next((k for k, block in enumerate(tracer.blocks) if block is home), None) for home in homes]
    known = [depth for depth in depths if depth is not None]
    if len(known) < len(homes) or max(known) + 1 >= len(tracer.blocks):
        yield array
        return
    open_loops = set(tracer.open_loops)
    with tracer.writing(tracer.blocks[max(known)]):
        yield SymArray(tracer, SymArray.fresh(tracer, value, is_scalar=False).storage, array.chain)
    tracer.open_loops |= open_loops


def _given_as_one(numbers: Any) -> Any:
    """Arguments that are numbers, or one tuple, list or array of them."""
    if len(numbers) != 1:
        return numbers
    return numbers[0] if isinstance(numbers[0], (tuple, list)) or getattr(numbers[0], "ndim", 0) == 1 else numbers


def was_written(tracer: Tracer, storage: Storage, value: Value) -> bool:
    """Whether memory has changed since it had this value."""
    return root_of(tracer, storage.value) is not root_of(tracer, value)


def root_of(tracer: Tracer, value: Value) -> Value:
    """The value that memory began with, where no loop or branch in between changes it; loops that are being traced are
    taken not to (settling.py sees to it)."""
    while True:
        if value.operation == "result":
            before = unchanged(value, {})
            if before is value:
                return value
            value = before
        elif value.operation == "parameter" and "initial" in value.attributes:
            if value.attributes["storage"] in tracer.known_to_change:
                return value
            tracer.taken_for_unchanged.add(value.number)
            value = value.attributes["initial"]
        else:
            return value
