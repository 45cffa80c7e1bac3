"""What stands for sizes, numbers and arrays while a function is traced, and the registry of operations on them."""
