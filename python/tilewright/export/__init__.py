"""Writing a tuned function as a module that needs NumPy and nothing else."""

from .package import ExportOptions, export_module

__all__ = ["ExportOptions", "export_module"]
