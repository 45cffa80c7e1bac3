"""Running a user's script once, finding its hot NumPy functions and copying the arguments of their calls."""

from .capture import Candidate, RecordedCall, Recorder
from .run_script import Script, ScriptRaised, ScriptStopped, check_script, run_script

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
