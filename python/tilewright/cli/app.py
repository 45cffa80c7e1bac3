"""Entry of the command: which subcommand is meant, and one line instead of a traceback for a user's mistake. Each subcommand
imports what it alone needs: `autotune check` neither the tracer nor the search."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from ..errors import Error, InternalError
from ..script import ScriptRaised
from . import SUBCOMMANDS
from . import script_arguments as passed
from .exit_codes import INTERRUPTED, OK, SCRIPT_RAISED, USAGE
from .signals import ending_as_ctrl_c


def main(argv: list[str] | None = None) -> int:
    """`autotune SCRIPT…` or `autotune COMMAND …`, one of SUBCOMMANDS. Returns the exit code (and is the console script)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
    except KeyboardInterrupt:
        _ignore_ctrl_c(argv)
        print("autotune: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except Error as error:
        print(f"autotune: {error}", file=sys.stderr)
        if isinstance(error, InternalError) and os.environ.get("TILEWRIGHT_TRACEBACK"):
            raise
        code = SCRIPT_RAISED if isinstance(error, ScriptRaised) else USAGE
    except BrokenPipeError:
        # The reader of our output is gone; what the interpreter flushes at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = USAGE
    except OSError as error:
        if error.filename is None or os.environ.get("TILEWRIGHT_TRACEBACK"):
            raise
        print(f"autotune: {error.filename}: {(error.strerror or str(error)).lower()}.", file=sys.stderr)
        code = USAGE
    if code == INTERRUPTED:
        _ignore_ctrl_c(argv)
    return code


def _ignore_ctrl_c(argv: list[str] | None) -> None:
    """Who presses it twice gets the exit code of an interruption too: the interpreter's end would die by the signal."""
    if argv is None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in SUBCOMMANDS:
        command = import_module(f".{arguments[0]}_command", __package__)
        if (own := getattr(command, "main", None)) is not None:
            return int(own(arguments[1:]))
        return invoke(command.app, arguments[1:], f"autotune {arguments[0]}")
    with ending_as_ctrl_c() as code_of_signal:
        try:
            code = invoke(import_module(".tune_command", __package__).app, arguments or ["--help"], "autotune")
        except KeyboardInterrupt:
            print("autotune: interrupted", file=sys.stderr)
            code = INTERRUPTED
        return code_of_signal(code) if code == INTERRUPTED else code


def invoke(app: object, arguments: list[str], name: str) -> int:
    """Run a typer app; its usage errors are printed by click and end with 2."""
    import typer  # noqa: PLC0415  (slow to import, and `autotune run` takes the time of the user's script)

    own, passed.arguments = passed.split_at_dashes(arguments)
    command = typer.main.get_command(app)  # type: ignore[arg-type]
    try:
        result = command.main(args=own, prog_name=name, standalone_mode=False)
    except (SystemExit, KeyboardInterrupt):
        raise
    except Exception as error:
        return _click_error(error)
    return result if isinstance(result, int) else OK


def _click_error(error: Exception) -> int:
    show = getattr(error, "show", None)
    if show is not None:  # a click usage error prints itself
        show()
        if type(error).__name__ == "NoSuchOption":
            print(passed.FOLLOW, file=sys.stderr)
        return USAGE
    if type(error).__name__ == "Abort":  # of click's, in the place of a KeyboardInterrupt
        raise KeyboardInterrupt from None
    if type(error).__name__ == "Exit":
        return int(getattr(error, "exit_code", OK))
    raise error


if __name__ == "__main__":
    sys.exit(main())
