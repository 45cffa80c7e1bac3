"""Copies of the process that follow calls: what they find out arrives, and the script sees nothing of them."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest
from tilewright import followed_apart
from tilewright.followed_apart import FollowedApart, has_place, is_possible

pytestmark = pytest.mark.compile


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch):
    monkeypatch.setattr(followed_apart, "_LOOK_NS", 0)


def said(copy, limit_s=60.0):
    until = time.monotonic() + limit_s
    while not copy.is_over():
        assert time.monotonic() < until
        time.sleep(0.005)
    return copy.said


def test_what_a_copy_says_arrives_however_long_it_is():
    words = ["word"] * 100_000
    copy = FollowedApart(lambda: {"pid": os.getpid(), "words": words, "group": os.getpgid(0), "session": os.getsid(0)})
    told = said(copy)
    assert (
        told["words"] == words
        and told["pid"] != os.getpid()
        and told["group"] == told["pid"]
        and told["session"] == os.getsid(0)
    )


def test_a_copy_that_dies_has_said_nothing():
    assert said(FollowedApart(lambda: os.kill(os.getpid(), signal.SIGKILL))) == {}
    assert said(FollowedApart(lambda: 1 / 0)) == {}


def test_a_copy_whose_beginning_fails_does_not_go_on_as_the_script(monkeypatch):
    monkeypatch.setattr(followed_apart, "go_on_behind_all_others", lambda: 1 / 0)
    assert said(FollowedApart(lambda: {"done": 1})) == {}


def test_a_process_that_cannot_be_copied_keeps_no_descriptor(monkeypatch):
    def fork():
        raise BlockingIOError

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(BlockingIOError):
        FollowedApart(dict)
    assert os.listdir("/proc/self/fd") == before


def test_a_copy_says_what_it_has_to_where_no_folder_holds_turns(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert said(FollowedApart(lambda: {"done": 1})) == {"done": 1}


def test_a_copy_that_hangs_gives_its_turn_back(monkeypatch):
    monkeypatch.setattr(followed_apart, "_LONGEST_TURN_S", 1)
    assert said(FollowedApart(lambda: time.sleep(300) or {"done": 1})) == {}
    monkeypatch.undo()
    assert said(FollowedApart(lambda: {"done": 1})) == {"done": 1}


def test_a_copy_finalizes_nothing_that_the_script_has_left(tmp_path):
    class Left:
        def __init__(self):
            self.itself = self

        def __del__(self):
            with open(tmp_path / "finalized", "a") as file:
                file.write(f"{os.getpid()}\n")

    gc.collect()
    gc.disable()
    try:
        Left()
        told = said(FollowedApart(lambda: {"pid": os.getpid(), "collected": gc.collect()}))
        assert not (tmp_path / "finalized").exists() and told["pid"] != os.getpid()
    finally:
        gc.enable()
    gc.collect()
    assert (tmp_path / "finalized").read_text() == f"{os.getpid()}\n"


def test_a_copy_is_looked_at_however_many_files_are_open():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[1] != resource.RLIM_INFINITY and limit[1] < 2000:  # noqa: PLR2004
        pytest.skip("no process may have so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, limit[1]))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]  # more than select() takes
    try:
        assert said(FollowedApart(lambda: {"done": 1})) == {"done": 1}
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_a_copy_has_no_file_and_no_output_of_the_scripts(tmp_path, capfd):
    with open(tmp_path / "file", "w") as file:
        file.write("half a line")  # in the buffer of both

        def work():
            os.write(1, b"from the copy")
            os.write(2, b"from the copy")
            return {
                "open": [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")],
                "stdin": len(os.read(0, 8)),
            }

        told = said(FollowedApart(work))
        assert not [
            one for one in told["open"] if not any(part in one for part in ("/dev/null", "pipe:", "turn.", "/fd"))
        ]
        assert told["stdin"] == 0
    assert (tmp_path / "file").read_text() == "half a line"
    assert capfd.readouterr() == ("", "")


def test_a_script_has_no_child_to_wait_for():
    text = """
import os, time
from tilewright.followed_apart import FollowedApart
copy = FollowedApart(lambda: time.sleep(0.5) or {})
try: os.waitpid(-1, os.WNOHANG); print("a child")
except ChildProcessError: print("none")
"""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "none\n" and done.stderr == "" and time.monotonic() - began < 30


def test_what_python_warns_of_once_it_warns_of_once():
    text = """
import warnings
from tilewright.followed_apart import FollowedApart
for k in range(3):
    warnings.warn("once")
    FollowedApart(dict)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stderr.count("UserWarning: once") == 1, done.stderr


def test_no_copy_is_made_of_a_process_that_would_be_cut_off_or_would_see_it(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: None)  # coverage
    assert is_possible()
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert not is_possible()
    done.set()
    thread.join()
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    assert not is_possible()
    signal.signal(signal.SIGCHLD, before)
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert not is_possible()


def test_there_are_no_more_copies_than_places():
    assert has_place(1)
    copy = FollowedApart(lambda: time.sleep(0.2) or {"done": 1})
    assert not has_place(1) and has_place()
    assert said(copy) == {"done": 1} and has_place(1)


def test_a_copy_without_a_processor_is_ended_and_one_that_works_is_not(monkeypatch):
    def worked(seconds):
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass
        return {"done": 1}

    monkeypatch.setattr(followed_apart, "_STARVED_S", 0.3)
    copy = FollowedApart(lambda: time.sleep(60) or {})
    until = time.monotonic() + 30
    while not copy.is_starved():
        assert not copy.is_over() and time.monotonic() < until
        time.sleep(0.02)
    assert said(copy) == {}
    copy = FollowedApart(lambda: worked(1.0), is_idle=False)
    while not copy.is_over():
        assert not copy.is_starved()
        time.sleep(0.02)
    assert copy.said == {"done": 1}
