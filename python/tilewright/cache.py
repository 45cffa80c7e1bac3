"""Compiled objects on disk, so that no process compiles what another one has compiled: $XDG_CACHE_HOME/tilewright/objects, one
file per build. Not done here: deciding what belongs in a key (builder.py)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from . import settings
from .file_cache import FileCache, folder_of, sealed, unsealed
from .logs import logger
from .plan import Build

_MAGIC = b"tilewright-objects 1\n"


class ObjectCache(FileCache[Build]):
    """Builds, each under its key."""

    what, redone, going_on = "object", "compiled", "Compiling"

    @staticmethod
    def encoded(value: Build) -> bytes:
        return encode(value)

    @staticmethod
    def decoded(data: bytes) -> Build | None:
        return decode(data)


def object_cache() -> ObjectCache:
    """The cache that the environment asks for."""
    return _cache_in(folder_of("objects"))


@lru_cache(maxsize=1)
def _cache_in(path: Path | None) -> ObjectCache:
    for problem in settings.problems():
        logger.warning("environment: %s.", problem)
    return ObjectCache(path, settings.cache_limit_bytes())


def encode(build: Build) -> bytes:
    """A digest, a line of JSON and the objects one after another."""
    kernels = [{"name": k.name, "bytes": len(k.object), "requires": k.requires} for k in build.kernels]
    head = {**vars(build), "kernels": kernels}
    return sealed(_MAGIC, json.dumps(head).encode() + b"\n" + b"".join(k.object for k in build.kernels))


def decode(data: bytes) -> Build | None:
    """None for anything that encode() did not write, byte for byte."""
    rest = unsealed(_MAGIC, data)
    if rest is None:
        return None
    line, _, blob = rest.partition(b"\n")
    head = json.loads(line)
    offset = 0
    for kernel in head["kernels"]:
        end = offset + kernel["bytes"]
        kernel["object"] = blob[offset:end]
        offset = end
    return Build.of(head)
