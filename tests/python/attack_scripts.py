"""Random scripts run by Python and by `run`: what they print, the files they write, how they end.

    python tests/python/attack_scripts.py 60 --first 0
    python tests/python/attack_scripts.py 10 --command     # `python -m tilewright run` itself, with sizes that are worth it
    python tests/python/attack_scripts.py 10 --apart       # functions are followed by other processes, and found on disk by a second run
    python tests/python/attack_scripts.py 60 --loops       # loops that run once, which are compiled as regions
    python tests/python/attack_scripts.py 10 --tuned       # tuned, then run with what was found
    python tests/python/attack_scripts.py 1 --first 7 --text     # one script, printed
    python tests/python/attack_scripts.py 1 --first 7 --shrink   # what of it is wrong

Without `--command` it is the process that the command starts, in which each function is
compiled at its second call, which waits for it, whether it gains or not, and is not compared with NumPy.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from attack_seeds import options_of, seeds_of
from compiled_start import COMPILED
from random_scripts import script
from shrunk_scripts import shrunk

EAGER = (
    "from tilewright import followed_apart as a, hot_functions as h, specializing; h._WORTH_NS = h._WORTH_APART_NS = h._CALL_NS = 0; "
    "specializing.Specializing._patience_s = 60.0; "
    "h.JitFunction._loses = h.JitFunction._loses_to_watched = lambda *_: False; h.JitFunction.compares = False; "
)
HERE = "h.is_possible = lambda: False; "
# Each copy of the process is waited for.
APART = """a._LOOK_NS = 0; look = a.FollowedApart.is_over
def is_over(self):
    while not look(self): pass
    return True
a.FollowedApart.is_over = is_over; """
LIMIT_S = 240
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)(?![\w])")


@dataclass
class Ended:
    """What can be seen of a process."""

    code: int
    said: str
    last: str  # of the errors
    files: dict[str, str]


def ended(command: list[str], text: str, pass_fds: tuple[int, ...] = (), cache: str = "", folder: str = "") -> Ended:
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as place:
        path = Path(place)
        (path / "s.py").write_text(text)
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"} | ({"XDG_CACHE_HOME": cache} if cache else {})
        done = subprocess.run(
            command, cwd=path, env=environment, pass_fds=pass_fds, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        files = {one.name: held_by(one) for one in path.iterdir() if one.name != "s.py"}
    lines = [
        line for line in done.stderr.splitlines() if line.strip() and not line.startswith(("autotune:", "s.py:", "  "))
    ]
    return Ended(done.returncode, done.stdout, lines[-1] if lines and done.returncode else "", files)


def held_by(file: Path) -> str:
    if file.suffix != ".npy":
        return file.read_text()
    try:
        return str(np.load(file).tolist())
    except (EOFError, ValueError) as error:  # it was not written to the end
        return str(error)


def plain(text: str) -> Ended:
    return ended([sys.executable, "s.py"], text)


def eager(text: str, how: str = HERE, cache: str = "") -> Ended:
    """In the process that the command starts."""
    with open(os.devnull, "w") as none:
        command = [sys.executable, "-c", EAGER + how + COMPILED, str(none.fileno()), "s.py"]
        return ended(command, text, (none.fileno(),), cache)


def apart(text: str, wanted: Ended) -> str:
    """What differs in a run that has its functions followed by other processes, or in one that finds what those kept."""
    with tempfile.TemporaryDirectory() as cache:
        for run in ("first", "second"):
            if found := difference(eager(text, APART, cache), wanted):
                return f"{run} run: {found}"
    return ""


def command(text: str) -> Ended:
    return ended([sys.executable, "-m", "tilewright", "run", "--no-before", "s.py"], text)


def tuned(text: str) -> Ended:
    """With what a search has found, of one candidate each."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, "-m", "tilewright"]
        options = ["--db", f"{cache}/store.db", "s.py"]
        ended(
            [*start, "--no-module", "--run-all", "--trials", "1", "--budget", "4s", *options], text, (), cache, folder
        )
        for one in Path(folder).iterdir():
            one.unlink()
        return ended([*start, "run", *options], text, (), cache, folder)


def are_alike(ours: str, theirs: str) -> bool:
    """The same text but for the last digits of numbers."""
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours).split() != NUMBER.sub("#", theirs).split():  # numpy pads to the longest number
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(np.isclose(float(a), float(b), rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in pairs if a != b)


def difference(ours: Ended, theirs: Ended, codes_differ: bool = False) -> str:
    if not are_alike(ours.said, theirs.said):
        mine, wanted = ours.said.splitlines(), theirs.said.splitlines()
        for k, (a, b) in enumerate(zip(mine, wanted, strict=False)):
            if not are_alike(a, b):
                return f"line {k + 1} of the output: {a}\n    wanted: {b}"
        return f"lines of the output: {len(mine)}, wanted {len(wanted)}: {(mine[len(wanted) :] or wanted[len(mine) :])[0]}; {ours.last}"
    if bool(ours.code) != bool(theirs.code) or (ours.code != theirs.code and not codes_differ):
        return f"exit code {ours.code}, wanted {theirs.code}; {ours.last}"
    if not are_alike(ours.last, theirs.last):
        return f"the error: {ours.last}, wanted {theirs.last}"
    if sorted(ours.files) != sorted(theirs.files):
        return f"files {sorted(ours.files)}, wanted {sorted(theirs.files)}"
    return "; ".join(f"file {name}" for name in ours.files if not are_alike(ours.files[name], theirs.files[name]))


def compared(text: str, by_command: bool = False, is_apart: bool = False, is_tuned: bool = False) -> str:
    """What differs, or ""."""
    try:
        wanted = plain(text)
        if wanted.last.startswith("RecursionError"):
            return ""  # how deep it went
        if is_apart:
            return apart(text, wanted)
        if is_tuned:
            return difference(tuned(text), wanted, codes_differ=True)
        return difference((command if by_command else eager)(text), wanted, codes_differ=by_command)
    except subprocess.TimeoutExpired:
        return f"it ran for more than {LIMIT_S} s"


def attack(seed: int, by_command: bool = False, shrinks: bool = False, of_loops: bool = False, **ways: bool) -> str:
    sizes = {"size": 200_000, "turns": 24, "pause": True} if by_command or ways.get("is_tuned") else {}
    text = script(seed, of_loops=of_loops, **sizes)
    if found := compared(text, by_command, **ways):
        if shrinks:
            text = shrunk(text, lambda one: bool(compared(one, by_command, **ways)))
            found = f"{compared(text, by_command, **ways)}\n{text}"
        return f"seed {seed}: {found}"
    return ""


def main() -> int:
    options = options_of(__doc__)
    options.add_argument("--command", action="store_true")
    options.add_argument("--apart", action="store_true")
    options.add_argument("--loops", action="store_true")
    options.add_argument("--tuned", action="store_true")
    options.add_argument("--text", action="store_true")
    options.add_argument("--shrink", action="store_true")
    chosen = options.parse_args()
    wrong = 0
    for seed in seeds_of(chosen):
        if chosen.text:
            print(script(seed, of_loops=chosen.loops), end="")
        elif found := attack(
            seed, chosen.command, chosen.shrink, chosen.loops, is_apart=chosen.apart, is_tuned=chosen.tuned
        ):
            wrong += 1
            print(found, flush=True)
    if not chosen.text:
        print(f"{chosen.count} scripts, {wrong} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
