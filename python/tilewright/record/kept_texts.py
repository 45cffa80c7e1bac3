"""What was made of scripts' texts: to find the regions of 200 lines takes 35 to 90 ms, and a run of the script perhaps a second.

$XDG_CACHE_HOME/tilewright/scripts: one file per text, with the code that runs and the regions that it calls.
"""

from __future__ import annotations

import hashlib
import marshal
import pickle
import sys
import types
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .. import settings
from ..file_cache import FileCache, folder_of, sealed, state_of_sources, unsealed
from .regions import Regions

_MAGIC = b"tilewright-scripts 1\n"


class KeptText(NamedTuple):
    code: types.CodeType
    regions: Regions


class TextCache(FileCache[KeptText]):
    """Texts, each under its key."""

    what, redone, going_on = "script", "looked through", "The run"

    @staticmethod
    def encoded(value: KeptText) -> bytes:
        code = marshal.dumps(value.code)
        return sealed(_MAGIC, len(code).to_bytes(8, "little") + code + pickle.dumps(value.regions))

    @staticmethod
    def decoded(data: bytes) -> KeptText | None:
        rest = unsealed(_MAGIC, data)
        if rest is None:
            return None
        end = 8 + int.from_bytes(rest[:8], "little")
        return KeptText(marshal.loads(rest[8:end]), pickle.loads(rest[end:]))


def key_of(source: bytes, file: str) -> str:
    """The name of a text's file: all that the code depends on, and what Python says while it compiles."""
    given = (file, state_of_sources(), sys.flags, sorted(sys._xoptions.items()), sys.warnoptions)
    return hashlib.sha256(repr(given).encode() + b"\n" + source).hexdigest()


def load(key: str) -> KeptText | None:
    return _cache_in(folder_of("scripts")).load(key)


def keep(key: str, text: KeptText) -> None:
    with suppress(ValueError, RecursionError):  # nested too deep
        _cache_in(folder_of("scripts")).store(key, text)


@lru_cache(maxsize=1)
def _cache_in(path: Path | None) -> TextCache:
    return TextCache(path, settings.cache_limit_bytes())
