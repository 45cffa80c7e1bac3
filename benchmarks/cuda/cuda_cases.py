"""The cases of the CUDA table: a script of cases/, its data on the device, its bars beside the best peer."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent.parent))
from case_list import CASES_FOLDER, load_script

F32 = {"dtype": np.float32}


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    title: str
    script: str
    function: str
    data: dict[str, Any] = field(default_factory=dict)
    must: float = 1.0
    goal: float = 1.0
    rtol: float = 1e-10
    mismatch_fraction: float = 0.0
    tuned_as: str = ""
    """The case whose module runs this one too."""
    from_numpy: bool = False
    """NumPy arrays in and out: copies count."""
    written: tuple[int, ...] = ()
    """Arguments that a call writes into. Calls go on from what the last one left, for every peer alike."""
    contract: str = "numpy"
    peers: tuple[str, ...] = ("torch", "cupy", "jax", "triton", "numba")
    calls: int = 20
    """Back to back, timed as one."""

    def module(self) -> ModuleType:
        return load_script(CASES_FOLDER / f"{self.script}.py")

    def arguments(self) -> tuple[Any, ...]:
        return tuple(self.module().make_data(**self.data))


CASES = [
    Case("kmeans", "k-means 20M float64", "kmeans", "get_labels", must=0.97, goal=1),
    Case("kmeans_f32", "k-means 20M float32", "kmeans", "get_labels", F32, must=0.97, goal=1, mismatch_fraction=1e-6),
    Case("kmeans_100", "k-means 100 points", "kmeans", "get_labels", {"points": 100}, must=3, goal=5, tuned_as="kmeans"),
    Case("kmeans_host", "k-means 20M float32 from NumPy arrays and back", "kmeans", "get_labels", F32, must=1.5, goal=1.5,
         mismatch_fraction=1e-6, tuned_as="kmeans_f32", from_numpy=True, peers=("torch",), calls=2),
    Case("mandelbrot", "Mandelbrot 833 x 1000", "mandelbrot_points", "mandelbrot", must=20, goal=20, rtol=math.inf,
         mismatch_fraction=2e-3, peers=("torch", "cupy", "jax")),
    Case("mandelbrot_hand", "Mandelbrot beside CUDA C by hand, -fmad=false", "mandelbrot_points", "mandelbrot", must=0.8,
         goal=0.95, rtol=math.inf, mismatch_fraction=2e-3, tuned_as="mandelbrot", peers=("nvrtc",)),
    Case("mandelbrot_fast", "Mandelbrot, contract fast, beside CUDA C by hand", "mandelbrot_points", "mandelbrot", must=0.8,
         goal=0.95, rtol=math.inf, mismatch_fraction=5e-3, contract="fast", peers=("nvrtc",)),
    Case("trig", "exp(a sin x + cos y) 10M float64", "trig", "trig", must=0.95, goal=1.1),
    Case("trig_f32", "exp(a sin x + cos y) 10M float32", "trig", "trig", F32, must=0.95, goal=1.1, rtol=1e-5),
    Case("l2norm", "l2 norm 20M float32", "l2norm", "l2norm", must=1.2, goal=1.5, rtol=1e-4),
    Case("softmax", "softmax 4096 x 4096 float32", "softmax", "softmax", must=0.9, goal=1.1, rtol=1e-4),
    Case("matmul_softmax", "matmul + softmax 100 x 100 float32", "matmul_softmax", "matmul_softmax", must=1.5, goal=2.5,
         rtol=1e-3),
    Case("sum_of_squares", "sum of squares 1M x 4 float64", "sum_of_squares", "sum_of_squares", must=1.1, goal=1.4),
    Case("squared_difference", "squared difference 10M float32", "squared_difference", "squared_difference", must=0.97,
         goal=1, rtol=1e-5),
    Case("pi", "pi 10M float64", "pi", "estimate_pi", must=1, goal=1.1, rtol=1e-7),
    Case("jacobi_2d", "NPBench jacobi_2d, L", "jacobi_2d", "kernel", {"size": "L"}, must=3, goal=3, written=(1, 2),
         rtol=1e-9, peers=("cupy", "jax"), calls=1),
    Case("conv2d_bias", "NPBench conv2d_bias, L", "conv2d_bias", "conv2d_bias", {"size": "L"}, must=3, goal=3, rtol=1e-3,
         peers=("cupy", "jax"), calls=1),
]  # fmt: skip
