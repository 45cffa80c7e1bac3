"""The whole text of each TraceError: where, what was asked, why not, what to do."""

from __future__ import annotations

import inspect
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import trace_helpers
import trace_refused
from tilewright import TraceError
from tilewright.symbolic.stages import ONLY_KERNELS
from tilewright.trace import trace
from trace_cases import raises_like_numpy

pytestmark = pytest.mark.fast

X = np.arange(5.0)
MODEL = trace_helpers.Model(X, 1.0)
# What each function is called with, where it is not X alone.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "size_from_data": (X, np.array([4, 1])),
    "loop_that_widens": (np.arange(100.0),),
    **dict.fromkeys(
        (
            "writes_and_rebinds",
            "loop_that_sets_an_outer_variable",
        ),
        (X, 1000),
    ),
    "spawns_generators": (X, np.random.default_rng(0)),
    "remembers": (X, MODEL),
    "changes": (X, trace_refused.Guarded(X, 1.0)),
    "matches": (X, "a"),
    "deletes_attribute": (X, MODEL),
    "operates_on_object": (X, MODEL),
    "compares_identity": (X, X),
    "iterates_object": (X, MODEL),
    "indexes_object": (X, MODEL),
    "calls_super": (X, trace_refused.Child(X, 1.0)),
}
# function -> (file, the function in which it is, what follows "file:line, in function: ")
EXPECTED: dict[str, tuple[str, str, str]] = {
    "branch_of_two_kinds": (
        "trace_refused.py",
        "branch_of_two_kinds",
        "loops: y after an if on data; both branches must give an array or a number of the same dtype "
        "and shape. Make both branches give the same kind of value.",
    ),
    "branch_of_two_kinds_returned": (
        "trace_refused.py",
        "branch_of_two_kinds_returned",
        "loops: what an if on data gives; both branches must give an array or a number of the same dtype "
        "and shape. Make both branches give the same kind of value.",
    ),
    "chained_comparison": (
        "trace_refused.py",
        "chained_comparison",
        "loops: a chained comparison on 0 < x < 1, <array bool[x.0]>; the truth of an array of several "
        "elements is an error. Use np.any or np.all.",
    ),
    "loop_that_sets_an_outer_variable": (
        "trace_refused.py",
        "counts_up",
        "loops: assigning the outer variable count in a run-time loop or branch; only the variables of the "
        "function that the loop is in are carried. Return the value, and assign it in the loop.",
    ),
    "loop_that_widens": (
        "trace_refused.py",
        "loop_that_widens",
        "loops: y, which an iteration begins as float64[3] and ends as float32[3]; an array or a number keeps its "
        "dtype and its shape from iteration to iteration. Give it its final dtype and shape before the loop.",
    ),
    "makes_long_double": (
        "trace_refused.py",
        "makes_long_double",
        "a value of dtype float128; only booleans, integers, floats of up to 64 bits and complex numbers of "
        "two such are compiled. Convert it with astype(np.float64), or leave it out of the compiled function.",
    ),
    "size_from_data": (
        "trace_refused.py",
        "size_from_data",
        "an array whose size is known only at run time; memory is made before the run. Make it of the largest "
        "size, or leave it out of the compiled function.",
    ),
    "while_on_array": (
        "trace_refused.py",
        "while_on_array",
        "loops: a while on x > 1, <array bool[x.0]>; the truth of an array of several elements is an error. "
        "Use np.any or np.all.",
    ),
    "writes_and_rebinds": (
        "trace_refused.py",
        "writes_and_rebinds",
        "loops: y, which an iteration writes into and assigns anew; the first iteration writes into the array from "
        "before the loop, the others into their own. Write into it (y[...] = value) instead of assigning it "
        "anew.",
    ),
    "write_global": (
        "trace_refused.py",
        "write_global",
        "writing into WEIGHTS, which lives outside of the function; only arrays that are passed in are written "
        "in place. Pass it as an argument, or work on a copy (WEIGHTS.copy()).",
    ),
    "prints": (
        "trace_refused.py",
        "prints",
        "print() in print(x.sum()); it may do more than compute: it must happen at every call, and a "
        "compiled function would never do it. Move it to the caller, or leave it out of the compiled "
        "function.",
    ),
    "opens": (
        "trace_refused.py",
        "opens",
        "open() in open('/dev/null'); it may do more than compute: it must happen at every call, and a "
        "compiled function would never do it. Move it to the caller, or leave it out of the compiled "
        "function.",
    ),
    "takes_time": (
        "trace_refused.py",
        "takes_time",
        "time.perf_counter() in time.perf_counter(); it may do more than compute: it must happen at every "
        "call, and a compiled function would never do it. Move it to the caller, or leave it out of the "
        "compiled function.",
    ),
    "logs": (
        "trace_refused.py",
        "logs",
        "logging.info() in logging.info('called'); it may do more than compute: it must happen at every "
        "call, and a compiled function would never do it. Move it to the caller, or leave it out of the "
        "compiled function.",
    ),
    "reads_the_state_of_draws": (
        "trace_refused.py",
        "reads_the_state_of_draws",
        "the random draw get_state() with these arguments; there is no rule for it. Leave it out of the compiled function.",
    ),
    "spawns_generators": (
        "trace_refused.py",
        "spawns_generators",
        "the random draw spawn() with these arguments; there is no rule for it. Leave it out of the compiled function.",
    ),
    "writes_out": (
        "trace_refused.py",
        "writes_out",
        "np.array2string(); no kernel computes this NumPy function. Leave it out of the compiled function.",
    ),
    "draws_in_python": (
        "trace_refused.py",
        "draws_in_python",
        "random.random() in random.random(); it may do more than compute: it must happen at every call, and a "
        "compiled function would never do it. Move it to the caller, or leave it out of the compiled "
        "function.",
    ),
    "collects": (
        "trace_refused.py",
        "collects",
        "OUTER_LIST.append() on something outside of the function; it would happen only once, while tracing. "
        "Return the value, and collect it at the caller.",
    ),
    "stores": (
        "trace_refused.py",
        "stores",
        "assigning an item of OUTER_TABLE; it lives outside of the function, and the change would happen "
        "only once, while tracing. Return the value, and keep it at the caller.",
    ),
    "counts": (
        "trace_refused.py",
        "counts",
        "assigning the global COUNTER; it would happen only once, while tracing. Return the value, and "
        "assign it at the caller.",
    ),
    "remembers": (
        "trace_helpers.py",
        "remember",
        "self.history.insert() on something outside of the function; it would happen only once, while "
        "tracing. Return the value, and collect it at the caller.",
    ),
    "changes": (
        "trace_helpers.py",
        "change",
        "assigning self.bias; objects of the class Guarded are only read in a compiled function. Return the value, and "
        "assign it at the caller.",
    ),
    "makes_object": (
        "trace_refused.py",
        "makes_object",
        "making a Kept object; its class decides itself how objects are made, or how their attributes are found. "
        "Make it at the caller and pass it in, or use plain arrays and tuples.",
    ),
    "generates": (
        "trace_refused.py",
        "inner",
        "generators: an if on data around a yield or a return; a generator is gone through while tracing. Return a "
        "list or an array, or leave it out of the compiled function.",
    ),
    "catches": (
        "trace_refused.py",
        "catches",
        "try/except as control flow (IndexError: index 50 is out of bounds for axis 0 with size 5); whether "
        "a compiled function raises is decided when it runs. Test the condition with an if on sizes, or "
        "leave it out of the compiled function.",
    ),
    "recurses": (
        "trace_helpers.py",
        "recursive",
        "calling recursive() from within itself; recursion is not compiled. Write it as a loop, or leave it "
        "out of the compiled function.",
    ),
    "defines_class": (
        "trace_refused.py",
        "defines_class",
        "a class statement; it has no meaning in a compiled function. Leave it out of the compiled function.",
    ),
    "matches": (
        "trace_refused.py",
        "matches",
        "a match statement; of patterns, values alone, alternatives of them and _ are followed. Leave it out of the compiled function.",
    ),
    "deletes_attribute": (
        "trace_refused.py",
        "deletes_attribute",
        "del model.bias; objects are only read in a compiled function. Leave it out of the compiled function.",
    ),
    "formats": (
        "trace_refused.py",
        "formats",
        "formatting x into a string; its elements are known only when the compiled function runs. Format it "
        "at the caller.",
    ),
    "order_of_memory": (
        "trace_refused.py",
        "order_of_memory",
        "np.reshape(order='A'); only C order has a rule. Use order=\"C\".",
    ),
    "makes_object_array": (
        "trace_refused.py",
        "makes_object_array",
        "a value of dtype object; it holds Python objects, which only Python can work on. Make it an array of numbers "
        "where it is made, or leave it out of the compiled function.",
    ),
    "multiplies_matrices_of_rank_three": (
        "trace_refused.py",
        "multiplies_matrices_of_rank_three",
        "np.dot of ranks 3 and 3; only vectors and matrices have a rule. Use np.matmul, or reshape to matrices.",
    ),
    "unknown_keyword": (
        "trace_refused.py",
        "unknown_keyword",
        "np.mean called with <array float64[x.0]>, axis=0, banana=1; its rule does not take this (got an "
        "unexpected keyword argument 'banana'). Leave the keyword out, or leave the call out of the compiled "
        "function.",
    ),
    "operates_on_object": (
        "trace_refused.py",
        "operates_on_object",
        "x + model, with a Model object; only the attributes and methods of objects are followed. Pass what "
        "it holds as arrays and numbers.",
    ),
    "iterates_object": (
        "trace_refused.py",
        "iterates_object",
        "model, with a Model object; only the attributes and methods of objects are followed. Pass what it "
        "holds as arrays and numbers.",
    ),
    "indexes_object": (
        "trace_refused.py",
        "indexes_object",
        "model[0], with a Model object; only the attributes and methods of objects are followed. Pass what "
        "it holds as arrays and numbers.",
    ),
    "raises_on_division": (
        "trace_refused.py",
        "raises_on_division",
        "with np.errstate(divide='raise'); compiled code raises no floating-point errors. Leave it out, or "
        "leave the function to NumPy.",
    ),
    "calls_super": (
        "trace_refused.py",
        "predict",
        "super().twice; only methods are followed through it. Call it by name.",
    ),
    "waits": (
        "trace_refused.py",
        "waits",
        "loops: a while that nothing in it ends; kernels do not see what other threads change. Leave it out of the "
        "compiled function.",
    ),
    "adds_attributes_in_two_orders": (
        "trace_refused.py",
        "adds_attributes_in_two_orders",
        "attributes of a Plain after an if on data; its ways add them in different orders, which its __dict__ shows. "
        "Set them before it.",
    ),
    "reads_the_last_object": (
        "trace_refused.py",
        "reads_the_last_object",
        "loops: one after the loop that made it, a Plain with values of an iteration; arrays and numbers come out of a "
        "loop. Set one before the loop, or keep its parts in separate variables.",
    ),
    "compares_identity": (
        "trace_refused.py",
        "compares_identity",
        "x[:] is x, the identity of two arrays; whether they are one object differs from call to call. Decide "
        "it at the caller.",
    ),
}


