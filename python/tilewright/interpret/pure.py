"""What may run while tracing: calls that are known to do nothing but compute a result from their arguments. Every other
call of code that is not followed would happen once, while tracing, and its result would be kept for ever."""

from __future__ import annotations

import inspect
import operator
import sys
import types
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..symbolic.operators import BINARY, python_operator


def _words(text: str) -> list[str]:
    return text.split()


# Of the standard library. Their functions keep nothing, and read nothing but their arguments.
MODULES = frozenset(
    _words("""
    builtins math cmath operator _operator itertools functools _functools collections _collections numbers string re
    copy typing dataclasses enum fractions decimal statistics
    """)
)

# Functions of these are not even followed: what they do, and what they give, is another matter at each call.
EFFECT_MODULES = frozenset(
    _words("""
    time datetime random os sys io socket subprocess shutil pathlib logging warnings threading multiprocessing asyncio
    urllib http requests tempfile pickle json csv gc secrets uuid getpass platform signal select glob fnmatch sqlite3
    posixpath genericpath contextvars weakref locale inspect importlib traceback array mmap zipfile gzip
    """)
)

# What happens at every call in plain Python would happen once, while tracing.
EFFECTS: dict[Any, str] = {
    print: "print()", input: "input()", open: "open()", exec: "exec()", eval: "eval()", compile: "compile()",
    breakpoint: "breakpoint()", setattr: "setattr()", delattr: "delattr()", globals: "globals()", locals: "locals()",
    vars: "vars()", __import__: "__import__()",
}  # fmt: skip

# NumPy's own, where no argument is traced. Left out is what reads files, memory of others or NumPy's settings.
_NUMPY_NAMES = _words("""
    all allclose amax amin angle any append apply_along_axis apply_over_axes arange argmax argmin argpartition argsort
    argwhere around array array_equal array_equiv array_split asanyarray asarray asarray_chkfinite ascontiguousarray
    asfortranarray astype atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr bincount blackman block
    broadcast_arrays broadcast_shapes broadcast_to busday_count busday_offset can_cast choose clip column_stack
    common_type compress concat concatenate convolve copy copyto corrcoef correlate count_nonzero cov cross cumprod cumsum
    cumulative_prod cumulative_sum datetime_as_string datetime_data delete diag diag_indices diag_indices_from diagflat
    diagonal diff digitize dot dsplit dstack ediff1d einsum einsum_path empty empty_like expand_dims extract eye
    fill_diagonal fix flatnonzero flip fliplr flipud format_float_positional format_float_scientific frombuffer
    fromfunction fromiter fromstring full full_like geomspace gradient hamming hanning histogram histogram2d
    histogram_bin_edges histogramdd hsplit hstack i0 identity imag in1d indices inner insert interp intersect1d is_busday
    isclose iscomplex iscomplexobj isdtype isfortran isin isneginf isposinf isreal isrealobj isscalar issubdtype iterable
    ix_ kaiser kron lexsort linspace logspace mask_indices matrix_transpose max mean median meshgrid min
    min_scalar_type mintypecode moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian
    nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim nonzero ones ones_like outer packbits pad
    partition percentile permute_dims piecewise place poly polyadd polyder polydiv polyfit polyint polymul polysub polyval
    prod promote_types ptp put put_along_axis putmask quantile ravel ravel_multi_index real real_if_close repeat require
    reshape resize result_type roll rollaxis roots rot90 round row_stack searchsorted select setdiff1d setxor1d shape
    sinc size sort sort_complex split squeeze stack std sum swapaxes take take_along_axis tensordot tile
    trace transpose trapezoid trapz tri tril tril_indices tril_indices_from trim_zeros triu triu_indices
    triu_indices_from typename union1d unique unique_all unique_counts unique_inverse unique_values unpackbits
    unravel_index unstack unwrap vander var vdot vsplit vstack where zeros zeros_like
""")
_NUMPY_MODULES = ("numpy.linalg", "numpy.fft", "numpy.polynomial", "numpy.strings", "numpy.char")
NUMPY = frozenset(id(function) for name in _NUMPY_NAMES if (function := getattr(np, name, None)) is not None) | {
    id(np.poly1d.deriv),
    id(np.poly1d.integ),
}
# Classes of NumPy's whose objects hold what they were given.
_NUMPY_CLASSES = (
    np.generic, np.ndarray, np.dtype, np.errstate, np.broadcast, np.ndindex, np.ndenumerate, np.iinfo, np.finfo, np.poly1d,
    np.flatiter, np.nditer, np._CopyMode, np.polynomial.polynomial.Polynomial,
)  # fmt: skip

# Of objects of these classes methods read nothing else.
PLAIN = (str, bytes, int, float, complex, tuple, range, slice, frozenset, types.MappingProxyType, np.ndarray, np.generic,
         np.dtype, np.poly1d)  # fmt: skip
_FILES = frozenset(["tofile", "dump"])
# Functions that change their first argument.
_IN_PLACE = [python_operator(f"i{name}") for name in BINARY]
_CHANGES_FIRST = [operator.setitem, operator.delitem, operator.iconcat, *_IN_PLACE]

