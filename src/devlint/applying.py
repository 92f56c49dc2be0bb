"""Applies fixes to the bytes of files, lints the result, and keeps only what holds."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from devlint.model.findings import Edit, Finding, Fix, Safety
from devlint.project.neighbours import unsaved
from devlint.source.reading import read_script, syntax_error

S = TypeVar("S")

Texts = Mapping[str, bytes]
"""The bytes of files, by their paths."""
Key = tuple[str, str, int]
"""A finding by its file, its code and its offset."""
Read = Callable[[str], bytes]
"""Gives the bytes of a file; raises `OSError`."""
Move = Callable[[str, int], int]
"""Where a place of an older text of a file is in a newer one."""

_MOST_LINTED = 1_000_000
"""Bytes that are linted again for the fixes of one file; a file is always linted some times."""
_LEAST_CHECKS = 20
_CHECKS_OF_OFFERS = 8
"""How often a file is linted again to find out which of its fixes hold."""
_OFFERS_ACROSS = 8
"""Fixes in other files that are tried for one file."""
_LONGEST_CHAIN = 6
"""How many times in a row a fix may uncover the next mistake."""
_GIVEN_UP = "too many fixes of this file don't work: fix some by hand, and run again"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A fix that was tried and taken back, and why."""

    finding: Finding
    reason: str
    needs_others: bool = False
    """What it uncovers has to be fixed in another file."""


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
    lint = _linter(settings, check)
    session = _Session({filename: data}, lint, shown, unsafe, {filename: language})
    session.run()
    return FixResult(
        session.texts[filename],
        tuple(session.applied),
        tuple(session.dropped.values()),
        tuple(filter(shown, session.findings)),
    )


@dataclass(frozen=True, slots=True)
class Across:
    """What came of a fix that changes other files, too: the bytes of all that had to do with it,
    what was fixed with it, and what is left in them; or why it doesn't hold."""

    texts: Texts = field(default_factory=dict)
    applied: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    reason: str = ""


def fix_across(
    finding: Finding,
    texts: Texts,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    read: Read,
    language: str = "",
) -> Across:
    """Apply the fix of a finding by itself, with those of what it uncovers. `texts` is its file,
    which is read as what `language` says; `read` gives others that have to change."""
    languages = {finding.filename: language}
    session = _Session(texts, _linter(settings, check), _any, True, languages, read)
    same = next((each for each in session.findings if _key(each) == _key(finding)), None)
    if same is None:  # another fix has cleared it as well
        return Across(texts, (finding,), tuple(session.findings))
    reason = "" if same.fix is None else session.apply_alone(same, same.fix)
    return Across(session.texts, tuple(session.applied), tuple(session.findings), reason)


def objection_to(
    finding: Finding,
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    read: Read,
    language: str = "",
) -> str:
    """Why the fix of one of a file's findings doesn't hold, where that is applied by itself; ""
    where it does."""
    return fix_across(finding, {filename: data}, settings, check, read, language).reason


def offered(
    findings: Sequence[Finding],
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool],
    read: Read,
    language: str = "",
) -> list[Finding]:
    """The findings of a file, without the fixes that don't hold, as far as so many runs of the
    linter tell as a file may cost."""
    if not any(finding.fix for finding in findings):
        return list(findings)
    lint = _linter(settings, check)
    session = _Session({filename: data}, lint, shown, True, {filename: language})
    session.checks = _CHECKS_OF_OFFERS
    session.run()
    dropped = session.dropped_of(findings)
    across = [each for each in findings if each.fix is not None and each.fix.filename]
    across += [each for each in findings if each in dropped and session.needs_others(each)]
    for finding in across[:_OFFERS_ACROSS]:
        dropped.discard(finding)
        if objection_to(finding, data, filename, settings, check, read, language):
            dropped.add(finding)
    return [replace(each, fix=None) if each in dropped else each for each in findings]


def _linter(
    settings: S, check: Callable[[bytes, str, S], Sequence[Finding]]
) -> Callable[[Texts], list[Finding]]:
    def lint(texts: Texts) -> list[Finding]:
        with unsaved(texts if len(texts) > 1 else {}):
            return [each for path, data in texts.items() for each in check(data, path, settings)]

    return lint


