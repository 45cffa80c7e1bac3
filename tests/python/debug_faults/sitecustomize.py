"""Python imports this at its start where this folder is on PYTHONPATH: the debugger's child gets faults put in.

DEBUG_FAULT, with `; ` between: `pass NAME` (the program behind it adds where it should multiply), `raise NAME` (the pass raises), `code WORD`
(code is wrong whose schedule has the word), `crash WORD`, `hang WORD`, `without NAME` (code is wrong unless the pass is left out), `oracle
FUNCTION` (the oracle does not know the function)."""

import os
import signal
import sys
import time

if "DEBUG_FAULT" in os.environ and "serve" in " ".join(sys.orig_argv):
    from dataclasses import replace

    import numpy as np
    from tilewright.debug import oracle, tasks

    faults = {kind: word for kind, _, word in (text.partition(" ") for text in os.environ["DEBUG_FAULT"].split("; "))}
    passes, program_function, evaluate = tasks._passes, tasks.program_function, tasks.evaluate

    def wrong_passes(asked, doing):
        ran = passes(asked, doing)
        if any(one.name == faults.get("raise") for one in ran):
            raise RuntimeError("no block is open")
        return [
            replace(one, program=one.program.replace("multiply(", "add(")) if one.name == faults.get("pass") else one
            for one in ran
        ]

    def wrong_code(program, versions, partials, stages):
        function = program_function(program, versions, partials, stages)
        off = os.environ.get("TILEWRIGHT_PASSES", "").split(",")

        def is_wrong(kind):
            word = faults.get(kind)
            if word is None:
                return False
            return f"-{word}" not in off if kind == "without" else word in versions[0].build.schedule

        def run(values, out):
            result = function(values, out)
            if is_wrong("crash"):
                print("free(): invalid pointer", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            if is_wrong("hang"):
                time.sleep(600)
            if is_wrong("code") or is_wrong("without"):
                result[3:5] = np.nextafter(result[3:5], np.inf)
            return result

        return run

    def ignorant(text, inputs, stages):
        if "oracle" in faults and f" = {faults['oracle']}(" in text:
            raise oracle.UnknownOperation(f"no operation {faults['oracle']}")
        return evaluate(text, inputs, stages)

    tasks.TASKS["passes"] = wrong_passes
    tasks.program_function = wrong_code
    tasks.evaluate = ignorant
