"""Applies fixes to a file's bytes, lints the result, and keeps only what holds."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from devlint.model.findings import Edit, Finding, Fix, Safety
from devlint.source.reading import read_script, syntax_error

S = TypeVar("S")

Move = Callable[[int], int]
"""Where a place of an older text is in a newer one."""

_MOST_LINTED = 1_000_000
"""Bytes that are linted again for the fixes of one file; a file is always linted some times."""
_LEAST_CHECKS = 20
_CHECKS_OF_OFFERS = 8
"""How often a file is linted again to find out which of its fixes hold."""
_LONGEST_CHAIN = 6
"""How many times in a row a fix may uncover the next mistake."""
_GIVEN_UP = "too many fixes of this file don't work: fix some by hand, and run again"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A fix that was tried and taken back, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class FixResult:
    """What came of fixing one file: its bytes, the fixes that hold, and what is left."""

    data: bytes
    applied: tuple[Finding, ...]
    dropped: tuple[Dropped, ...]
    remaining: tuple[Finding, ...]


def _any(finding: Finding) -> bool:
    return True


def fix_source(
    data: bytes,
    filename: str,
    settings: S,
    unsafe: bool,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool] = _any,
    language: str = "",
) -> FixResult:
    """Apply the safe fixes of a file, with `unsafe` also the others, until nothing changes.

    `check` lints bytes. A fix that overlaps an earlier one waits for the next pass. A fix is
    taken back where its finding stays, where a new finding appears that isn't fixed as well, and
    where the file no longer parses. What isn't `shown` isn't fixed, but may not come of a fix
    either. Encoding, byte order mark and newlines stay as they are. `language` is what the file is
    read as, where its name doesn't say so.
    """
    lint = _linter(filename, settings, check)
    return _Session(data, filename, lint, shown, unsafe, language).run()


def objection_to(
    finding: Finding,
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
) -> str:
    """Why the fix of one of a file's findings doesn't hold, where that is applied by itself; ""
    where it does."""
    session = _Session(data, filename, _linter(filename, settings, check), _any, True)
    same = next(each for each in session.findings if each == finding)
    return "" if same.fix is None else session.apply_alone(same, same.fix)


def offered(
    findings: Sequence[Finding],
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool],
    language: str = "",
) -> list[Finding]:
    """The findings of a file, without the fixes that `fix_source` would drop, as far as so many
    runs of the linter tell as a file may cost."""
    if not any(finding.fix for finding in findings):
        return list(findings)
    lint = _linter(filename, settings, check)
    session = _Session(data, filename, lint, shown, True, language)
    session.checks = _CHECKS_OF_OFFERS
    dropped = session.dropped_of(findings)
    return [replace(each, fix=None) if each in dropped else each for each in findings]


def _linter(
    filename: str, settings: S, check: Callable[[bytes, str, S], Sequence[Finding]]
) -> Callable[[bytes], list[Finding]]:
    return lambda new: list(check(new, filename, settings))


class _Session:
    """The work on one file.

    Every accepted step leaves fewer findings and every other one drops a fix, so it ends.
    """

    def __init__(
        self,
        data: bytes,
        filename: str,
        check: Callable[[bytes], list[Finding]],
        shown: Callable[[Finding], bool],
        unsafe: bool,
        language: str = "",
    ) -> None:
        self._filename, self._language = filename, language
        self._check = check
        self._shown = shown
        self._unsafe = unsafe
        self._data = data
        self.findings = check(data)
        self.checks = max(_LEAST_CHECKS, _MOST_LINTED // max(len(data), 1))
        self._applied: list[Finding] = []
        self._dropped: dict[tuple[str, int], Dropped] = {}  # by code and present offset
        self._steps: list[Move] = []  # all that was applied

    def run(self) -> FixResult:
        self._work()
        return FixResult(
            self._data,
            tuple(self._applied),
            tuple(self._dropped.values()),
            tuple(filter(self._shown, self.findings)),
        )

    def dropped_of(self, findings: Sequence[Finding]) -> set[Finding]:
        """Of findings of the file as it was, those whose fixes are dropped."""
        self._work()
        given_up = {key for key, each in self._dropped.items() if each.reason == _GIVEN_UP}
        dropped = self._dropped.keys() - given_up
        return {each for each in findings if (each.code, _moved(each, self._steps)) in dropped}

    def _work(self) -> None:
        while chosen := self._choose():
            if self.checks > 0:
                self._settle(chosen)
            else:
                for finding, _ in chosen:
                    self._drop(finding, _GIVEN_UP)

    def _edited(self, edits: Sequence[Edit]) -> bytes:
        return read_script(self._data, self._filename, self._language).edited(edits)

    def _lint(self, data: bytes) -> list[Finding]:
        self.checks -= 1
        return self._check(data)

    def _choose(self) -> list[tuple[Finding, Fix]]:
        """The fixes of this pass, from the top, whose edits don't overlap."""
        wanted = [
            (finding, finding.fix)
            for finding in self.findings
            if finding.fix is not None
            and self._may_be_fixed(finding)
            and _key(finding) not in self._dropped
        ]
        return _apart(wanted)

    def _may_be_fixed(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or not fix.edits or not self._shown(finding):
            return False
        return self._unsafe or fix.safety is Safety.SAFE

    def _settle(self, chosen: list[tuple[Finding, Fix]]) -> None:
        """Apply the fixes together, which is right nearly always, else find those at fault."""
        if len(chosen) == 1:
            objection = self.apply_alone(*chosen[0])
            if objection:
                self._drop(chosen[0][0], objection)
        elif not self._apply_together(chosen):
            self._settle(chosen[: len(chosen) // 2])

    def _apply_together(self, chosen: list[tuple[Finding, Fix]]) -> bool:
        """Whether all findings went, no other came, and the file parses."""
        edits = [edit for _, fix in chosen for edit in fix.edits]
        try:
            data = self._edited(edits)
        except ValueError:
            return False
        if syntax_error(data, self._filename, self._language) is not None:
            return False
        findings = self._lint(data)
        fixed = [finding for finding, _ in chosen]
        gone, moved = frozenset(fixed), _moves(edits)
        allowed = Counter(
            (finding.code, moved(finding.span.start))
            for finding in self.findings
            if finding not in gone
        )
        if Counter(map(_key, findings)) - allowed:
            return False
        self._accept(data, findings, fixed, [moved])
        return True

    def apply_alone(self, finding: Finding, fix: Fix) -> str:
        """Apply a fix, with those of what it uncovers, until nothing new is left; or say why it
        doesn't hold."""
        data, steps, fixed = self._data, list[Move](), list[Finding]()
        chosen, first = [(finding, fix)], ""
        while chosen and len(steps) < _LONGEST_CHAIN and self.checks > 0:
            edits = [edit for _, each in chosen for edit in each.edits]
            try:
                data = read_script(data, self._filename, self._language).edited(edits)
            except UnicodeEncodeError:
                return first or "the encoding of the file lacks its characters"
            except ValueError as error:
                return first or str(error)
            if syntax_error(data, self._filename, self._language) is not None:
                return first or "the file would no longer parse"
            findings = self._lint(data)
            steps.append(_moves(edits))
            fixed += (each for each, _ in chosen)
            objection = _objection(finding, self.findings, findings)
            if not objection:
                self._accept(data, findings, fixed, steps)
                return ""
            first = first or objection
            chosen = self._uncovered(fixed, len(fixed) - len(chosen), steps, findings)
        return first

    def _uncovered(
        self, fixed: list[Finding], last: int, steps: list[Move], findings: list[Finding]
    ) -> list[tuple[Finding, Fix]]:
        """What the fix of the first finding, and the steps after it, have brought to light, as its
        own fixes are applied; nothing where one of it has no fix, or is what the last step was to
        clear."""
        others = (each for each in self.findings if each is not fixed[0])
        known = Counter((each.code, _moved(each, steps)) for each in others)
        tried = {(each.code, _moved(each, steps[-1:]), each.message) for each in fixed[last:]}
        found = list[tuple[Finding, Fix]]()
        for each in findings:
            known[_key(each)] -= 1
            if known[_key(each)] >= 0:
                continue
            stays = (*_key(each), each.message) in tried
            if each.fix is None or stays or not self._may_be_fixed(each):
                return []
            found.append((each, each.fix))
        return _apart(found)

    def _drop(self, finding: Finding, reason: str) -> None:
        self._dropped[_key(finding)] = Dropped(finding, reason)

    def _accept(
        self,
        data: bytes,
        findings: list[Finding],
        fixed: Sequence[Finding],
        steps: Sequence[Move],
    ) -> None:
        self._data, self.findings = data, findings
        self._applied += fixed
        self._steps += steps
        for moved in steps:
            self._dropped = {
                (code, moved(offset)): dropped for (code, offset), dropped in self._dropped.items()
            }


def _objection(finding: Finding, before: Sequence[Finding], after: Sequence[Finding]) -> str:
    """Why a fix doesn't hold; "" where it does. Counted by code, since places have moved."""
    old = Counter(other.code for other in before)
    new = Counter(other.code for other in after)
    if new[finding.code] >= old[finding.code]:
        return f"{finding.code} would stay"
    for other in after:
        if new[other.code] > old[other.code]:
            return f"{other.code} would appear in row {other.span.row}: {other.message}"
    return ""


def _apart(wanted: list[tuple[Finding, Fix]]) -> list[tuple[Finding, Fix]]:
    """The fixes, from the top, whose edits don't overlap."""
    chosen: list[tuple[Finding, Fix]] = []
    taken: list[Edit] = []  # by their places
    for finding, fix in sorted(wanted, key=lambda pair: pair[1].edits[0].span.start):
        if not any(_overlaps(edit, taken) for edit in fix.edits):
            chosen.append((finding, fix))
            for edit in fix.edits:
                insort(taken, edit, key=_start)
    return chosen


def _moved(finding: Finding, steps: Sequence[Move]) -> int:
    """Where a finding stands after edits."""
    offset = finding.span.start
    for moved in steps:
        offset = moved(offset)
    return offset


def _key(finding: Finding) -> tuple[str, int]:
    return finding.code, finding.span.start


def _start(edit: Edit) -> int:
    return edit.span.start


def _overlaps(edit: Edit, others: Sequence[Edit]) -> bool:
    """Whether an edit touches the text of one of others, which stand in order and don't overlap, or
    starts where one does."""
    at = bisect_right(others, edit.span.start, key=_start)
    before, after = others[max(at - 1, 0) : at], others[at : at + 1]
    return any(e.span.start == edit.span.start or edit.span.start < e.span.end for e in before) or (
        any(e.span.start < edit.span.end for e in after)
    )


def _moves(edits: Sequence[Edit]) -> Move:
    """Where places of the old text are in the new one."""
    in_order = sorted(edits, key=lambda edit: edit.span.end)
    ends = [edit.span.end for edit in in_order]
    longer = [len(e.content) - (e.span.end - e.span.start) for e in in_order]
    shifts = [0, *accumulate(longer)]
    return lambda offset: offset + shifts[bisect_right(ends, offset)]
