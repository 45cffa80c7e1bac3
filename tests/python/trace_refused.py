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


def branch_on_data(x):
    if x.sum() > 0:  # here
        return x
    return -x


def while_on_data(x):
    while np.abs(x).max() > 1:  # here
        x = x / 2
    return x


def conditional_on_data(x):
    return x if x[0] > 0 else -x  # here


def and_on_data(x):
    return x.any() and x.all()  # here


def not_on_data(x):
    return not x.any()  # here


def assert_on_data(x):
    assert np.isfinite(x).all()  # here
    return x * 2


def chained_comparison(x):
    return 0 < x < 1  # here


def loop_over_rows(x):
    total = 0.0
    for row in x:  # here
        total = total + row
    return total


def loop_over_size(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):  # here
        y[i] = x[i] * 2
    return y


def loop_over_count(x, n):
    for _ in range(n):  # here
        x = x * 2
    return x


def loop_over_element(x):
    for _ in range(x[0]):  # here
        pass
    return x


def endless(x):
    k = 0
    while True:
        k += 1  # here
        x = x + 1


def write_argument(x):
    x[0] = 1  # here
    return x


def add_to_argument(x):
    x += 1  # here
    return x


def write_view_of_argument(x):
    y = x.T[1:]
    y *= 2  # here
    return y


def fill_argument(x):
    np.add(x, 1, out=x)  # here
    return x


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


def draws(x):
    return x + np.random.rand(5)  # here


def draws_with_generator(x, rng):
    return x + rng.standard_normal(5)  # here


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


def makes_object(x):
    return trace_helpers.Model(x, 1.0).predict(x)  # here


def generates(x):
    def inner():
        yield x  # here

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
        case "a":
            return x * 2
    return x


def deletes_attribute(x, model):
    del model.bias  # here
    return x


def gathers(x, k):
    return x[k]  # here


def compresses(x):
    return x[x > 0]  # here


def finds(x):
    return np.where(x > 0)  # here


def masked_array_assignment(x):
    y = x * 2
    y[y > 0] = x[:3]  # here
    return y


def sorts(x):
    return np.sort(x)  # here


def accumulates(x):
    return np.cumsum(x)  # here


def sorts_as_method(x):
    return x.argsort()  # here


def multiplies_accumulating(x):
    return np.multiply.accumulate(x)  # here


def takes_item(x):
    return x * x[0].item()  # here


def takes_float(x):
    return x * float(x[0])  # here


def formats(x):
    return x * len(f"{x}")  # here


def masked_ufunc(x):
    return np.sqrt(x, where=x > 0)  # here


def masked_sum(x):
    return np.sum(x, where=x > 0)  # here


def initial_value(x):
    return np.max(x, initial=0.0)  # here


def fortran_order(x):
    return x.reshape(-1, order="F")  # here


def weighted_average(x):
    return np.average(x, weights=x)  # here


def spectral_norm(x):
    return np.linalg.norm(x[None], 2)  # here


def solves(x):
    return np.linalg.inv(x[None] * x[:, None])  # here


def makes_complex(x):
    return x * 1j  # here


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


class Child(trace_helpers.Model):
    def predict(self, x):
        return super().predict(x)  # here


def calls_super(x, child):
    return child.predict(x)


def compares_identity(x, y):
    return x if x is y else x + y  # here


def takes_anything(x):
    return x * 2
