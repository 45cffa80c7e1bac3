"""Python imports this at its start where this folder is on PYTHONPATH: processes that a recorded test starts record too."""

import os

if "TILEWRIGHT_RECORD" in os.environ and "PYTEST_CURRENT_TEST" in os.environ:
    import recorder

    recorder.watch()
