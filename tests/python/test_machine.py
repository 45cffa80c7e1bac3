"""The level of this machine: detected once, cut by TILEWRIGHT_ISA for all who ask."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tilewright import machine

pytestmark = pytest.mark.fast

_ASK = """
import json, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from tilewright import _face, machine, native
    compiler = native.compiler()
    asked = {
        "python": machine.host_isa(),
        "runtime": _face.machine_isa(),
        "compiler": compiler.host_isa(),
        "resolved": machine.resolve_isa("host"),
        "search": compiler.machine()["isa"],
        "targets": machine.targets_of(None).host,
    }
print(json.dumps({"asked": asked, "fingerprint": compiler.machine()["fingerprint"], "said": [str(w.message) for w in said]}))
"""


def ask(wish: str | None) -> dict[str, object]:
    environment = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_ISA"}
    if wish is not None:
        environment["TILEWRIGHT_ISA"] = wish
    done = subprocess.run([sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=True)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def whole() -> dict[str, object]:
    return ask(None)


def test_all_who_ask_for_the_level_hear_the_same(whole):
    assert set(whole["asked"].values()) == {machine.host_isa()}
    assert whole["said"] == []


@pytest.mark.parametrize("wish", [*machine.ISA_LEVELS, "x86-64-v2"])
def test_all_of_them_hear_the_environment(whole, wish):
    answer = ask(wish)
    levels = (*machine.ISA_LEVELS[:2], "x86-64-v2", machine.ISA_LEVELS[2])  # highest first
    here = whole["asked"]["python"]
    expected = max(wish, here, key=levels.index).replace("x86-64-v2", "x86-64")
    assert answer["asked"] == dict.fromkeys(answer["asked"], expected)
    assert answer["said"] == []
    # Measurements are the CPU's, whatever code is made for it.
    assert answer["fingerprint"] == whole["fingerprint"]


def test_a_level_that_is_none_is_said_and_ignored(whole):
    answer = ask("avx2")
    assert answer["asked"] == whole["asked"]
    assert answer["said"] == [
        f"TILEWRIGHT_ISA=avx2: there is no such level, so code is made for {machine.host_isa()}. "
        "The levels are: x86-64, x86-64-v3, x86-64-v4."
    ]


def test_the_level_is_the_one_that_the_c_library_finds():
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    if not loader.exists():
        pytest.skip("no glibc here")
    said = subprocess.run([loader, "--help"], capture_output=True, text=True, check=False).stdout
    found = {name for name in re.findall(r"(x86-64-v\d) \(supported", said)} | {"x86-64"}
    if found == {"x86-64"} and "supported" not in said:
        pytest.skip("this glibc does not say")
    assert ask(None)["asked"]["python"] == next(level for level in machine.ISA_LEVELS if level in found)
