"""For every test: Ctrl-C is what it is at a terminal, whoever started them. A shell's background jobs ignore SIGINT, and so does what they start."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
