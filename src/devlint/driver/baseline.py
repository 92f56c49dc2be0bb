"""A baseline: the findings that a project lives with, so that only new ones count."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from devlint.config.selection import catalogue, codes_for
from devlint.config.sources import Source
from devlint.model.findings import Finding
from devlint.model.fingerprint import Kind, fingerprints, relative_path
from devlint.safety import files
from devlint.safety.escaping import json_text
from devlint.safety.writing import create, rewrite

_VERSION = 1

Sources = Callable[[str], "str | None"]
_SPELLED = re.compile(r"\\u(dc[89a-f][0-9a-f])")


class BaselineError(Exception):
    """The file can't be used as a baseline; the text says why, on one line."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A finding that is listed: its file, below the folder of the baseline, its code, its mark."""

    path: str
    code: str
    fingerprint: str


def write(path: Path, findings: Sequence[Finding], sources: Sources) -> None:
    """List all findings in a new baseline. Raises `BaselineError`.

    Paths are relative to the folder of the baseline, and no rows are kept: the file only changes
    when findings come or go.
    """
    try:
        create(str(path), _text(_entries(path, findings, sources)))
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error


def new_findings(
    path: Path, findings: Sequence[Finding], sources: Sources, before: Mapping[Kind, int]
) -> list[Finding]:
    """The findings that a baseline doesn't list, where `before` says how many of a kind are there
    besides. Raises `BaselineError`."""
    known = Counter(entry.fingerprint for entry in _read(path)[1])
    fresh: list[Finding] = []
    marks = fingerprints([*map(_as_listed, findings)], sources, _folder(path), before)
    for finding, mark in zip(findings, marks, strict=True):
        if known[mark] > 0:
            known[mark] -= 1
        else:
            fresh.append(finding)
    return fresh


@dataclass(frozen=True)
class Run:
    """What a run can say of entries: it has linted `sources`, and couldn't check the files that are
    called as `unchecked` says."""

    sources: Sequence[Source]
    unchecked: Collection[str]

    def judges(self, entry: Entry, folder: str) -> bool:
        """Whether the run would have found what an entry lists: it has checked the file by that
        rule, or there is no such file or rule any more."""
        named = catalogue().former.get(entry.code, frozenset({entry.code}))
        if named.isdisjoint(catalogue().names):
            return True
        # The bytes of a name that are no UTF-8 are spelled out; a name may look like that as well.
        for name in {entry.path, _SPELLED.sub(lambda byte: chr(int(byte[1], 16)), entry.path)}:
            path = os.path.join(folder, name)
            source = self._by_path.get(path)
            if source is not None:
                codes = codes_for(source.settings, source.path, catalogue())
                return source.shown not in self.unchecked and named <= codes
            if os.path.lexists(path):
                return False
        return True

    @cached_property
    def _by_path(self) -> dict[str, Source]:
        return {files.resolve(source.path): source for source in self.sources}


def obsolete(path: Path, findings: Sequence[Finding], sources: Sources, run: Run) -> int:
    """How many entries nothing matches any more, as far as the run can say. Raises
    `BaselineError`."""
    _, gone, _ = _compared(_read(path)[1], _entries(path, findings, sources), path, run)
    return len(gone)


def update(path: Path, findings: Sequence[Finding], sources: Sources, run: Run) -> tuple[int, int]:
    """List the findings, and no entry that nothing matches any more, as far as the run can say.
    Returns how many entries came and went. Raises `BaselineError`; the file is as it was then."""
    old, known = _read(path)
    kept, gone, new = _compared(known, _entries(path, findings, sources), path, run)
    if gone or new:
        try:
            rewrite(str(path), old, _text([*kept, *new]))
        except OSError as error:
            raise BaselineError(f"{path}: {error.strerror or error}") from error
    return len(new), len(gone)


def _compared(
    known: Sequence[Entry], found: Sequence[Entry], path: Path, run: Run
) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """The entries that stay, those that are obsolete, and those that are new."""
    folder = str(_folder(path))
    left = Counter(entry.fingerprint for entry in found)
    kept: list[Entry] = []
    gone: list[Entry] = []
    for entry in known:
        if left[entry.fingerprint] > 0:
            left[entry.fingerprint] -= 1
            kept.append(entry)
        else:
            (gone if run.judges(entry, folder) else kept).append(entry)
    return kept, gone, [entry for entry in found if left[entry.fingerprint] > 0]


def _entries(path: Path, findings: Sequence[Finding], sources: Sources) -> list[Entry]:
    root = _folder(path)
    marks = fingerprints([*map(_as_listed, findings)], sources, root)
    return [
        Entry(relative_path(finding.filename, root), finding.code, mark)
        for finding, mark in zip(findings, marks, strict=True)
    ]


def _as_listed(finding: Finding) -> Finding:
    """A finding by the code that its rule had before it was split, so that baselines of that time
    go on listing it."""
    codes = ((old, new) for old, new in catalogue().former.items() if old.isupper())
    former = next((old for old, new in codes if finding.code in new), None)
    return finding if former is None else replace(finding, code=former)


def _text(entries: Iterable[Entry]) -> bytes:
    rows = [
        {"path": entry.path, "code": entry.code, "fingerprint": entry.fingerprint}
        for entry in sorted(entries)
    ]
    return f"{json_text({'version': _VERSION, 'findings': rows}, indent=1)}\n".encode()


def _folder(path: Path) -> Path:
    """The folder of a baseline, which its paths start from. Links in circles don't matter."""
    return Path(files.resolve(str(path))).parent


def _read(path: Path) -> tuple[bytes, list[Entry]]:
    try:
        data = files.read(str(path), files.LARGEST_SOURCE)
        content = json.loads(data.decode("utf-8", "surrogateescape"))
        if content["version"] != _VERSION:
            raise BaselineError(f"{path}: made by another version of devlint; write it again")
        parts = ("path", "code", "fingerprint")
        return data, [Entry(*(str(entry[part]) for part in parts)) for entry in content["findings"]]
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise BaselineError(f"{path}: it is nested too deeply for a devlint baseline") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"{path}: this isn't a devlint baseline") from error
