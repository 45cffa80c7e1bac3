"""A tuning result as a table: lines in a terminal, HTML in a notebook."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from .quantities import counted, format_ns

if TYPE_CHECKING:
    from .tuning import TuneResult


def rows(result: TuneResult) -> list[tuple[str, str]]:
    """What a person asks of a result first, in that order."""
    found = [("call", result.summary)]
    if not result.complete:
        return [*found, ("result", result.closing_line().removeprefix(f"{result.function}: "))]
    found += [
        ("NumPy", result.figures.numpy_text),
        ("tuned", format_ns(result.tuned_ns)),
        ("gain", result.figures.ratio_text),
    ]
    if result.default_ns:
        found.append(
            ("default schedule", f"{format_ns(result.default_ns)} in the search, best {format_ns(result.kernel_ns)}")
        )
    if result.device:
        found.append(("device", result.device))
    found += [
        ("contract", result.contract),
        ("search", f"{result.elapsed_s:.0f} s, {counted(result.trials, 'candidate')}, stopped: {result.reason}"),
        *([("not quiet", result.figures.busy)] if result.figures.busy else []),
        ("schedule", result.schedule.strip()),
    ]
    return found


def as_text(result: TuneResult) -> str:
    """<tilewright.TuneResult f> and a line for each row; the schedule's lines stand below each other."""
    table = rows(result)
    width = max(len(name) for name, _ in table)
    lines = [f"<tilewright.TuneResult {result.function}>"]
    for name, text in table:
        first, *more = text.splitlines() or [""]
        lines.append(f"  {name.ljust(width)}  {first}")
        lines += [f"  {' ' * width}  {line}" for line in more]
    return "\n".join(lines)


def as_html(result: TuneResult) -> str:
    """The same for a notebook."""
    from rich.console import Console  # noqa: PLC0415  (slow to import, and only notebooks ask)
    from rich.table import Table  # noqa: PLC0415

    table: Any = Table(title=f"TuneResult of {result.function}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, text in rows(result):
        table.add_row(name, text)
    console = Console(record=True, file=io.StringIO(), width=120, markup=False, highlight=False)
    console.print(table)
    return console.export_html(inline_styles=True, code_format='<pre style="line-height:1.2">{code}</pre>')
