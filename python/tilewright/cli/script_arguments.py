"""What the user gave after `--`: the script's own arguments, kept away from our option parser."""

from __future__ import annotations

arguments: list[str] = []
FOLLOW = "Arguments of the script follow after --."


def split_at_dashes(given: list[str]) -> tuple[list[str], list[str]]:
    """What is before `--` is ours, what is after it the script's."""
    if "--" in given:
        place = given.index("--")
        return given[:place], given[place + 1 :]
    return given, []
