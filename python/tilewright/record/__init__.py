"""Running a user's script once, finding its hot NumPy functions and copying the arguments of their calls."""
