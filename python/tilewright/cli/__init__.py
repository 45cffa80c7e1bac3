"""The command `autotune`."""
