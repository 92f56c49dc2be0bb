"""What the linter's thread does for the editor: lints, fixes, looks values up.

Nothing here speaks with the editor. A bug of the linter in one file is one line of the editor's
log, and all else goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from devlint.config.configuration import Configuration
from devlint.config.patterns import matcher
from devlint.config.settings import Settings, SettingsError
from devlint.config.sources import Source
from devlint.driver import ignoring
from devlint.driver.ignoring import is_excluded
from devlint.fix.applying import FixResult, fix_across, fix_source
from devlint.fix.file import fix_bytes
from devlint.fix.suppress import suppress_one
from devlint.flow.frames.steps import StoppedError, TooManyStepsError, stoppable
from devlint.lint import check, check_source
from devlint.model.findings import Finding
from devlint.project import importing
from devlint.project.neighbours import unsaved
from devlint.project.plan import prepare
from devlint.safety import files
from devlint.safety.files import NOTEBOOK, PYTHON, UNSEEN, suffix
from devlint.server.targets import Target
from devlint.server.values import Value, values
from devlint.server.worker import Stop
from devlint.verdict.score import is_certain

Texts = Mapping[str, bytes]
"""What open files hold, by their paths."""


@dataclass(frozen=True)
class Outcome:
    """What came of linting something. `problem` is one line, for what kept it from that;
    `consulted` are the paths of what else that hangs on."""

    target: Target
    findings: tuple[Finding, ...] = ()
    consulted: frozenset[str] = frozenset()
    problem: str = ""


class Checker:
    """The linter, and what it remembers of what is open. `configure` reads the configuration."""

    def __init__(self, configure: Callable[[], Configuration]) -> None:
        self._configure = configure
        self._configuration = configure()
        self._settings: dict[str, Settings | None] = {}
        self._last_good: dict[str, Settings] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._values: dict[str, tuple[Target, list[Value]]] = {}
        self._problems: list[str] = []
        self._told: set[str] = set()

    def problems(self) -> list[str]:
        """What is wrong with the configuration, each told once."""
        found, self._problems = self._problems, []
        return found

    def reload(self) -> None:
        """Read the configuration anew, and whatever else is remembered of files."""
        ignoring.forget()
        importing.forget()
        self._settings.clear()
        self._values.clear()
        self._told.clear()
        try:
            self._configuration = self._configure()
        except Exception as error:  # what is wrong with the file that the command line names
            self._tell(error)

    def forget(self, uri: str) -> None:
        """It isn't open any more."""
        self._outcomes.pop(uri, None)
        self._values.pop(uri, None)

    def affected(self, path: str) -> list[str]:
        """What was linted with another file in mind."""
        known = list(self._outcomes.items())  # at once: the linter's thread may add another
        return [uri for uri, each in known if path in each.consulted]

    # --- linting

    def lint(self, target: Target, texts: Texts, stop: Stop) -> Outcome | None:
        """Lint something; None where that was stopped."""
        found = Outcome(target)
        self._values.pop(target.uri, None)  # other files may have changed as well
        try:
            settings = self._of(target)
            if settings is not None:
                with unsaved(texts), stoppable(stop):
                    everything = replace(settings, pedantic=True)
                    checked = check(target.data, target.path, everything)
                found = Outcome(target, tuple(checked.findings), checked.consulted)
        except StoppedError:
            return None
        except SettingsError as error:
            self._tell(error)
        except Exception as error:  # a bug of devlint's must not end the server
            found = Outcome(target, problem=_told(target, error))
        self._outcomes[target.uri] = found
        return found

    def current(self, target: Target, texts: Texts) -> Outcome:
        """What was found in something as it is now."""
        known = self._outcomes.get(target.uri)
        if known is not None and known.target == target:
            return known
        return self.lint(target, texts, Stop()) or Outcome(target)

    def shown(self, outcome: Outcome) -> list[Finding]:
        """The findings that users see."""
        settings = self._settings.get(outcome.target.path)
        pedantic = settings is not None and settings.pedantic
        return [each for each in outcome.findings if pedantic or is_certain(each.score)]

    # --- changes

    def fix(self, target: Target, finding: Finding, texts: Texts) -> tuple[dict[str, bytes], str]:
        """What becomes of files by the fix of one finding, or why that doesn't hold."""
        settings = self._of(target)
        there = "" if finding.fix is None else finding.fix.filename
        if settings is None or (there and is_excluded(there, settings)):
            return {}, "the file is left out"
        if there:
            return self._fix_there(target, finding, settings, texts)
        known = self.current(target, texts)

        def lint(data: bytes, path: str, settings: Settings) -> list[Finding]:
            same = data == target.data
            return list(known.findings) if same else check_source(data, path, settings)

        with unsaved(texts):
            done: FixResult = fix_source(
                target.data, target.path, replace(settings, pedantic=True), True, lint,
                lambda each: each == finding, settings.language_of(target.path),
            )  # fmt: skip
        reason = "".join(dropped.reason for dropped in done.dropped[:1])
        return {target.path: done.data}, reason

    def _fix_there(
        self, target: Target, finding: Finding, settings: Settings, texts: Texts
    ) -> tuple[dict[str, bytes], str]:
        """The same of a fix that changes another file."""
        language, everything = settings.language_of(target.path), replace(settings, pedantic=True)
        old = {target.path: target.data}

        def read(path: str) -> bytes:
            found = texts.get(path)
            old[path] = files.read(path, settings.max_file_size) if found is None else found
            return old[path]

        with unsaved(texts):
            done = fix_across(finding, old, everything, check_source, read, language)
        return {path: data for path, data in done.texts.items() if data != old[path]}, done.reason

    def fix_all(self, target: Target, texts: Texts) -> bytes:
        """The file with all safe fixes, as `--fix` gives it."""
        settings = self._of(target)
        if settings is None:
            return target.data
        with unsaved(texts):
            return fix_bytes(target.data, _source(target, settings), unsafe=False).new

    def suppress(self, target: Target, finding: Finding, texts: Texts) -> bytes | None:
        """The file with a comment for one finding; None where there is no place for one."""
        settings = self._of(target)
        if settings is None:
            return None
        with unsaved(texts):
            return suppress_one(target.data, _source(target, settings), finding)

    # --- values

    def values(self, target: Target, texts: Texts) -> list[Value]:
        """What is known of all values of something."""
        known = self._values.get(target.uri)
        if known is not None and known[0] == target:
            return known[1]
        settings, found = self._of(target), list[Value]()
        if settings is not None:
            try:
                with unsaved(texts):
                    found = values(target.data, target.path, settings)
            except TooManyStepsError:
                pass  # linting tells
            except SettingsError as error:
                self._tell(error)
        self._values[target.uri] = target, found
        return found

    # --- settings

    def _of(self, target: Target) -> Settings | None:
        """The settings of something; None where it is left out. Where these can't be read, they are
        what they were before."""
        path = target.path
        if path not in self._settings:
            self._settings[path] = self._read(target)
        return self._settings[path]

    def _read(self, target: Target) -> Settings | None:
        path = target.path
        try:
            settings = self._configuration.for_folder(os.path.dirname(path))
            prepare(settings)
            self._last_good[path] = settings
        except SettingsError as error:
            self._tell(error)
            before = self._last_good.get(path)
            if before is None:
                return None
            settings = before
        languages = {document.language for document in target.documents}
        listed = matcher(settings.include).matches(path, os.path.basename(path))
        asked = listed or PYTHON in languages or suffix(path) in dict(settings.extension)
        is_read = asked or settings.language_of(path) == NOTEBOOK
        return settings if is_read and not is_excluded(path, settings) else None

    def _tell(self, error: Exception) -> None:
        text = str(error)
        if text not in self._told:
            self._told.add(text)
            self._problems.append(text)


def _source(target: Target, settings: Settings) -> Source:
    return Source(target.path, target.path, settings, UNSEEN)


def _told(target: Target, error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{target.path}: internal error: {type(error).__name__}: {text}".rstrip(": ")
