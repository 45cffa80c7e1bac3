"""The object cache: what it keeps, whom it trusts, and that it never costs a result."""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tilewright import builder, native
from tilewright.builder import BuildRequest
from tilewright.cache import ObjectCache, decode, encode
from tilewright.plan import Build, Kernel

pytestmark = pytest.mark.fast


def bound_socket(path) -> None:
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


KEY = "ab" + "0" * 62


def build_of(data: bytes = b"\x7fELF object") -> Build:
    kernels = (Kernel("f_k0", data, ("X.0 >= 8",)), Kernel("f_k1", b"second\n\x00", ()))
    return Build(kernels, 'plan "x"\n', ("X.0 >= 4",), ("matmul",), True, "schedule f\n", "x86-64")


def cache_at(path, limit=1 << 20):
    return ObjectCache(path / "tilewright" / "objects", limit)


def test_what_is_stored_comes_back_in_another_cache(tmp_path):
    cache_at(tmp_path).store(KEY, build_of())
    assert cache_at(tmp_path).load(KEY) == build_of()
    assert cache_at(tmp_path).load("cd" + KEY[2:]) is None


def test_folder_and_files_are_ours_alone(tmp_path):
    cache_at(tmp_path).store(KEY, build_of())
    folder = tmp_path / "tilewright" / "objects"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / KEY).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(folder)) == [KEY]


@pytest.mark.parametrize("place", [0, 25, 80, 120, -1])
def test_a_changed_byte_is_noticed_and_the_file_removed(tmp_path, place):
    cache = cache_at(tmp_path)
    cache.store(KEY, build_of())
    file = tmp_path / "tilewright" / "objects" / KEY
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert cache.load(KEY) is None
    assert not file.exists()


@pytest.mark.parametrize("length", [0, 10, 70, 100])
def test_a_truncated_entry_is_no_entry(length):
    assert decode(encode(build_of())[:length]) is None
    assert decode(encode(build_of())) == build_of()


def test_links_are_not_followed(tmp_path, caplog):
    cache = cache_at(tmp_path)
    cache.store(KEY, build_of())
    folder = tmp_path / "tilewright" / "objects"
    elsewhere = tmp_path / "evil"
    (folder / KEY).rename(elsewhere)
    (folder / KEY).symlink_to(elsewhere)
    assert cache.load(KEY) is None
    linked = tmp_path / "linked" / "tilewright"
    linked.mkdir(parents=True)
    (linked / "objects").symlink_to(folder)
    assert ObjectCache(linked / "objects", 1 << 20).load(KEY) is None
    assert "object cache" in caplog.text


def test_what_others_may_write_is_not_trusted(tmp_path, caplog):
    cache_at(tmp_path).store(KEY, build_of())
    folder = tmp_path / "tilewright" / "objects"
    (folder / KEY).chmod(0o666)
    assert cache_at(tmp_path).load(KEY) is None
    (folder / KEY).chmod(0o600)
    folder.chmod(0o777)
    assert cache_at(tmp_path).load(KEY) is None
    assert "others may write to the folder" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another owner")
def test_a_folder_of_another_user_is_not_used(tmp_path, caplog):
    cache_at(tmp_path).store(KEY, build_of())
    os.chown(tmp_path / "tilewright" / "objects", 12345, -1)
    assert cache_at(tmp_path).load(KEY) is None
    assert "belongs to another user" in caplog.text


def test_a_place_that_cannot_be_written_costs_one_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / "file" / "objects", 1 << 20)
    cache.store(KEY, build_of())
    assert cache.load(KEY) is None
    with cache.building(KEY):
        pass
    assert len(caplog.records) == 1


def test_no_folder_is_no_cache():
    cache = ObjectCache(None, 1)
    cache.store(KEY, build_of())
    assert cache.load(KEY) is None
    assert cache.size_bytes() == 0


def test_a_folder_is_no_switch(tmp_path, monkeypatch, caplog):
    from tilewright import cache

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for value, is_told in (("on", False), ("1", False), (str(tmp_path / "there"), True)):
        cache._cache_in.cache_clear()
        monkeypatch.setenv("TILEWRIGHT_CACHE", value)
        caplog.clear()
        cache.object_cache()
        cache.object_cache()
        told = [record.message for record in caplog.records if "neither on nor off" in record.message]
        assert len(told) == is_told, told
    assert "XDG_CACHE_HOME names another folder" in told[0]


