"""The command `autotune`. Each module `NAME_command` has the typer app of `autotune NAME`, or a main() that reads its options itself;
`tune_command` has that of `autotune SCRIPT`."""

import os

# By the names of the files: pkgutil's imports take half as long as all else that begins a command.
_COMMANDS = [name.removesuffix("_command.py") for name in os.listdir(__path__[0]) if name.endswith("_command.py")]
SUBCOMMANDS = tuple(sorted(set(_COMMANDS) - {"tune"}))
