"""The page of a benchmark run: a table with every bar, a plot for each case."""

from __future__ import annotations

import json
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
{% for r in document.results if not r.group %}<tr><td>{{ r.title }}</td>{% if r.ratio is defined %}<td>{{ time(r.ours_ns) }}</td><td>{{ r.best_peer }}</td>
<td>{{ time(r.best_ns) }}</td><td>{{ '%.2f'|format(r.ratio) }} [{{ '%.2f'|format(r.low) }}, {{ '%.2f'|format(r.high) }}]</td>
{% else %}<td colspan="4">{{ r.verdict }}</td>{% endif %}<td>{{ '%.2f'|format(r.must) }}</td><td>{{ '%.2f'|format(r.goal) }}</td>
<td class="{{ r.verdict }}">{{ r.verdict }}</td></tr>
{% endfor %}</table>
{% if npbench %}<h2>NPBench's programs with loops</h2>
<p>As written, on perturbed inputs, fresh arguments for each call. Ratio: the best peer's time over ours. Compile: the first call, ours without a search.
Error: of our results against NumPy's, each as a norm.</p>
<table><tr><th>program</th><th>size</th>{% for name in npbench.peers %}<th>{{ name }}</th>{% endfor %}<th>ours</th><th>untuned</th><th>ratio</th><th>to NumPy</th>
{% for name in npbench.compilers %}<th>compile: {{ name }}</th>{% endfor %}<th>memory: NumPy</th><th>ours</th><th>error</th></tr>
{% for r in npbench.rows %}<tr><td>{{ r.program }}</td><td>{{ r.size }}</td>{% for t in r.times %}<td>{{ t }}</td>{% endfor %}<td>{{ r.ours }}</td><td>{{ r.untuned }}</td>
<td class="{{ r.verdict }}">{{ r.ratio }}</td><td>{{ r.to_numpy }}</td>{% for t in r.compile %}<td>{{ t }}</td>{% endfor %}{% for m in r.memory %}<td>{{ m }}</td>{% endfor %}
<td>{{ r.agreement }}</td></tr>
{% endfor %}</table><p>{{ npbench.summary }}</p>{% endif %}
{% if chunks %}<h2>{{ chunks.title }}: iterations a visit</h2>
<table><tr><th>iterations a visit</th><th>time</th><th>times faster than NumPy</th><th>compiling</th><th>agreement with NumPy</th></tr>
{% for name, r in chunks.rows.items() %}<tr><td>{{ name }}{% if name == 'search' %}: {{ r.chunk }}{% endif %}</td><td>{{ time(r.ns) }}</td>
<td>{{ '%.1f'|format(r.boost) }}</td><td>{% if r.compile_s is defined %}{{ '%.2f s'|format(r.compile_s) }}{% endif %}</td><td>{{ r.agreement }}</td></tr>
{% endfor %}</table>{% if chunks.plot %}<figure><img src="{{ chunks.plot }}" alt="by chunk" width="520"></figure>{% endif %}{% endif %}
{% if counts %}<h2>What loops do not cost</h2>
<p>{{ counts.compiling.iterations[1] }} iterations as a literal compile in {{ '%.2f'|format(counts.compiling.ratio) }}
[{{ '%.2f'|format(counts.compiling.low) }}, {{ '%.2f'|format(counts.compiling.high) }}] times the time of {{ counts.compiling.iterations[0] }} (bar {{ counts.compiling.bar }}).</p>
<table><tr><th>changed argument</th><th>calls that no plan took</th><th>versions compiled</th><th>agreement with NumPy</th></tr>
{% for r in counts.calls %}<tr><td>{% for k, v in r.change.items() %}{{ k }} {{ v }} {% else %}first call{% endfor %}</td><td>{{ r.misses }}</td><td>{{ r.compiled }}</td>
<td>{{ r.agreement }}</td></tr>{% endfor %}</table>{% endif %}
{% if memory %}<h2>Memory of a call beside its arguments</h2>
<p>Results and temporaries of a first call in a fresh process, ours under the default schedule. Up to {{ '%.1f'|format(memory.slack / 1e6) }} MB more are code, stacks and pages.</p>
<table><tr><th>program</th><th>NumPy</th><th>ours</th><th></th></tr>
{% for r in memory.rows %}<tr><td>{{ r.program }}</td>{% for one in (r.numpy, r.ours) %}<td>{% if one.failed is defined %}{{ one.failed }}{% else %}{{ '%.1f MB'|format(one.peak_bytes / 1e6) }}{% endif %}</td>{% endfor %}
<td class="{{ r.verdict }}">{{ r.verdict }}</td></tr>{% endfor %}</table>{% endif %}
<h2>Peers that did not run</h2><ul>{% for r in document.results %}{% for name, p in r.peers.items() if p.state != 'ready' %}
<li>{{ r.case }}: {{ name }}: {{ p.state }}: {{ p.reason }}</li>{% endfor %}{% endfor %}</ul>
{% for r in document.results if r.plot is defined and not r.group %}<figure><img src="{{ r.plot }}" alt="{{ r.title }}" width="520"><figcaption>{{ r.title }}</figcaption></figure>
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

    shown = [r for r in document["results"] if "ratio" in r and not r["per_point_of"] and not r.get("group")]
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


