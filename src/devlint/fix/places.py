"""Where edits are, and where findings stand after them."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from devlint.model.findings import Edit, Finding, Fix

Key = tuple[str, str, int]
"""A finding by its file, its code and its offset."""
Move = Callable[[str, int], int]
"""Where a place of an older text of a file is in a newer one."""


def target(finding: Finding, fix: Fix) -> str:
    """The file that a fix changes."""
    return fix.filename or finding.filename


def edits_of(chosen: Iterable[tuple[Finding, Fix]]) -> dict[str, list[Edit]]:
    """The edits of fixes, by file."""
    found: dict[str, list[Edit]] = {}
    for finding, fix in chosen:
        found.setdefault(target(finding, fix), []).extend(fix.edits)
    return found


def apart(wanted: list[tuple[Finding, Fix]]) -> list[tuple[Finding, Fix]]:
    """The fixes, from the top, whose edits don't overlap."""
    chosen: list[tuple[Finding, Fix]] = []
    taken: dict[str, list[Edit]] = {}  # by their places
    for finding, fix in sorted(wanted, key=lambda pair: pair[1].edits[0].span.start):
        there = taken.setdefault(target(finding, fix), [])
        if not any(_overlaps(edit, there) for edit in fix.edits):
            chosen.append((finding, fix))
            for edit in fix.edits:
                insort(there, edit, key=_start)
    return chosen


def moved_by(finding: Finding, steps: Sequence[Move]) -> Key:
    """Where a finding stands after edits."""
    path, code, offset = key_of(finding)
    for moved in steps:
        offset = moved(path, offset)
    return path, code, offset


def key_of(finding: Finding) -> Key:
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


def moves(edits: Mapping[str, Sequence[Edit]]) -> Move:
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
