"""Applies the fixes whose edits are in another file than their finding."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from devlint import files
from devlint.applying import fix_across
from devlint.config.settings import Settings
from devlint.driver.discover import Failure, Source
from devlint.fix.results import Change, Fixed, is_shown, left_out, linted, renamed, unchanged
from devlint.history.older import Told
from devlint.model.findings import Finding
from devlint.project.neighbours import unsaved
from devlint.writing import rewrite

_MOST = 200
"""Fixes that are tried in one run: each lints two files a few times."""


@dataclass(slots=True)
class Pass:
    """What is done once each file has its own fixes: one fix after the other, where both files are
    among those that are to be fixed.

    `by_file` are the findings that are left, by the names of files in messages, and `changed` the
    files that were fixed, by their paths. Without `write` these stay as they are on disk.
    """

    sources: Sequence[Source]
    by_file: dict[str, list[Finding]]
    changed: dict[str, Change]
    result: Fixed
    write: bool
    older: Mapping[str, Told]

    def run(self) -> None:
        known = {source.path: source for source in self.sources}
        tried: set[tuple[str, str, str, int]] = set()
        for source in self.sources:
            while found := self._next(source, known, tried):
                finding, there = found
                if len(tried) > _MOST:
                    return
                try:
                    self._fix(finding, source, there)
                except OSError as error:
                    why = f"can't be fixed: {files.reason(error)}"
                    self.result.failures.append(Failure(there.shown, why))

    def _next(
        self, source: Source, known: Mapping[str, Source], tried: set[tuple[str, str, str, int]]
    ) -> tuple[Finding, Source] | None:
        """A finding of a file that wasn't tried, and the file that has to be changed."""
        for finding in self.by_file.get(source.shown, ()):
            path = "" if finding.fix is None else finding.fix.filename
            there = known.get(os.path.abspath(path)) if path else None
            key = source.path, finding.code, finding.message, finding.span.start
            if there is not None and key not in tried:
                tried.add(key)
                return finding, there
        return None

    def _fix(self, finding: Finding, source: Source, there: Source) -> None:
        pair = {
            each.path: self.changed.get(each.path) or unchanged(each) for each in (source, there)
        }

        def check(data: bytes, filename: str, settings: Settings) -> list[Finding]:
            asked = pair[filename].source
            return linted(data, asked, self.older.get(asked.shown))

        texts = {path: each.new for path, each in pair.items()}
        now = {} if self.write else {path: each.new for path, each in self.changed.items()}
        with unsaved(now):
            this = replace(finding, filename=source.path)
            done = fix_across(this, texts, source.settings, check, source.language)
        if done.reason:
            note = left_out(finding, done.reason)
            self.result.notes.append(f"{source.shown}:{note}")
            return
        for path, each in pair.items():
            if self.write and done.texts[path] != each.new:
                rewrite(path, each.new, done.texts[path])
            self.changed[path] = replace(each, new=done.texts[path])
            left = [f for f in done.remaining if f.filename == path and is_shown(each.source, f)]
            self.by_file[each.source.shown] = renamed(left, each.source.shown)
        names = {path: each.source.shown for path, each in pair.items()}
        self.result.applied += (replace(f, filename=names[f.filename]) for f in done.applied)
