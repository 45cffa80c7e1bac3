"""CUDA C by hand, compiled by NVRTC (CuPy's RawKernel): with -fmad=false beside contract numpy, with its default beside fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SOURCE = r"""
extern "C" __global__ void mandelbrot(const float2* c, float2* zs, long long* counts, int nx, int ny, int maxiter, float limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    float2 p = c[y * nx + x];
    float zr = 0, zi = 0;
    int last = 0, n = 0;
    for (; n < maxiter; ++n) {
        float a = zr * zr, b = zi * zi;
        if (!(a + b < limit)) break;
        last = n;
        zi = 2 * zr * zi + p.y;
        zr = a - b + p.x;
    }
    zs[y * nx + x] = make_float2(zr, zi);
    counts[y * nx + x] = last == maxiter - 1 ? 0 : last;
}"""


def prepare(case: Any, arguments: tuple[Any, ...]) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    import cupy

    options = ("-fmad=false",) if case.contract == "numpy" else ()
    kernel = cupy.RawKernel(_SOURCE, "mandelbrot", options=options)
    points, maxiter, horizon = cupy.asarray(arguments[0]), arguments[1], arguments[2]
    ny, nx = points.shape

    def way(width: int, height: int) -> Callable[[], Any]:
        grid = ((nx + width - 1) // width, (ny + height - 1) // height)

        def call() -> Any:
            zs, counts = cupy.empty_like(points), cupy.empty(points.shape, cupy.int64)
            limit = cupy.float32(min(horizon * horizon, 3.4e38))
            kernel(
                grid, (width, height), (points, zs, counts, cupy.int32(nx), cupy.int32(ny), cupy.int32(maxiter), limit)
            )
            return zs, counts

        return call

    sizes = [(32, 4), (16, 8), (8, 8), (32, 2), (16, 4), (16, 16), (64, 1), (32, 1)]
    return {f"{w} x {h} threads": way(w, h) for w, h in sizes}, cupy.cuda.runtime.deviceSynchronize
