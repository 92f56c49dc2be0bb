"""`pytest --devlint-on=cuda`: a project's tests for the CPU as tests for an accelerator."""

from __future__ import annotations

import doctest
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from devlint.runtime.collected import Collection
from devlint.runtime.ported import Port
from devlint.runtime.ported.causes import NotPorted, judge
from devlint.runtime.ported.code import Code

_OUTPUT = "devlint_ported"
"""What a process of pytest-xdist calls it in its output."""


class PortPlugin:
    """Runs the tests on the device, and tells what has failed and why.

    A test has it among its `user_properties`, and so in pytest's XML: `devlint_cause`, a line of
    the project, or `devlint_not_taken_along`, a reason.

    Args:
        config: pytest's.
        kind: the kind of accelerator.
        only_reports: whether a device error leaves the test as an expected failure.
        causes: where the mistakes of the project are noted.

    Raises:
        ValueError: for an unknown kind.
    """

    def __init__(
        self, config: pytest.Config, kind: str, only_reports: bool, causes: Collection
    ) -> None:
        self.code = Code(str(config.rootpath), config.getini("python_files"))
        self.port = Port(kind, self.code)
        self.emulation = self.port.emulation
        self._only_reports = only_reports
        self._causes = causes
        self._left: Counter[str] = Counter()

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """A file that holds tests is one, whatever it is called; one that holds examples isn't."""
        if isinstance(collector, pytest.Module):
            self.code.add_collected(str(collector.path))
            if not collector.config.getoption("doctestmodules", False):
                self.code.add_test(str(collector.path))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins."""
        self.port.begin_test()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Tell mistakes of the project from what can't be taken along."""
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        if call.excinfo is None or report.outcome != "failed":
            return
        judged = (judge(each, self.code, self.port.notes) for each in _raised(call.excinfo.value))
        found = next((each for each in judged if each is not None), None)
        if isinstance(found, NotPorted):
            self._left[found.reason] += 1
            file, line, _ = report.location
            report.outcome = "skipped"
            report.longrepr = (file, line or 0, f"Skipped: not taken along: it {found.reason}")
            item.user_properties.append(("devlint_not_taken_along", found.reason))
        elif found is not None:
            self._causes.add(found)
            item.user_properties.append(("devlint_cause", found.shown_place))
            if self._only_reports:
                report.outcome = "skipped"
                report.wasxfail = f"{found.shown_place}: {found.message}"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a process of pytest-xdist, send what was left out to the one that reports."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = dict(self._left)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive it; a process that has crashed has sent nothing."""
        self._left.update(getattr(node, "workeroutput", {}).get(_OUTPUT, {}))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say at the end, below the mistakes, that there is none, and what was left out."""
        if not self._causes or self._left:
            kind = self.emulation.spec.kind.type
            terminalreporter.section(f"tests for the CPU on {kind} (devlint)")
        if not self._causes:
            terminalreporter.line("no device mismatch")
        for reason, count in self._left.most_common():
            tests = "1 test was" if count == 1 else f"{count} tests were"
            terminalreporter.line(f"{tests} not taken along: it {reason}")


def _raised(error: BaseException) -> Iterator[BaseException]:
    """What was raised in a test, or in the examples of a docstring."""
    for each in getattr(error, "failures", (error,)):
        yield each.exc_info[1] if isinstance(each, doctest.UnexpectedException) else each
