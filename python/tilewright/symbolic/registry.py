"""What operations on symbolic values mean: lists that `ops` fills, and that symbolic values and rules ask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)

# Each rule takes the tracer, then what the function or ufunc takes.
FUNCTIONS: dict[Any, Rule] = {}  # of NumPy's functions, by themselves
PRODUCTS: dict[str, Rule] = {}  # of ufuncs that take vectors and matrices

signature = lru_cache(maxsize=None)(inspect.signature)  # of a rule


def rule(*functions: Any, product: str | None = None) -> Callable[[Rule], Rule]:
    """Register `handler(tracer, *args, **kwargs)` for NumPy functions, and as such a ufunc."""

    def register(handler: Rule) -> Rule:
        for function in functions:
            FUNCTIONS[function] = handler
        if product is not None:
            PRODUCTS[product] = handler
        return handler

    return register


class Operations:
    """What Python and NumPy ask of values by protocols: operators, items, `__array_function__`."""

    call_numpy: Rule  # (tracer, function, args, kwargs): by the function's rule, else by NumPy's own source
    call_ufunc_method: Rule  # (tracer, ufunc, method, inputs, kwargs): np.add(x, y), np.add.reduce(x)
    apply_operator: Rule  # (tracer, ufunc, inputs)
    apply_in_place: Rule  # (array, ufunc, other)
    get_item: Rule  # (array, key)
    set_item: Rule  # (array, key, value)
    scattered: Rule  # (array, key of positions and whole axes, value): whether a loop of the program writes there
    item_of: Rule  # (array): its only element, as Python's number
    flags_of: Rule  # (array): what array.flags is
    flat_of: Rule  # (array): what array.flat is
    flatten: Rule  # (tracer, array, order): as the method, for which NumPy has no function
    part_of: Rule  # (what a mask picks out, key)
    set_part_of: Rule  # (what a mask picks out, key, value)
    reduced_by_loop: (
        Rule  # (tracer, ufunc, the parameters of its reduce): a kernel, where the reduction is no operation
    )
    stage_of: Rule  # (tracer, function, args, kwargs): the result of a call that Python makes, or NotImplemented
    array_of_selected: Rule  # (what a mask picks out): as an array, in NumPy's order
    run_number: Rule  # (tracer, value, kind): an int, float or bool that only the running function knows, as are these:
    run_truth: Rule  # (tracer, value, how two sizes compare, their difference)
    run_complex: Rule  # (tracer, value)
    complex_quotient: Rule  # (tracer, left, right)
    array_of_items: Rule  # (tracer, a list or tuple in which something is symbolic)


OPERATIONS = Operations()


def provides(operation: R) -> R:
    """Register a function as that of Operations that has its name."""
    assert operation.__name__ in Operations.__annotations__, operation.__name__
    setattr(OPERATIONS, operation.__name__, operation)
    return operation
