"""The cases of the speed table, each with its bars: ratios to the best peer in the same run."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

CASES_FOLDER = Path(__file__).parent / "cases"
EVERYDAY_FOLDER = Path(__file__).parent / "everyday"


def load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Case:
    """One row of the table: a function of a script in cases/, its data, its bars and what counts as a right answer."""

    name: str
    title: str
    script: str
    function: str
    data: dict[str, Any] = field(default_factory=dict)
    must: float = 1.0
    goal: float = 1.0
    rtol: float = 1e-10
    mismatch_fraction: float = 0.0
    peer_slack: float = 1.0
    """Peers may be wrong in so many times the fraction: in float32 a fused multiply-add moves points near an edge, and fast peers use it."""
    fresh_results: bool = False
    """Results are kept alive, so that each call touches new memory."""
    calls_per_turn: int = 1
    """Calls timed as one, for calls too short for the clock."""
    peers: tuple[str, ...] = ("numpy", "numba", "torch", "jax", "numexpr")
    tuned_as: str = ""
    """The case whose tuned module runs this one too: nothing is compiled for these sizes or layouts."""
    per_point_of: str = ""
    """Compare our own time per element with that of another case instead of with peers."""
    written: tuple[int, ...] = ()
    """The arguments that a call writes into: each timed call gets them as they were, and they are results first of all."""
    bars: tuple[float, ...] = ()
    """NPBench's way to judge, a bar for each result: the norm of the error over the norm of the answer."""
    group: str = ""
    """A table of its own on the page."""
    keeps_freed_memory: bool = False
    """Every peer runs with a malloc that gives nothing back: the steadier and stronger NumPy where temporaries come and go."""

    folder: Path = CASES_FOLDER
    whole: bool = False
    """An answer is right with its structure: dicts and tuples, names, dtypes and shapes."""

    def module(self) -> ModuleType:
        return load_script(self.folder / f"{self.script}.py")

    @property
    def words(self) -> list[str]:
        """What follows the script on a command line, so that it runs with this data."""
        return [str(self.data[key]) for key in ("dtype", "size") if key in self.data]


F32 = {"dtype": "float32"}

# NPBench's programs with loops: script, function, the places of the arguments that are written, a bar for each result.
NPBENCH: list[tuple[str, str, tuple[int, ...], tuple[float, ...]]] = [
    ("mandelbrot1", "mandelbrot", (), (1e-3, 1e-3)),  # NPBench's own bar: points near the edge are chaotic
    ("jacobi_2d", "kernel", (1, 2), (1e-10, 1e-10)),
    ("cavity_flow", "cavity_flow", (4, 5, 9), (1e-10, 1e-10, 1e-10)),
    ("channel_flow", "channel_flow", (1, 2, 6), (1e-10, 1e-10, 1e-10, 0)),
    ("deriche", "kernel", (), (1e-10,)),
    ("adi", "kernel", (2,), (1e-10,)),
    ("conv2d_bias", "conv2d_bias", (), (1e-5,)),
    ("syrk", "kernel", (2,), (1e-10,)),
    ("spmv", "spmv", (), (1e-10,)),
    ("crc16", "crc16", (), (0,)),
    ("seidel_2d", "kernel", (2,), (1e-10,)),
]

# Programs as users of plain NumPy write them: kind, script, function, the places of the arguments that are written.
EVERYDAY = [
    ("images", "histogram_equalization", "histeq", ()),
    ("images", "otsu", "binarize", ()),
    ("images", "canny", "canny", ()),
    ("images", "median_denoise", "denoise", ()),
    ("images", "rotate_image", "rotate", ()),
    ("images", "seam_carving", "crop_width", ()),
    ("signals", "smooth", "smooth", ()),
    ("signals", "kalman", "kalman", ()),
    ("signals", "detect_peaks", "detect_peaks", ()),
    ("signals", "mfcc", "mfcc", ()),
    ("signals", "phase_vocoder", "time_stretch", ()),
    ("signals", "haar_denoise", "denoise", ()),
    ("finance", "longstaff_schwartz", "american_put", ()),
    ("finance", "binomial_tree", "binomial_option", ()),
    ("finance", "risk_report", "risk_report", ()),
    ("finance", "backtest", "backtest", ()),
    ("grids", "gray_scott", "gray_scott", ()),
    ("grids", "lattice_boltzmann", "cylinder_flow", ()),
    ("grids", "laplace", "solve", ()),
    ("grids", "schrodinger", "tunnel", ()),
    ("grids", "ising", "ising", ()),
    ("particles", "nbody", "nbody", ()),
    ("particles", "lennard_jones", "simulate", ()),
    ("particles", "boids", "fly", (0, 1)),
    ("particles", "particle_box", "run", ()),
    ("learning", "kmeans_fit", "kmeans", ()),
    ("learning", "logistic_regression", "fit", ()),
    ("learning", "gaussian_mixture", "fit_gmm", ()),
    ("learning", "pca", "pca", ()),
    ("learning", "bootstrap", "compare", ()),
    ("learning", "mlp", "train", ()),
    ("graphs", "pagerank", "pagerank", ()),
    ("graphs", "bfs", "bfs_levels", ()),
    ("graphs", "floyd_warshall", "floyd_warshall", ()),
    ("texts", "edit_distance", "levenshtein", ()),
    ("texts", "hamming_code", "send", ()),
    ("texts", "caesar", "break_caesar", ()),
    ("games", "game_of_life", "life", ()),
    ("games", "connect_four", "odds", ()),
    ("games", "sudoku", "play", ()),
]


