"""What is built needs glibc 2.28 at most, and the libstdc++ of then, whatever it was built beside."""

import re
import subprocess
from pathlib import Path

import pytest
from tilewright import _face, native

pytestmark = pytest.mark.fast

# Of glibc 2.29 and later, as compilers, headers and static libraries ask for them by name.
_NEWER = re.compile(r"__isoc23_|_dl_find_object|__libc_single_threaded|arc4random|pidfd_|strlcpy|strlcat|__memcpy_chk_")


# What systems of that glibc have, and manylinux_2_28 allows.
_NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}


@pytest.mark.parametrize(
    "path", [_face.__file__, native.compiler().__file__, str(native.worker_path())], ids=["face", "compiler", "worker"]
)
def test_no_newer_version_is_named(path):
    text = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\)? +(\S+)", text)
    assert any(prefix == "GLIBC" for prefix, _, _ in found)
    assert [
        symbol for symbol in found if tuple(map(int, symbol[1].split("."))) > _NEWEST[symbol[0]]
    ] == []  # fmt: skip


@pytest.mark.parametrize("path", [_face.__file__, native.compiler().__file__], ids=["face", "compiler"])
def test_nothing_is_taken_without_a_version_but_from_python_and_our_libraries(path):
    # What the glibc of 2.28 has not is offered in no version at all.
    text = subprocess.run(["nm", "-D", "-u", path], capture_output=True, text=True, check=True).stdout
    taken = {line.split()[1] for line in text.splitlines() if line.split()[0] == "U" and "@" not in line}
    assert {name for name in taken if not name.startswith(("Py", "_Py", "sqlite3_")) and "Halide" not in name} == set()


def test_the_runtime_of_c_libraries_takes_no_newer_name():
    runtime = Path(native.worker_path()).parent / "lib" / "tilewright_c_runtime.o"
    text = subprocess.run(["nm", "-u", runtime], capture_output=True, text=True, check=True).stdout
    assert not _NEWER.findall(text)
