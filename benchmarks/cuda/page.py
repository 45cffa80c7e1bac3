"""The page of a CUDA run: `python benchmarks/cuda/page.py [FOLDER]` writes index.html from the JSON files that lie there.

run.py calls it when its turns are over. Dispatch and tuning rate appear where dispatch.py and tuning_rate.py left their files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from report import time_text  # noqa: E402

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>tilewright on CUDA devices</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child,.text{text-align:left}.goal{color:#0a7d33}.must{color:#555}.short{color:#b00020}
.bar{display:inline-block;height:.8em;background:#9aa5b1;vertical-align:baseline}.ours{background:#0a7d33}
.chart td{border:0;padding:.1rem .6rem}.chart td:nth-child(2){text-align:left;width:60%}</style>
<h1>tilewright on a CUDA device, beside its peers</h1>
<p>{{ machine.date or 'date not told' }}; {{ machine.devices|join('; ') or 'device not told' }}; driver for {{ machine.driver or 'not told' }};
clocks of multiprocessors and memory, idle: {{ machine.clocks or 'not told' }}; Python {{ machine.python or 'not told' }};
{% for name, version in (machine.versions or {}).items() %}{{ name }} {{ version }}{{ ', ' if not loop.last }}{% endfor %}.</p>
<p>Data lies on the device but where a row says otherwise. A turn is some calls back to back and one wait, by the clock of the host, L2 as it is; peers take turns in one
process. A ratio is the best peer's time over ours (median of paired turns, 95 % interval). Every way was compared with NumPy before it was timed.</p>
<table><tr><th>case</th><th>ours</th><th>best peer</th><th>its time</th><th>ratio</th><th>must</th><th>goal</th><th></th></tr>
{% for r in results %}<tr><td>{{ r.title }}</td><td>{% if r.ours_ns %}{{ time(r.ours_ns) }}{% endif %}</td>
{% if r.ratio is defined %}<td>{{ r.best }}</td><td>{{ time(r.peers[r.best].median_ns) }}</td>
<td>{{ '%.2f'|format(r.ratio) }} [{{ '%.2f'|format(r.low) }}, {{ '%.2f'|format(r.high) }}]</td>
{% else %}<td colspan="3">no ratio</td>{% endif %}<td>{{ '%g'|format(r.must) }}</td><td>{{ '%g'|format(r.goal) }}</td>
<td class="{{ r.verdict or '' }}">{{ r.verdict or '' }}</td></tr>
{% endfor %}</table>
{% if dispatch %}<h2>Host time of a call of a tiny kernel</h2>
<p>{{ dispatch.what }}</p>
<table><tr><th>arrays</th><th>time</th><th class="text">way</th></tr>
{% for r in dispatch.rows %}<tr><td>{{ r.name }}</td><td>{% if r.ns is defined %}{{ time(r.ns) }}{% endif %}</td><td class="text">{{ r.absent or r.way }}</td></tr>
{% endfor %}</table>{% endif %}
{% if rate %}<h2>Tuning: measured candidates a minute</h2>
<table><tr><th>devices</th><th>measured</th><th>seconds</th><th>a minute</th><th>of one device</th></tr>
{% for r in rate.rows %}<tr><td>{{ r.devices }}</td>{% if r.absent is defined %}<td colspan="4" class="text">{{ r.absent }}</td>{% else %}<td>{{ r.measured }}</td><td>{{ '%.0f'|format(r.elapsed_s) }}</td>
<td>{{ '%.0f'|format(r.rate) }}</td><td>{% if r.of_one %}{{ '%.2f'|format(r.of_one) }}{% endif %}</td>{% endif %}</tr>
{% endfor %}</table>{% endif %}
<h2>Each case</h2>
{% for r in results %}<h3>{{ r.title }}</h3>
{% if r.clocks %}<p>Clocks while ours ran: {{ r.clocks }}.</p>{% endif %}
<table class="chart">{% for p in r.bars %}<tr><td>{{ p.name }}</td><td><span class="bar{{ ' ours' if p.name == 'tilewright' }}" style="width:{{ p.width }}%"></span>
{{ time(p.ns) }}</td><td class="text">{{ p.way }}; {{ p.agreement }}</td></tr>
{% endfor %}{% for p in r.absent %}<tr><td>{{ p.name }}</td><td colspan="2" class="text">did not run: {{ p.reason }}</td></tr>{% endfor %}</table>
{% endfor %}</html>
"""


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A result with what the template asks for."""
    ran = {name: entry for name, entry in result["peers"].items() if "median_ns" in entry}
    slowest = max((entry["median_ns"] for entry in ran.values()), default=1.0)
    bars = [
        {"name": name, "ns": entry["median_ns"], "width": max(1, round(70 * entry["median_ns"] / slowest)),
         "way": entry["way"], "agreement": entry["agreement"]}
        for name, entry in sorted(ran.items(), key=lambda item: item[1]["median_ns"])
    ]  # fmt: skip
    absent = [{"name": n, "reason": e.get("absent", "")} for n, e in result["peers"].items() if n not in ran]
    ours = ran.get("tilewright", {}).get("median_ns")
    return {"verdict": "", "clocks": None} | result | {"bars": bars, "absent": absent, "ours_ns": ours}


def write_page(folder: Path) -> Path:
    """index.html beside results.json. Raises ImportError without jinja2, FileNotFoundError without results."""
    import jinja2

    environment = jinja2.Environment(autoescape=True)
    environment.globals["time"] = time_text
    read = {name: _read(folder / f"{name}.json") for name in ("machine", "dispatch", "tuning_rate")}
    results = [_shown(result) for result in json.loads((folder / "results.json").read_text())]
    page = environment.from_string(PAGE).render(
        results=results, machine=read["machine"] or {}, dispatch=read["dispatch"], rate=read["tuning_rate"]
    )
    (folder / "index.html").write_text(page)
    return folder / "index.html"


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def rewrite_page(folder: Path) -> str:
    """The page again, after dispatch.py or tuning_rate.py wrote beside results.json; what is missing, in words."""
    try:
        return f"wrote {write_page(folder)}"
    except FileNotFoundError:
        return "no page yet: run.py has not written results.json there"
    except ImportError:
        return "no page: jinja2 is not installed (page.py writes it from the JSON files anywhere)"


if __name__ == "__main__":
    print(rewrite_page(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"))