def marked_line(function: Any) -> int:
    lines, start = inspect.getsourcelines(function)
    return next(start + k for k, line in enumerate(lines) if "# here" in line)


# What NumPy computes between kernels, where that may be.
STAGES = {"accumulates", "finds", "masked_ufunc", "multiplies_accumulating", "solves", "sorts", "sorts_as_method"}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_text_of_the_error(name: str) -> None:
    function = getattr(trace_refused, name)
    file, inside, text = EXPECTED[name]
    if name in STAGES:
        text = f"{text.partition('. ')[0]}. {ONLY_KERNELS.why}. {ONLY_KERNELS.what_to_do}"
    with pytest.raises(TraceError) as caught:
        trace(function, ARGUMENTS.get(name, (X,)), untaken=ONLY_KERNELS if name in STAGES else None)
    error = caught.value
    path = str(Path(__file__).parent / file)
    assert str(error) == f"{path}:{error.line}, in {inside}: {text}"
    assert error.file == path and str(error).endswith(error.hint) and error.hint
    if file == "trace_refused.py" and inside == name and "# here" in inspect.getsource(function) and name != "endless":
        assert error.line == marked_line(function)
    assert isinstance(error, tilewright.Error) and isinstance(error, NotImplementedError)


def test_every_refused_function_is_in_the_list() -> None:
    functions = {n for n, f in vars(trace_refused).items() if inspect.isfunction(f) and f.__module__ == "trace_refused"}
    assert functions - {"takes_anything"} == set(EXPECTED)


