"""What becomes of every public name of NumPy: a kernel, a library's call, a stage, or a refusal, for each class of dtypes.

Each name is called as its line in CASES says (ufuncs: as their number of operands says), is traced as `strict=True` traces
it, and its program is run by the oracle beside NumPy. Nothing is compiled: whether a kernel, a library or Python computes a
part is decided by the trace. `python tests/python/numpy_names.py` writes python/numpy_names.md.
"""

from __future__ import annotations

import copy
import inspect
import linecache
import operator
import re
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.errors import Error, TraceError
from tilewright.interpret.watched import run_watched
from tilewright.native import compiler
from tilewright.trace import Traced, trace
from trace_cases import run_program

PAGE = Path(__file__).resolve().parents[2] / "python" / "numpy_names.md"
CLASSES = {
    "bool": "?", "int/uint": "l b h i B H I L", "float16": "e", "float32/64": "d f", "complex": "D F",
}  # fmt: skip
LIBRARY = re.compile(r"(?m)^\s*[%\w]+: [^=]* = (?:matmul|matvec|dot)\(")

# What stands in the calls: of the class's dtype v and w of 5 elements, x of 5 in order, m and o of 3 rows and 4 columns, s and q
# of 3 by 3, t of 2 by 3 by 4, c of 1 element; i and j are positions, k a mask like m, b one like v, n is 2, f a number.
CASES = """
np
all any amax amin argmax argmin max min sum prod mean std var ptp median | (m, axis=1)
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar | (m, axis=1)
cumprod cumsum cumulative_prod cumulative_sum | (m, axis=1)
percentile nanpercentile | (m, 30, axis=1)
quantile nanquantile | (m, 0.3, axis=1)
count_nonzero | (m, axis=0)
average | (m, axis=0, weights=np.array([1.0, 2.0, 3.0]))
allclose isclose | (v, w)
array_equal array_equiv | (v, w)
angle around fix i0 imag real iscomplex isreal isneginf isposinf nan_to_num real_if_close round sinc | (m)
iscomplexobj isfortran isrealobj isscalar iterable ndim shape size common_type min_scalar_type | (m)
astype | (m, np.float64)
append | (v, w)
apply_along_axis | (np.sum, 1, m)
apply_over_axes | (np.sum, t, [0, 2])
arange | (n, n + 7, 3)
argsort sort partition argpartition sort_complex | (v) (v) (v, 2) (v, 2) (v)
argwhere flatnonzero nonzero | (m)
array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray copy require | (m)
array_split split | (m, 2, axis=1)
dsplit | (t, 2)
hsplit | (m, 2)
vsplit | (t, 2)
unstack | (m)
atleast_1d atleast_2d atleast_3d | (m)
bartlett blackman hamming hanning | (n + 5)
kaiser | (n + 5, 2.0)
bincount | (i)
block | ([[m, m], [m, m]])
broadcast_arrays | (m, m[0])
broadcast_shapes | (m.shape, (1, 4))
broadcast_to | (v, (3, 5))
can_cast promote_types result_type | (m.dtype, np.float64) (m.dtype, np.float64) (m, np.float32)
choose | (i, (v[:3], w[:3], v[:3]))
clip | (m, c[0], 3)
column_stack | ((v, m.reshape(-1)[:5]))
dstack hstack row_stack stack vstack concat concatenate | ((m, m))
compress extract place | (b, v) (k, m) (m, k, v)
convolve correlate | (v, v[:3])
copyto | (m, m[0])
corrcoef cov | (m)
cross | (s, s[0])
delete | (v, 1)
diag diagflat diagonal fliplr flipud flip rot90 trace | (m)
diag_indices | (n)
diag_indices_from | (s)
diff gradient trapezoid | (m, axis=1)
digitize searchsorted | (v, x) (x, v)
dot | (m, s[:, 0] if False else m[0])
inner outer vdot kron | (v, w)
ediff1d | (v)
einsum | ("ij,kj->ik", m, m)
einsum_path | ("ij,kj->ik", m, m)
empty ones zeros identity eye tri | ((n, 3)) ((n, 3)) ((n, 3)) (n + 1) (n + 1) (n + 1)
empty_like ones_like zeros_like | (m)
full full_like | ((n, 3), c[0]) (m, c[0])
expand_dims | (m, 1)
fill_diagonal | (s, 3)
fromfunction | (lambda r, e: r + e, (3, 4))
geomspace linspace logspace | (1, 8, 5)
histogram histogram_bin_edges | (v, 3)
histogram2d | (v, w, 3)
histogramdd | (m, 2)
indices | ((3, n))
insert | (v, 1, c[0])
interp | (v, x, x)
intersect1d setdiff1d setxor1d union1d isin | (v, w)
isdtype issubdtype mintypecode typename | (m.dtype, "integral") (m.dtype, np.integer) (m.dtype.char) (m.dtype.char)
ix_ | (i, i)
lexsort | ((v, w))
mask_indices | (n + 1, np.triu)
matrix_transpose transpose permute_dims squeeze ravel | (m)
may_share_memory shares_memory | (m, m)
meshgrid | (v, w)
moveaxis rollaxis swapaxes | (t, 0, 2)
packbits | (m)
unpackbits | (np.arange(n).astype(np.uint8))
pad | (m, 1)
piecewise | (v, [b, ~b], [1, 2])
poly | (v[:3])
polyadd polysub polymul polydiv polyval | (v, w)
polyder polyint roots | (v)
polyfit | (x, v, 1)
put putmask | (v, i, w[:3]) (m, k, m)
put_along_axis | (m, np.argsort(m, axis=1), 1, 1)
ravel_multi_index | ((i, i), (3, 4))
unravel_index | (i, (3, 4))
repeat tile roll | (m, 2)
reshape resize | (m, (4, 3))
select | ([k, ~k], [m, o])
take | (v, i)
take_along_axis | (m, np.argsort(m, axis=1), 1)
tensordot | (m, m, 2)
tril triu tril_indices_from triu_indices_from | (m)
tril_indices triu_indices | (n + 1)
trim_zeros | (v)
unique unique_all unique_counts unique_inverse unique_values | (v)
unwrap | (v)
vander | (v, 3)
where | (k, m, o)
mgrid ogrid | [0:3, 0:n]
c_ r_ | [v, w]
s_ index_exp | [1:2]
np.linalg
cholesky | (p)
cond det inv eig eigh eigvals eigvalsh matrix_rank pinv qr slogdet svd svdvals trace diagonal matrix_transpose | (p)
matrix_norm norm vector_norm | (m)
matrix_power | (s, 3)
cross | (s, s)
matmul tensordot | (s, q)
multi_dot | ([s, q, s])
outer vecdot | (v, w)
solve lstsq | (p, p[0]) (p, p[0])
tensorinv | (p, ind=1)
tensorsolve | (p, p[0])
np.fft
fft ifft rfft irfft hfft ihfft | (m)
fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn fftshift ifftshift | (m)
fftfreq rfftfreq | (n + 6, 0.5)
ndarray
T device mT dtype flags imag itemsize nbytes ndim real shape size strides | m.
flat | m.flat[3]
all any argmax argmin cumprod cumsum max min mean prod std sum var | m.(axis=1)
argpartition argsort partition sort | v.(2) v.() v.(2) v.()
astype | m.(np.float64)
byteswap conj conjugate copy diagonal flatten nonzero ravel round squeeze tolist trace transpose | m.()
choose | i.((v[:3], w[:3], v[:3]))
clip | m.(c[0], 3)
compress | v.(b)
dot | m.(m[0])
fill | m.(1)
item | c.()
put | v.(i, w[:3])
repeat | m.(2)
reshape | m.((4, 3))
resize | v.(8, refcheck=False)
searchsorted | x.(v)
swapaxes | m.(0, 1)
take | v.(i)
view | m.()
__bool__ | bool(c)
__complex__ | complex(c[0])
__float__ | float(c[0])
__index__ | operator.index(c[0])
__int__ | int(c[0])
__len__ | len(m)
__iter__ | [*m]
__contains__ | 1 in m
__copy__ __deepcopy__ | m.() m.({})
__divmod__ | divmod(m, o)
__rdivmod__ | divmod(3, o)
__getitem__ | m.(1)
__setitem__ | m.(1, 2)
__abs__ __invert__ __neg__ __pos__ | m.()
__add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __le__ __lshift__ __lt__ __mod__ __mul__ __ne__ __or__ | m.(o)
__pow__ __rshift__ __sub__ __truediv__ __xor__ | m.(o)
__radd__ __rand__ __rfloordiv__ __rlshift__ __rmod__ __rmul__ __ror__ __rrshift__ __rsub__ | m.(o)
__rtruediv__ __rxor__ __rpow__ | m.(o)
__iadd__ __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __ior__ __ipow__ __irshift__ __isub__ | m.(o)
__itruediv__ __ixor__ | m.(o)
__matmul__ __rmatmul__ __imatmul__ | s.(q)
Generator
beta binomial f gamma gumbel laplace logistic lognormal noncentral_chisquare normal uniform vonmises wald | 2/3
chisquare exponential geometric pareto poisson power rayleigh standard_gamma standard_t weibull | 1/3
logseries | g.(0.5, 3)
zipf | g.(2.5, 3)
random standard_cauchy standard_exponential standard_normal | g.(3)
negative_binomial | g.(3, 0.5, 3)
hypergeometric | g.(5, 6, 4, 3)
noncentral_f triangular | g.(3, 4, 1.5, 3) g.(1, 2, 3, 3)
integers | g.(9, size=3)
choice permutation permuted | g.(x, 3) g.(x) g.(x)
shuffle | g.(x)
dirichlet | g.([1.0, 2.0], 3)
multinomial | g.(5, [0.5, 0.5], 3)
multivariate_normal | g.([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], 3)
multivariate_hypergeometric | g.([4, 5], 3, 3)
"""

