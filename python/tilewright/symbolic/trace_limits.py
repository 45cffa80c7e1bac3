"""How far a trace goes: beyond that it is refused, or does otherwise."""

from __future__ import annotations

from .._face import MOST_STAGE_ARRAYS

# Beyond this, compiling takes long where most are copies: loops that are unrolled too far. Of code without copies twice as
# many compile in some seconds.
MAX_VALUES = 2_000
MAX_MADE = 20 * MAX_VALUES  # with those of runs that came to nothing
MOST_STAGE_OPERANDS = MOST_STAGE_ARRAYS - 1
# A reduction is several stages, each with its loops: some 0.4 s to compile.
MAX_UNROLLED_REDUCTIONS = 48
# Kernels of so many operations that calls by Python end: each is compiled alone, some 0.3 s and more.
MAX_UNROLLED_KERNELS, LEAST_OF_KERNEL = 12, 8
# Elements that copies of a body write, in a loop or branch that stays one: compiling a chain of those that read each other
# takes 3 times as long with each further 4.
MAX_UNROLLED_UPDATES = 24
MAX_RANK = 8  # of plans, dsl/runtime/plan_text.md
MAX_UNROLLED_ITERATIONS = 64
MAX_ROUNDS = 64  # until sizes that guards have made equal are written the same way
MAX_SHORT_ITERATIONS = 8  # of a range of numbers that is unrolled though it could stay a loop
