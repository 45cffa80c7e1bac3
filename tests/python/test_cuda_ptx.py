"""The cases of `device_cases.py` compiled for a device, on any machine: each has PTX, which holds nothing that changes a bit
where no elementary function is in it, and which ptxas assembles where there is one."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest
from device_cases import CASES
from device_pool import ask_all
from examples import covering

pytestmark = pytest.mark.device


DTYPE = re.compile(r"\b(bool|u?int\d+|float\d+|complex\d+)\b")


def family_of(name: str) -> str:
    """What a case tries, whatever the dtype and the number of the case."""
    return re.sub(r" \d+\b", "", DTYPE.sub("", name))


def test_ptx_of_every_case() -> None:
    """Of every family of cases and with every dtype: devices run all of them, and TILEWRIGHT_EXAMPLES compiles all."""
    names = covering(CASES, family_of, lambda name: str(DTYPE.findall(name)))
    answers = ask_all([{"ask": "compile", "name": name} for name in names])
    wrong = [f"{name}: {a['text']}" for name, a in zip(names, answers, strict=True) if a["status"] != "ok"]
    print(f"{len(names)} cases, {sum(a['calls'] for a in answers)} texts of PTX")
    assert not wrong, f"{len(wrong)} of {len(names)}\n\n" + "\n\n".join(wrong)


def test_ptxas_has_seen_them() -> None:
    if shutil.which("ptxas") is None:
        pytest.skip("no ptxas here: the PTX was searched for forbidden instructions and not assembled")


def test_the_sanitizer_is_given_cases_that_there_are() -> None:
    spec = importlib.util.spec_from_file_location("gpu", Path(__file__).parent.parent / "gpu.py")
    assert spec and spec.loader
    gpu = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gpu)
    assert [name for name in gpu.SANITIZED if name not in CASES] == []