def test_the_oldest_leave_when_the_limit_is_reached(tmp_path):
    cache = cache_at(tmp_path, limit=3000)
    for number in range(4):
        key = f"{number:02x}" + KEY[2:]
        cache.store(key, build_of(bytes(900)))
        if number < 3:
            os.utime(tmp_path / "tilewright" / "objects" / key, (number, number))
    assert cache.size_bytes() <= 3000
    assert cache.load("00" + KEY[2:]) is None
    assert cache.load("03" + KEY[2:]) is not None


def test_one_build_at_a_time_per_key(tmp_path):
    cache = cache_at(tmp_path)
    inside, most = 0, 0
    guard = threading.Lock()

    def work():
        nonlocal inside, most
        with cache.building(KEY):
            with guard:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.02)
            with guard:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_another_process_waits_for_the_build(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom tilewright.cache import ObjectCache\n"
        f"cache = ObjectCache(Path({str(tmp_path)!r}) / 'tilewright' / 'objects', 1 << 20)\n"
        f"with cache.building({KEY!r}):\n    print('in', flush=True)\n    time.sleep(0.5)\n    print('out', flush=True)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate()[0] for p in processes] == ["in\nout\n"] * 2


def test_a_stopped_process_is_not_waited_for_without_end(tmp_path, monkeypatch, caplog):
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom tilewright.cache import ObjectCache\n"
        f"cache = ObjectCache(Path({str(tmp_path)!r}) / 'tilewright' / 'objects', 1 << 20)\n"
        f"with cache.building({KEY!r}):\n    print('in', flush=True)\n    os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    monkeypatch.setattr("tilewright.file_cache.LOCK_WAIT_S", 0.2)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as stopped:
        try:
            assert stopped.stdout.readline() == "in\n"
            cache = cache_at(tmp_path)
            with cache.building(KEY):
                cache.store(KEY, build_of())
        finally:
            stopped.kill()
    assert cache.load(KEY) == build_of()
    assert caplog.messages == [
        f"object cache {tmp_path}/tilewright/objects: another process has held ab.lock for 0 s. Compiling goes on beside it."
    ]


def test_a_forked_child_does_not_keep_the_lock(tmp_path, monkeypatch):
    cache = cache_at(tmp_path)
    monkeypatch.setattr("tilewright.file_cache.LOCK_WAIT_S", 0.0)
    ready, says = os.pipe()
    with cache.building(KEY):
        child = os.fork()
        if child == 0:
            os.write(says, b"x")
            signal.pause()
    try:
        os.read(ready, 1)
        lock = os.open(tmp_path / "tilewright" / "objects" / "ab.lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(lock)
        held = os.listdir(f"/proc/{child}/fd")
        assert not [fd for fd in held if os.readlink(f"/proc/{child}/fd/{fd}").endswith("ab.lock")]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), bound_socket])
def test_what_is_no_file_is_not_waited_for(tmp_path, caplog, make):
    cache = cache_at(tmp_path)
    cache.store(KEY, build_of())
    for name in (KEY, "ab.lock"):
        path = tmp_path / "tilewright" / "objects" / name
        path.unlink(missing_ok=True)
        make(path)
    assert cache.load(KEY) is None
    with cache.building(KEY):
        pass
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"object cache {tmp_path}/tilewright/objects: {KEY} cannot be read (")


def test_the_identity_is_the_linkers_digest_of_the_compiler(tmp_path, monkeypatch):
    identity = native.compiler_identity()
    library = Path(native.compiler().__file__)
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    assert identity.split()[1] == notes.partition("Build ID: ")[2].split()[0]
    bare = tmp_path / "_native.so"  # without its note it is told apart by its size and time
    shutil.copy(library, bare)
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", bare], check=True)
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(bare)))
    without = native.compiler_identity()
    assert without.split()[1:] == [str(bare.stat().st_size), str(bare.stat().st_mtime_ns)]


def test_objects_of_another_compiler_are_not_served(monkeypatch):
    request = BuildRequest(program="p", digest="d", layouts={}, sizes={})

    def key_with(identity):
        monkeypatch.setattr(builder, "compiler_identity", lambda: identity)
        builder._identity.cache_clear()
        return request.key()

    keys = [key_with("0.1.0 aa"), key_with("0.1.0 bb"), key_with("0.1.0 aa")]
    builder._identity.cache_clear()
    assert keys[0] == keys[2] != keys[1]


def test_sizes_count_by_their_magnitude_and_short_ones_themselves():
    def key(rows, last):
        return BuildRequest(program="p", digest="d", layouts={}, sizes={"x.0": rows, "x.1": last}).key()

    assert key(600, 3) == key(1000, 3) != key(3000, 3)
    assert len({key(600, last) for last in (0, 1, 2, 3, 4, 7, 8, 9, -1)}) == 9
    assert key(600, 9) == key(600, 15)
