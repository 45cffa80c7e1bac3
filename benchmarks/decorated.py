"""Peers whose decorator a person can put above a function of a script without another change: which functions take it, and the text with it."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass

# The functions that take @numba.njit as they stand, in scripts where they take a share of the time that shows (scripts/README.md says what others meet).
NJIT = {
    "clusters": ["silhouette"],
    "kalman": ["rts_smoother", "simulate"],
    "regression": ["soft_threshold"],
    "spectra": ["autocorrelation", "biquad_notch", "goertzel", "one_pole_highpass"],
}
# The functions that take @torch.compile as they stand: the script prints the same, and torch compiled some of it. No script is faster so.
TORCH = {
    "agents": ["Simulation.move"],
    "clusters": ["assign"],
    "fluid": ["Fluid.advect", "Fluid.set_bnd"],
    "images": ["bilateral", "sobel"],
    "life": ["step"],
    "montecarlo": ["simulate_gbm"],
    "network": ["Network.train_batch"],
    "regression": ["PCA.fit"],
    "spectra": ["declick"],
}


@dataclass(frozen=True)
class Peer:
    """`functions` has a script's functions: `f` of its top level, `C.f` of a class there."""

    name: str
    import_line: str
    decorator: str
    functions: dict[str, list[str]]

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.name) is not None


PEERS = [
    Peer("numba", "import numba", "@numba.njit(cache=True)", NJIT),
    Peer("torch", "import torch", "@torch.compile", TORCH),
]


def with_decorators(text: str, peer: Peer, functions: list[str]) -> str:
    """A script's text with the peer's decorator above these functions, and the import that this needs."""
    tree = ast.parse(text)
    lines = text.split("\n")
    places = _places(tree)
    for name in sorted(functions, key=lambda each: -places[each].lineno):
        lines.insert(places[name].lineno - 1, " " * places[name].col_offset + peer.decorator)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    first = next(node.lineno for node in imports if getattr(node, "module", None) != "__future__")
    lines.insert(first - 1, peer.import_line)
    return "\n".join(lines)


def _places(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            found |= {f"{each.name}.{node.name}": node for node in each.body if isinstance(node, ast.FunctionDef)}
    return found
