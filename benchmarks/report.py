"""The page of a benchmark run: a table with every bar, a plot for each case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>tilewright benchmarks</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}.goal{color:#0a7d33}.must{color:#555}.short{color:#b00020}
figure{display:inline-block;margin:1rem 1rem 0 0}figcaption{font-size:.9rem;color:#555}</style>
<h1>tilewright beside its peers</h1>
<p>{{ document.date }}, {{ document.machine.cpu }}, {{ document.machine.cores }} cores, Python {{ document.machine.python }},
NumPy {{ document.machine.numpy }}; {{ document.turns }} interleaved turns, a process each. A ratio is the best peer's time over ours
(median of paired turns, 95 % interval).</p>
<table><tr><th>case</th><th>ours</th><th>best peer</th><th>its time</th><th>ratio</th><th>must</th><th>goal</th><th></th></tr>
{% for r in document.results %}<tr><td>{{ r.title }}</td>{% if r.ratio is defined %}<td>{{ time(r.ours_ns) }}</td><td>{{ r.best_peer }}</td>
<td>{{ time(r.best_ns) }}</td><td>{{ '%.2f'|format(r.ratio) }} [{{ '%.2f'|format(r.low) }}, {{ '%.2f'|format(r.high) }}]</td>
{% else %}<td colspan="4">{{ r.verdict }}</td>{% endif %}<td>{{ '%.2f'|format(r.must) }}</td><td>{{ '%.2f'|format(r.goal) }}</td>
<td class="{{ r.verdict }}">{{ r.verdict }}</td></tr>
{% endfor %}</table>
<h2>Peers that did not run</h2><ul>{% for r in document.results %}{% for name, p in r.peers.items() if p.state != 'ready' %}
<li>{{ r.case }}: {{ name }}: {{ p.state }}: {{ p.reason }}</li>{% endfor %}{% endfor %}</ul>
{% for r in document.results if r.plot is defined %}<figure><img src="{{ r.plot }}" alt="{{ r.title }}" width="520"><figcaption>{{ r.title }}</figcaption></figure>
{% endfor %}</html>
"""


def time_text(nanoseconds: float) -> str:
    for limit, unit, factor in ((1e3, "ns", 1), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def _plot(result: dict[str, Any], folder: Path) -> str:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    peers = {name: p["times_ns"] for name, p in result["peers"].items() if p.get("times_ns")}
    order = sorted(peers, key=lambda name: float(np.median(peers[name])))
    figure, axes = plt.subplots(figsize=(6.5, 0.5 + 0.45 * len(order)))
    medians = [float(np.median(peers[name])) / 1e6 for name in order]
    colours = ["#0a7d33" if name == "tilewright" else "#9aa5b1" for name in order]
    axes.barh(order, medians, color=colours)
    for row, name in enumerate(order):
        axes.plot(np.asarray(peers[name]) / 1e6, [row] * len(peers[name]), "|", color="#333", markersize=6)
        axes.annotate(
            time_text(medians[row] * 1e6),
            (medians[row], row),
            xytext=(4, -3),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xlabel("ms (log)")
    axes.set_xscale("log")
    axes.invert_yaxis()
    figure.tight_layout()
    name = f"{result['case']}.svg"
    figure.savefig(folder / name)
    plt.close(figure)
    return name


def write_overview(document: dict[str, Any], path: Path) -> None:
    """One picture of a run: how many times faster than the best peer, with each case's bar. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [r for r in document["results"] if "ratio" in r and not r["per_point_of"]]
    labels = [f"{r['title']}  (next: {r['best_peer']})" for r in shown]
    figure, axes = plt.subplots(figsize=(10, 0.6 + 0.36 * len(shown)))
    axes.barh(labels, [r["ratio"] for r in shown], color="#0a7d33", height=0.62)
    axes.axvline(1, color="#333", linewidth=0.8)
    for row, result in enumerate(shown):
        axes.plot([result["must"]] * 2, [row - 0.4, row + 0.4], color="#b00020", linewidth=1.5)
        axes.annotate(f"{result['ratio']:.2f}x", (result["ratio"], row), xytext=(4, -4), textcoords="offset points")
    axes.set_xlabel(f"time of the best peer / time of tilewright; red: the bar ({document['machine']['cores']} cores)")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write_report(document: dict[str, Any], folder: Path) -> None:
    """index.html beside results.json; plots where matplotlib is installed. Raises ImportError without jinja2."""
    import jinja2

    for result in document["results"]:
        try:
            result["plot"] = _plot(result, folder)
        except ImportError:
            break
    environment = jinja2.Environment(autoescape=True)
    environment.globals["time"] = time_text
    (folder / "index.html").write_text(environment.from_string(PAGE).render(document=document))
