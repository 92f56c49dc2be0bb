"""Applies the fixes whose edits are in another file than their finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from devlint.config.settings import Settings
from devlint.config.sources import Failure, Source
from devlint.fix.applying import fix_across
from devlint.fix.results import Change, Fixed, is_shown, left_out, linted, renamed, unchanged
from devlint.model.findings import Finding
from devlint.model.older import Told
from devlint.project.neighbours import unsaved
from devlint.safety import files
from devlint.safety.writing import rewrite

_MOST = 200
"""Fixes that are tried in one run: each lints two files a few times."""


@dataclass(slots=True)
class Pass:
    """What is done once each file has its own fixes: one fix after the other, where all files that
    it changes are among those that are to be fixed.

    `by_file` are the findings that are left, by the names of files in messages, and `waiting` are
    those whose own fixes were left out since they uncover what has to be fixed elsewhere. `changed`
    are the files that were fixed, by their paths. Without `write` these stay as they are on disk.
    """

    sources: Sequence[Source]
    by_file: dict[str, list[Finding]]
    waiting: Mapping[str, Sequence[Finding]]
    changed: dict[str, Change]
    result: Fixed
    write: bool
    older: Mapping[str, Told]

    def run(self) -> None:
        known = {source.path: source for source in self.sources}
        tried: set[tuple[str, str, str, int]] = set()
        for source in self.sources:
            while (finding := self._next(source, tried)) is not None:
                if len(tried) > _MOST:
                    return
                try:
                    self._fix(finding, source, known)
                except OSError as error:
                    there = "" if finding.fix is None else finding.fix.filename
                    why = f"can't be fixed: {files.reason(error)}"
                    self.result.failures.append(Failure(there or source.shown, why))

    def _next(self, source: Source, tried: set[tuple[str, str, str, int]]) -> Finding | None:
        """A finding of a file that wasn't tried."""
        waiting = {(each.code, each.message) for each in self.waiting.get(source.shown, ())}
        for finding in self.by_file.get(source.shown, ()):
            key = source.path, finding.code, finding.message, finding.span.start
            across = finding.fix is not None and finding.fix.filename
            if key not in tried and (across or (finding.code, finding.message) in waiting):
                tried.add(key)
                return finding
        return None

    def _fix(self, finding: Finding, source: Source, known: Mapping[str, Source]) -> None:
        before = {source.path: self._change(source)}

        def read(path: str) -> bytes:
            if path not in known:
                raise FileNotFoundError(path)
            before[path] = self._change(known[path])
            return before[path].new

        def check(data: bytes, filename: str, settings: Settings) -> list[Finding]:
            asked = known[filename]
            return linted(data, asked, self.older.get(asked.shown))

        now = {} if self.write else {path: each.new for path, each in self.changed.items()}
        with unsaved(now):
            this = replace(finding, filename=source.path)
            texts = {source.path: before[source.path].new}
            done = fix_across(this, texts, source.settings, check, read, source.language)
        if done.reason:
            self.result.notes.append(f"{source.shown}: {left_out(finding, done.reason)}")
            return
        for path, each in before.items():
            if self.write and done.texts[path] != each.new:
                rewrite(path, each.new, done.texts[path])
            self.changed[path] = replace(each, new=done.texts[path])
            left = [f for f in done.remaining if f.filename == path and is_shown(each.source, f)]
            self.by_file[each.source.shown] = renamed(left, each.source.shown)
        names = {path: each.source.shown for path, each in before.items()}
        self.result.applied += (replace(f, filename=names[f.filename]) for f in done.applied)

    def _change(self, source: Source) -> Change:
        """Raises `OSError`."""
        return self.changed.get(source.path) or unchanged(source)
