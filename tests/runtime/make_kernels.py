"""Compiles the kernels of the runtime's tests to object files, as emit does: no runtime, no asserts, no bounds query."""

import sys
from pathlib import Path

import halide as hl

BASE = "x86-64-linux-no_runtime-no_asserts-no_bounds_query"
AVX2 = BASE + "-sse41-avx-avx2-fma-f16c"


def kmeans(folder: Path) -> None:
    """km(means.0, X.1, X, means, argmin): the label of the nearest mean; every tail is guarded."""
    i, k, io, ii = hl.Var("i"), hl.Var("k"), hl.Var("io"), hl.Var("ii")
    x, means = hl.ImageParam(hl.Float(64), 2, "X"), hl.ImageParam(hl.Float(64), 2, "means")
    count, depth = hl.Param(hl.Int(32), "count"), hl.Param(hl.Int(32), "depth")
    r, rk = hl.RDom([(0, depth)], "r"), hl.RDom([(0, count)], "rk")
    norm, best, out = hl.Func("norm"), hl.Func("best"), hl.Func("argmin")
    norm[i, k] = hl.f64(0)
    difference = x[r.x, i] - means[r.x, k]
    norm[i, k] += difference * difference
    best[i] = (hl.f64(float("inf")), hl.i64(0))
    distance = hl.sqrt(norm[i, rk.x])
    nearer = distance < best[i][0]
    best[i] = (hl.select(nearer, distance, best[i][0]), hl.select(nearer, hl.i64(rk.x), best[i][1]))
    out[i] = best[i][1]
    out.split(i, io, ii, 4096, hl.TailStrategy.GuardWithIf).parallel(io)
    best.compute_at(out, io)
    norm.compute_at(out, io)
    out.compile_to_object(str(folder / "km.o"), [count, depth, x, means], "km", hl.Target(AVX2))


def axpy(folder: Path) -> None:
    """axpy(a, X, Y, Z): Z = a*X + Y for any strides of X and Y."""
    i, j = hl.Var("i"), hl.Var("j")
    a = hl.Param(hl.Float(64), "a")
    x, y = hl.ImageParam(hl.Float(64), 2, "X"), hl.ImageParam(hl.Float(64), 2, "Y")
    for image in (x, y):
        image.dim(0).set_stride(hl.Expr())
    z = hl.Func("axpy")
    z[j, i] = a * x[j, i] + y[j, i]
    z.compile_to_object(str(folder / "axpy.o"), [a, x, y], "axpy", hl.Target(BASE))


def elementary(folder: Path) -> None:
    """math(X, Y): functions of libm."""
    i = hl.Var("i")
    x = hl.ImageParam(hl.Float(64), 1, "X")
    f = hl.Func("math")
    f[i] = hl.sin(x[i]) + hl.exp(x[i]) + hl.pow(hl.abs(x[i]), hl.f64(1.5)) + hl.tanh(x[i]) + hl.floor(x[i])
    f.compile_to_object(str(folder / "math.o"), [x], "math", hl.Target(BASE))


def big_scratch(folder: Path) -> None:
    """big_scratch(n, X, Y): allocates n doubles inside, for running out of memory."""
    i, j = hl.Var("i"), hl.Var("j")
    n = hl.Param(hl.Int(32), "n")
    x = hl.ImageParam(hl.Float(64), 1, "X")
    rows, f = hl.Func("rows"), hl.Func("big_scratch")
    rows[j, i] = x[i] + hl.cast(hl.Float(64), j)
    r = hl.RDom([(0, n)], "r")
    f[i] = hl.f64(0)
    f[i] += rows[r.x * 1024 % n, i]
    rows.compute_at(f, i)
    f.update(0).parallel(i)
    f.compile_to_object(str(folder / "big_scratch.o"), [n, x], "big_scratch", hl.Target(BASE + "-large_buffers"))


def loops(folder: Path) -> None:
    """Small kernels for plans with loops. Arrays may have any strides, outputs too; `step` writes into its output."""
    i = hl.Var("i")
    t = hl.Param(hl.Int(32), "t")
    x, y = hl.ImageParam(hl.Float(64), 1, "x"), hl.ImageParam(hl.Float(64), 1, "y")
    u, v = hl.ImageParam(hl.Float(64), 1, "u"), hl.ImageParam(hl.Float(64), 1, "v")
    real, imag = hl.Param(hl.Float(64), "re"), hl.Param(hl.Float(64), "im")
    for image in (x, y, u, v):
        image.dim(0).set_stride(hl.Expr())

    def compile_(f: hl.Func, arguments: list, name: str, *, strided: bool = True) -> None:
        if strided:
            for buffer in f.output_buffers():
                buffer.dim(0).set_stride(hl.Expr())
        f.compile_to_object(str(folder / f"{name}.o"), arguments, name, hl.Target(BASE + "-strict_float"))

    step = hl.Func("step")  # step(t, A): A = 2*A + t
    step[i] = hl.undef(hl.Float(64))
    step[i] = step[i] * hl.f64(2) + hl.f64(t)
    compile_(step, [t], "step")

    half = hl.Func("half")  # half(x, B): B = x / 2
    half[i] = x[i] / hl.f64(2)
    compile_(half, [x], "half")

    large = hl.Func("large")  # large(x, c): c = x[0] > 1
    large[()] = x[0] > hl.f64(1)
    compile_(large, [x], "large", strided=False)

    whole = hl.Func("whole")  # whole(x, n): n = int(x[0])
    whole[()] = hl.i64(x[0])
    compile_(whole, [x], "whole", strided=False)

    square = hl.Func("square")  # square(c.re, c.im, x, y, u, v): u + v*1j = (x + y*1j)**2 + c
    square[i] = (x[i] * x[i] - y[i] * y[i] + real, hl.f64(2) * x[i] * y[i] + imag)
    compile_(square, [real, imag, x, y], "square")


def device(folder: Path) -> None:
    """gpu_axpy(a, X, Y, Z) for CUDA devices, with a temporary and with shared memory."""
    i, j, jo, ji = hl.Var("i"), hl.Var("j"), hl.Var("jo"), hl.Var("ji")
    a = hl.Param(hl.Float(64), "a")
    x, y = hl.ImageParam(hl.Float(64), 2, "X"), hl.ImageParam(hl.Float(64), 2, "Y")
    for image in (x, y):
        image.dim(0).set_stride(hl.Expr())
    scaled, row, z = hl.Func("scaled"), hl.Func("row"), hl.Func("gpu_axpy")
    scaled[j, i] = a * x[j, i]
    row[j, i] = scaled[j, i] + y[j, i]
    z[j, i] = row[j, i]
    scaled.compute_root().gpu_tile(j, jo, ji, 64, hl.TailStrategy.GuardWithIf).gpu_blocks(i)
    z.gpu_tile(j, jo, ji, 128, hl.TailStrategy.GuardWithIf).gpu_blocks(i)
    row.compute_at(z, jo).store_in(hl.MemoryType.GPUShared).gpu_threads(j)
    z.compile_to_object(str(folder / "gpu_axpy.o"), [a, x, y], "gpu_axpy", hl.Target(BASE + "-cuda-cuda_capability_80"))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for make in (kmeans, axpy, elementary, big_scratch, loops, device):
        make(target)
