"""Functions that cannot be traced. Each refused line is marked with a comment "# here" (imported, not run)."""

from __future__ import annotations

import logging
import random
import time

import numpy as np
import trace_helpers

OUTER_LIST = []
OUTER_TABLE = {}
COUNTER = 0


def branch_of_two_kinds(x):
    if x.sum() > 0:  # noqa: SIM108
        y = x
    else:
        y = 0.0
    return y  # the if is the place


def while_on_array(x):
    while x > 1:  # here
        x = x / 2
    return x


def loop_that_widens(x):
    y = np.zeros(3, np.float32)
    for i in range(x.shape[0]):  # here
        y = y + x[i] if y.dtype == np.float32 else (y + x[i]).astype(np.float32)
    return y


def size_from_data(x, k):
    return np.zeros_like(x, shape=k[0])  # here


def writes_and_rebinds(x, n):
    y = z = x.copy()
    while y[0] < n:  # here
        y[0] += 1
        y = y * 2
    return z


def branch_of_two_kinds_returned(x):
    if x.sum() > 0:  # here
        return x, x
    return -x


def loop_that_sets_an_outer_variable(x, n):
    count = 0

    def counts_up():
        nonlocal count
        count += 1  # here

    for _ in range(n):
        counts_up()
    return x * count


def chained_comparison(x):
    return 0 < x < 1  # here


def write_global(x):
    trace_helpers.WEIGHTS[0] = x[0]  # here
    return x


def prints(x):
    print(x.sum())  # here
    return x * 2


def opens(x):
    with open("/dev/null") as file:  # here
        file.write("x")
    return x


def takes_time(x):
    start = time.perf_counter()  # here
    return x * start


def logs(x):
    logging.info("called")  # here
    return x * 2


def reads_the_state_of_draws(x):
    return x * np.random.get_state()[2]  # here


def spawns_generators(x, rng):
    return x + rng.spawn(1)[0].random(5)  # here


def draws_in_python(x):
    return x * random.random()  # here


def collects(x):
    y = x * 2
    OUTER_LIST.append(y)  # here
    return y


def stores(x):
    OUTER_TABLE["x"] = x * 2  # here
    return x


def counts(x):
    global COUNTER
    COUNTER += 1  # here
    return x * 2


def remembers(x, model):
    return model.remember(x)


def changes(x, model):
    return model.change(x)


class Kept:
    def __new__(cls, x):
        return object.__new__(cls)


def makes_object(x):
    return Kept(x)  # here


def generates(x):
    def inner():
        if x[0] > 0:  # here
            yield x

    return sum(inner())


def catches(x):
    try:
        return x[50]
    except IndexError:
        return x


def recurses(x):
    return trace_helpers.recursive(x, 3)


def defines_class(x):
    class Local:  # here
        pass

    return x


def matches(x, mode):
    match mode:  # here
        case (first, _):
            return x * first
    return x


def deletes_attribute(x, model):
    del model.bias  # here
    return x


def writes_out(x):
    return x * len(np.array2string(x))  # here


def formats(x):
    return x * len(f"{x}")  # here


def order_of_memory(x):
    return x.reshape(-1, order="A")  # here


def makes_long_double(x):
    return x.astype(np.longdouble)  # here


def makes_object_array(x):
    return x.astype(object)  # here


def multiplies_matrices_of_rank_three(x):
    return np.dot(x[None, None], x[None, :, None])  # here


def unknown_keyword(x):
    return np.mean(x, axis=0, banana=1)  # here


def operates_on_object(x, model):
    return x + model  # here


def iterates_object(x, model):
    for part in model:  # here
        x = x + part
    return x


def indexes_object(x, model):
    return x * model[0]  # here


def raises_on_division(x):
    with np.errstate(divide="raise"):  # here
        return 1 / x


class Guarded(trace_helpers.Model):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    @property
    def twice(self):
        return 2.0


class Child(Guarded):
    def predict(self, x):
        return x * super().twice  # here


def calls_super(x, child):
    return child.predict(x)


def compares_identity(x, y):
    return x if x[:] is x else x + y  # here


class Plain:
    pass


def waits(x):
    n = 0
    while x[0] == 0:  # here
        n += 1
    return n


def adds_attributes_in_two_orders(x):
    one = Plain()
    if x[0] > 0:
        one.up = one.down = x[0]
    else:
        one.down = one.up = x[1]  # here
    return one


def reads_the_last_object(x):
    for value in x:
        one = Plain()
        one.value = value
    return one.value  # here


def takes_anything(x):
    return x * 2
