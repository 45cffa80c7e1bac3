"""Waves on a shallow tank."""

from .simulation import simulate

__all__ = ["simulate"]
