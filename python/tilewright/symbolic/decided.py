"""What the traces of one call find out for those that follow."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..errors import TraceError
from ..light_dataclass import dataclass


@dataclass
class Decided:
    """What the traces of one call have found out on their way: each finding makes the trace begin again."""

    # File, line and column of loops that are unrolled, and why they cannot stay loops.
    unrolled: dict[tuple[str, int, int], TraceError] = field(default_factory=dict)
    kept: set[tuple[str, int, int]] = field(default_factory=set)  # and of whiles that keep all iterations
    # Of those, whiles of which the first iteration stands before the loop all the same: what it sets is set then.
    peeled: set[tuple[str, int, int]] = field(default_factory=set)
    # Loops whose first iteration stands before them: it makes an array of a number, or sets what the others read. In order.
    first_apart: dict[tuple[str, int, int], None] = field(default_factory=dict)
    not_apart: set[tuple[str, int, int]] = field(default_factory=set)  # those for which that was no help
    # Places of loops, each with a variable that is read behind it: iterations begin with what it was, whether they read it or not.
    read_behind: set[tuple[tuple[str, int, int], str]] = field(default_factory=set)
    # The same, of arrays: how much longer each axis is behind every iteration; () where it is not so.
    moving: dict[tuple[tuple[str, int, int], str], tuple[int, ...]] = field(default_factory=dict)
    layouts: set[str] = field(default_factory=set)  # arguments with a guard that says whether they are C-contiguous
    # Where objects of the caller are found whose attributes the function sets, each with names of attributes that it has.
    set_objects: dict[Any, set[str]] = field(default_factory=dict)
    cells: set[Any] = field(default_factory=set)  # (place of a branch or loop, variable that a cell holds there)
    staged_lists: set[Any] = field(default_factory=set)  # places of lists that are stages
    list_forms: dict[Any, Any] = field(default_factory=dict)  # places of lists in arrays: what items are, None: in none
    written_arrays: set[Any] = field(default_factory=set)  # places of calls whose arrays of plain values are written
    # What masks pick out is arrays, if there is something in it.
    written_selections: set[Any] = field(default_factory=set)
    generators_inside: dict[Any, None] = field(
        default_factory=dict
    )  # where those are that a branch or a loop is the first to name
    draws_are_stages: bool = False
    # Whether single draws are kernels', from a state that moves on; None while nothing has asked.
    draws_move: bool | None = None
    draws_globally: bool = False  # by stages, from the generator of np.random.normal()
    effects_are_stages: bool = False  # there are calls of functions that are not known to be pure
    takes_effects: bool = False  # there may be, and the program may have stages
    follows_all: bool = False  # however long that takes
    refuses_errors: bool = False  # what the trace raises NumPy does not: it is a refusal like others
    lists_of_the_call: bool = True  # long lists of numbers that the caller has are read as arrays
    lists_found: set[Any] = field(default_factory=set)  # such lists
    plain_objects: bool = True  # arrays of objects that are made of known values are Python's own, as lists are
    objects_found: set[Any] = field(default_factory=set)  # where such arrays are made
    # Slices from one number of the run to another that is so much larger in each call; whether such are as long as that, and
    # calls whose array ends before are NumPy's. None: nobody knows yet whether that helps.
    windows: set[Any] = field(default_factory=set)
    full_windows: bool | None = None
    # Branches of which one way is compiled: the condition's truth.
    one_way: dict[Any, bool] = field(default_factory=dict)
    # Ways to functions that are not followed, and why not.
    as_stages: dict[Any, TraceError] = field(default_factory=dict)
    # Of those, functions that are followed after all, but for statements.
    given_up: set[Any] = field(default_factory=set)
    # Ways that calls take where they are traced, and not where they are watched.
    unreached: set[Any] = field(default_factory=set)
    made_in_vain: list[int] = field(default_factory=list)  # operations of traces that were too long

    def lasting(self) -> Decided:
        """What holds for later traces of such calls too: loops are decided anew in each."""
        return Decided(
            takes_effects=self.takes_effects,
            follows_all=self.follows_all,
            refuses_errors=self.refuses_errors,
            lists_of_the_call=self.lists_of_the_call,
            plain_objects=self.plain_objects,
            not_apart=self.not_apart,
            one_way=self.one_way,
            full_windows=self.full_windows,
            as_stages=self.as_stages,
            effects_are_stages=bool(self.as_stages),  # of which each is one
            given_up=self.given_up,
            unreached=self.unreached,
            made_in_vain=self.made_in_vain,
        )

    def stage_too(self, known: set[Any], item: Any, found: TraceError) -> None:
        """Another thing that is a stage, for which loops are decided anew; or the refusal, where that is no help."""
        if (item is None or item in known) and self.kept - self.peeled:
            self.peeled |= self.kept
            return
        if item is None or item in known:
            raise found
        known.add(item)
        self.unrolled.clear()
        self.kept.clear()