MUTATORS = frozenset(
    _words("""
    append extend insert pop remove clear update add setdefault sort reverse popitem discard __setitem__ __delitem__
    appendleft popleft extendleft rotate move_to_end subtract difference_update intersection_update
    symmetric_difference_update __iadd__ __imul__ __ior__ __iand__ __isub__ __ixor__
    """)
)


def look_up(table: Mapping[Any, Any], key: Any) -> Any:
    """What a table has for a key that may have no hash; None where it has nothing."""
    try:
        return table.get(key)
    except TypeError:
        return None


def is_numpys(function: types.FunctionType) -> bool:
    """Whether a function is of NumPy's own source, which is followed as it is."""
    return module_of(function).split(".")[0] == "numpy"


def module_of(function: Any) -> str:
    """Where a function is from. Python's own may say that they are of another package: functools.wraps makes them."""
    said = str(getattr(function, "__module__", None) or "")
    if not isinstance(function, types.FunctionType):
        return said
    found = str(function.__globals__.get("__name__") or "")
    return said if said.partition(".")[0] == found.partition(".")[0] else found


def is_pure_numpy(function: Any) -> bool:
    """Whether a function of NumPy's that no argument makes a traced call may run."""
    module = module_of(function)
    return id(function) in NUMPY or module.startswith(_NUMPY_MODULES)


def is_pure_class(cls: type) -> bool:
    """Whether making an object keeps and reads nothing: exceptions, Python's own containers and iterators, NumPy's numbers."""
    if issubclass(cls, np.memmap):
        return False
    if issubclass(cls, (BaseException, *_NUMPY_CLASSES)):
        return True
    return cls.__module__.split(".")[0] in MODULES


_OPERATORS = [f"__{name}__" for name in _words("""
    add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod pow rpow
    ipow matmul rmatmul imatmul and rand iand or ror ior xor rxor ixor lshift rlshift ilshift rshift rrshift irshift neg pos
    abs invert eq ne lt le gt ge hash bool len iter next reversed contains getitem setitem delitem call int float complex
    index round trunc floor ceil str repr format array
""")]  # fmt: skip


def has_own_operators(cls: type) -> bool:
    """Whether code of the user's answers for what Python does with objects of the class beside reading their attributes."""
    return any(_is_users(getattr(cls, name, None)) for name in _OPERATORS)


def is_generic_by_itself(cls: type) -> bool:
    """Whether code of the user's answers for `cls[key]`."""
    return _is_users(getattr(getattr(cls, "__class_getitem__", None), "__func__", None))


def _is_users(function: Any) -> bool:
    return (
        isinstance(function, types.FunctionType)
        and str(function.__globals__.get("__name__")).split(".")[0] not in sys.stdlib_module_names
        and not is_numpys(function)
    )


def is_named_tuple(cls: type) -> bool:
    """Whether objects of the class are tuples with names for their parts, and no dunder method says otherwise."""
    if not issubclass(cls, tuple) or not hasattr(cls, "_fields"):
        return False
    for base in cls.__mro__[: cls.__mro__.index(tuple)]:
        for name, held in vars(base).items():
            function = held.__func__ if isinstance(held, staticmethod) else held  # __new__ is one
            if name.startswith("__") and isinstance(function, types.FunctionType) and not is_of_namedtuple(function):
                return False
    return True


def is_of_namedtuple(function: types.FunctionType) -> bool:
    module = str(function.__globals__.get("__name__"))
    return module == "collections" or module.startswith("namedtuple_")


def is_pure_method(function: Any, owner: Any) -> bool:
    """Whether a method of C of this object may run."""
    if isinstance(owner, types.ModuleType) or owner is None:
        return module_of(function).split(".")[0] in MODULES
    if isinstance(owner, type):
        return is_pure_class(owner)
    return isinstance(owner, PLAIN) and function.__name__ not in _FILES


def changes_first(function: Any) -> bool:
    """Whether a function of the operator module changes its first argument."""
    return any(function is one for one in _CHANGES_FIRST)


def _is_record(kind: type) -> bool:
    """What functions that pybind11 makes have in the place of their module."""
    return kind.__name__ == "PyCapsule" or kind.__module__.startswith("pybind11")


def may_be_stage(function: Any) -> bool:
    """Whether Python may call a function between kernels, whatever it does: not a method of something that the call makes or
    is handed, which no later call has, and nothing that goes on behind the call."""
    owner = getattr(function, "__self__", None)
    is_of_module = owner is None or isinstance(owner, (types.ModuleType, type)) or _is_record(type(owner))
    if isinstance(function, (types.MethodType, type)) or not is_of_module:
        return False
    return look_up(_NEVER_STAGES, function) is None and not inspect.isgeneratorfunction(function)


# They are about the function that calls them or about where elements lie, go on later, or set what compiled code does not look at.
_NEVER_STAGES = dict.fromkeys(
    [
        np.shares_memory, np.may_share_memory, np.lib.array_utils.byte_bounds, np.seterr, np.seterrcall, np.setbufsize, np.lib.stride_tricks.as_strided, warnings.simplefilter, warnings.filterwarnings,
        warnings.resetwarnings, super, locals, globals, vars, dir, exec, eval, compile, breakpoint, __import__, iter, next, map,
        filter, zip, enumerate, reversed, setattr, delattr, id, type, isinstance, issubclass, callable, range, slice, memoryview, object,
    ],
    True,
)  # fmt: skip
