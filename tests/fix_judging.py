"""What is wrong with the fixes of a program: by running it before and after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from fix_runs import Outcome, Raised, found_calls, run
from fixed_texts import Call, Source, calls_of, changed, for_kind
from numbers_seen import numbers, same

from devlint.fix.applying import FixResult

ACCELERATORS = ("cuda", "mps")

WRONG_ANYWHERE = frozenset({"DEV305", "DEV309"})
"""Rules on what is wrong on the CPU as well, as a comparison that never holds: without it, the
program is another one there too."""

ROUNDED = frozenset({"DEV107"})
"""Rules whose fixes let the program compute in bfloat16 on more devices than before."""

_DOUBLE = "doesn't support float64"
_INDEX = "it is given the index of a device that isn't there"
_GIVEN = "a constructor that takes a container of modules is given one module here"

OF_ITSELF: Mapping[tuple[str, str], str] = {
    ("dev1_loads::Every loader[0]", "constants.pkl"): "the file is none of TorchScript",
    (
        "dev2_fixes::What is written into stays where it is, or is made where the rest is[0]",
        "StopIteration",
    ): "what stands in for a model has no parameters, and so no first one",
    ("dev2_generators::Numbers keep their seed[0]", _DOUBLE): "it asks for float64",
    ("dev2_operations::What arrays tell of their dimensions[0]", _DOUBLE): "it adds float64",
    ("dev3_attributes::Questions that are named and not called[0]", "Assert"): "it asks for groups",
    ("dev3_containers::numpy's universal functions give tensors back[0]", _DOUBLE): "made by numpy",
    ("dev4_state::From numpy[0]", _DOUBLE): "`forward` multiplies float32 by float64",
    ("device-index-taken-for-false::Example[0]", "index 0"): "it asks for the second device",
    ("dev3_wrong_arguments::Slips of which nothing needs to be known[2]", "device ordinal"): _INDEX,
    ("dev3_wrong_arguments::Slips of which nothing needs to be known[2]", "index 0"): _INDEX,
    ("dev4_fixes::Containers that are put together or given[0]", "an iterable"): _GIVEN,
    ("dev4_state::Containers of modules that are given to a constructor[0]", "an iterable"): _GIVEN,
    ("dev4_state::Containers of modules that are given to a constructor[1]", "an iterable"): _GIVEN,
    (
        "dev2_modules::Lengths that are packed by[1]",
        "'lengths' argument",
    ): "still wrong: one use of the tensor needs it on the host, the other one on the device",
}
"""By block and error, why that isn't a fix's fault; or that it still is."""

OTHER_NUMBERS: Mapping[str, str] = {
    "generator-on-other-device::Example[7]": "a loader draws with another generator than before",
}
"""By block, why its numbers aren't those that they were."""

NOTHING = Raised("", 0)


@dataclass
class Verdict:
    """What is wrong with the fixes of a text, and how much of them has run."""

    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    excused: set[object] = field(default_factory=set)


@dataclass(frozen=True)
class Fixed:
    """A program and what its fixes make of it."""

    id: str
    before: str
    result: FixResult
    module: str = "__main__"
    folders: tuple[str, str] = ("", "")
    """Where the package is that the module is of, before and after."""

    @property
    def after(self) -> str:
        return self.result.data.decode()

    def has(self, codes: frozenset[str]) -> bool:
        return any(finding.code in codes for finding in self.result.applied)


class Judge:
    """Runs a program before and after its fixes."""

    def __init__(self, fixed: Fixed) -> None:
        self.fixed = fixed
        self.verdict = Verdict()
        old, new = fixed.folders
        self.before = Source(fixed.before, changed(fixed.after, fixed.before), fixed.module, old)
        self.after = Source(fixed.after, changed(fixed.before, fixed.after), fixed.module, new)
        self.calls = self._calls()
        self.count("fixes", len(fixed.result.applied))
        self.count("places", len(self.after.rows))

    def _calls(self) -> list[Call]:
        """What ends before the fixes, or else after them."""
        wanted = calls_of(self.after)
        ended = {each.name: each for each in found_calls(self.before, calls_of(self.before))}
        if any(each.name not in ended for each in wanted):
            ended = {each.name: each for each in found_calls(self.after, wanted)} | ended
        return [ended[each.name] for each in wanted if each.name in ended]

    def count(self, what: str, number: int) -> None:
        self.verdict.counts[what] += number

    def judged(self) -> Verdict:
        before, after = self.run(self.before, "cpu"), self.run(self.after, "cpu")
        self.count("cpu", 0 if before.errors else len(after.reached))
        for name in after.errors.keys() - before.errors.keys():
            if not self.fixed.has(WRONG_ANYWHERE) and not before.errors.get(""):
                self.wrong("cpu", name, after.errors[name])
        if not before.errors:
            self.compare("cpu", before, after)
        lacks = after.errors.get("", NOTHING).text.startswith("ModuleNotFoundError")
        for kind in () if lacks else ACCELERATORS:
            self.judge(kind, after)
        return self.verdict

    def run(self, source: Source, kind: str, on_host: frozenset[str] = frozenset()) -> Outcome:
        return run(source, kind, self.calls, on_host)

    def judge(self, kind: str, on_cpu: Outcome) -> None:
        """Where something is wrong with tensors of the accelerator, it may be meant for others."""
        on_host: frozenset[str] = frozenset()
        after = self.run(self.after, kind)
        if after.errors and "" not in after.errors:
            on_host = frozenset(after.errors)
            other = self.run(self.after, kind, on_host)
            after, on_host = (other, on_host) if not other.errors else (after, frozenset())
        self.count(kind, len(after.reached))
        if not after.errors:
            self.compare(kind, on_cpu, after)
        if not after.errors and kind != ACCELERATORS[0]:
            return
        before = self.run(self.before, kind, on_host)
        if before.errors and not after.errors:
            self.count("cured", 1)
        for name, error in after.errors.items():
            earlier = before.errors.get(name)
            row = for_kind(self.fixed.after, kind).splitlines()[error.row - 1]
            unknown = kind == "mps" and "torch.cuda." in row
            if (earlier is None or earlier.text != error.text) and not unknown:
                self.wrong(kind, name, error)

    def wrong(self, kind: str, name: str, error: Raised) -> None:
        """It raises: unless that is the program's own mistake, which has no fix."""
        if any(finding.span.row == error.row for finding in self.fixed.result.remaining):
            return
        for block, text in OF_ITSELF:
            if block == self.fixed.id and text in error.text:
                self.verdict.excused.add((block, text))
                return
        self.verdict.problems.append(f"{self.fixed.id}: on {kind}, {name or 'it'} raises {error}")

    def compare(self, kind: str, one: Outcome, other: Outcome) -> None:
        if self.fixed.has(WRONG_ANYWHERE) or "torch.empty" in self.fixed.before:
            return  # what memory held that nobody has written says nothing
        seen = (lambda value: value) if kind == "cpu" else numbers
        rough = 0.05 if self.fixed.has(ROUNDED) else 1e-4
        common = one.values.keys() & other.values.keys()
        names = [n for n in common if not same(seen(one.values[n]), seen(other.values[n]), rough)]
        if kind == "cpu" and one.printed != other.printed:
            names.append("what is printed")
        if names and self.fixed.id in OTHER_NUMBERS:
            self.verdict.excused.add(self.fixed.id)
        elif names:
            self.verdict.problems.append(f"{self.fixed.id}: other numbers on {kind}: {names}")
