"""Complex numbers: programs that split_complex() makes of floats, by Halide's JIT, against NumPy.

Sums, products, quotients, comparisons and selections must have the bits of NumPy's own formulas (NumPy without FMA,
plain_numpy.py); magnitudes, roots and exponentials a few ULP. Every program runs vectorized; as the Funcs come, too, where its answer is rounded, and
otherwise for one dtype.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from examples import one_in
from plain_numpy import PlainNumPy
from translator_process import Evaluator, Refused, plain_too
from ufuncs import EXACT_BINARY, EXACT_UNARY, loop_of

pytestmark = pytest.mark.compile

COMPLEX = ["complex64", "complex128"]
HALF = {"complex64": "float32", "complex128": "float64"}
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain_numpy() -> Iterator[PlainNumPy]:
    yield PlainNumPy()


def halves(dtype: str) -> Array:
    """Floats at which formulas differ from the textbook."""
    info = np.finfo(HALF[dtype])
    few = [0.0, 1.0, 0.5, 3.7, 1e10, float(info.max), float(info.tiny), float(info.smallest_subnormal), np.inf, np.nan]
    return np.array([*few, *(-value for value in few)], HALF[dtype])


def complex_of(real: Array, imag: Array) -> Array:
    """Halves as they are: real + 1j * imag would lose zeros' signs and infinities."""
    out = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out


def specials(dtype: str) -> Array:
    pairs = np.array(list(itertools.product(halves(dtype), repeat=2)), HALF[dtype])
    return complex_of(pairs[:, 0], pairs[:, 1])


def usual(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    half = HALF[dtype]
    return complex_of(rng.standard_normal(shape).astype(half), rng.standard_normal(shape).astype(half))


def floats_of(x: Array) -> Array:
    return x.view(HALF[str(x.dtype)]) if x.dtype.kind == "c" else x


def wrong_bits(ours: Array, theirs: Array) -> Array:
    a, b = floats_of(np.ascontiguousarray(ours)), floats_of(np.ascontiguousarray(theirs))
    if a.dtype.kind != "f":
        return a != b
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))


def ulps_apart(ours: Array, theirs: Array) -> Array:
    a, b = floats_of(np.ascontiguousarray(ours)), floats_of(np.ascontiguousarray(theirs))
    same = ~wrong_bits(ours, theirs)
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.longdouble) - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return np.where(same, 0, np.where(np.isnan(apart), np.inf, apart))


def compare(ours: Array, theirs: Any, ulps: float, what: str) -> None:
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, f"{what}: {ours.dtype}{ours.shape}"
    wrong = wrong_bits(ours, theirs) if ulps == 0 else ulps_apart(ours, theirs) > ulps
    if wrong.any():
        at = int(np.argwhere(wrong.reshape(-1))[0, 0]) // (2 if theirs.dtype.kind == "c" else 1)
        mine, numpys = np.ravel(ours)[at], np.ravel(theirs)[at]
        raise AssertionError(f"{what}: {int(wrong.sum())} differ, at {at}: {mine!r}, NumPy has {numpys!r}")


PLAIN_TOO = plain_too(COMPLEX)


def run_both(
    evaluator: Evaluator, text: str, arguments: Mapping[str, Any], plain: bool = True, **options: Any
) -> list[Array]:
    vectorized = evaluator.run(text, arguments, schedule="vectorize", **options)
    if plain:
        for k, (a, b) in enumerate(zip(evaluator.run(text, arguments, **options), vectorized, strict=True)):
            compare(b, a, 0, f"result {k}, vectorized against plain, of\n{text}")
    return vectorized


def check(
    evaluator: Evaluator,
    numpy: PlainNumPy,
    text: str,
    arguments: Mapping[str, Any],
    ulps: float = 0,
    **options: Any,
) -> None:
    theirs = numpy.evaluate(text, arguments)
    plain = ulps > 0 or any(dtype in text for dtype in PLAIN_TOO)
    ours = run_both(evaluator, text, arguments, plain, **options)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        compare(a, b, ulps, f"result {k} of\n{text}at {sorted(arguments)}")


def program(arguments: list[str], lines: list[str]) -> str:
    results = ", ".join(line.split(":")[0] for line in lines if line[0] != "%")
    body = "".join(f"{line}\n" for line in [*arguments, *lines])
    return f"tilewright-program 1\nfunction f\n{body}return ({results},)\n"


NEAR = ["absolute", "sign", "sqrt"]  # a few ULP: test_magnitudes, test_functions