# Names whose call makes no sense in a function of numbers, and why.
LEFT_OUT = {
    "files, text and buffers of bytes": """array2string base_repr binary_repr array_repr array_str asmatrix datetime_as_string format_float_positional
        format_float_scientific fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed
        dump dumps tofile __repr__ __str__ __format__ ctypes data memmap""",
    "calendars: their elements are no numbers": """busday_count busday_offset datetime_data is_busday isnat busdaycalendar""",
    "memory and bytes of an array, no numbers": """tobytes frombuffer from_dlpack bytes fromiter getfield setfield to_device base setflags""",
    "settings of NumPy and of the process": """get_include get_printoptions getbufsize geterr geterrcall info printoptions
        set_printoptions setbufsize seterr seterrcall show_config show_runtime test errstate""",
    "iterators and objects that are no arrays": """nested_iters broadcast flatiter ndenumerate ndindex nditer poly1d bmat
        matrix frompyfunc ufunc finfo iinfo dtype vectorize spawn bit_generator""",
    "Python's own protocols, which the language calls": """__array_finalize__ __array_function__ __array_interface__
        __array_namespace__ __array_priority__ __array_struct__ __array_ufunc__ __array_wrap__ __class__ __class_getitem__
        __delattr__ __delitem__ __dir__ __dlpack__ __dlpack_device__ __doc__ __getattribute__ __getstate__ __hash__ __init__
        __init_subclass__ __new__ __array__ __reduce__ __reduce_ex__ __setattr__ __setstate__ __sizeof__ __subclasshook__ __buffer__""",
}
TYPES = "classes of arrays, dtypes, exceptions, constants and submodules"

