"""NumPy without its dispatch to AVX2, AVX-512 and FMA, in a child process: complex products are then the plain formula
ar*br - ai*bi, which the compiled programs compute too; with FMA their last bits depend on the machine."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


class PlainNumPy:
    """One child; programs one after the other."""

    def __init__(self) -> None:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

        found = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(found), "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def evaluate(self, text: str, arguments: Mapping[str, Any]) -> list[Any]:
        """The results of a program's text (tilewright/debug/oracle.py)."""
        assert self._process.stdin and self._process.stdout
        pickle.dump((text, dict(arguments)), self._process.stdin)
        self._process.stdin.flush()
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, Exception):
            raise answer
        return list(answer) if isinstance(answer, tuple) else [answer]


def _serve() -> None:
    import numpy as np
    from tilewright.debug.oracle import evaluate

    out = os.fdopen(os.dup(1), "wb")
    while True:
        try:
            text, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            with np.errstate(all="ignore"):
                answer: Any = evaluate(text, arguments)
        except Exception as error:
            answer = error
        pickle.dump(answer, out)
        out.flush()


if __name__ == "__main__":
    _serve()