def operations(dtype: str, names: list[str], operands: str) -> list[str]:
    """All of them in one program, which costs little more to compile than one."""
    arity = len(operands.split(", "))
    return [
        f"{name}_: {out}[z.0] = {name}({operands})"
        for name in names
        if name not in NEAR and (out := loop_of(name, dtype, arity))
    ]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_unary_operations(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    text = program([f"arg z: {dtype}[z.0]"], operations(dtype, [*EXACT_UNARY, "conjugate"], "z"))
    check(evaluator, plain_numpy, text, {"z": np.concatenate([specials(dtype), usual(dtype, (1000,))])})


@pytest.mark.parametrize("dtype", COMPLEX)
def test_binary_operations(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    arrays = [f"arg z: {dtype}[z.0]", f"arg w: {dtype}[z.0]"]
    text = program(arrays, operations(dtype, EXACT_BINARY, "z, w"))
    left, right = (x.reshape(-1) for x in np.meshgrid(specials(dtype), specials(dtype)))
    many, others = usual(dtype, (1000,)), usual(dtype, (1000,), 1)
    arguments = {"z": np.concatenate([left, many, many]), "w": np.concatenate([right, others, many])}
    check(evaluator, plain_numpy, text, arguments)


CONSTANTS = one_in(2, COMPLEX, ["0.0+1.0j", "2.0+0.0j", "0.0+0.0j", "-0.0-0.0j", "inf+nanj", "0.1-0.7j", "-1.0-0.0j"])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_constants_keep_numpys_formulas(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    """y*1j for a real y computes 0*y too: NaN and infinities spread as in NumPy."""
    lines = [f"%0: {dtype}[x.0] = cast(x)"]
    for k, literal in enumerate((literal for each, literal in CONSTANTS if each == dtype), 1):
        lines += [
            f"%{k}: {dtype}[] = const() {{value={literal}}}",
            f"a{k}: {dtype}[x.0] = multiply(%0, %{k})",
            f"b{k}: {dtype}[z.0] = multiply(z, %{k})",
            f"c{k}: {dtype}[z.0] = add(%{k}, z)",
            f"d{k}: {dtype}[z.0] = divide(z, %{k})",
            f"e{k}: {dtype}[z.0] = divide(%{k}, z)",
            f"g{k}: bool[z.0] = equal(z, %{k})",
        ]
    text = program([f"arg x: {HALF[dtype]}[x.0]", f"arg z: {dtype}[z.0]"], lines)
    check(evaluator, plain_numpy, text, {"x": halves(dtype), "z": specials(dtype)})


@pytest.mark.parametrize("dtype", COMPLEX)
def test_whole_powers(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    lines = []
    for k, exponent in enumerate([-99, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10, 99]):
        lines += [f"%{k}: {dtype}[] = const() {{value={exponent}.0+0.0j}}", f"v{k}: {dtype}[z.0] = power(z, %{k})"]
    text = program([f"arg z: {dtype}[z.0]"], lines)
    check(evaluator, plain_numpy, text, {"z": np.concatenate([specials(dtype), usual(dtype, (1000,))])})


@pytest.mark.parametrize("dtype", COMPLEX)
def test_casts(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    z = specials(dtype)
    small = z[np.abs(np.nan_to_num(z.real, nan=1e9, posinf=1e9, neginf=1e9)) < 100]
    for to, values in ((["int32", "uint8"], small), (["bool", "float32", "float64", *COMPLEX], z)):
        text = program([f"arg z: {dtype}[z.0]"], [f"to_{each}: {each}[z.0] = cast(z)" for each in to])
        check(evaluator, plain_numpy, text, {"z": values})
    real = ["bool", "int32", "uint8", "float32", "float64"]
    text = program(
        [f"arg {each}_: {each}[{real[0]}_.0]" for each in real],
        [f"of_{each}: {dtype}[{real[0]}_.0] = cast({each}_)" for each in real],
    )
    with np.errstate(all="ignore"):
        check(evaluator, plain_numpy, text, {f"{each}_": halves(dtype)[:4].astype(each) for each in real})


@pytest.mark.parametrize("dtype", COMPLEX)
def test_magnitudes(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str) -> None:
    """Ours is sqrt(re*re + im*im), scaled where that over- or underflows; NumPy's is within 2 ULP of it."""
    text = program([f"arg z: {dtype}[z.0]"], [f"v: {HALF[dtype]}[z.0] = absolute(z)"])
    check(evaluator, plain_numpy, text, {"z": np.concatenate([specials(dtype), usual(dtype, (3000,))])}, ulps=2)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(("name", "ulps"), [("sqrt", 4), ("exp", 4), ("sign", 3)])
def test_functions(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str, name: str, ulps: float) -> None:
    text = program([f"arg z: {dtype}[z.0]"], [f"v: {dtype}[z.0] = {name}(z)"])
    z = specials(dtype)
    if name == "exp":
        # Sines of huge numbers are libm's own affair, which imaginary zeros and signs beside infinity are not.
        z = z[~(np.abs(z.imag) > 1e9) | ~np.isfinite(z.imag)]
    steep = complex_of(np.linspace(-800, 1500, 500).astype(HALF[dtype]), np.linspace(-9, 9, 500).astype(HALF[dtype]))
    many = usual(dtype, (3000,))
    with np.errstate(all="ignore"):
        arguments = {"z": np.concatenate([z, many, many * np.asarray(30, HALF[dtype]), steep / 1])}
    theirs = plain_numpy.evaluate(text, arguments)[0]
    ours = run_both(evaluator, text, arguments)[0]
    if name == "exp":
        # The sign of a NaN's or zero's neighbour that C99 leaves open.
        a, b = floats_of(ours), floats_of(theirs)
        open_sign = (a == 0) & (b == 0) & np.repeat(~np.isfinite(arguments["z"].imag), 2)
        ours = np.where(open_sign, b, a).astype(a.dtype).view(dtype)
    compare(ours, theirs, ulps, name)


COMPARISONS = ["less", "less_equal", "greater", "greater_equal"]


def magnitude_program(dtype: str) -> str:
    half = HALF[dtype]
    lines = []
    for k, name in enumerate(COMPARISONS):
        lines += [
            f"%{4 * k + 1}: {half}[z.0] = absolute(z)",
            f"{name}_: bool[z.0] = {name}(%{4 * k + 1}, %99)",
            f"%{4 * k + 2}: {half}[z.0] = absolute(z)",
            f"{name}_2: bool[z.0] = {name}(%99, %{4 * k + 2})",
        ]
    # The scalar comes in float64, as a Python float does.
    cast = f"%99: {half}[] = index(h) {{index=[0]}}"
    return program([f"arg z: {dtype}[z.0]", f"arg h: {half}[1]"], [cast, *lines])


def magnitude_of(evaluator: Evaluator, z: Array) -> Array:
    dtype = str(z.dtype)
    text = program([f"arg z: {dtype}[z.0]"], [f"v: {HALF[dtype]}[z.0] = absolute(z)"])
    return evaluator.run(text, {"z": z})[0]


def around(h: Any, dtype: str) -> Array:
    """Numbers whose magnitude is h, or a few ULP more or less."""
    half = np.dtype(HALF[dtype]).type
    angles = np.linspace(0, 2 * np.pi, 41)
    with np.errstate(all="ignore"):
        real = (np.float64(h) * np.cos(angles)).astype(half)
        imag = (np.float64(h) * np.sin(angles)).astype(half)
        out = [complex_of(np.array([h, -h, 0, h, 0], half), np.array([0, 0, h, -0.0, -h], half))]
        for _ in range(4):
            out += [complex_of(real, imag), complex_of(real, np.nextafter(imag, half(-np.inf)))]
            real = np.nextafter(real, half(np.inf))
    return np.concatenate(out)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_magnitudes_are_compared_without_a_root(evaluator: Evaluator, dtype: str) -> None:
    """Exactly what our own absolute() compared with h gives; that is within 1.2 ULP of the true magnitude."""
    half = np.dtype(HALF[dtype]).type
    info = np.finfo(half)
    text = magnitude_program(dtype)
    powers = [2.0**k for k in (-1000, -450, -441, -440, -439, -149, -126, -60, -50, -46, -45, -44, -1, 0, 1, 2, 10, 54, 55, 56,
                               60, 62, 64, 126, 127, 489, 490, 491, 500, 510, 1000, 1023)]  # fmt: skip
    with np.errstate(all="ignore"):
        horizons = np.array([*powers, 2.0, 3.0, np.pi, 1e10, 0.1, 1 / 3, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan,
                             float(info.max), float(info.tiny), float(info.smallest_subnormal)], half)  # fmt: skip
        horizons = np.unique(np.concatenate([horizons, np.nextafter(horizons, half(4)), horizons * half(1.3)]))
    for (h,) in one_in(4, horizons):
        z = np.concatenate([around(h, dtype), specials(dtype), usual(dtype, (50,))])
        size = magnitude_of(evaluator, z)
        ours = run_both(evaluator, text, {"z": z, "h": np.array([h])}, plain=dtype in PLAIN_TOO)
        for k, name in enumerate(COMPARISONS):
            for side, expected in enumerate([getattr(np, name)(size, h), getattr(np, name)(h, size)]):
                wrong = ours[2 * k + side] != expected
                assert not wrong.any(), f"{name}, h = {h!r}: {z[wrong][:3]!r} of magnitude {size[wrong][:3]!r}"


HORIZONS = one_in(2, COMPLEX, ["2.0", "0.1", "0.0", "1e+30", "1e-30", "inf", "nan", "-1.0"])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_constant_horizons(evaluator: Evaluator, dtype: str) -> None:
    half = HALF[dtype]
    horizons = [literal for each, literal in HORIZONS if each == dtype]
    lines = []
    for k, literal in enumerate(horizons):
        lines.append(f"%{100 * k}: {half}[] = const() {{value={literal}}}")
        for at, name in enumerate(COMPARISONS, 100 * k + 1):
            lines += [f"%{at}: {half}[z.0] = absolute(z)", f"{name}{k}: bool[z.0] = {name}(%{at}, %{100 * k})"]
    tried = [np.dtype(half).type(literal) for literal in horizons]
    z = np.concatenate([*(around(h, dtype) for h in tried), specials(dtype)])
    size = magnitude_of(evaluator, z)
    answers = iter(run_both(evaluator, program([f"arg z: {dtype}[z.0]"], lines), {"z": z}, plain=dtype in PLAIN_TOO))
    for h in tried:
        for name in COMPARISONS:
            assert (next(answers) == getattr(np, name)(size, h)).all(), (name, h)


def test_magnitudes_beside_the_true_ones(evaluator: Evaluator) -> None:
    """float32 against the magnitude in float64, rounded once: they differ only where it is h or beside h."""
    rng = np.random.default_rng(3)
    text = magnitude_program("complex64")
    for h in np.concatenate([[np.float32(2)], np.exp(rng.uniform(-20, 20, 30)).astype(np.float32)]):
        angles = rng.uniform(0, 2 * np.pi, 20000)
        sizes = np.float64(h) * (1 + rng.integers(-6, 7, angles.size) * 2.0**-25)
        z = complex_of((sizes * np.cos(angles)).astype(np.float32), (sizes * np.sin(angles)).astype(np.float32))
        wide = np.sqrt(z.real.astype(np.float64) ** 2 + z.imag.astype(np.float64) ** 2).astype(np.float32)
        ours = evaluator.run(text, {"z": z, "h": np.array([h])})
        for k, name in enumerate(COMPARISONS):
            wrong = ours[2 * k] != getattr(np, name)(wide, h)
            assert (np.abs(wide[wrong] - h) <= np.spacing(h)).all(), (name, h)


def test_every_border_of_float32() -> None:
    """What ops/magnitude.cpp builds on, for all horizons of two binades: h*h or one of its neighbours is the border."""
    for binade in (1.0, 2.0):
        h = (np.arange(2**23, dtype=np.uint32) + np.float32(1).view(np.uint32)).view(np.float32) * np.float32(binade)
        square = h * h
        below = np.nextafter(square, np.float32(0))
        above = np.nextafter(square, np.float32(np.inf))
        assert (np.sqrt(square) == h).all()
        assert (np.sqrt(np.nextafter(below, np.float32(0))) < h).all()
        assert (np.sqrt(np.nextafter(above, np.float32(np.inf))) > h).all()


def structure_lines(dtype: str) -> list[str]:
    half = HALF[dtype]
    return [
        f"%9: {dtype}[z.1, z.0] = transpose(z) {{axes=[1, 0]}}",
        f"a: {dtype}[z.1, z.0] = square(%9)",
        f"%1: {dtype}[z.0 - 1] = index(z) {{index=[1:1, 2]}}",
        f"b: {dtype}[z.0 - 1] = negative(%1)",
        f"%2: {dtype}[z.0, 1] = index(c) {{index=[0:1, newaxis]}}",
        f"d: {dtype}[z.0, z.1] = multiply(z, %2)",
        f"%3: {dtype}[z.0 * z.1] = reshape(z)",
        f"e: {dtype}[z.0 * z.1] = square(%3)",
        f"%4: {dtype}[z.0, z.1] = broadcast_to(%2)",
        "%5: bool[z.0, z.1] = equal(z, %4)",
        f"g: {dtype}[z.0, z.1] = where(%5, z, d)",
        f"%6: {dtype}[z.0 - 1] = index(c) {{index=[1:1]}}",
        f"h: {dtype}[z.0, z.1] = update(d, %6) {{index=[1:1, 1]}}",
        f"i: {half}[z.0, z.1] = real(d)",
        f"j: {half}[z.0, z.1] = imag(h)",
        f"%7: {half}[z.0, z.1] = imag(z)",
        f"k: {half}[z.0, z.1] = sqrt(%7)",
        f"%8: {dtype}[z.0, z.1] = conjugate(z)",
        f"l: {dtype}[z.0, z.1] = add(%8, d)",
    ]


@pytest.mark.parametrize(("dtype", "layout"), one_in(2, COMPLEX, ["c", "f", "any"]))
@pytest.mark.parametrize("shape", [(5, 7), (2, 3), (33, 19)])
def test_views_and_layouts(
    evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str, layout: str, shape: tuple[int, int]
) -> None:
    lines = structure_lines(dtype)
    text = program([f"arg z: {dtype}[z.0, z.1]", f"arg c: {dtype}[z.0]"], lines)
    arguments = {"z": usual(dtype, shape), "c": usual(dtype, shape[:1], 2)}
    check(evaluator, plain_numpy, text, arguments, layouts={"z": layout, "c": "any" if layout == "any" else "c"})


@pytest.mark.parametrize(("dtype", "layout"), one_in(2, COMPLEX, ["c", "f", "any"]))
def test_sums_and_products(evaluator: Evaluator, plain_numpy: PlainNumPy, dtype: str, layout: str) -> None:
    lines = [
        f"a: {dtype}[] = sum(z) {{axes=[0, 1]}}",
        f"b: {dtype}[z.0] = sum(z) {{axes=[1]}}",
        f"c: {dtype}[z.1] = sum(z) {{axes=[0]}}",
        "d: bool[z.0] = any(z) {axes=[1]}",
        "e: bool[] = all(z) {axes=[0, 1]}",
        f"%1: {dtype}[z.1, z.0] = transpose(z) {{axes=[1, 0]}}",
        f"g: {dtype}[z.0, z.0] = matmul(z, %1)",
    ]
    text = program([f"arg z: {dtype}[z.0, z.1]"], lines)
    tolerance = 1e-4 if dtype == "complex64" else 1e-12
    for shape in ((3, 4), (40, 300), (0, 3), (2, 0)):
        z = usual(dtype, shape)
        theirs = plain_numpy.evaluate(text, {"z": z})
        ours = run_both(evaluator, text, {"z": z}, layouts={"z": layout})
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 10)


def test_scalars(evaluator: Evaluator, plain_numpy: PlainNumPy) -> None:
    lines = [
        "%1: complex64[] = cast(s)",
        "a: complex64[z.0] = multiply(z, %1)",
        "b: complex128[] = square(s)",
        "g: bool[] = isnan(s)",
    ]
    text = program(["arg z: complex64[z.0]", "scalar s: complex128"], lines)
    for s in (1 + 2j, complex(0, np.nan), complex(-0.0, np.inf)):
        check(evaluator, plain_numpy, text, {"z": specials("complex64"), "s": np.complex128(s)})


def test_results_that_share_halves(evaluator: Evaluator, plain_numpy: PlainNumPy) -> None:
    """A half of two results, of a result and a temporary, constants as halves."""
    lines = [
        "w: complex128[z.0] = multiply(z, z)",
        "v: complex128[z.0] = conjugate(w)",
        "r: float64[z.0] = real(w)",
        "%1: complex128[] = sum(w) {axes=[0]}",
        "u: complex128[z.0] = divide(w, %1)",
        "%2: complex128[z.0] = cast(r)",
        "t: complex128[z.0] = positive(%2)",
        "%3: complex128[] = const() {value=1.0-2.0j}",
        "s: complex128[z.0] = broadcast_to(%3)",
    ]
    text = program(["arg z: complex128[z.0]"], lines)
    # Whole numbers: their sum is the same in any order.
    check(evaluator, plain_numpy, text, {"z": np.rint(usual("complex128", (20,)) * 8)})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("v: complex128[z.0] = sin(z)", "v = sin: does not take complex numbers"),
        ("v: complex128[] = prod(z) {axes=[0]}", "complex numbers have no translation here"),
        ("v: complex128[z.0] = power(z, z)", "for a constant whole exponent alone"),
        ("v: complex128[z.0 - 1] = index(z) {index=[1:1]}", "returns a view of z"),
        ("v: float64[z.0] = real(z)", "returns a view of z"),
    ],
)
def test_what_is_refused_is_named(evaluator: Evaluator, line: str, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        evaluator.run(program(["arg z: complex128[z.0]"], [line]), {"z": usual("complex128", (4,))})
    assert reason in str(caught.value)
