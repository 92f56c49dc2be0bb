"""A session of fixing: fixes are tried, together or one by one, and what holds is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from devlint.fix.places import Key, Move, apart, edits_of, key_of, moved_by, moves, target
from devlint.model.findings import Edit, Finding, Fix, Safety
from devlint.source.reading import read_script, syntax_error

Texts = Mapping[str, bytes]
"""The bytes of files, by their paths."""
Read = Callable[[str], bytes]
"""Gives the bytes of a file; raises `OSError`."""

_MOST_LINTED = 1_000_000
"""Bytes that are linted again for the fixes of one file; a file is always linted some times."""
_LEAST_CHECKS = 20
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


class Session:
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
        """Fix what holds, until nothing changes any more."""
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
        return {each for each in findings if moved_by(each, self._steps) in dropped}

    def needs_others(self, finding: Finding) -> bool:
        """Whether a fix was dropped for what has to be fixed in another file."""
        dropped = self.dropped.get(moved_by(finding, self._steps))
        return dropped is not None and dropped.needs_others

    def _take_in(self, chosen: Iterable[tuple[Finding, Fix]]) -> bool:
        """Whether the files are at hand that fixes change: from then on they are linted as well."""
        missing = {target(*each) for each in chosen} - self.texts.keys()
        if not missing:
            return True
        if self._read is None:
            return False
        try:
            others = {path: self._read(path) for path in sorted(missing)}
        except OSError:
            return False
        are_alone = len(others) == 1 and self._is_unchanged(self._read)
        self.texts = {**self.texts, **others}
        if are_alone:
            self.findings += self._lint(others)
        else:
            self.findings = self._lint(self.texts)
        return True

    def _is_unchanged(self, read: Read) -> bool:
        """Whether the files are as whoever follows imports finds them."""
        try:
            return all(read(path) == data for path, data in self.texts.items())
        except OSError:
            return False

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
            and target(finding, finding.fix) in self.texts
            and key_of(finding) not in self.dropped
        ]
        return apart(wanted)

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
        edits = edits_of(chosen)
        try:
            texts = self._edited(self.texts, edits)
        except ValueError:
            return False
        findings = self._lint(texts)
        fixed = [finding for finding, _ in chosen]
        gone, moved = frozenset(fixed), moves(edits)
        allowed = Counter(
            moved_by(finding, [moved]) for finding in self.findings if finding not in gone
        )
        if Counter(map(key_of, findings)) - allowed:
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
            edits = edits_of(chosen)
            try:
                texts = self._edited({**self.texts, **texts}, edits)
            except UnicodeEncodeError:
                return first or "the encoding of the file lacks its characters"
            except ValueError as error:
                return first or str(error)
            findings = self._lint(texts)
            steps.append(moves(edits))
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
        known = Counter(moved_by(each, steps) for each in others)
        tried = {(moved_by(each, steps[-1:]), each.message) for each in fixed[last:]}
        found = list[tuple[Finding, Fix]]()
        for each in findings:
            known[key_of(each)] -= 1
            if known[key_of(each)] >= 0:
                continue
            stays = (key_of(each), each.message) in tried
            if each.fix is None or stays or not self._may_be_fixed(each):
                return []
            found.append((each, each.fix))
        return apart(found)

    def _drop(self, finding: Finding, reason: str, needs_others: bool = False) -> None:
        self.dropped[key_of(finding)] = Dropped(finding, reason, needs_others)

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
