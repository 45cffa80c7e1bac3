"""Plain text report."""


class Report:
    def __init__(self, title, width=60):
        self.width = width
        self.lines = ["=" * width, title.center(width), "=" * width]

    def section(self, name):
        self.lines += ["", f"{name} ".ljust(self.width, "-")]

    def kv(self, key, value, fmt=",.0f"):
        self.lines.append(f"  {key:<30s}{format(value, fmt):>16s}")

    def table(self, header, rows, fmts):
        self.lines.append("  " + "".join(f"{h:>14s}" for h in header))
        for row in rows:
            self.lines.append("  " + "".join(f"{format(v, f):>14s}" for v, f in zip(row, fmts)))

    def text(self):
        return "\n".join(self.lines)
