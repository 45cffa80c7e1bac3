"""Running a user's script once, finding its hot NumPy functions and copying the arguments of their calls.

Names are imported at first use: what only watches a script (`observe`) need not import NumPy before the script does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..script import Script, ScriptRaised, ScriptStopped, check_script
    from .capture import Candidate, RecordedCall, Recorder
    from .run_script import run_script

__all__ = [
    "Candidate",
    "RecordedCall",
    "Recorder",
    "Script",
    "ScriptRaised",
    "ScriptStopped",
    "check_script",
    "run_script",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # All at once: importing the module run_script puts it in the place of its function.
    for home in ("..script", ".capture", ".run_script"):
        module = import_module(home, __name__)
        globals().update({each: getattr(module, each) for each in __all__ if hasattr(module, each)})
    return globals()[name]
