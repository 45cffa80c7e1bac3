"""The command `autotune`. Each module `NAME_command` has the typer app of `autotune NAME`, or a main() that reads its options itself;
`tune_command` has that of `autotune SCRIPT`."""

from pkgutil import iter_modules

_COMMANDS = [
    module.name.removesuffix("_command") for module in iter_modules(__path__) if module.name.endswith("_command")
]
SUBCOMMANDS = tuple(sorted(set(_COMMANDS) - {"tune"}))
