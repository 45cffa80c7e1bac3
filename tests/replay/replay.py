"""What became of a corpus of programs at a commit: compared with what is written down, or with another commit.

python tests/replay/replay.py check              this build against digests.txt: every fifth program (--all, or TILEWRIGHT_EXAMPLES: each)
python tests/replay/replay.py accept             this build's digests are those of digests.txt from now on
python tests/replay/replay.py compare [COMMIT]   this build against COMMIT (default: HEAD), as a readable difference
python tests/replay/replay.py show NAME          everything that this build makes of one program
python tests/replay/replay.py record FILE...     a new corpus, from what the plugin recorder.py wrote
"""

from __future__ import annotations

import argparse
import collections
import difflib
import hashlib
import itertools
import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus.jsonl.xz"
DIGESTS = HERE / "digests.txt"
PROGRAM = Path("tests/replay/tilewright_replay")
_DIGITS = 8
_NONE = "-"  # a program that has not this station, or that is not lowered
_KEPT_PER_FILE = 80  # so that no file of tests outweighs the others
_LOWERED_EVERY = 8  # lowering takes nine tenths of the time: digests.txt has it of every eighth program
_CHECKED_EVERY = 5  # in a run of all tests. No divisor of the eight, so that the same programs are lowered

Entry = dict[str, Any]
Texts = dict[str, str]  # of an entry, by station


def corpus() -> list[Entry]:
    with lzma.open(CORPUS, "rt") as file:
        return [json.loads(line) for line in file]


def replayed(program: Path, entries: list[Entry], every: int) -> dict[str, Texts]:
    """What `program` makes of the entries, lowered code of every so many of them."""
    lines = [json.dumps({**entry, "lowered": at % every == 0}) for at, entry in enumerate(entries)]
    cores = len(os.sched_getaffinity(0))
    # Parts of all of the corpus: what takes long stands together there.
    with ThreadPoolExecutor(cores) as pool:
        parts = pool.map(lambda first: _answers(program, lines[first::cores]), range(cores))
        return {answer["name"]: answer["parts"] for answer in itertools.chain.from_iterable(parts)}


