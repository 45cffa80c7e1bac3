"""Writes libraries to link against that offer what glibc 2.28 had, made from the glibc that is here.

    python link_stubs.py FOLDER COMPILER OBJDUMP

A linker takes the newest version of a symbol that it finds: what is built beside glibc 2.34 would need that for dlsym(). Each
symbol is offered here in its newest version up to 2.28, in the library that had it then; newer ones are not offered at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

OLDEST = (2, 28)
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2")


def symbols_of(path: str, objdump: str) -> dict[str, dict[tuple[int, ...], str]]:
    """name -> version -> type"""
    text = subprocess.run([objdump, "-T", path], capture_output=True, text=True, check=True).stdout
    found: dict[str, dict[tuple[int, ...], str]] = {}
    for line in text.splitlines():
        match = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+ +\(?GLIBC_([0-9.]+)\)? +(\S+)$", line)
        if match and match[2] not in ("*UND*", "*ABS*"):
            kind = "object" if "O" in match[1] else "function"
            found.setdefault(match[4], {})[tuple(map(int, match[3].split(".")))] = kind
    return found


def home_of(name: str, library: str, versions: dict[tuple[int, ...], str]) -> str:
    """The library that had it in 2.28: versions of 2.29 to 2.34 are mostly of what moved into libc."""
    moved = library == "libc.so.6" and any(OLDEST < version <= (2, 34) for version in versions)
    if not moved:
        return library
    return "libdl.so.2" if name.startswith("dl") else "libpthread.so.0"


def main() -> None:
    folder, compiler, objdump = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)

    def path_of(name: str) -> str:
        command = [compiler, f"-print-file-name={name}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    offered: dict[str, dict[str, tuple[tuple[int, ...], str]]] = {library: {} for library in LIBRARIES}
    for library in LIBRARIES:
        for name, versions in symbols_of(path_of(library), objdump).items():
            old = [version for version in versions if version <= OLDEST]
            if old:
                home = home_of(name, library, versions)
                offered[home].setdefault(name, (max(old), versions[max(old)]))
    for library, symbols in offered.items():
        lines = []
        for number, (name, (version, kind)) in enumerate(sorted(symbols.items())):
            label = f"s{number}"
            lines += [f".globl {label}", f".type {label}, @{kind}", f"{label}: .quad 0", f".size {label}, 8"]
            lines.append(f".symver {label}, {name}@@GLIBC_{'.'.join(map(str, version))}")
        nodes = {version for version, _ in symbols.values()} or {(2, 2, 5)}
        source, script = folder / f"{library}.s", folder / f"{library}.map"
        source.write_text(".data\n" + "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n')
        listed = [f"GLIBC_{'.'.join(map(str, version))} {{ }};" for version in sorted(nodes)]
        script.write_text("\n".join([*listed, "HIDDEN { local: s*; };", ""]))
        command = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{library}", f"-Wl,--version-script={script}"]
        subprocess.run([*command, "-o", str(folder / library), str(source)], check=True)
    inside = " ".join(str(folder / library) for library in ("libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"))
    script_text = f"GROUP ( {folder / 'libc.so.6'} {path_of('libc_nonshared.a')} AS_NEEDED ( {inside} ) )\n"
    (folder / "libc.so").write_text(script_text)
    for library in ("libm.so.6", "libdl.so.2", "libpthread.so.0"):
        link = folder / library.partition(".so")[0]
        link = link.with_name(f"{link.name}.so")
        link.unlink(missing_ok=True)
        link.symlink_to(library)


if __name__ == "__main__":
    main()
