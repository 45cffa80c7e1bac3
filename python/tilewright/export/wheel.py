"""A wheel of an exported module, tagged for the glibc that its C extension needs."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from ..errors import ExportError

_PYTHON_TAG = "cp311-abi3"


def write_wheel(package: Path, version: str, *, force: bool = False) -> Path:
    """`kmeans_tuned/` -> `kmeans_tuned-1.0-cp311-abi3-manylinux_2_28_x86_64.whl` beside it."""
    name = package.name
    tag = f"{_PYTHON_TAG}-{_platform(package)}"
    path = package.parent / f"{name}-{version}-{tag}.whl"
    if path.exists() and not force:
        raise ExportError(f"{path}: exists.", "Give --force to overwrite it.")
    info = f"{name}-{version}.dist-info"
    found = sorted(f for f in package.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    files = {f"{name}/{file.relative_to(package)}": file.read_bytes() for file in found}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: Native code that tilewright tuned.\nRequires-Python: >=3.11\nRequires-Dist: numpy>=2.0\n"
    ).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tilewright\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    temporary = path.with_suffix(".whl.new")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            entry = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))  # the same input gives the same bytes
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    temporary.replace(path)
    return path


def _platform(package: Path) -> str:
    """manylinux for the newest glibc symbol in the package, at least the oldest that tilewright supports."""
    newest = 28
    for library in package.glob("*.so"):
        for minor in re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes()):
            newest = max(newest, int(minor))
    return f"manylinux_2_{newest}_x86_64"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