METHODS_OF_UFUNCS = ("out=", "where=", "dtype=", "casting=", "reduce", "accumulate", "reduceat", "outer", "at")


@dataclass(frozen=True)
class Name:
    """A name, and how it is called."""

    group: str
    name: str
    call: str
    option: str = ""  # of a ufunc


def left_out() -> dict[str, str]:
    return {name: why for why, names in LEFT_OUT.items() for name in names.split()}


def public(owner: Any) -> list[str]:
    """The functions and methods of an owner."""
    names = [name for name in dir(owner) if name[0] != "_" or (owner is np.ndarray and name.startswith("__"))]
    if owner is np.ndarray or owner is np.random.Generator:
        return names
    found = [name for name in names if callable(getattr(owner, name)) and not inspect.isclass(getattr(owner, name))]
    return found + [name for name in ("c_", "index_exp", "mgrid", "ogrid", "r_", "s_") if owner is np]


OWNERS = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "ndarray": np.ndarray, "Generator": np.random.Generator}


def written_calls() -> dict[tuple[str, str], str]:
    """What CASES says: (group, name): the call."""
    calls: dict[tuple[str, str], str] = {}
    group = ""
    for line in CASES.strip().splitlines():
        names, bar, given = line.partition(" | ")
        if not bar:
            group = line
            continue
        if count := re.fullmatch(r"(\d)/3", given):
            given = "g.(" + "v0, " * int(count[1]) + "3)"
            given = given.replace("v0, v0", "1.5, 0.75" if int(count[1]) == 2 else "").replace("v0", "0.75")
        ways = re.split(r"(?<=[)]) (?=[\w]*[.(])", given) if len(names.split()) > 1 else [given]
        for k, name in enumerate(names.split()):
            way = ways[k] if len(ways) == len(names.split()) else given
            before, dot, after = way.partition(".") if group in ("ndarray", "Generator") else ("", "", way)
            if group == "ndarray" and (not re.fullmatch(r"[a-z]", before) or not dot):
                calls[group, name] = way
            elif dot:
                calls[group, name] = f"{before}.{after}" if f".{name}" in way else f"{before}.{name}{after}"
            else:
                calls[group, name] = f"{group}.{name}{way}"
    return calls


