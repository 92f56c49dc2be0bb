"""Applies fixes to a file's bytes, lints the result, and keeps only what holds."""

from __future__ import annotations

import difflib
import io
import os
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from devlint.escaping import patch_name
from devlint.files import NOTEBOOK, language_of
from devlint.model.findings import Edit, Finding, Fix, Safety
from devlint.source.cells import Cell
from devlint.source.notebooks import read_notebook
from devlint.source.reading import read_script, syntax_error

S = TypeVar("S")

_MOST_LINTED = 1_000_000
"""Bytes that are linted again for the fixes of one file; a file is always linted some times."""
_LEAST_CHECKS = 20
_GIVEN_UP = "too many fixes of this file don't hold: fix some by hand, and run again"


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


def fix_source(
    data: bytes,
    filename: str,
    settings: S,
    unsafe: bool,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool] = lambda finding: True,
    language: str = "",
) -> FixResult:
    """Apply the safe fixes of a file, with `unsafe` also the others, until nothing changes.

    `check` lints bytes. A fix that overlaps an earlier one waits for the next pass. A fix is
    taken back where its finding stays, where a new finding appears, and where the file no
    longer parses. What isn't `shown` isn't fixed, but may not come of a fix either. Encoding,
    byte order mark and newlines stay as they are. `language` is what the file is read as, where its
    name doesn't say so.
    """

    def lint(new: bytes) -> list[Finding]:
        return list(check(new, filename, settings))

    return _Session(data, filename, language, lint, shown, unsafe).run()


class _Session:
    """The work on one file.

    Every accepted step leaves fewer findings and every other one drops a fix, so it ends.
    """

    def __init__(
        self,
        data: bytes,
        filename: str,
        language: str,
        check: Callable[[bytes], list[Finding]],
        shown: Callable[[Finding], bool],
        unsafe: bool,
    ) -> None:
        self._filename, self._language = filename, language
        self._check = check
        self._shown = shown
        self._unsafe = unsafe
        self._data = data
        self._findings = check(data)
        self._checks = max(_LEAST_CHECKS, _MOST_LINTED // max(len(data), 1))
        self._applied: list[Finding] = []
        self._dropped: dict[tuple[str, int], Dropped] = {}  # by code and present offset

    def run(self) -> FixResult:
        while chosen := self._choose():
            if self._checks > 0:
                self._settle(chosen)
            else:
                for finding, _ in chosen:
                    self._drop(finding, _GIVEN_UP)
        return FixResult(
            self._data,
            tuple(self._applied),
            tuple(self._dropped.values()),
            tuple(filter(self._shown, self._findings)),
        )

    def _edited(self, edits: Sequence[Edit]) -> bytes:
        return read_script(self._data, self._filename, self._language).edited(edits)

    def _lint(self, data: bytes) -> list[Finding]:
        self._checks -= 1
        return self._check(data)

    def _choose(self) -> list[tuple[Finding, Fix]]:
        """The fixes of this pass, from the top, whose edits don't overlap."""
        wanted = [
            (finding, finding.fix)
            for finding in self._findings
            if finding.fix is not None
            and finding.fix.edits
            and self._shown(finding)
            and (self._unsafe or finding.fix.safety is Safety.SAFE)
            and _key(finding) not in self._dropped
        ]
        chosen: list[tuple[Finding, Fix]] = []
        taken: list[Edit] = []  # by their places
        for finding, fix in sorted(wanted, key=lambda pair: pair[1].edits[0].span.start):
            if not any(_overlaps(edit, taken) for edit in fix.edits):
                chosen.append((finding, fix))
                for edit in fix.edits:
                    insort(taken, edit, key=_start)
        return chosen

    def _settle(self, chosen: list[tuple[Finding, Fix]]) -> None:
        """Apply the fixes together, which is right nearly always, else find those at fault."""
        if len(chosen) == 1:
            self._apply_alone(*chosen[0])
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
            for finding in self._findings
            if finding not in gone
        )
        if Counter(map(_key, findings)) - allowed:
            return False
        self._accept(data, findings, fixed, edits)
        return True

    def _apply_alone(self, finding: Finding, fix: Fix) -> None:
        try:
            data = self._edited(fix.edits)
        except UnicodeEncodeError:
            return self._drop(finding, "the encoding of the file lacks its characters")
        except ValueError as error:
            return self._drop(finding, str(error))
        if syntax_error(data, self._filename, self._language) is not None:
            return self._drop(finding, "the file would no longer parse")
        findings = self._lint(data)
        objection = _objection(finding, self._findings, findings)
        if objection:
            return self._drop(finding, objection)
        return self._accept(data, findings, [finding], fix.edits)

    def _drop(self, finding: Finding, reason: str) -> None:
        self._dropped[_key(finding)] = Dropped(finding, reason)

    def _accept(
        self,
        data: bytes,
        findings: list[Finding],
        fixed: Sequence[Finding],
        edits: Sequence[Edit],
    ) -> None:
        self._data, self._findings = data, findings
        self._applied += fixed
        moved = _moves(edits)
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


def _moves(edits: Sequence[Edit]) -> Callable[[int], int]:
    """Where places of the old text are in the new one."""
    in_order = sorted(edits, key=lambda edit: edit.span.end)
    ends = [edit.span.end for edit in in_order]
    longer = [len(e.content) - (e.span.end - e.span.start) for e in in_order]
    shifts = [0, *accumulate(longer)]
    return lambda offset: offset + shifts[bisect_right(ends, offset)]


# --- diffs ---------------------------------------------------------------------------------


def unified_diff(old: bytes, new: bytes, filename: str, language: str = "") -> bytes:
    """The change from `old` to `new` as `patch` and `git apply` read it; empty without one.

    Its lines are the bytes of the file, whatever its encoding and the ends of its lines. The change
    of a notebook is for people: one of each cell.
    """
    if (language or language_of(filename)) == NOTEBOOK:
        pairs = zip(read_notebook(old).cells, read_notebook(new).cells, strict=True)
        return b"".join(
            _diff(_bytes(before), _bytes(after), f"{filename}:cell {before.number}")
            for before, after in pairs
        )
    return _diff(old, new, filename)


def _bytes(cell: Cell) -> bytes:
    """The text of a cell, whose last line is one as well."""
    text = cell.text if not cell.text or cell.text.endswith("\n") else f"{cell.text}\n"
    return text.encode("utf-8", "surrogatepass")


def _diff(old: bytes, new: bytes, filename: str) -> bytes:
    name = patch_name(filename.replace(os.sep, "/"))
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), name, name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in lines
    )


def _lines(data: bytes) -> list[bytes]:
    """The lines of a file; to a patch, only a line feed ends one."""
    return io.BytesIO(data).readlines()
