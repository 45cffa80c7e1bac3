"""The peers: for each case the best that its users would write. One file a peer; PEERS lists them."""

from __future__ import annotations

PEERS = ["numpy", "numba", "torch", "jax", "numexpr", "openmp", "tilewright", "tilewright_jit"]
