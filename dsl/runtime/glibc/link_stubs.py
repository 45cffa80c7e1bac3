"""Writes libraries to link against that offer what systems of glibc 2.28 had, made from the libraries that are here.

    python link_stubs.py FOLDER COMPILER OBJDUMP

A linker takes the newest version of a symbol that it finds: what is built beside glibc 2.34 would need that for dlsym(). Each
symbol is offered here in its newest version up to those of OLDEST, in the library that had it then; newer ones are not offered
at all. What is newer in libstdc++ comes out of its archive, so that it is carried along.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# What manylinux_2_28 allows.
OLDEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "libstdc++.so.6")
# The symbol's value, its flags, section, size, version and name.
_SYMBOL = re.compile(r"([0-9a-f]+) (.{7}) (\S+)\s+([0-9a-f]+) +\(?([A-Z]+)_([0-9.]+)\)? +(\S+)$")


@dataclass(frozen=True)
class Symbol:
    address: int
    kind: str  # as the assembler calls it
    size: int
    prefix: str
    version: tuple[int, ...]

    @property
    def node(self) -> str:
        return f"{self.prefix}_{'.'.join(map(str, self.version))}"


def symbols_of(path: str, objdump: str) -> dict[str, list[Symbol]]:
    text = subprocess.run([objdump, "-T", path], capture_output=True, text=True, check=True).stdout
    found: dict[str, list[Symbol]] = {}
    for address, flags, section, size, prefix, version, name in filter(None, map(_fields, text.splitlines())):
        kind = (
            "tls_object" if section in (".tbss", ".tdata") else "function" if "F" in flags or "i" in flags else "object"
        )
        symbol = Symbol(int(address, 16), kind, int(size, 16), prefix, tuple(map(int, version.split("."))))
        found.setdefault(name, []).append(symbol)
    return found


def _fields(line: str) -> tuple[str, ...] | None:
    match = _SYMBOL.match(line)
    known = match and match[3] not in ("*UND*", "*ABS*") and match[5] in OLDEST
    return match.groups() if match and known else None


def home_of(name: str, library: str, symbols: list[Symbol]) -> str:
    """The library that had it in 2.28: versions of 2.29 to 2.34 are mostly of what moved into libc."""
    moved = library == "libc.so.6" and any((2, 28) < symbol.version <= (2, 34) for symbol in symbols)
    if not moved or name == "__libc_start_main":
        return library
    return "libdl.so.2" if name.startswith("dl") else "libpthread.so.0"


def assembled(symbols: dict[str, Symbol]) -> str:
    """A library's source. A program copies an object of a library to itself, with its size and under all of its names."""
    sections: dict[str, list[str]] = {".text": [], ".data": [], '.section .tbss,"awT",@nobits': []}
    of_kind = dict(zip(("function", "object", "tls_object"), sections, strict=True))
    places: dict[tuple[str, int], list[tuple[str, Symbol]]] = {}
    for name, symbol in sorted(symbols.items()):
        places.setdefault((symbol.kind, symbol.address), []).append((name, symbol))
    for number, ((kind, _), names) in enumerate(places.items()):
        sizes = [symbol.size if kind != "function" else 1 for _, symbol in names]
        body = sections[of_kind[kind]]
        body.append(".balign 1" if kind == "function" else ".balign 32")
        for alias, ((name, symbol), size) in enumerate(zip(names, sizes, strict=True)):
            label = f"s{number}_{alias}"
            body += [f".globl {label}", f".type {label}, @{kind}", f".size {label}, {size}", f"{label}:"]
            body.append(f".symver {label}, {name}@@{symbol.node}")
        body.append(f".zero {max(1, *sizes)}")
    lines = [line for section, body in sections.items() for line in (section, *body)]
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n'


def main() -> None:
    folder, compiler, objdump = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)

    def path_of(name: str) -> str:
        command = [compiler, f"-print-file-name={name}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    offered: dict[str, dict[str, Symbol]] = {library: {} for library in LIBRARIES}
    for library in LIBRARIES:
        for name, symbols in symbols_of(path_of(library), objdump).items():
            old = [symbol for symbol in symbols if symbol.version <= OLDEST[symbol.prefix]]
            if old:
                offered[home_of(name, library, symbols)].setdefault(name, max(old, key=lambda symbol: symbol.version))
    for library, chosen in offered.items():
        source, script = folder / f"{library}.s", folder / f"{library}.map"
        source.write_text(assembled(chosen))
        nodes = sorted({symbol.node for symbol in chosen.values()} or {"GLIBC_2.2.5"})
        script.write_text("\n".join([*(f"{node} {{ }};" for node in nodes), "HIDDEN { local: s*; };", ""]))
        command = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{library}", f"-Wl,--version-script={script}"]
        subprocess.run([*command, "-o", str(folder / library), str(source)], check=True)
    inside = " ".join(str(folder / library) for library in ("libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"))
    scripts = {
        "libc.so": f"{folder / 'libc.so.6'} {path_of('libc_nonshared.a')} AS_NEEDED ( {inside} )",
        "libstdc++.so": f"{folder / 'libstdc++.so.6'} {path_of('libstdc++.a')}",
    }
    for name, members in scripts.items():
        (folder / name).write_text(f"GROUP ( {members} )\n")
    for library in ("libm.so.6", "libdl.so.2", "libpthread.so.0"):
        link = folder / library.partition(".so")[0]
        link = link.with_name(f"{link.name}.so")
        link.unlink(missing_ok=True)
        link.symlink_to(library)


if __name__ == "__main__":
    main()
