"""Writing a tuned function as a module that needs NumPy and nothing else."""

from .package import export_module
from .versions import ExportOptions

__all__ = ["ExportOptions", "export_module"]