def call_of_ufunc(name: str, option: str) -> str:
    ufunc = getattr(np, name)
    shifts = "shift" in name
    first, second = ("m", "e") if shifts or name in ("ldexp",) else ("m", "o")
    if ufunc.signature:
        first, second = {"matmul": ("s", "q"), "matvec": ("s", "q[0]"), "vecmat": ("s[0]", "q"), "vecdot": ("s", "q")}[
            name
        ]
    given = first if ufunc.nin == 1 else f"{first}, {second}"
    one = "1" if ufunc.nin == 2 else ""
    return {
        "": f"np.{name}({given})",
        "out=": f"np.{name}({given}, out=like(np.{name}, {given}))",
        "where=": f"np.{name}({given}, out=like(np.{name}, {given}), where=k)",
        "dtype=": f"np.{name}({given}, dtype=np.float64)",
        "casting=": f'np.{name}({given}, casting="unsafe")',
        "reduce": f"np.{name}.reduce({first}, axis=1)",
        "accumulate": f"np.{name}.accumulate({first}, axis=1)",
        "reduceat": f"np.{name}.reduceat({first}, [0, 2], axis=1)",
        "outer": f"np.{name}.outer(v, {'e' if second == 'e' else 'w'})",
        "at": f"np.{name}.at(v, i{', ' * bool(one)}{one})",
    }[option]


@cache
def names() -> tuple[Name, ...]:
    calls, skipped = written_calls(), left_out()
    found = []
    for group, owner in OWNERS.items():
        for name in public(owner):
            if (group, name) in calls:
                found.append(Name(group, name, calls[group, name]))
            elif name in skipped:
                continue
            elif isinstance(getattr(owner, name), np.ufunc):
                found.append(Name("ufuncs", name, call_of_ufunc(name, "")))
            else:
                found.append(Name(group, name, ""))
    return tuple(found)


