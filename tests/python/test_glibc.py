"""What goes into modules needs glibc 2.28 at most, whatever glibc it was built beside."""

import re
import subprocess
from pathlib import Path

from tilewright import _face, native

# Of glibc 2.29 and later, as compilers, headers and static libraries ask for them by name.
_NEWER = re.compile(r"__isoc23_|_dl_find_object|__libc_single_threaded|arc4random|pidfd_|strlcpy|strlcat|__memcpy_chk_")


def test_the_c_extension_names_no_newer_version():
    text = subprocess.run(["objdump", "-T", _face.__file__], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", text)}
    assert versions and max(versions) <= (2, 28)


def test_the_c_extension_takes_nothing_without_a_version_but_pythons():
    # What the glibc of 2.28 has not is offered in no version at all.
    text = subprocess.run(["nm", "-D", "-u", _face.__file__], capture_output=True, text=True, check=True).stdout
    kinds = [line.split() for line in text.splitlines()]
    assert {
        name for kind, name in kinds if kind == "U" and "@" not in name and not name.startswith(("Py", "_Py"))
    } == set()


def test_the_runtime_of_c_libraries_takes_no_newer_name():
    archive = Path(native.worker_path()).parent / "lib" / "libtilewright_c_runtime.a"
    text = subprocess.run(["nm", "-u", archive], capture_output=True, text=True, check=True).stdout
    assert not _NEWER.findall(text)
