"""The command line of the attacks: how many random programs, and from which one on."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def options_of(description: str | None) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=description)
    options.add_argument("count", type=int)
    options.add_argument("--first", type=int, default=0)
    return options


def seeds_of(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.count)


def seeds(description: str | None) -> range:
    """Those that the command line asks for, which has no other options."""
    return seeds_of(options_of(description).parse_args())


def run(description: str | None, attack: Callable[[int], str], what: str) -> int:
    """The exit code: what each seed's `attack` says is wrong, "" for nothing, is printed, and how many of `what` ran."""
    tried = seeds(description)
    wrong = list(filter(None, map(attack, tried)))
    print("\n\n".join([*wrong, f"{len(tried)} {what}, {len(wrong)} wrong"]))
    return int(bool(wrong))
