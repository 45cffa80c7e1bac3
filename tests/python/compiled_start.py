"""What `python -c` runs a script by as `autotune run` does, with what was seen of it sent to a descriptor: DESCRIPTOR SCRIPT ARGS…"""

COMPILED = (
    "import sys, time; from pathlib import Path; from tilewright.patched_run import run_script; from tilewright.script import Script; "
    "sys.exit(run_script(time.perf_counter_ns(), int(sys.argv[1]), None, Script(Path(sys.argv[2]), None, sys.argv[3:])))"
)
