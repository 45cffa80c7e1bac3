"""Which source files may be compiled as one file: `unity_groups.py LINES FILE...` prints `group file` for each file.

A group has at most LINES lines. Two files share one where no name that either keeps to itself (in an unnamed namespace, `static`, a macro, a using) occurs
in the other or is declared by its headers, and where both open the same namespaces by using directives. Words decide and not C++: files that could share a group may
stand apart, and a clash that this misses is an error of the compiler, never another program."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COMMENTS_AND_TEXTS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL
)
_EXTERN_C = re.compile(r'extern\s+"C"\s*\{')
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_DEFINE_THEN_INCLUDE = re.compile(r"^[ \t]*#[ \t]*define\b.*^[ \t]*#[ \t]*include\b", re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
_PLAIN_WORD = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")  # neither a member nor qualified
_NAMESPACE = re.compile(r"\bnamespace\b([\w:\s]*)$")
_USING_NAMESPACE = re.compile(r"\busing\s+namespace\s+([\w:]+)")
_USING = re.compile(r"using\s+(?!namespace)([\w:]+)\s*(?:=|$)")
_NAMESPACE_ALIAS = re.compile(r"namespace\s+(\w+)\s*=")
_TYPE = re.compile(r"(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(\w+)")
_INTERNAL = re.compile(r"(?:static|constexpr|inline)\b|const\b[^(]*$")
_NAME = re.compile(r"[^(=\[]*?(?<![\w~])((?:\w+::)*[A-Za-z_~]\w*)\s*(?:\(|=|\[|$)")
_MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]+\s*\(")  # TEST(...)
_TEMPLATE = re.compile(r"\btemplate\b|\[\[[^]]*\]\]")
_ANGLES = re.compile(r"<[^<>]*>")


class Source:
    """What one file declares at the level of namespaces, and the words that it uses."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.path = path
        self.lines = text.count("\n")
        self.is_header = path.suffix == ".h"
        self.alters_headers = _DEFINE_THEN_INCLUDE.search(text) is not None
        self.headers = _headers(text, path)
        self.usings: dict[str, str] = {}  # name → its whole declaration
        self.names = set(_DEFINE.findall(text))
        code = _EXTERN_C.sub("namespace C {", text)
        code = _DIRECTIVE.sub("", _COMMENTS_AND_TEXTS.sub(" ", code))
        self.words = set(_PLAIN_WORD.findall(code)) | self.names
        self.opened = frozenset(_USING_NAMESPACE.findall(code))
        self._read(code)
        self.declared_by_headers: set[str] = set()
        self.usings_of_headers: set[tuple[str, str]] = set()
        for header in self.headers:
            names, usings = environment(header)
            self.declared_by_headers |= names
            self.usings_of_headers |= usings

    def may_join(self, other: Source) -> bool:
        return not (
            self.alters_headers
            or other.alters_headers
            or self.opened != other.opened
            or self._hides_from(other)
            or other._hides_from(self)
        )

    def _hides_from(self, other: Source) -> bool:
        """Would a name of this file mean something else in `other`?"""
        seen = other.words | other.declared_by_headers
        if self.names & seen:
            return True
        return any(
            name in seen and other.usings.get(name) != text and (name, text) not in other.usings_of_headers
            for name, text in self.usings.items()
        )

    def _read(self, code: str) -> None:
        """Walks over what stands at the level of namespaces, and past what other braces hold."""
        position = start = 0
        unnamed: list[bool] = []  # of each namespace around
        while position < len(code):
            sign = code[position]
            position += 1
            if sign == "}":
                unnamed.pop()
            elif sign == ";":
                self._declared(code[start : position - 1], any(unnamed))
            elif sign == "{":
                head = code[start : position - 1]
                space = _NAMESPACE.search(head.strip())
                if space:
                    unnamed.append(not space[1].strip())
                else:
                    self._declared(head, any(unnamed))
                    position = _after_braces(code, position)
            else:
                continue
            start = position

    def _declared(self, text: str, unnamed: bool) -> None:
        shorter = text
        while True:  # template arguments hold no name that is declared here
            text, shorter = shorter, _ANGLES.sub(" ", shorter)
            if shorter == text:
                break
        text = " ".join(_TEMPLATE.sub(" ", text).split())
        if text.startswith("using namespace"):
            return
        using = _USING.match(text) or _NAMESPACE_ALIAS.match(text)
        if using:
            self.usings[using[1].rsplit("::", 1)[-1]] = text
            return
        kind = _TYPE.match(text)
        if kind and ")" not in text:
            self.names.add(kind[1])
            return
        if self.is_header or unnamed or _INTERNAL.match(text):
            name = _NAME.match(text)
            if name and "::" not in name[1] and name[1] != "static_assert" and not _MACRO_CALL.match(text):
                self.names.add(name[1])


@functools.cache
def environment(header: Path) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """The names and the usings of a header and of those that it includes."""
    source = Source(header)
    return (
        frozenset(source.names | source.declared_by_headers),
        frozenset(source.usings.items()) | frozenset(source.usings_of_headers),
    )


def groups(sources: list[Source], most_lines: int) -> list[list[Source]]:
    """Next comes the file that the most groups refuse, of those the one that clashes with the most files, then the longest; each into the shortest group that
    takes it. (As graphs are coloured by DSATUR: fewer groups than by length alone.)"""
    clashes = {a: {b for b in sources if b is not a and not a.may_join(b)} for a in sources}
    made: list[list[Source]] = []
    lines: list[int] = []
    refused: dict[Source, set[int]] = {source: set() for source in sources}
    left = sorted(sources, key=lambda s: s.path)
    while left:
        source = max(left, key=lambda s: (len(refused[s]), len(clashes[s]), s.lines))
        left.remove(source)
        takers = [n for n in range(len(made)) if n not in refused[source] and lines[n] + source.lines <= most_lines]
        if not takers:
            takers = [len(made)]
            made.append([])
            lines.append(0)
        chosen = min(takers, key=lines.__getitem__)
        made[chosen].append(source)
        lines[chosen] += source.lines
        for other in clashes[source]:
            refused[other].add(chosen)
    return made


def _headers(text: str, path: Path) -> list[Path]:
    """The project's own headers that a file names."""
    found = []
    for name in _INCLUDE.findall(text):
        near = [folder / name for folder in (path.parent, ROOT) if (folder / name).exists()]
        found += [header.resolve() for header in near[:1] if header.suffix == ".h"]
    return found


def _after_braces(code: str, position: int) -> int:
    """Behind the brace that closes the one before `position`, and behind a semicolon there."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        position += 1
    semicolon = re.compile(r"\s*;").match(code, position)
    return semicolon.end() if semicolon else position


def main(most_lines: str, *paths: str) -> None:
    for number, group in enumerate(groups([Source(Path(path)) for path in paths], int(most_lines))):
        for source in group:
            print(number, source.path)


if __name__ == "__main__":
    main(*sys.argv[1:])
