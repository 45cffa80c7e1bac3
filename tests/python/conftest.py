"""For every test of this folder."""

import signal

import pytest
from tilewright.decorator import JitFunction

# Ctrl-C is what it is at a terminal, whoever started the tests: a shell's background jobs ignore SIGINT, and so does what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def compiled_whatever_it_costs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls run in NumPy where it was measured to be faster, and a test of what is compiled would compare NumPy with itself. Those of that choice ask for it:
    `@pytest.mark.numpy_may_win`."""
    if request.node.get_closest_marker("numpy_may_win") is None:
        monkeypatch.setattr(JitFunction, "_loses", lambda *_: False)
        monkeypatch.setattr(JitFunction, "_loses_to_watched", lambda *_: False)
        monkeypatch.setattr(JitFunction, "compares", False)
