"""What the steps of one `devlint check` share."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from devlint.cli import complain, say
from devlint.config.configuration import Configuration
from devlint.config.settings import Settings, SettingsError
from devlint.config.sources import Failure, Source
from devlint.model.findings import NOTHING_MEETS, Coverage, Finding, Level
from devlint.model.older import Older
from devlint.report import Sources
from devlint.safety import files
from devlint.safety.escaping import block
from devlint.safety.writing import overwrite

if TYPE_CHECKING:
    from devlint.driver.sharding import Shard


def read_source(filename: str, language: str = "") -> str | None:
    """The text of a file by its own encoding, newlines untouched; None where it can't be had."""
    from devlint.source.reading import text_of  # a run that shows no source does without

    try:
        return text_of(files.read(filename, files.LARGEST_SOURCE), filename, language)
    except OSError:
        return None


@dataclass(slots=True)
class Session:
    """One run of the command: what was asked for, and what it has come to so far."""

    options: argparse.Namespace
    configuration: Configuration
    settings: Settings
    """Those of the current folder: they decide about output, fixes and the cache."""
    jobs: int
    fail_on: str = "warning"
    """From which level on findings make the run fail: one of `FAIL_ON`."""
    started: float = field(default_factory=time.monotonic)
    files: int = 0
    linted: Sequence[Source] = ()
    applied: list[Finding] = field(default_factory=list)
    """The findings that were fixed, or would be."""
    unchecked: int = 0
    coverage: Coverage = NOTHING_MEETS
    withheld_by: dict[str, int] = field(default_factory=dict)
    """How many findings each row of policy withholds, and how many are as less certain."""
    failures: list[Failure] = field(default_factory=list)
    older: Older | None = None
    """What isn't shown, since the revision that `--since` names has it too."""
    unsifted: Callable[[], list[Finding]] = list
    """What would be found if nothing were withheld, in the files where something is."""
    sources: Sources = read_source
    shard: Shard | None = None
    """Which part of the run this is, where it is one."""
    stream: TextIO | None = None
    """Where output goes; None for stdout."""

    @property
    def fixed(self) -> int:
        """How many findings were fixed."""
        return len(self.applied)

    def say(self, text: str) -> None:
        """A line for people, on stderr; not with --quiet."""
        if not self.options.quiet:
            say(text)

    def detail(self, text: str) -> None:
        """Lines that only --verbose asks for."""
        if self.options.verbose:
            print(block(text), file=sys.stderr)

    def write(self, output: str | bytes) -> None:
        """Write to stdout, or to the file that --output-file names; bytes stay as they are."""
        target = self.options.output_file
        if target is None and self.options.silent:
            return
        try:
            if target is None:
                stream = self.stream or sys.stdout
                _print(output, stream)
                stream.flush()  # what can't be written has to be told here, not at exit
                return
            overwrite(target, output if isinstance(output, bytes) else _encoded(output))
        except BrokenPipeError:
            raise
        except OSError as error:
            place = target or "the output"
            raise SettingsError(f"{place}: can't be written: {error.strerror or error}") from error

    def tell(self, findings: Sequence[Finding]) -> None:
        """One line on stderr for each finding that isn't part of the output."""
        for finding in () if self.options.silent else findings:
            place = f"{finding.filename}:{finding.span.place}"
            complain(f"{place}: {finding.code} {finding.message}")

    def finish(self, findings: Sequence[Finding], changed: bool = False) -> int:
        """Tell what failed, and return the exit code."""
        for failure in () if self.options.silent else self.failures:
            place = f"{failure.filename}: " if failure.filename else ""
            complain(f"{place}{failure.reason}")
        return self.exit_code(findings, changed)

    def exit_code(self, findings: Sequence[Finding], changed: bool = False) -> int:
        """The exit code, where these findings are shown."""
        if self.failures or self.unchecked:
            return 2
        failing = [each for each in findings if self._fails(each)]
        return int(bool(failing or changed) and self.fail_on != "never")

    def _fails(self, finding: Finding) -> bool:
        """Whether a finding is grave enough to make the run fail."""
        return self.fail_on == "warning" or finding.level is Level.ERROR


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _print(output: str | bytes, stream: TextIO) -> None:
    """Bytes are for another program to read: a terminal shows them as text."""
    if isinstance(output, str):
        stream.write(output)
    elif stream.isatty():
        stream.write(block(output.decode("utf-8", "backslashreplace")))
    else:
        stream.flush()
        stream.buffer.write(output)
