"""Kernels of one build are functions of one object: one of them has it, the plan says which."""

import re

import numpy as np
import pytest
import tilewright
from strictly import agree
from tilewright.builder import default_schedule
from tilewright.errors import ScheduleError
from tilewright.native import compiler

pytestmark = pytest.mark.compile

X = np.random.default_rng(0).random((37, 41))


def with_sorts(x):
    a = np.sort(x * 2.0, axis=1)
    b = np.sort(np.exp(-a) + 1.0, axis=0)
    return (a - b).sum(), np.sort(b * a, axis=1) - x.max(axis=0)


def made(function, *args, assembly=False, schedule=None, threads=1):
    specialization = tilewright.jit(function).for_args(*args)
    request = specialization.request(specialization.example)
    text = default_schedule(request) if schedule is None else schedule(default_schedule(request))
    return compiler().build(request.program, request.options(), text, request.isa, assembly=assembly, threads=threads)


def test_one_object_serves_all_kernels():
    build = made(with_sorts, X)
    names = [kernel["name"] for kernel in build["kernels"]]
    assert len(names) > 2
    assert [bool(kernel["object"]) for kernel in build["kernels"]] == [True] + [False] * (len(names) - 1)
    calls = re.findall(r'call (\w+) in "(\w+)"', build["plan"])
    assert sorted(symbol for symbol, _ in calls) == sorted(names)
    assert {place for _, place in calls} == {names[0]}
    for name in names:  # each is a function that modules and C programs find
        assert f"{name}_argv\0".encode() in build["kernels"][0]["object"]
    assert made(with_sorts, X)["kernels"] == build["kernels"]


def test_texts_of_code_are_those_of_each_kernel_alone():
    together, alone = made(with_sorts, X), made(with_sorts, X, assembly=True)
    assert all(kernel["object"] for kernel in alone["kernels"])
    assert re.sub('in "[^"]*"', "", together["plan"]) == re.sub('in "[^"]*"', "", alone["plan"])
    assert [kernel["requires"] for kernel in together["kernels"]] == [kernel["requires"] for kernel in alone["kernels"]]
    sizes = [len(kernel["object"]) for kernel in alone["kernels"]]
    assert max(sizes) < len(together["kernels"][0]["object"]) < sum(sizes)


@pytest.mark.parametrize("levels", ["x86-64", "host"])
def test_results_are_numpys(levels):
    compiled = tilewright.jit(with_sorts, target=levels)
    for x in (X, X[:1], X[:, :1], X[::-1], np.asfortranarray(X), np.where(X > 0.9, np.nan, X), -0.0 * X):
        assert agree(compiled(x), with_sorts(x), bits=False)
    for empty in (X[:0], X[:, :0]):
        with (
            pytest.raises(ValueError, match="zero-size array to reduction operation maximum")
            if not len(empty)
            else np.errstate()
        ):
            assert agree(compiled(empty), with_sorts(empty))


def test_a_schedule_that_one_kernel_refuses_names_that_kernel():
    def in_two(x):
        first = np.sort(x + 1.0, axis=1)
        return ((first * 2.0).sum(axis=1) * 3.0).sum()

    def with_claim(text):
        stage = re.findall(r"^(\w+)\.compute_root\(\)$", text, flags=re.MULTILINE)[0]
        return text + f"{stage}.bound_storage(i, 8)\n"

    with pytest.raises(
        ScheduleError, match=r"in_two_k1: bound_storage: it cannot be proved that so little storage is enough"
    ):
        made(in_two, X, schedule=with_claim)


def test_an_exported_module_has_one_object_for_each_version(tmp_path):
    compiled = tilewright.jit(with_sorts, target="x86-64")
    compiled(X)
    compiled.export(tmp_path / "sorted_tuned")
    objects = sorted(path.name for path in (tmp_path / "sorted_tuned").rglob("*.o"))
    assert objects and all(name.startswith("with_sorts_k0.") for name in objects)


def calls_of(build):
    return re.findall(r'call (\w+) in "(\w+)"', build["plan"])


def test_kernels_of_one_code_are_compiled_once():
    def layers(x):
        a = np.sort(np.tanh(x) * 2.0 + 1.0, axis=1)
        b = np.sort(np.tanh(a) * 2.0 + 1.0, axis=1)
        return np.sort(np.tanh(b) * 2.0 + 1.0, axis=1)  # as the one before; the first one reads an argument

    def unlike(x):
        a = np.sort(x + 0.0, axis=1)
        b = np.sort(a + -0.0, axis=1)  # another sum where a is -0.0
        return np.sort(b * 2.0, axis=1) + x

    build = made(layers, X)
    assert [symbol for symbol, _ in calls_of(build)] == ["layers_k0", "layers_k1", "layers_k1"]
    assert b"layers_k2_argv\0" not in build["kernels"][0]["object"]
    symbols = [symbol for symbol, _ in calls_of(made(unlike, X))]
    assert len(set(symbols)) == len(symbols)
    for function in (layers, unlike):
        for x in (X, X[::-1], X - 0.5, np.asfortranarray(X), 0.0 * X, -0.0 * X, X[:1], X[:0]):
            assert agree(tilewright.jit(function)(x), function(x), bits=False)


def test_large_builds_are_compiled_by_several_threads():
    """Into some objects, which are the same with any number of threads."""

    def rounds(x):
        for k in range(1, 7):
            a = np.sort(np.exp(-x * x) + np.sin(x + k) - np.cos(k * x), axis=1)
            x = (a * k).cumsum(axis=0) / 100 - a.mean(axis=1)[:, None]
        return x

    alone = made(rounds, X)
    assert alone == made(rounds, X, threads=16)
    objects = [kernel["name"] for kernel in alone["kernels"] if kernel["object"]]
    assert 1 < len(objects) < len(alone["kernels"])
    assert {place for _, place in calls_of(alone)} == set(objects)
    assert agree(tilewright.jit(rounds)(X), rounds(X), bits=False)
