"""One program of a jitted function, and the compiled versions of it: by layout, by magnitude of the sizes, by schedule.

The plan of a specialization lists its versions; the runtime takes the first whose requirements hold. A call for which
none holds comes back to Python, which builds the version that is missing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import checks, forks, later_builds, logs, plan
from ._face import current_device, size_symbols
from .binding import Bound, bind
from .builder import BuildRequest, build, default_schedule, is_built, kept_build, short_or_magnitude
from .cache import object_cache
from .devices import check_device, place_all, places_among
from .errors import DeviceError, Error, ScheduleError
from .machine import CUDA_DEFAULT, machine_mark
from .native import compiler
from .partials import Partials, beyond_limit, partials_for
from .program import Program, ScalarArgument, evaluate, holds
from .quantities import counted
from .signatures import own_signature
from .stage_shares import StageShare, shares
from .thread_budget import get_num_threads
from .trials import Trial
from .work import SMALL_WORK, is_small, moved_bytes, work_condition, work_of
from .workload import EXACT, signature

_MAX_VERSIONS = 12
_LEADING = ("tuned", "by hand")
MOST_RUNS = 1_000_000  # of a profile
# What records of searches that are not over say (autotune/tune.cpp), in words; one that was killed has written that it runs.
_UNFINISHED = {"running": "its search goes on, or was killed", "interrupted": "its search was interrupted"}
_VARIANT = re.compile(r"^variant (\w+) = (\w+)$", re.MULTILINE)
_numbers = itertools.count(1)

if TYPE_CHECKING:
    from .device_profile import Profile
    from .placement import Launches
    from .trace_cache import OfProgram


class Specialization:
    """A traced program with its versions. `f.specializations` lists them, `f.for_args(…)` gives one."""

    def __init__(
        self, traced: Any, program: Program, *, contract: str, isa: str, cores: int, device_isa: str = CUDA_DEFAULT
    ) -> None:
        self.traced = traced
        self.program = program
        # Whether it draws random numbers: from a generator of the caller's, or one that it makes.
        self.draws = any(argument.path[-1][0] == "pcg64" for argument in traced.arguments)
        self.contract = contract
        self.isa = isa
        self.device_isa = device_isa
        self.cores = cores
        self.versions: list[plan.Version] = []
        self.evidence: dict[str, Any] | None = None
        self.evidence_on_device: dict[str, Any] | None = None
        self.example: Bound | None = None  # shapes only matter: the call it was made for
        self.plan_index: int | None = None
        self.function: Callable[..., Any] | None = None  # the jitted one
        self.runner: Callable[..., Any] | None = None
        self.trial: Trial | None = None  # against NumPy, of calls that cannot be repeated
        self.settling = 0  # calls that say nothing of later ones (effects.Settling)
        self.is_found_in_python = False  # at each call, since C cannot read its arguments
        self.out_runner: Callable[..., Any] | None = None
        self.why_numpy: dict[str, str] = {}  # of kinds of calls
        self.lost_at: dict[str, dict[str, int]] = {}  # of the largest calls that lost: how many bits their sizes have
        self.large_from = SMALL_WORK  # large calls below this much work lose against NumPy
        self.large_reason = ""
        self.lead_is_new = False  # a tuned version that no call has compared with NumPy
        self.launches: Launches | None = None  # of the latest call that a version was made for, on a device
        self.variant: dict[str, str] = {}  # choices of a person's, for looking at; schedules name their own
        self.partials: Partials | None = None  # of calls beyond what kernels can index, once there was one
        self.trace_key = ""  # of the function's file among those of traces, where it has one
        self.known: OfProgram | None = None  # what earlier processes have found out of it, and this one
        self.found_stored: tuple[tuple[str, Any], ...] = ()  # by this process: what is to be kept there of the store
        self._leads: dict[bool, plan.Version] = {}  # the tuned or hand-written ones: of the host, of a device
        self._later: BuildRequest | None = None  # that is built, or is there, and no version has yet
        self._being_built = ""  # its key
        self._lock = forks.Lock()

    def __repr__(self) -> str:
        return f"<tilewright.Specialization {self.signature}>"

    @property
    def signature(self) -> str:
        """get_labels(X: float64[:, :], means: float64[:, :])"""
        return signature(self.program)

    # ---- versions -------------------------------------------------------------------------------------------------

    def request(self, bound: Bound, **changes: Any) -> BuildRequest:
        """The build of the default schedule for a call."""
        fields: dict[str, Any] = {
            "program": self.program.text,
            "digest": self.traced.digest,
            "layouts": dict(bound.layouts),
            "sizes": dict(bound.sizes),
            "variant": dict(self.variant),
            "contract": self.contract,
            "isa": self.device_isa if bound.on_device else self.isa,
            "cores": 1 if self._is_for_one_thread(bound) else self.cores,
        }
        return BuildRequest(**(fields | changes))

    def _is_for_one_thread(self, bound: Bound) -> bool:
        """Whether a call's arrays are small, and so, as a rule, are those whose sizes its data decide: a schedule for threads
        would take these for large ones, and the last task of a loop is as long as all others."""
        return bool(bound.arrays) and not bound.on_device and is_small(self.program, bound)

    def example_request(self) -> BuildRequest:
        """The build of the default schedule for the call it was made for."""
        assert self.example is not None
        return self.request(self.example)

    def fits(self, bound: Bound) -> bool:
        """Whether some version may run this call."""
        return any(version.fits(bound) for version in self.versions)

    def large_numbers(self, bound: Bound) -> dict[str, int]:
        """The integer arguments of a call that are why no version takes it: kernels compute with 32 bits."""
        if not self.versions or self.fits(bound):
            return {}
        unmet = {
            word
            for version in self.versions
            for condition in version.build.requires
            if not holds(condition, bound.sizes)
            for word in size_symbols(condition)
        }
        numbers = (a.name for a in self.program.arguments if isinstance(a, ScalarArgument) and a.name in unmet)
        return {name: value for name in numbers if not -(2**31) <= (value := bound.sizes[name]) < 2**31}

    def numpy_reason(self, bound: Bound) -> str | None:
        """Why calls of this kind run in NumPy, where they do."""
        if not self.why_numpy and not self.large_reason:
            return None
        if bound.on_device:
            return None
        kind = self._kind(bound)
        if kind.startswith("large") and evaluate(work_of(self.program), bound.sizes) < self.large_from:
            return self.large_reason
        if kind in self.lost_at and self._is_much_larger(kind, bound):
            with self._lock:  # it may be another matter
                self.why_numpy.pop(kind, None)
        return self.why_numpy.get(kind)

    def _is_much_larger(self, kind: str, bound: Bound) -> bool:
        """Whether a call has a size that is several times as large as in all calls that lost: the iterations of loops, and what
        stages do, count for no kind."""
        lost = self.lost_at[kind]
        has_more = bool(self.traced.stages) or any(one.name in ("for", "while") for one in self.program.operations)
        return has_more and any(bits > lost.get(name, bits) + 1 for name, bits in _bits_of(bound).items())

    @cached_property
    def data_decide_work(self) -> bool:
        """Whether calls of one size may have much more to do than others: as many elements as a mask picks out, loops that go on
        for as long as something is true."""
        return any(one.name in ("read", "while") for one in self.program.operations)

    def forget_losses(self) -> None:
        """Calls that lost are tried again."""
        with self._lock:
            self.why_numpy.clear()
            self.lost_at.clear()
            self.large_from, self.large_reason = SMALL_WORK, ""

    def run_in_numpy(self, bound: Bound, reason: str, *, at_any_size: bool = False) -> None:
        """Calls like this one lose against NumPy: their version is withdrawn, or left to larger calls."""
        lead = self._leads.get(bound.on_device)
        if lead is not None and lead.label == "tuned":
            self.lead_with(None, bound.on_device)
            self.evidence = None
            reason = f"{reason} (under the schedule that was the fastest of those measured)"
        with self._lock:
            kind = self._kind(bound)
            if kind.startswith("small") or at_any_size:
                self.why_numpy[kind] = reason
                if not at_any_size:
                    lost = self.lost_at.setdefault(kind, {})
                    lost.update({name: max(bits, lost.get(name, 0)) for name, bits in _bits_of(bound).items()})
                self.versions = [v for v in self.versions if not v.label.startswith(f"{kind} ")]
            else:
                self.large_from = 1 << evaluate(work_of(self.program), bound.sizes).bit_length()
                self.large_reason = reason
                conditions = (self._work_condition(small=False),)
                self.versions = [
                    replace(v, conditions=conditions) if v.label.startswith("large ") else v for v in self.versions
                ]
        logs.logger.info("%s: runs in NumPy: %s", self.signature, reason)

    def is_built(self, bound: Bound, patience_s: float) -> bool:
        """Whether the version that a call needs is there, or soon is; else another thread builds it."""
        if self.fits(bound) or len(self.versions) >= _MAX_VERSIONS:
            return True
        if (known := self._known_request(bound)) is not None:
            self._later = known
            return True
        if self.is_being_built:
            return False  # a number of the call is another one now, and what is built may take both
        request = self.request(bound)
        if self._later is not None and self._later.layouts == request.layouts:
            return True
        self._later, self._being_built = request, request.key()
        return is_built(request, patience_s)

    def _known_request(self, bound: Bound) -> BuildRequest | None:
        """The request of a build that is there, and serves the call: numbers that it counts with are other ones now. Arrays are
        of such sizes as they were: code for small ones serves large ones, and not well."""
        for sizes in self.known.sizes if self.known is not None else ():
            is_alike = sizes.keys() == bound.sizes.keys() and all(
                short_or_magnitude(size) == short_or_magnitude(bound.sizes[name])
                for name, size in sizes.items()
                if "." in name
            )
            if not is_alike:
                continue
            made = kept_build(request := self.request(bound, sizes=dict(sizes)))
            if made is not None and all(holds(condition, bound.sizes) for condition in made.requires):
                return request
        return None

    @property
    def is_being_built(self) -> bool:
        """Whether another thread builds a version of it."""
        return later_builds.goes_on(self._being_built)

    @property
    def awaits_code(self) -> bool:
        """Whether code was asked of another thread that no call has taken yet."""
        return self._later is not None

    def when_built(self, then: Callable[[], None]) -> bool:
        """Whether another thread builds a version of it: `then` is called at the end."""
        return later_builds.when_over(self._being_built, then)

    def add_version(self, bound: Bound) -> plan.Version:
        """Build the version that this call needs and put it in its place; where none can serve it, nothing is built twice."""
        with self._lock:
            self._warn_where_by_hand_is_not_run(bound)
            kind = self._kind(bound)
            for version in self.versions:
                # What it requires is of no size, but of what kernels can index: another one requires it too.
                if version.label == f"{kind} any size":
                    return version
            crowded = len(self.versions) >= _MAX_VERSIONS
            layouts = dict.fromkeys(bound.layouts, "any") if crowded else dict(bound.layouts)
            conditions = () if crowded or bound.on_device else (self._work_condition(kind.startswith("small")),)
            for label in ("any size",) if crowded else ("default", "any size"):
                request, later = self.request(bound, layouts=layouts, guard_tails=label == "any size"), self._later
                if label == "default" and later is not None and later.layouts == request.layouts:
                    request = later
                made, self._later = build(request), None
                version = self._version(f"{kind} {label}", made, layouts, conditions)
                if version.fits(bound):
                    break
            self.versions = sorted([*self.versions, version], key=_rank)
            logs.guards.debug("%s: version %s requires %s", self.signature, version.label, ", ".join(version.requires))
            return version

    def mark_of_code(self, bound: Bound) -> str:
        """Of the version that runs a call, of about how large that is, and of the machine: what was measured there holds for
        another process's. "" where another thread has withdrawn it."""
        version = next((version for version in self.versions if version.fits(bound)), None)
        if version is None:
            return ""
        sizes = sorted((name, short_or_magnitude(size)) for name, size in bound.sizes.items())
        parts = [version.label, version.build.schedule, version.build.isa, get_num_threads(), sizes, machine_mark()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def add_partials(self, bound: Bound) -> bool:
        """For a call of more elements than kernels can index that reduces rows: build what it runs by. Whether anything
        was built."""
        large = beyond_limit(bound)
        if not large or self.draws:
            return False
        with self._lock:
            # Other arrays may be large than those of the call before.
            if self.partials is None or not large <= set(self.partials.rows):
                names = set(own_signature(self.traced.function).parameters)
                found = partials_for(self.program, large, names)
                if found is None:
                    return False
                self.partials = found
            if self.partials.fits(bound):
                return False
            label = (
                f"{'cuda' if bound.on_device else 'large'} {''.join(bound.layouts[n][0] for n in self.partials.rows)}"
            )
            made = [
                (name, self._version(f"{label} {name.replace('-', ' ')}", build(each), dict(each.layouts), ()))
                for name, each in self.partials.requests(self.request(bound), bound)
            ]
            for name, version in made:  # all of them, or none where one does not compile
                self.partials.versions[name].append(version)
            return True

    def set_schedule(self, text: str, bound: Bound, *, file: str = "schedule", label: str = "by hand") -> None:
        """Check a schedule, compile it and put it before all other versions. Raises ScheduleError."""
        self.set_canonical_schedule(self.check_schedule(text, file), bound, label=label)

    def set_canonical_schedule(self, canonical: str, bound: Bound, *, label: str) -> None:
        """Likewise, of what check_schedule() has given."""
        made = build(self._kept_request(self.request(bound, schedule=canonical)))
        # A person decides for all sizes; what was measured at one magnitude says nothing about the other.
        any_size = label == "by hand" or bound.on_device
        conditions = () if any_size else (work_condition(self.program, is_small(self.program, bound)),)
        self.lead_with(self._version(label, made, dict(bound.layouts), conditions), bound.on_device)
        self._warn_where_by_hand_is_not_run(bound)

    def _kept_request(self, request: BuildRequest) -> BuildRequest:
        """The request, or that of a build that is there, for other sizes: a schedule that is given is the same for all."""
        if not object_cache().has(request.key()):
            for sizes in self.known.tuned if self.known is not None else ():
                if object_cache().has((known := replace(request, sizes=sizes)).key()):
                    return known
        return request

    def lead_with(self, lead: plan.Version | None, on_device: bool) -> None:
        """Calls on the host, or on a device, run this version where it serves them; None: the defaults alone."""
        with self._lock:
            self._leads.pop(on_device, None)
            others = [v for v in self.versions if v.label not in _LEADING or v.build.on_device != on_device]
            if lead is not None:
                self._leads[on_device] = lead
                # Where a person's schedule serves not all sizes, calls that it does not run come here, and say so.
                alone = lead.label == "by hand" and bool(lead.build.requires)
                others = [lead, *(v for v in others if not alone or v.build.on_device != on_device)]
            self.versions = others

    def drop_schedule(self) -> None:
        """The defaults run again."""
        with self._lock:
            self._leads.clear()
            self.versions = [v for v in self.versions if v.label not in _LEADING]
            self.evidence = self.evidence_on_device = None

    def _warn_where_by_hand_is_not_run(self, bound: Bound) -> None:
        lead = self._leads.get(bound.on_device)
        if lead is None or lead.label != "by hand":
            return
        unmet = [c for c in (*lead.conditions, *lead.build.requires) if not holds(c, bound.sizes)]
        if unmet:
            known = {name for condition in unmet for name in size_symbols(condition)}
            here = ", ".join(f"{name} is {bound.sizes[name]}" for name in sorted(known & bound.sizes.keys()))
            warnings.warn(
                f"{self.signature}: the schedule by hand cannot run this call, so a default schedule runs it: it needs "
                f"{' and '.join(unmet)}; {here}. Give its splits the tail guard_with_if.",
                UserWarning,
                stacklevel=5,
            )

    def check_schedule(self, text: str, file: str = "schedule") -> str:
        """The canonical text of a legal schedule. Raises ScheduleError: where, why not, what would work."""
        native = compiler()
        violations = native.check_schedule(self.program.text, self.example_request().options(), text, file)
        if violations:
            raise ScheduleError("\n".join(v["text"] for v in violations))
        canonical: str = native.canonical_schedule(text, file)
        return canonical

    def plan_text(self) -> str:
        """The plan of all versions. Raises ScheduleError where there is none, because NumPy runs such calls."""
        if not self.versions:
            why = next(iter(self.why_numpy.values()), self.large_reason) or "nothing is compiled yet"
            raise ScheduleError(
                f"{self.signature}: no version is compiled: {why}.",
                "Set `schedule` to have one, or ask for another call.",
            )
        return plan.compose(self.versions)

    def objects(self) -> dict[str, bytes]:
        """The objects that the plan names, and those of the parts of calls beyond what kernels can index."""
        return plan.all_objects(self.versions) | (self.partials.objects() if self.partials else {})

    def _kind(self, bound: Bound) -> str:
        """What the default version of such a call is for, which its label begins with: `small cf`."""
        size = "cuda" if bound.on_device else "small" if is_small(self.program, bound) else "large"
        return f"{size} {''.join(layout[0] for _, layout in sorted(bound.layouts.items()))}"

    def _work_condition(self, small: bool) -> str:
        return work_condition(self.program, small, SMALL_WORK if small else self.large_from)

    def _version(
        self, label: str, made: plan.Build, layouts: dict[str, str], conditions: tuple[str, ...]
    ) -> plan.Version:
        # The program is that of arrays of such a layout.
        asked = {name: "c" for name in self.traced.contiguous if name in layouts}
        return plan.Version(label, f"v{next(_numbers)}", made, layouts | asked, conditions)

    @property
    def numpy_stages(self) -> list[StageShare]:
        """What NumPy computes between the kernels, with its share of the calls so far, else of those that were tuned."""
        found = shares(self.traced.stages, self.stage_times())
        known = {one["stage"]: one.get("share") for one in (self.evidence or {}).get("stages", ())}
        return [replace(one, share=known.get(one.stage)) if one.share is None else one for one in found]

    def stage_times(self) -> Any:
        """Of its plan and the stages in it, since that was loaded; None where none is."""
        if not self.traced.stages or self.plan_index is None or self.function is None:
            return None
        return self.function.stage_times(self.plan_index)  # type: ignore[attr-defined]

    # ---- for people -----------------------------------------------------------------------------------------------

    @property
    def schedule(self) -> str:
        """The schedule that runs: the tuned or hand-written one, else the default of the call it was made for."""
        assert self.example is not None
        lead = self._leads.get(self.example.on_device)
        if lead is not None:
            return lead.build.schedule
        for version in self.versions:
            if version.fits(self.example):
                return version.build.schedule
        return default_schedule(self.example_request())

    @schedule.setter
    def schedule(self, text: str | None) -> None:
        assert self.example is not None
        if text is None:
            self.drop_schedule()
            if not self.versions:
                self.add_version(self.example)
        else:
            self.set_schedule(checks.text(text, "schedule", "a schedule"), self.example)
        self.changed()

    @property
    def has_own_schedule(self) -> bool:
        """Whether a tuned or hand-written schedule is in use."""
        return self.lead is not None

    @property
    def schedule_words(self) -> str:
        """Whose schedule is in use: "tuned" alone where a search came to its end and found a faster one than the default."""
        lead, evidence = self.lead, self.evidence or {}
        if lead is None or lead.label != "tuned":
            return "default schedule" if lead is None else "your schedule"
        stopped, tried = str(evidence.get("stopped") or ""), counted(int(evidence.get("candidates") or 0), "candidate")
        size = "" if evidence.get("for", EXACT) == EXACT else ", at another size"
        if stopped in _UNFINISHED:
            return f"tuned so far, {tried}: {_UNFINISHED[stopped]}{size}"
        if evidence.get("default_ns") and evidence.get("kernel_ns", 0) >= evidence["default_ns"]:
            return f"default schedule: the fastest of {tried} that a search has measured{size}"
        return f"tuned{size}"

    @property
    def iterates_on_host(self) -> bool:
        """Whether calls on a device launch kernels in loops."""
        return any(version.build.on_device and version.build.has_loops for version in self.versions)

    def lead_for(self, on_device: bool) -> plan.Version | None:
        """The tuned or hand-written version of the host, or of a device."""
        return self._leads.get(on_device)

    @property
    def lead(self) -> plan.Version | None:
        """The tuned or hand-written version for calls like the one it was made for."""
        return None if self.example is None else self._leads.get(self.example.on_device)

    def changed(self) -> None:
        """Called after versions changed; the jitted function sets it."""

    @property
    def space(self) -> str:
        """The space that a search goes through, as text to narrow and hand back."""
        request = self.example_request()
        text: str = compiler().default_space(request.program, request.options(), request.isa, self.cores)
        return text

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The named steps of the algorithm under the present schedule's variant, with their loops and source lines."""
        request = self.example_request()
        found: list[dict[str, Any]] = compiler().describe(request.program, self._options_in_use(request))["stages"]
        return found

    def _options_in_use(self, request: BuildRequest) -> dict[str, Any]:
        """Of the translation that the present schedule is for."""
        lead = self.lead
        chosen = request.variant if lead is None else dict(_VARIANT.findall(lead.build.schedule))
        return {**request.options(), "variant": chosen}

    @property
    def loops(self) -> list[dict[str, Any]]:
        """The loops of the program, and what the translation for the present target and variant makes of them."""
        request = self.example_request()
        found: list[dict[str, Any]] = compiler().loops(request.program, self._options_in_use(request))
        return found

    def choose_variants(self, chosen: Mapping[str, str]) -> None:
        """Look at the algorithm that is made with these choices: stages, default schedule and space are of it. Raises
        ScheduleError for names and options that the function does not have."""
        request = self.example_request()
        known = {v["name"]: v["options"] for v in compiler().variants(request.program, request.options())}
        for name, value in chosen.items():
            if name not in known:
                listed = f"The variants are: {', '.join(known)}." if known else "The function has no variants."
                raise ScheduleError(f"{self.signature}: variant {name}: there is no such variant.", listed)
            if value not in known[name]:
                raise ScheduleError(
                    f"{self.signature}: variant {name} = {value}: there is no such choice.",
                    f"The choices are: {', '.join(known[name])}.",
                )
        self.variant = dict(chosen)

    def stage_names(self) -> set[str]:
        """The stages of all variants, each option taken for itself."""
        native = compiler()
        request = self.example_request()
        options = request.options()
        names = {stage["name"] for stage in self.stages}
        for variant in native.variants(request.program, options):
            for option in variant["options"]:
                chosen = {**options, "variant": {variant["name"]: option}}
                names |= {stage["name"] for stage in native.describe(request.program, chosen)["stages"]}
        return names

    def explain(self, *, source: bool = True, code: bool = False) -> str:
        """Stages, variants, versions, guards and the evidence for the schedule; with `source` who computes each line, with `code` the
        lowered code too."""
        from .explain import explain_specialization  # noqa: PLC0415  (slow, and few ask)

        return explain_specialization(self, source=checks.flag(source, "source"), code=checks.flag(code, "code"))

    def profile(self, *args: Any, runs: int = 20, **kwargs: Any) -> Profile:
        """How long each kernel of such a call takes on its CUDA device: rows with grid, block, shared memory, median_ns,
        occupancy. Calls the function `runs` times and a few times before; NumPy arrays are copied to the device once,
        arrays on a device that it writes into are written each time. Raises DeviceError where there is no device."""
        from .device_profile import profile_call  # noqa: PLC0415  (slow, and few ask)

        checks.whole_number(runs, "runs", 1, MOST_RUNS)
        assert self.example is not None
        runs_there = self.example.on_device or current_device() is not None
        if not runs_there and not places_among((*args, *kwargs.values())):
            raise DeviceError(
                f"{self.signature}: such a call runs on the host; its kernels run on no device.",
                "Pass arrays that lie on the device (tilewright.to_device), or use jit(target='cuda').",
            )
        assert self.function is not None
        check_device()
        function = self.function
        values, named = place_all(args, kwargs)
        if not self.traced.matches(values, named):
            raise Error(
                f"{self.signature}: profile() was given another call.", "Pass arguments like those of for_args()."
            )
        bound = bind(self.traced, self.program, values, named)
        evidence = self.evidence_on_device or self.evidence or {}
        gbps, share = evidence.get("gbps"), evidence.get("share_of_limit")
        limit = gbps / share if gbps and share and evidence.get("limit", "memory") == "memory" else None
        return profile_call(lambda: function(*values, **named), runs, moved_bytes(self.program, bound), limit)


def _rank(version: plan.Version) -> int:
    """Tuned first, then small ones (they say for which work they are), large ones, and what serves any size."""
    if version.label in _LEADING:
        return 0
    if version.label.endswith("any size"):
        return 3
    return 1 if version.label.startswith("small") else 2


def _bits_of(bound: Bound) -> dict[str, int]:
    return {name: abs(size).bit_length() for name, size in bound.sizes.items()}