def everyday_cases() -> list[Case]:
    """Each program at its own size, and as NAME_small."""
    return [
        Case(f"everyday_{script}{end}", kind, script, function, {"small": True} if end else {}, must=0.95, goal=5, rtol=1e-9,
             written=written, group="everyday", peers=("numpy", "numba", "jax"), folder=EVERYDAY_FOLDER, whole=True)
        for kind, script, function, written in EVERYDAY
        for end in ("", "_small")
    ]  # fmt: skip


def npbench_cases() -> list[Case]:
    return [
        Case(f"{script}_{size}", f"NPBench {script}, {size}", script, function, {"size": size}, must=0.5, goal=1, written=written,
             bars=bars, group="npbench", keeps_freed_memory=True, peers=("numpy", "numba", "jax"))
        for script, function, written, bars in NPBENCH
        for size in ("S", "M")
    ]  # fmt: skip


CASES = [
    Case("kmeans", "k-means 20M float64, steady", "kmeans", "get_labels", must=5, goal=6),
    Case("kmeans_fresh", "k-means 20M float64, first touch", "kmeans", "get_labels", must=3.5, goal=4, fresh_results=True,
         tuned_as="kmeans"),
    Case("kmeans_f32", "k-means 20M float32, steady", "kmeans", "get_labels", F32, must=5, goal=8, mismatch_fraction=1e-6),
    Case("kmeans_100", "k-means 100 points", "kmeans", "get_labels", {"points": 100}, must=2, goal=4, calls_per_turn=2000,
         tuned_as="kmeans"),
    Case("kmeans_hand", "k-means 20M float64 against a hand-written loop, reused result", "kmeans", "get_labels",
         must=1 / 1.15, goal=1, peers=("openmp",), tuned_as="kmeans"),
    Case("kmeans_less", "k-means 19,999,999 points", "kmeans", "get_labels", {"points": 19_999_999}, must=0.95, goal=1, peers=(),
         tuned_as="kmeans", per_point_of="kmeans"),
    Case("kmeans_3means", "k-means 20M, three means", "kmeans", "get_labels", {"means": 3}, peers=("numpy", "numba"), tuned_as="kmeans"),
    Case("kmeans_3d", "k-means 20M, three dimensions", "kmeans", "get_labels", {"dimensions": 3}, peers=("numpy", "numba"),
         tuned_as="kmeans"),
    Case("kmeans_fortran", "k-means 20M, Fortran-ordered points", "kmeans", "get_labels", {"order": "F"}, peers=("numpy", "numba"),
         tuned_as="kmeans"),
    Case("trig", "exp(a sin x + cos y) 10M float64", "trig", "trig", must=1.6, goal=2),
    Case("trig_f32", "exp(a sin x + cos y) 10M float32", "trig", "trig", F32, must=2.5, goal=4, rtol=1e-5),
    Case("softmax", "softmax 4096 x 4096 float32", "softmax", "softmax", must=3, goal=5, rtol=1e-4),
    Case("l2norm", "l2 norm 20M float32", "l2norm", "l2norm", must=0.95, goal=1.2, rtol=1e-4),
    Case("sum_of_squares", "sum of squares 1M x 4 float64", "sum_of_squares", "sum_of_squares", must=1, goal=1.3),
    Case("squared_difference", "squared difference 10M float32", "squared_difference", "squared_difference", must=1.5, goal=2, rtol=1e-5),
    Case("pi", "Monte Carlo pi 10M float64", "pi", "estimate_pi", must=1, goal=1.3, rtol=1e-7),
    Case("monte_carlo_pi", "Monte Carlo pi as a loop, 10M points drawn in it", "monte_carlo_pi", "monte_carlo_pi", must=1, goal=2,
         rtol=0, peers=("numpy", "numba")),
    Case("matmul_softmax", "matmul + softmax 100 x 100 float32", "matmul_softmax", "matmul_softmax", must=1.3, goal=2, rtol=1e-3,
         calls_per_turn=100),
    Case("gemm", "gemm 1024 float32", "gemm", "gemm", must=0.95, goal=1, rtol=1e-2, peers=("numpy",)),
    Case("mandelbrot", "Mandelbrot tutorial 1000 x 833, 200 iterations", "mandelbrot", "mandelbrot_numpy", must=10, goal=12,
         mismatch_fraction=1e-3, peer_slack=2, rtol=math.inf, peers=("numpy", "numba", "torch", "jax")),
    *npbench_cases(),
]  # fmt: skip


def case(name: str) -> Case:
    for candidate in [*CASES, *everyday_cases()]:
        if candidate.name == name:
            return candidate
    raise KeyError(f"no case is called {name!r}; there are: {', '.join(c.name for c in CASES)}")
