"""Runs a function's source on symbolic values."""
