"""A hand-written OpenMP/AVX-512 loop for k-means, compiled with g++ here, into a result that is reused."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def version() -> str:
    return subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()


def prepare(case: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import numpy as np

    if case.script != "kmeans":
        raise NotImplementedError("only k-means is written by hand")
    folder = tempfile.mkdtemp(prefix="openmp_kmeans_")
    library = Path(folder) / "kmeans.so"
    source = Path(__file__).with_name("openmp_kmeans.cpp")
    command = ["g++", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).kmeans2d
    points, means = arguments
    labels = np.empty(len(points), np.int64)
    integer = ctypes.c_int64

    def call() -> Any:
        function(
            ctypes.c_void_p(points.ctypes.data),
            integer(len(points)),
            ctypes.c_void_p(means.ctypes.data),
            integer(len(means)),
            ctypes.c_void_p(labels.ctypes.data),
        )
        return labels

    return call
