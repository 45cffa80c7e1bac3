"""Why something is not compiled, as people read it: places by a file's name, without its folders."""

from __future__ import annotations

import os
import re

_PLACE = re.compile(r"(?P<file>\S[^:]*):(?P<line>\d+), in (?P<name>[^:;]+): ")
_FOLDERS = re.compile(r"(?<![\w'\"])/\S*/(?=[^/\s]+\.py\b)")


def readable(why: str, file: str, name: str) -> str:
    """A reason that is told of the function `name` of that file: its own name stands beside it, and is not said again."""

    def shown(place: re.Match[str]) -> str:
        is_own = (place["file"], place["name"]) == (file, name)
        return f"{os.path.basename(file)}:{place['line']}: " if is_own else place[0]

    return _FOLDERS.sub("", _PLACE.sub(shown, why.removeprefix(f"{name}: "), count=1))