def options() -> Iterator[Name]:
    for name in [one.name for one in names() if one.group == "ufuncs"]:
        ufunc = getattr(np, name)
        if ufunc.__name__ != name:
            continue  # another name of the same ufunc
        for option in METHODS_OF_UFUNCS:
            takes = {
                "reduce": ufunc.nin == 2, "accumulate": ufunc.nin == 2, "reduceat": ufunc.nin == 2, "outer": ufunc.nin == 2,
                "where=": not ufunc.signature and ufunc.nout == 1,
            }.get(option, True)  # fmt: skip
            one_result = ufunc.nout == 1 and not ufunc.signature
            if (
                takes
                and (one_result or option in ("out=", "dtype=", "casting="))
                and (ufunc.nout == 1 or option != "out=")
            ):
                yield Name("options", name, call_of_ufunc(name, option), option)


@cache
def function_of(call: str) -> Any:
    used = [name for name in dict.fromkeys(re.findall(r"(?<![\w.\"])([a-z])(?![\w(\"=])", call))]
    like = re.search(r"like\(np\.(\w+), (.*?)\)(?=[,)])", call)
    if like:
        used.append("y")
        call = call.replace(like[0], "y")
    writes = re.search(
        r"\.at\(|^np\.(put|place|copyto|fill_diag)|\.(sort|partition|fill|put|resize|setf|__set)|shuffle", call
    )
    if re.match(r"np\.(sort|partition|arg)", call):
        writes = None
    target = (
        re.search(r"[a-z](?=[,. )])", call.partition("(")[2] if call.startswith(("np", "g")) else call)
        if writes
        else None
    )
    used = [name for name in used if not re.search(rf"lambda [^:]*\b{name}\b", call)]
    body = f"    answer = {call}\n    return answer, {target[0]}\n" if target else f"    return {call}\n"
    text = f"def f({', '.join(used)}):\n{body}"
    name = f"<{call}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np, "operator": operator}
    exec(compile(text, name, "exec"), scope)
    scope["f"].like = like and like[1]
    return scope["f"]


def values(dtype: np.dtype[Any]) -> dict[str, Any]:
    rng = np.random.default_rng(5)

    def made(*shape: int) -> Any:
        held: Any = rng.integers(0, 6, shape)
        if dtype.kind in "fc":
            held = held / 4 + 0.5
        if dtype.kind == "c":
            held = held + 1j * rng.integers(0, 3, shape)
        return (held % 2 if dtype.kind == "b" else held).astype(dtype)

    p: Any = np.array([[9, 2, 1], [2, 7, 3], [1, 3, 8]])
    return {
        "v": made(5), "w": made(5), "x": np.sort(made(5)), "m": made(3, 4), "o": made(3, 4) + dtype.type(1), "s": made(3, 3),
        "q": made(3, 3), "t": made(2, 3, 4), "c": made(1), "i": np.array([2, 0, 1]), "k": made(3, 4) > 1,
        "b": np.array([True, False, True, True, False]), "n": 2, "p": (p > 2 if dtype.kind == "b" else p).astype(dtype),
        "e": rng.integers(0, 3, (3, 4)).astype(dtype if dtype.kind in "iu" else np.int64),
        "g": np.random.default_rng(3),
    }  # fmt: skip


def arguments(function: Any, dtype: np.dtype[Any]) -> list[Any]:
    given = values(dtype)
    if function.like:
        operands = [name for name in inspect.signature(function).parameters if name in "vwmosqe"]
        ufunc = getattr(np, function.like)
        answer = ufunc(*[given[name] for name in operands]) if not ufunc.signature else ufunc(given["s"], given["q"])
        given["y"] = np.ones_like(answer)
    return [given[name] for name in inspect.signature(function).parameters]