def npbench_table(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """NPBench's programs as rows of texts, and what they come to together."""
    chosen = [r for r in results if r.get("group") == "npbench"]
    if not chosen:
        return None
    peers = chosen[0]["compared_with"]
    compilers = [*(p for p in peers if p != "numpy"), "tilewright_jit"]
    rows = [_npbench_row(result, peers, compilers) for result in chosen]
    ratios = [r["ratio"] for r in chosen if "ratio" in r]
    to_numpy = [row["numpy_ratio"] for row in rows if row["numpy_ratio"]]
    summary = "nothing of ours ran"
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        summary = (
            f"{len(ratios)} of {len(chosen)} valid; geometric mean of best peer / tilewright {mean:.2f} (must 1.2, goal 1.6); least "
            f"{min(ratios):.2f} of its best peer (must 0.5), {min(to_numpy):.2f} of NumPy (must 0.95)"
        )
    return {"peers": peers, "compilers": compilers, "rows": rows, "summary": summary}


def _npbench_row(result: dict[str, Any], peers: list[str], compilers: list[str]) -> dict[str, Any]:
    entries = result["peers"]

    def median(name: str) -> float | None:
        times = entries.get(name, {}).get("times_ns")
        return float(np.median(times)) if times else None

    def text(name: str, key: str = "", factor: float = 1.0) -> str:
        entry = entries.get(name, {})
        value = median(name) if not key else entry.get(key)
        if value is None:
            return str(entry.get("state", "")).replace("ready", "")
        variant = f" ({entry['variant']})" if "variant" in entry and not key else ""
        return f"{time_text(value * factor)}{variant}"

    ours, in_numpy = median("tilewright"), median("numpy")
    program, _, size = result["case"].rpartition("_")
    return {
        "program": program,
        "size": size,
        "times": [text(name) for name in peers],
        "ours": text("tilewright"),
        "untuned": text("tilewright_jit"),
        "ratio": f"{result['ratio']:.2f} [{result['low']:.2f}, {result['high']:.2f}]" if "ratio" in result else "",
        "verdict": result["verdict"],
        "numpy_ratio": in_numpy / ours if ours and in_numpy else None,
        "to_numpy": f"{in_numpy / ours:.2f}" if ours and in_numpy else "",
        "compile": [text(name, "first_call_s", 1e9) for name in compilers],
        "memory": [
            f"{entries[name]['peak_bytes'] / 1e6:.1f} MB" if "peak_bytes" in entries.get(name, {}) else ""
            for name in ("numpy", "tilewright")
        ],
        "agreement": entries.get("tilewright", {}).get("agreement", ""),
    }


def write_report(document: dict[str, Any], folder: Path) -> None:
    """index.html beside results.json; plots where matplotlib is installed. Raises ImportError without jinja2."""
    import jinja2

    for result in document["results"]:
        if result.get("group"):
            continue
        try:
            result["plot"] = _plot(result, folder)
        except ImportError:
            break
    environment = jinja2.Environment(autoescape=True)
    environment.globals["time"] = time_text
    others = {name: _read(folder / f"{name}.json") for name in ("chunks", "counts", "memory")}
    page = environment.from_string(PAGE)
    (folder / "index.html").write_text(
        page.render(document=document, npbench=npbench_table(document["results"]), **others)
    )


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def rewrite_page(folder: Path) -> None:
    """The page again, after chunks.py, counts.py or memory.py wrote beside results.json. Without that file there is no page yet."""
    document = _read(folder / "results.json")
    if document is not None:
        write_report(document, folder)
