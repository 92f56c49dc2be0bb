"""Leaves out the findings that an older revision of the repository has as well.

Only the files with findings are looked at: nothing of another one could be left out. Those whose
content, and all that their findings hang on, is what it was, have had the same findings; the others
are linted once more as the revision has them, with today's settings.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from devlint.config.patterns import below, matcher
from devlint.config.selection import FAILURES
from devlint.config.settings import Settings
from devlint.config.sources import Source
from devlint.driver.cache import content as content_of
from devlint.driver.ignoring import is_excluded, is_ignored
from devlint.driver.run import Progress, Result, run
from devlint.history.checkout import Checkout, check_out, content, place
from devlint.history.git import GitError, LackingError, Repository, open_repository, top_of
from devlint.history.renames import renamed
from devlint.model.findings import Finding
from devlint.model.older import Older, Sources, Told, split, told
from devlint.project.importing import PLACES, surroundings_of
from devlint.safety import files
from devlint.safety.files import UNSEEN
from devlint.source.reading import text_of


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, and the name that somebody gave it."""

    name: str
    commit: str
    repository: Repository


def revision(name: str, paths: Iterable[str]) -> Revision:
    """The commit of a name, in the repository around the current folder, or else around the first
    path. Raises `GitError` where there is none, and for a path outside of the repository."""
    there = [path for path in paths if os.path.exists(path)]
    top = top_of(os.curdir)
    if top is None:
        top = next((found for path in there if (found := top_of(_folder(path)))), None)
    if top is None:
        raise GitError("this is not a git repository: there is no older revision")
    for path in there:
        if not files.is_below(_folder(path), top):
            raise GitError(f"{path} is outside of the repository {top}")
    repository = open_repository(top, [os.curdir, *map(_folder, there)])
    return Revision(name, repository.commit(name), repository)


def _folder(path: str) -> str:
    """The folder that a path is, or that a file is in, without links."""
    return files.resolve(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)))


@dataclass(frozen=True, slots=True)
class Compared:
    """The findings that are new, the others, and what has to be said."""

    findings: list[Finding]
    older: Older
    linted: int = 0
    """How many files were linted once more."""
    warnings: tuple[str, ...] = ()


def compare(
    since: Revision,
    paths: Sequence[str],
    sources: Sequence[Source],
    result: Result,
    texts: Sources,
    jobs: int,
    progress: Progress = lambda done, total: None,
) -> Compared:
    """Leave the older findings of a run out. What can't be checked is always told.

    `paths` are those that were asked for. Raises `GitError`.
    """
    kept = [finding for finding in result.findings if finding.code in FAILURES]
    found = [finding for finding in result.findings if finding.code not in FAILURES]
    concerned = {finding.filename for finding in found}
    if not concerned:
        return Compared(kept, Older(since.name))
    suffixes = {".py", *(os.path.splitext(source.path)[1] for source in sources)} - {""}
    top = since.repository.top
    named = {_path_in(top, source) for source in sources if source.shown in concerned}

    def wanted(path: str) -> bool:
        suffix = os.path.splitext(path)[1]
        return suffix in suffixes or path in named or os.path.basename(path) == ".gitignore"

    with tempfile.TemporaryDirectory(prefix="devlint-", ignore_cleanup_errors=True) as folder:
        try:
            old = check_out(since.repository, since.commit, files.resolve(folder), wanted)
        except LackingError as error:
            raise GitError(
                f"the clone is a partial one and lacks files that `{since.name}` has: "
                f"`git diff --stat {since.name}` fetches them"
            ) from error
        comparison = _Comparison(old, paths, sources, result, suffixes)
        by_file = comparison.told(concerned, found, texts, jobs, progress)
    new, older = split(since.name, found, by_file, texts)
    warnings = tuple(
        f"the commit that `{since.name}` has of the submodule {path} isn't here: all of its "
        "findings count as new"
        for path in old.unknown
    )
    return Compared([*kept, *new], older, comparison.linted, warnings)


def _path_in(top: str, source: Source) -> str:
    """The path of a source in its work tree, as git has it."""
    folder, name = os.path.split(source.path)
    path = os.path.join(files.resolve(folder), name)
    return os.path.relpath(path, top).replace(os.sep, "/")


