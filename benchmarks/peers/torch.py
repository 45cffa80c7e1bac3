"""torch.compile on the case's own NumPy function, and the same computation on tensors without copies; the faster one counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TUTORIAL_CHUNK = 10  # the best of its table at two threads


def version() -> str:
    import torch

    return str(torch.__version__)


def _on_tensors(case: Any, torch: Any) -> Callable[..., Any]:
    table = {
        "kmeans": lambda x, means: torch.argmin(torch.sqrt(((x - means[:, None]) ** 2).sum(2)), 0),
        "trig": lambda x, y, a: torch.exp(a * torch.sin(x) + torch.cos(y)),
        "softmax": lambda x: torch.softmax(x, 1),
        "l2norm": lambda x: torch.sqrt((x * x).sum()),
        "sum_of_squares": lambda x: (x**2).sum(1),
        "squared_difference": lambda a, b: (a - b) ** 2,
        "pi": lambda x, y: 4.0 * ((x**2 + y**2) <= 1.0).to(x.dtype).mean(),
        "matmul_softmax": lambda a, b: torch.softmax(a @ b, 1),
    }
    return table[case.script]


def prepare(case: Any, arguments: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    import numpy as np
    import torch

    torch.set_num_threads(max(1, len(__import__("os").sched_getaffinity(0))))
    if case.script == "mandelbrot":  # its NumPy function is refused, or runs uncompiled: the tutorial's story
        from loops import with_torch

        run = with_torch.mandelbrot(TUTORIAL_CHUNK)
        return {f"chunks of {TUTORIAL_CHUNK}": lambda: run(*arguments)}
    tensors = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments)
    compiled = torch.compile(_on_tensors(case, torch))
    from_numpy = torch.compile(getattr(case.module(), case.function))

    def tensor_call() -> Any:
        with torch.no_grad():
            return compiled(*tensors).numpy()

    return {"tensors": tensor_call, "NumPy function": lambda: from_numpy(*arguments)}
