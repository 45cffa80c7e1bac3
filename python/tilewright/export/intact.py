"""How a module knows its own files: it checks each one before any of it runs, so that damage is an ImportError in words.

CRC-32 finds every flipped bit and every torn block; against people who may write there nothing would help. It takes 0.2
ms for 1 MB of code, where SHA-256 takes 0.6 to 3 and `hashlib` some more to import; `binascii` is in every CPython.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterable
from pathlib import Path

_OWN_MARK = "# crc32 "
_EVIDENCE_MARK = ',\n  "crc32": '

# Stands in the module. Whatever is read was asked for by its size, so that a device is no endless file, and without
# waiting, so that a pipe is an empty one.
_LINES = '''
import os as _os
from binascii import crc32 as _crc32

_HERE = _os.path.dirname(_os.path.abspath(__file__))
_DAMAGED = 'it is damaged: its bytes are not those that were written'
_FILES = {files}


def _unusable(name, why):
    path = _os.path.join(_HERE, name)
    return ImportError(f'{{path}}: {{why}}. Copy the module here again, or export it again.', name=__name__, path=path)


def _parts(name, size, part):
    """What is there of `size` bytes, and whether there are more: without waiting for a pipe's, or all of a device's."""
    parts = []
    try:
        file = _os.open(_os.path.join(_HERE, name), _os.O_RDONLY | _os.O_CLOEXEC | _os.O_NONBLOCK)
        try:
            while size >= 0 and (data := _os.read(file, 1 << 16)):
                size -= len(data)
                parts.append(part(data))
        finally:
            _os.close(file)
    except OSError as error:
        raise _unusable(name, f'it cannot be read: {{error.strerror}}') from None
    return parts, size


def _read(name):
    size, wanted = _FILES[name]
    parts, left = _parts(name, size, bytes)
    data = b''.join(parts)
    if left != 0 or _crc32(data) != wanted:
        raise _unusable(name, _DAMAGED)
    return data


def _check(name):
    size, wanted = _FILES[name]
    found = 0

    def add(data):
        nonlocal found
        found = _crc32(data, found)

    # Part by part, whose memory is used again: new pages for a large file would cost more than all else.
    if _parts(name, size, add)[1] != 0 or found != wanted:
        raise _unusable(name, _DAMAGED)


def _marked(name, mark):
    data = b''.join(_parts(name, 1 << 24, bytes)[0])
    body, _, last = data.rpartition(mark)
    if last.strip(b'"\\n}}') != b'%08x' % _crc32(body):
        raise _unusable(name, _DAMAGED.replace('damaged', 'damaged or edited'))
    return data


if __file__.endswith('.py'):
    _marked('__init__.py', {own_mark!r})
for _name in {beside!r}:
    _check(_name)

from . import _face


def _text(name):
    return _read(name).decode()


class _Objects:
    """Code by its name, read when a plan for this machine asks for it."""

    def __getitem__(self, name):
        return _read(f'objects/{{name}}.o')


def _saved(name):
    import io

    import numpy

    array = numpy.load(io.BytesIO(_read(name)), allow_pickle=False)
    array.flags.writeable = False
    return array
'''

EVIDENCE_LINES = f'''

def evidence():
    """How fast it is, where that was measured, and which schedule runs."""
    import json

    return json.loads(_marked('evidence.json', {_EVIDENCE_MARK.encode()!r}))
'''


def checking_lines(folder: Path, names: Iterable[str]) -> list[str]:
    """The part of a module's text that reads the files `names`, which are there already, and that checks what Python
    imports and loads beside them."""
    read = list(names)
    beside = sorted({f.name for kind in ("*.so", "*.py", "*.npy") for f in folder.glob(kind)} - {"__init__.py", *read})
    digests = {}
    for name in (*beside, *read):
        data = (folder / name).read_bytes()
        digests[name] = (len(data), crc32(data))
    rows = "".join(f"    {name!r}: ({size}, 0x{crc:08X}),\n" for name, (size, crc) in digests.items())
    return _LINES.format(files=f"{{\n{rows}}}", own_mark=_OWN_MARK.encode(), beside=beside).splitlines()


def with_own_digest(text: str) -> str:
    """The module's text, and its last line, by which it knows itself."""
    return f"{text}{_OWN_MARK}{crc32(text.encode()):08x}\n"


def evidence_text(text: str) -> str:
    """A JSON object with a last member by which it is known."""
    body = text.rstrip().removesuffix("}").rstrip()
    return f'{body}{_EVIDENCE_MARK}"{crc32(body.encode()):08x}"\n}}\n'
