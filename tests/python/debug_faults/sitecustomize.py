"""Python imports this at its start where this folder is on PYTHONPATH: the debugger's child gets a fault put in.

DEBUG_FAULT is `pass NAME` (the program behind it adds where it should multiply), `raise NAME` (the pass raises), `code WORD` (code is
wrong whose schedule has the word), `crash WORD`, `hang WORD`, `oracle FUNCTION` (the oracle does not know the function)."""

import os
import signal
import sys
import time

if "DEBUG_FAULT" in os.environ and "serve" in " ".join(sys.orig_argv):
    from dataclasses import replace

    import numpy as np
    from tilewright.debug import oracle, tasks

    kind, _, word = os.environ["DEBUG_FAULT"].partition(" ")
    passes, program_function, evaluate = tasks._passes, tasks.program_function, tasks.evaluate

    def wrong_passes(asked, doing):
        ran = passes(asked, doing)
        if kind == "raise" and any(one.name == word for one in ran):
            raise RuntimeError("no block is open")
        if kind == "pass":
            return [
                replace(one, program=one.program.replace("multiply(", "add(")) if one.name == word else one
                for one in ran
            ]
        return ran

    def wrong_code(program, versions, partials):
        function = program_function(program, versions, partials)
        if word not in versions[0].build.schedule:
            return function

        def run(values, out):
            result = function(values, out)
            if kind == "crash":
                print("free(): invalid pointer", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            if kind == "hang":
                time.sleep(600)
            result[3:5] = np.nextafter(result[3:5], np.inf)
            return result

        return run

    def ignorant(text, inputs):
        if f" = {word}(" in text:
            raise oracle.UnknownOperation(f"no operation {word}")
        return evaluate(text, inputs)

    tasks.TASKS["passes"] = wrong_passes
    if kind in ("code", "crash", "hang"):
        tasks.program_function = wrong_code
    if kind == "oracle":
        tasks.evaluate = ignorant
