"""What the user gave after `--`: the script's own arguments, kept away from our option parser."""

from __future__ import annotations

arguments: list[str] = []