class _Session:
    """The work on one file, or on several of which each is linted with the others in mind.

    Every accepted step leaves fewer findings and every other one drops a fix, so it ends.
    """

    def __init__(
        self,
        texts: Texts,
        check: Callable[[Texts], list[Finding]],
        shown: Callable[[Finding], bool],
        unsafe: bool,
        languages: Mapping[str, str],
        read: Read | None = None,
    ) -> None:
        self._read = read
        self._languages = languages
        self._check = check
        self._shown = shown
        self._unsafe = unsafe
        self.texts = texts
        self.findings = check(texts)
        size = sum(map(len, texts.values()))
        self.checks = max(_LEAST_CHECKS, _MOST_LINTED // max(size, 1))
        self.applied: list[Finding] = []
        self.dropped: dict[Key, Dropped] = {}  # by present offsets
        self._steps: list[Move] = []  # all that was applied
        self._lacks = False  # the last fix that doesn't hold needs another file

    def run(self) -> None:
        while chosen := self._choose():
            if self.checks > 0:
                self._settle(chosen)
            else:
                for finding, _ in chosen:
                    self._drop(finding, _GIVEN_UP)

    def dropped_of(self, findings: Sequence[Finding]) -> set[Finding]:
        """Of findings of the file as it was, those whose fixes are dropped."""
        given_up = {key for key, each in self.dropped.items() if each.reason == _GIVEN_UP}
        dropped = self.dropped.keys() - given_up
        return {each for each in findings if _moved(each, self._steps) in dropped}

    def needs_others(self, finding: Finding) -> bool:
        """Whether a fix was dropped for what has to be fixed in another file."""
        dropped = self.dropped.get(_moved(finding, self._steps))
        return dropped is not None and dropped.needs_others

    def _take_in(self, chosen: Iterable[tuple[Finding, Fix]]) -> bool:
        """Whether the files are at hand that fixes change: from then on they are linted as well."""
        others = {_target(*each) for each in chosen} - self.texts.keys()
        if not others:
            return True
        if self._read is None:
            return False
        try:
            self.texts = {**self.texts, **{path: self._read(path) for path in others}}
        except OSError:
            return False
        self.findings = self._lint(self.texts)
        return True

    def _edited(self, texts: Texts, edits: Mapping[str, list[Edit]]) -> Texts:
        """Raises `ValueError`."""
        changed = {
            path: read_script(texts[path], path, self._languages.get(path, "")).edited(of_file)
            for path, of_file in edits.items()
        }
        for path, data in changed.items():
            if syntax_error(data, path, self._languages.get(path, "")) is not None:
                raise ValueError("the file would no longer parse")
        return {**texts, **changed}

    def _lint(self, texts: Texts) -> list[Finding]:
        self.checks -= 1
        return self._check(texts)

    def _choose(self) -> list[tuple[Finding, Fix]]:
        """The fixes of this pass, from the top, whose edits don't overlap."""
        wanted = [
            (finding, finding.fix)
            for finding in self.findings
            if finding.fix is not None
            and self._may_be_fixed(finding)
            and _target(finding, finding.fix) in self.texts
            and _key(finding) not in self.dropped
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
                self._drop(chosen[0][0], objection, self._lacks)
        elif not self._apply_together(chosen):
            self._settle(chosen[: len(chosen) // 2])

    def _apply_together(self, chosen: list[tuple[Finding, Fix]]) -> bool:
        """Whether all findings went, no other came, and the files parse."""
        edits = _edits(chosen)
        try:
            texts = self._edited(self.texts, edits)
        except ValueError:
            return False
        findings = self._lint(texts)
        fixed = [finding for finding, _ in chosen]
        gone, moved = frozenset(fixed), _moves(edits)
        allowed = Counter(
            _moved(finding, [moved]) for finding in self.findings if finding not in gone
        )
        if Counter(map(_key, findings)) - allowed:
            return False
        self._accept(texts, findings, fixed, [moved])
        return True

    def apply_alone(self, finding: Finding, fix: Fix) -> str:
        """Apply a fix, with those of what it uncovers, until nothing new is left; or say why it
        doesn't hold."""
        texts, steps, fixed = self.texts, list[Move](), list[Finding]()
        chosen, first, self._lacks = [(finding, fix)], "", False
        while chosen and len(steps) < _LONGEST_CHAIN and self.checks > 0:
            if not self._take_in(chosen):
                self._lacks = True
                break
            edits = _edits(chosen)
            try:
                texts = self._edited({**self.texts, **texts}, edits)
            except UnicodeEncodeError:
                return first or "the encoding of the file lacks its characters"
            except ValueError as error:
                return first or str(error)
            findings = self._lint(texts)
            steps.append(_moves(edits))
            fixed += (each for each, _ in chosen)
            objection = _objection(finding, self.findings, findings)
            if not objection:
                self._accept(texts, findings, fixed, steps)
                return ""
            first = first or objection
            chosen = self._uncovered(fixed, len(fixed) - len(chosen), steps, findings)
        return first or "the file that it changes can't be read"

    def _uncovered(
        self, fixed: list[Finding], last: int, steps: list[Move], findings: list[Finding]
    ) -> list[tuple[Finding, Fix]]:
        """What the fix of the first finding, and the steps after it, have brought to light, as its
        own fixes are applied; nothing where one of it has no fix, or is what the last step was to
        clear."""
        others = (each for each in self.findings if each != fixed[0])
        known = Counter(_moved(each, steps) for each in others)
        tried = {(_moved(each, steps[-1:]), each.message) for each in fixed[last:]}
        found = list[tuple[Finding, Fix]]()
        for each in findings:
            known[_key(each)] -= 1
            if known[_key(each)] >= 0:
                continue
            stays = (_key(each), each.message) in tried
            if each.fix is None or stays or not self._may_be_fixed(each):
                return []
            found.append((each, each.fix))
        return _apart(found)

    def _drop(self, finding: Finding, reason: str, needs_others: bool = False) -> None:
        self.dropped[_key(finding)] = Dropped(finding, reason, needs_others)

    def _accept(
        self,
        texts: Texts,
        findings: list[Finding],
        fixed: Sequence[Finding],
        steps: Sequence[Move],
    ) -> None:
        self.texts, self.findings = texts, findings
        self.applied += fixed
        self._steps += steps
        for moved in steps:
            self.dropped = {
                (path, code, moved(path, offset)): dropped
                for (path, code, offset), dropped in self.dropped.items()
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


def _target(finding: Finding, fix: Fix) -> str:
    """The file that a fix changes."""
    return fix.filename or finding.filename


def _edits(chosen: Iterable[tuple[Finding, Fix]]) -> dict[str, list[Edit]]:
    """The edits of fixes, by file."""
    found: dict[str, list[Edit]] = {}
    for finding, fix in chosen:
        found.setdefault(_target(finding, fix), []).extend(fix.edits)
    return found


def _apart(wanted: list[tuple[Finding, Fix]]) -> list[tuple[Finding, Fix]]:
    """The fixes, from the top, whose edits don't overlap."""
    chosen: list[tuple[Finding, Fix]] = []
    taken: dict[str, list[Edit]] = {}  # by their places
    for finding, fix in sorted(wanted, key=lambda pair: pair[1].edits[0].span.start):
        there = taken.setdefault(_target(finding, fix), [])
        if not any(_overlaps(edit, there) for edit in fix.edits):
            chosen.append((finding, fix))
            for edit in fix.edits:
                insort(there, edit, key=_start)
    return chosen


def _moved(finding: Finding, steps: Sequence[Move]) -> Key:
    """Where a finding stands after edits."""
    path, code, offset = _key(finding)
    for moved in steps:
        offset = moved(path, offset)
    return path, code, offset


def _key(finding: Finding) -> Key:
    return finding.filename, finding.code, finding.span.start


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


def _moves(edits: Mapping[str, Sequence[Edit]]) -> Move:
    """Where places of the old texts are in the new ones."""
    tables: dict[str, tuple[list[int], list[int]]] = {}
    for path, of_file in edits.items():
        in_order = sorted(of_file, key=lambda edit: edit.span.end)
        longer = [len(e.content) - (e.span.end - e.span.start) for e in in_order]
        tables[path] = [edit.span.end for edit in in_order], [0, *accumulate(longer)]

    def moved(path: str, offset: int) -> int:
        if path not in tables:
            return offset
        ends, shifts = tables[path]
        return offset + shifts[bisect_right(ends, offset)]

    return moved