def _answers(program: Path, lines: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run([program], check=False, input="\n".join(lines), stdout=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(lines):
        name = json.loads(lines[len(answers)])["name"] if len(answers) < len(lines) else "the end"
        sys.exit(f"{program.name}: ended with {done.returncode} at {name}.")
    return answers


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def digests_of(texts: Texts) -> dict[str, str]:
    """By station. The other options of all variants are one station: a line of digests.txt has one number for them."""
    result: dict[str, str] = {}
    others: dict[str, str] = {}
    for station, text in sorted(texts.items()):
        target, _, what = station.partition(".")
        if what.startswith("variant "):
            others[f"{target}.options"] = others.get(f"{target}.options", "") + what + "\n" + text
        else:
            result[station] = digest(text)
    return {**result, **{station: digest(text) for station, text in others.items()}}


def written_digests() -> dict[str, dict[str, str]]:
    """The first line names the stations, the others have a program's digests in that order."""
    stations, *lines = (line.split() for line in DIGESTS.read_text().splitlines())
    return {
        name: {station: value for station, value in zip(stations, values, strict=True) if value != _NONE}
        for name, *values in lines
    }


def write_digests(digests: dict[str, dict[str, str]]) -> None:
    stations = sorted({station for one in digests.values() for station in one})
    lines = [" ".join(stations)]
    for name, one in sorted(digests.items()):
        lines.append(" ".join([name, *(one.get(station, _NONE) for station in stations)]))
    DIGESTS.write_text("\n".join(lines) + "\n")


def check(program: Path, everything: bool) -> int:
    written = written_digests()
    entries = corpus()
    changed: list[str] = []
    tried = entries if everything else entries[::_CHECKED_EVERY]
    for name, texts in replayed(program, tried, _LOWERED_EVERY).items():
        old, new = written.get(name, {}), digests_of(texts)
        stations = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        if stations:
            changed.append(f"{name}: {', '.join(stations)}")
    missing = written.keys() - {entry["name"] for entry in entries}
    print(f"{len(tried)} programs, {len(changed)} of them with changes.")
    for line in changed[:40]:
        print("  " + line)
    if changed or missing:
        print(
            "See what changed with `python tests/replay/replay.py compare`. Where it is what you meant, run `… accept` and say in the commit why."
        )
    return 1 if changed or missing else 0


def accept(program: Path) -> int:
    found = replayed(program, corpus(), _LOWERED_EVERY)
    write_digests({name: digests_of(texts) for name, texts in found.items()})
    print(f"{len(found)} programs.")
    return 0


def built_at(commit: str, build: Path) -> Path:
    """The program as `commit` has it, built in a folder of its own with this build's settings."""
    name = subprocess.check_output(["git", "rev-parse", "--short", commit], cwd=ROOT, text=True).strip()
    tree = build / "replay" / name
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", tree, name], cwd=ROOT, check=True)
    there = tree / "build"
    settings = [f"-D{key}={value}" for key, value in _settings(build).items()]
    subprocess.run(["cmake", "-S", tree, "-B", there, "-G", "Ninja", *settings], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", there, "--target", PROGRAM.name], check=True, stdout=sys.stderr)
    return there / PROGRAM


def _settings(build: Path) -> dict[str, str]:
    """Of this build's cache: compilers, where libraries are, and our own options."""
    wanted = (
        "CMAKE_BUILD_TYPE",
        "CMAKE_CXX_COMPILER",
        "CMAKE_CXX_COMPILER_LAUNCHER",
        "CMAKE_CXX_FLAGS",
        "Python_EXECUTABLE",
    )
    result = {}
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        key, _, value = line.partition("=")
        name, _, kind = key.partition(":")
        is_ours = name.startswith(("TILEWRIGHT_", "pybind11_")) and kind not in ("INTERNAL", "STATIC")
        if value and (name in wanted or is_ours):
            result[name] = value
    return result


def differences(before: dict[str, Texts], after: dict[str, Texts]) -> Iterator[tuple[str, str, str]]:
    """Program, station, difference as text."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        for station in sorted(old.keys() | new.keys()):
            if old.get(station) == new.get(station):
                continue
            lines = difflib.unified_diff(
                old.get(station, "").splitlines(),
                new.get(station, "").splitlines(),
                "before",
                "after",
                lineterm="",
                n=2,
            )
            yield name, station, "\n".join(lines)


def compare(program: Path, build: Path, commit: str, every: int, shown: int) -> int:
    entries = corpus()
    before = replayed(built_at(commit, build), entries, every)
    found = list(differences(before, replayed(program, entries, every)))
    for name, station, text in found[:shown]:
        print(f"== {name} · {station}\n{text}")
    stations = collections.Counter(station.partition(" ")[0] for _, station, _ in found)
    programs = len({name for name, _, _ in found})
    print(f"{len(entries)} programs, {programs} of them with differences to {commit}.")
    for station, count in sorted(stations.items()):
        print(f"  {station}: {count}")
    return 1 if found else 0


def show(program: Path, name: str) -> int:
    entries = [entry for entry in corpus() if entry["name"] == name]
    if not entries:
        sys.exit(f"{name}: the corpus has no such program.")
    print(json.dumps({key: value for key, value in entries[0].items() if key != "program"}))
    for station, text in replayed(program, entries, 1)[name].items():
        print(f"== {station}\n{text}")
    return 0


def record(files: Iterable[str]) -> int:
    """Each program once for each way in which its arguments may lie, named after its first test."""
    from tilewright import _native

    by_file: dict[str, dict[str, Entry]] = collections.defaultdict(dict)
    seen: set[str] = set()
    for file in files:
        for line in Path(file).read_text().splitlines():
            entry = json.loads(line)
            entry["program"] = _without_paths(entry["program"])
            try:
                key = _native.program_digest(entry["program"]) + json.dumps(
                    [entry["layouts"], entry["variant"], entry["contract"]], sort_keys=True
                )
            except Exception:
                continue  # a test of the reader's errors
            if key in seen:
                continue
            seen.add(key)
            test = Path(entry.pop("test").partition("::")[0]).stem
            names = by_file[test.removeprefix("test_")]
            names[str(len(names))] = entry
    chosen = []
    for file, entries in sorted(by_file.items()):
        step = max(1, -(-len(entries) // _KEPT_PER_FILE))
        for at, entry in list(entries.items())[::step]:
            chosen.append({"name": f"{file}.{at}", **entry})
    with lzma.open(CORPUS, "wt", preset=9) as out:
        for entry in chosen:
            out.write(json.dumps(entry, sort_keys=True) + "\n")
    print(f"{len(chosen)} programs of {len(seen)}, {CORPUS.stat().st_size} bytes.")
    return 0


def _without_paths(program: str) -> str:
    """The second line says where the function stands."""
    return re.sub(r'^(function \S+) ".*"$', r'\1 "corpus.py"', program, count=1, flags=re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "tests", help="the build folder whose program runs"
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    checking = verbs.add_parser("check")
    checking.add_argument("--all", action="store_true", help="each program of the corpus: some minutes")
    verbs.add_parser("accept")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("commit", nargs="?", default="HEAD")
    comparing.add_argument("--all", action="store_true", help="lower each program: some minutes")
    comparing.add_argument("--show", type=int, default=10, help="differences to print")
    verbs.add_parser("show").add_argument("name")
    verbs.add_parser("record").add_argument("files", nargs="+")
    given = parser.parse_args()
    program = given.build / PROGRAM
    if given.verb == "check":
        return check(program, given.all or "TILEWRIGHT_EXAMPLES" in os.environ)
    if given.verb == "accept":
        return accept(program)
    if given.verb == "compare":
        return compare(program, given.build, given.commit, 1 if given.all else _LOWERED_EVERY, given.show)
    if given.verb == "show":
        return show(program, given.name)
    return record(given.files)


if __name__ == "__main__":
    sys.exit(main())
