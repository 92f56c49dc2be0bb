"""`pytest --devlint-on=cuda`: a project's tests for the CPU as tests for an accelerator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from devlint.runtime.ported import Port
from devlint.runtime.ported.causes import Cause, NotPorted, judge
from devlint.runtime.ported.code import Code

_OUTPUT = "devlint_ported"
"""What a process of pytest-xdist calls it in its output."""


class PortPlugin:
    """Runs the tests on the device, and tells what has failed and why.

    Args:
        config: pytest's.
        kind: the kind of accelerator.
        only_reports: whether a device error leaves the test as an expected failure.

    Raises:
        ValueError: for an unknown kind.
    """

    def __init__(self, config: pytest.Config, kind: str, only_reports: bool) -> None:
        self.code = Code(str(config.rootpath), config.getini("python_files"))
        self.port = Port(kind, self.code)
        self.emulation = self.port.emulation
        self._only_reports = only_reports
        self._tests: Counter[Cause] = Counter()
        self._left: Counter[str] = Counter()

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """A file that holds tests is one, whatever it is called."""
        if isinstance(collector, pytest.Module):
            self.code.add_test(str(collector.path))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins."""
        self.port.begin_test()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Tell mistakes of the project from what can't be taken along."""
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        if call.excinfo is None or report.outcome != "failed":
            return
        found = judge(call.excinfo.value, self.code, self.port.notes)
        if isinstance(found, NotPorted):
            self._left[found.reason] += 1
            file, line, _ = report.location
            report.outcome = "skipped"
            report.longrepr = (file, line or 0, f"Skipped: not taken along: it {found.reason}")
        elif found is not None:
            self._tests[found] += 1
            if self._only_reports:
                report.outcome = "skipped"
                report.wasxfail = f"{_place(found)}: {found.message}"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a process of pytest-xdist, send what was found to the one that reports."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            causes = [(*_as_tuple(cause), count) for cause, count in self._tests.items()]
            output[_OUTPUT] = causes, dict(self._left)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive it; a process that has crashed has sent nothing."""
        causes, left = getattr(node, "workeroutput", {}).get(_OUTPUT, ((), {}))
        self._left.update(left)
        for *parts, count in causes:
            self._tests[Cause(*parts)] += count

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say at the end which lines of the project are to blame."""
        if not (self._tests or self._left):
            return
        terminalreporter.section(f"tests for the CPU on {self.emulation.spec.kind.type} (devlint)")
        for cause, count in self._tests.most_common():
            tests = "1 test" if count == 1 else f"{count} tests"
            terminalreporter.line(f"{_place(cause)}: {cause.message} [{tests}]")
            for line in cause.explanation.splitlines():
                terminalreporter.line(f"    {line}")
        for reason, count in self._left.most_common():
            tests = "1 test was" if count == 1 else f"{count} tests were"
            terminalreporter.line(f"{tests} not taken along: it {reason}")


def _place(cause: Cause) -> str:
    file = Path(cause.file)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return f"{shown}:{cause.line} in {cause.function}"


def _as_tuple(cause: Cause) -> tuple[str, int, str, str, str]:
    return cause.file, cause.line, cause.function, cause.message, cause.explanation