def same(got: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        return isinstance(got, (tuple, list)) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, np.random.Generator):
        return True
    if not isinstance(want, (np.ndarray, np.generic)):
        return type(got) is type(want) and bool(np.all(got == want) or np.isnan(got))
    if getattr(got, "dtype", None) != want.dtype or np.shape(got) != want.shape:
        return False
    if want.dtype.kind not in "fc":
        return bool(np.array_equal(got, want))
    near = {2: 2e-3, 4: 1e-5, 8: 1e-12}[want.dtype.itemsize // (1 + (want.dtype.kind == "c"))]
    return bool(np.allclose(got, want, rtol=near, atol=near, equal_nan=True))


def outcome(call: str, dtype: np.dtype[Any]) -> str:
    """What becomes of a call: a class, "" where NumPy refuses it, else the reason of a refusal."""
    if not call:
        return "no call of it is tried"
    function = function_of(call)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            numpys = arguments(function, dtype)
            mine = copy.deepcopy(numpys)
            want = function(*numpys)
        except Exception as error:
            return _of_an_error(function, dtype, error)
        try:
            traced = _traced(function, mine)
        except TraceError as refusal:
            return f"refused: {_short(refusal)}"
        except Exception as error:
            return f"wrong: {type(error).__name__}: {error}"
        if traced.fallback_reason and not traced.fallback_reason.startswith("it returns"):
            return f"refused: {traced.fallback_reason}"
        if traced.program_text and not traced.fallback_reason and (why := _untranslated(traced.program_text)):
            return f"refused: {why}"
        stages = {stage.name for stage in traced.stages.values()} - {""}
        if not traced.generators and not call.startswith("g.") and "empty" not in call:
            try:
                got = run_program(traced, mine)
            except Exception as error:
                return f"wrong: the oracle: {type(error).__name__}: {error}"
            if any(isinstance(one, np.ndarray) for one in _flat(want)) and not same(got, want):
                return f"wrong: {got!r} for {want!r}"
    if stages:
        return "stage"
    if LIBRARY.search(traced.program_text):
        return "library"
    return "view" if traced.untouched or traced.fallback_reason else "kernel"


def _traced(function: Any, given: list[Any]) -> Traced:
    """The trace of a call, whose callees without a row are seen first."""
    try:
        return trace(function, given)
    except TraceError as refusal:
        if not refusal.not_seen:
            raise
        run_watched(function, tuple(copy.deepcopy(given)), {})
        return trace(function, given)


def _of_an_error(function: Any, dtype: np.dtype[Any], error: Exception) -> str:
    """NumPy refuses it: so must we, with the same error, or a refusal."""
    try:
        traced = trace(function, arguments(function, dtype))
        if not traced.fallback_reason:
            run_program(traced, arguments(function, dtype))
    except TraceError:
        return ""
    except Exception as other:
        checks = type(other).__name__ in ("CheckFailed", "GuardFailed") or isinstance(other, type(error))
        return "" if checks else f"wrong: {type(other).__name__}: {other} for {type(error).__name__}: {error}"
    return f"wrong: no {type(error).__name__}: {error}" if not traced.fallback_reason else ""


def _untranslated(text: str) -> str:
    """Why the translator refuses a program: what it says behind the place."""
    try:
        compiler().default_schedule(text, {}, "x86-64-v3", 2)
    except Error as refusal:
        return str(refusal).rpartition(": ")[2].splitlines()[0]
    return ""


def _flat(value: Any) -> Iterable[Any]:
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, (tuple, list)) else [value]


def _short(refusal: TraceError) -> str:
    text = str(refusal).partition(": ")[2].splitlines()[0]
    return re.sub(r"^.*?, in f: ", "", text) or str(refusal)


ORDER = ("kernel", "library", "view", "stage")


LEAST = "L"  # the integers of which most is refused: no other type holds them all


def outcomes(call: str, quick: bool = False) -> dict[str, str]:
    """For each class of dtypes the outcome that is least: of refusals the first. Quick: of the first of a class and of LEAST."""
    found = {}
    for name, codes in CLASSES.items():
        tried = [code for place, code in enumerate(codes.split()) if not quick or place == 0 or code == LEAST]
        each = [outcome(call, np.dtype(code)) for code in tried]
        bad = [one for one in each if one and one not in ORDER]
        some = [one for one in each if one]
        found[name] = bad[0] if bad else max(some, key=ORDER.index, default="")
    return found


def refusals(rows: Sequence[tuple[Name, dict[str, str]]]) -> Iterator[str]:
    for name, row in rows:
        reasons: dict[str, list[str]] = {}
        for where, one in row.items():
            if one and one not in ORDER:
                reasons.setdefault(one, []).append(where)
        for one, where in reasons.items():
            yield f"{name.group} {name.name} {name.option} ({', '.join(where)}): {name.call}: {one}"


