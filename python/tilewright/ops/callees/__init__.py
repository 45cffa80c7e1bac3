"""What NumPy functions without a rule give: a row each, a file for each kind of function."""

from . import (  # noqa: F401  (each fills ROWS)
    creation,
    einsum,
    fourier,
    items,
    linear_algebra,
    order,
    polynomials,
    positions,
    reductions,
    scans,
    sets,
    shapes,
    signals,
    ufunc_methods,
    writes,
)
