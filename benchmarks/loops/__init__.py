"""What users of Numba, JAX and torch write by hand for the cases that are loops; peers/ measures it, chunks.py too."""