def shown(row: dict[str, str]) -> str:
    """The cells of a row."""
    return " | ".join("refused" if one and one not in ORDER else one or "–" for one in row.values())


def is_whole(row: dict[str, str]) -> bool:
    """Whether a name compiles for each class."""
    return all(cell in ORDER for cell in row.values() if cell)


def page(rows: Sequence[tuple[Name, dict[str, str]]]) -> str:
    """python/numpy_names.md."""
    plain = [(one, row) for one, row in rows if not one.option]
    whole = sum(map(is_whole, [row for _, row in plain]))
    cells = [cell for _, row in rows for cell in row.values() if cell]
    counts = ", ".join(f"{sum(cell == kind for cell in cells)} {kind}" for kind in ORDER)
    lines = [
        "# NumPy's names",
        "",
        "Written by `python tests/python/numpy_names.py --write`; `test_numpy_names.py` fails where it says what is not so.",
        "",
        "What becomes of a call of each public function of numpy, numpy.linalg and numpy.fft, each method of arrays and of",
        "`numpy.random.Generator`, under `strict=True`, for each class of dtypes that NumPy takes (– : it takes none of them):",
        "",
        "| word | is |",
        "|---|---|",
        "| kernel | compiled code computes it |",
        "| library | compiled code, or the BLAS that NumPy has loaded |",
        "| view | shapes and dtypes say it: a view, or what is known; a function that computes nothing else is run by NumPy |",
        "| stage | NumPy computes it between kernels |",
        "| refused | strict mode raises a TraceError; reasons are below |",
        "",
        "The call is one of ordinary arguments; other options of the same name may be a stage, or refused, with a sentence",
        "that says why. Of a class the dtype counts that gets least.",
        "",
        f"**Kernel, library, view or stage for {100 * whole / len(plain):.1f} % of the names** ({whole} of {len(plain)}).",
        f"All cells: {counts}, {sum(cell not in ORDER for cell in cells)} refused.",
    ]
    titles = {"np": "numpy: functions", "ufuncs": "numpy: ufuncs", "np.linalg": "numpy.linalg", "np.fft": "numpy.fft",
              "ndarray": "methods and attributes of arrays", "Generator": "numpy.random.Generator",
              "options": "options and methods of ufuncs"}  # fmt: skip
    for group, title in titles.items():
        same_rows: dict[tuple[str, str], list[str]] = {}
        for one, row in rows:
            if one.group == group:
                same_rows.setdefault((one.option, shown(row)), []).append(one.name)
        first = "option | " if group == "options" else ""
        lines += ["", f"## {title}", "", f"| {first}names | {' | '.join(CLASSES)} |", "|---" * (6 + bool(first)) + "|"]
        for (option, cells_shown), named in same_rows.items():
            for part in textwrap.wrap(" ".join(sorted(named)), 66, break_on_hyphens=False):
                lines.append(f"| {option + ' | ' if first else ''}{part} | {cells_shown} |".replace("__", "\\_\\_"))
    lines += [
        "",
        "## Refused, and why",
        "",
    ]
    for line in refusals(rows):
        lines += textwrap.wrap(f"* {line}", 150, subsequent_indent="  ", break_on_hyphens=False)
    lines += ["", "## Left out", "", f"Not functions: {TYPES}."]
    for why, named_text in LEFT_OUT.items():
        lines += [
            "",
            *textwrap.wrap(f"{why[0].upper()}{why[1:]}: {' '.join(f'`{n}`' for n in named_text.split())}.", 150),
        ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def everything(quick: bool = False) -> list[tuple[Name, dict[str, str]]]:
    return [(one, outcomes(one.call, quick)) for one in [*names(), *options()]]


if __name__ == "__main__":
    found = everything()
    if "--write" in sys.argv:
        PAGE.write_text(page(found))
    print("\n".join(refusals(found)))