class _Comparison:
    """A run, beside the files of an older revision."""

    def __init__(
        self,
        old: Checkout,
        paths: Sequence[str],
        sources: Sequence[Source],
        result: Result,
        suffixes: set[str],
    ) -> None:
        self._old = old
        self._named = frozenset(map(os.path.abspath, paths))
        self._result = result
        self._suffixes = suffixes
        self._paths = {source.path: _path_in(old.top, source) for source in sources}
        self._sources = {self._paths[source.path]: source for source in sources}
        self._settings: dict[Settings, Settings] = {}
        self.linted = 0
        self._verdicts: dict[tuple[str, str], bool] = {}

    def told(
        self,
        concerned: set[str],
        findings: Sequence[Finding],
        texts: Sources,
        jobs: int,
        progress: Progress,
    ) -> Mapping[str, Told]:
        """The older findings of the files concerned, as messages call these now."""
        same: set[str] = set()
        todo: list[Source] = []
        for path, source in self._sources.items():
            if source.shown not in concerned:
                continue
            before = path if self._old.has(path) else self._renamed.get(path)
            if before is None or not self._takes(before, path, source):
                continue
            if before == path and self._is_same(path, source):
                same.add(source.shown)
                continue
            settings = self._moved(source.settings)
            todo.append(Source(self._old.place(before), source.shown, settings, UNSEEN))
        earlier = [finding for finding in findings if finding.filename in same]
        self.linted = len(todo)
        earlier += run(todo, jobs, progress=progress).findings
        by_file: dict[str, list[Finding]] = {}
        for finding in earlier:
            by_file.setdefault(finding.filename, []).append(finding)
        places = {source.shown: source for source in todo}

        def text(shown: str) -> str:
            source = places.get(shown)
            if source is None:
                return texts(shown) or ""
            return text_of(content(source.path), source.path, source.language) or ""

        return {shown: told(found, text(shown)) for shown, found in by_file.items()}

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """What files were called that are at another place now."""
        old = self._old
        new = [path for path in self._sources if not old.has(path)]
        gone = [
            path
            for path in old.names
            if os.path.splitext(path)[1] in self._suffixes
            and not os.path.lexists(os.path.join(old.top, path))
        ]
        return renamed(new, gone, lambda path: content(self._sources[path].path), old.read)

    def _takes(self, before: str, path: str, source: Source) -> bool:
        """Whether a run over the older files would have taken one of them."""
        settings, there = self._moved(source.settings), self._old.place(before)
        if source.path in self._named and not settings.force_exclude:
            return True
        if before == path:
            return not settings.respect_gitignore or not is_ignored(there, self._top(source))
        name = os.path.basename(there)
        included = matcher(settings.include).matches(there, name)
        if not included and files.suffix(name) not in dict(settings.extension):
            return False
        return is_excluded(source.path, source.settings) or not is_excluded(there, settings)

    def _top(self, source: Source) -> str:
        """Where the folder is now among the older files that a source was found in."""
        above = (each for each in self._named if files.is_below(source.path, each))
        return place(self._old.folder, files.resolve(max(above, key=len, default=self._old.top)))

    def _moved(self, settings: Settings) -> Settings:
        """Settings for the older files: their patterns are those of absolute paths."""
        found = self._settings.get(settings)
        if found is None:
            folder = self._old.folder

            def moved(patterns: tuple[str, ...]) -> tuple[str, ...]:
                return tuple(below(pattern, folder) for pattern in patterns)

            ignores = tuple((below(pattern, folder), codes) for pattern, codes in settings.ignores)
            found = self._settings[settings] = replace(
                settings,
                include=moved(settings.include),
                exclude=moved(settings.exclude),
                extend_exclude=moved(settings.extend_exclude),
                ignores=ignores,
                root=place(folder, files.resolve(settings.root or os.getcwd())),
            )
        return found

    def _is_same(self, path: str, source: Source) -> bool:
        """Whether a file, and all that its findings hang on, is what it was."""
        consulted = self._result.consulted.get(source.path)
        if consulted is None or self._old.read(path) != content(source.path):
            return False
        hangs_on: dict[str, str] = json.loads(consulted or "{}")
        return all(self._holds(each, known) for each, known in hangs_on.items())

    def _holds(self, path: str, known: str) -> bool:
        """Whether something that a finding hangs on is what it was."""
        verdict = self._verdicts.get((path, known))
        if verdict is None:
            there = place(self._old.folder, path)
            if not files.is_below(path, self._old.top):
                verdict = False
            elif os.path.basename(path) == PLACES:
                verdict = surroundings_of(there, self._old.folder) == surroundings_of(path)
            else:
                verdict = content_of(there) == known
            self._verdicts[path, known] = verdict
        return verdict