def test_nothing_happened_outside() -> None:
    """A refused statement has not run, not even once."""
    assert trace_refused.OUTER_LIST == [] and trace_refused.OUTER_TABLE == {} and trace_refused.COUNTER == 0
    assert MODEL.history == [] and MODEL.bias == 1.0
    state = str(np.random.get_state())
    with pytest.raises(TraceError):
        trace(trace_refused.reads_the_state_of_draws, (X,))
    trace(lambda x: x + np.random.rand(5), (X,))  # what a trace draws is for the run
    assert str(np.random.get_state()) == state


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.clongdouble([1]), "x is complex256[1]; only booleans, integers, floats of up to 64 bits and complex numbers of two such are "
         "compiled. Pass its real and imaginary parts, or leave it out of the compiled function."),
        (np.array([None, 1]), "x is object[2]; it holds Python objects, which only Python can work on. "
         "Make it an array of numbers where it is made, or leave it out of the compiled function."),
        (np.ma.array([1.0, 2]), "x is a numpy.ma.MaskedArray; its operations are not those of a plain array. Pass np.asarray(x)."),
        (np.array([[1.0]]).view(np.matrix), "x is a numpy.matrix; its operations are not those of a plain array. Pass np.asarray(x)."),
        (np.array(["a"]), "x is <U1[1]; only booleans, integers, floats of up to 64 bits and complex numbers of two such are compiled. "
         "Leave it out of the compiled function."),
        (np.array(["2020-01-01"], "M8[D]"), "x is datetime64[D][1]; only booleans, integers, floats of up to 64 bits and "
         "complex numbers of two such are compiled. Leave it out of the compiled function."),
        (np.longdouble([1]), "x is float128[1]; only booleans, integers, floats of up to 64 bits and complex numbers of two such are compiled. "
         "Convert it with astype(np.float64), or leave it out of the compiled function."),
        (np.arange(3, dtype=">i4"), "x is >i4[3]; byte-swapped arrays are not compiled. "
         "Pass x.astype(x.dtype.newbyteorder(\"=\"))."),
    ],
    ids=["long complex", "object", "masked", "matrix", "text", "dates", "longdouble", "byte order"],
)  # fmt: skip
def test_arrays_that_are_refused_by_name(value: Any, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace(trace_refused.takes_anything, (value,))
    assert str(caught.value).split("in takes_anything: ")[1] == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "adds: x + y, of an array and a str; only arithmetic on numbers is compiled."),
        (b"a", "adds: x + y, of an array and a bytes; only arithmetic on numbers is compiled."),
        (
            None,
            "adds: unsupported operand type(s) for +: 'ndarray' and 'NoneType'.",
        ),
        ({}, "adds: unsupported operand type(s) for +: 'ndarray' and 'dict'."),
    ],
    ids=["str", "bytes", "None", "dict"],
)
def test_operands_that_are_no_numbers_are_named_as_the_user_gave_them(value: Any, text: str) -> None:
    def adds(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(TraceError) as caught:
        trace(adds, (X, value))
    assert str(caught.value).split(", in ")[1] == f"{text} Pass numbers and arrays of numbers."
    with pytest.raises(TypeError) as of_numpy:
        adds(X, value)
    with warnings.catch_warnings(), pytest.raises(TypeError) as of_call:
        warnings.simplefilter("ignore", tilewright.FallbackWarning)
        tilewright.jit(adds)(X, value)
    assert str(of_call.value) == str(of_numpy.value)


def test_integers_beside_strings_still_follow_python() -> None:
    def named(x: Any, n: int) -> Any:
        return x * len("ab" * n) + len(f"{n}")

    assert trace(named, (X, 3)).program_text
    with pytest.raises(TraceError, match='can only concatenate str \\(not "int"\\) to str'):
        trace(lambda x, n: x + len("a" + n), (X, 3))  # type: ignore[operator]


def test_what_is_not_a_python_function() -> None:
    with pytest.raises(TraceError) as caught:
        trace(np.sin, (X,))
    assert str(caught.value) == "sin: tracing a ufunc; it is not a Python function. Wrap the call in a def."
    with pytest.raises(ValueError, match="contract='exact': not a contract. Use one of numpy, reproducible, fast."):
        trace(trace_refused.takes_anything, (X,), contract="exact")


def test_a_wrong_call_raises_what_python_raises() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        trace(trace_refused.takes_anything, ())
    raises_like_numpy(lambda x: trace_refused.takes_anything(x, x), X)


def test_the_errors_are_a_flat_family_and_pickle() -> None:
    bases = {
        "TraceError": NotImplementedError, "TranslateError": TypeError, "ScheduleError": ValueError,
        "StoreError": Exception, "DeviceError": Exception, "ExportError": Exception, "InternalError": Exception,
    }  # fmt: skip
    for name, base in bases.items():
        error_class = getattr(tilewright, name)
        assert issubclass(error_class, tilewright.Error) and issubclass(error_class, base)
        error = error_class("k.py:1: asked; why not.", "Do this.")
        assert str(error) == "k.py:1: asked; why not. Do this." and error.hint == "Do this."
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is error_class and str(again) == str(error) and again.hint == error.hint
