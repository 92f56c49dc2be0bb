"""Which tests may find a mutant, and whether they do: for `mutation.py`.

Which rows each test runs is learned once by coverage. A mutant is tried by those that run its rows,
the quickest first; where these are few, since what the row made may be remembered, by all that run
the file or are in one that imports it.

Each mutant is a fork of one process that has loaded what tests need, and nothing of devlint: there
an import finds the changed text, and no file is written.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

import coverage
import hypothesis  # noqa: F401  # tests load it and torch: once, before the forks
import pytest
import torch  # noqa: F401
from mutants import Mutant

ROOT = Path(__file__).resolve().parents[1]

TESTS = [
    "tests/test_cases.py", "tests/test_pages.py", "tests/test_facts.py", "tests/rules",
    *(f"tests/flow/test_{name}.py" for name in (
        "contexts", "coverage", "derivation", "elsewhere", "interpreter", "parts", "project",
        "required", "state",
    )),
    "tests/test_lint.py", "tests/test_fix.py", "tests/test_why.py", "tests/test_score.py",
    "tests/test_policy.py", "tests/test_policy_names.py", "tests/test_fingerprint.py",
    "tests/test_dumping.py", "tests/torchapi/test_table.py", "tests/driver/test_pedantic.py",
    "tests/driver/test_notebooks.py",
]  # fmt: skip
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly"]

SLOW = 2.5
FEW = 20
"""Tests that run a line: with fewer, all that run its file are tried."""
FIRST = 120
"""Tests that are tried before the others are collected."""


@dataclass(frozen=True)
class Seen:
    """What is known of the tests: how long each takes, and which of them run a row of a file."""

    seconds: dict[str, float]
    rows: dict[str, dict[str, list[int]]]
    """Their numbers, in the order of `seconds`."""
    left_out: list[str]
    """Slow tests, and those that fail."""

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that may find a mutant, the quickest first."""
        rows = self.rows.get(mutant.path.as_posix(), {})
        found = {test for row in mutant.rows for test in rows.get(str(row), ())}
        if len(found) < FEW:
            found = {test for tests in rows.values() for test in tests}
        names = list(self.seconds)
        tests = {names[test] for test in found}
        if len(found) < FEW or not mutant.within:
            tests |= set(self._of_files(Changed(mutant).name))
        return sorted(tests, key=lambda test: self.seconds[test])

    def _of_files(self, module: str) -> Iterator[str]:
        """The tests of files that import a module: they may run nothing of it, and read a table."""
        names = defaultdict[str, list[str]](list)
        for test in self.seconds:
            names[test.partition("::")[0]].append(test)
        for file, tests in names.items():
            if module in (ROOT / file).read_text(encoding="utf-8"):
                yield from tests


class Learning:
    """Notes how long each test takes, and has coverage know which one is running."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.seconds: dict[str, float] = {}
        self.started: list[str] = []
        self.failed = set[str]()
        self._measured = measured

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Around one test."""
        start = time.process_time()
        self.started.append(item.nodeid)
        self._measured.switch_context(item.nodeid)
        result = yield
        self._measured.switch_context("")
        self.seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what doesn't pass."""
        if not report.passed:
            self.failed.add(report.nodeid)


def learned(paths: Sequence[Path]) -> Seen:
    """Run all tests once, in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        pid = os.fork()
        if pid == 0:
            include = [f"{path}/*" if path.is_dir() else str(path) for path in paths]
            measured = coverage.Coverage(data_file=None, include=include)
            measured.start()
            plugin = Learning(measured)
            pytest.main([*OPTIONS, *TESTS], plugins=[plugin])
            measured.stop()
            quick = {
                test: spent
                for test, spent in plugin.seconds.items()
                if spent < SLOW and test not in plugin.failed
            }
            number = {test: index for index, test in enumerate(quick)}
            data, rows = measured.get_data(), dict[str, dict[int, list[int]]]()
            for name in data.measured_files():
                rows[Path(name).relative_to(ROOT).as_posix()] = {
                    row: [number[test] for test in tests if test in number]
                    for row, tests in data.contexts_by_lineno(name).items()
                }
            left_out = [test for test in plugin.started if test not in number]
            Path(file.name).write_text(json.dumps([quick, rows, left_out]), encoding="utf-8")
            os._exit(0)
        os.waitpid(pid, 0)
        return Seen(*json.loads(file.read()))


class Chosen:
    """Runs some tests, in their order, and each for a limited time."""

    def __init__(self, tests: Sequence[str], seen: Seen) -> None:
        self._tests = tests
        self._seen = seen

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the others out; not those whose parameters come from the changed text."""
        by_id = {item.nodeid: item for item in items}
        known = {*self._seen.seconds, *self._seen.left_out}
        functions = {test.partition("[")[0] for test in self._tests}
        chosen = [by_id[test] for test in self._tests if test in by_id]
        for name, item in by_id.items():
            if name not in known and name.partition("[")[0] in functions:
                chosen.append(item)
        items[:] = chosen

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """The processor's time, since the machine may be busy; what overruns it is killed."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 5 + 20 * self._seen.seconds.get(item.nodeid, 1.0))


class Changed(SourceFileLoader):
    """Finds and loads one module, from a text that isn't in its file."""

    def __init__(self, mutant: Mutant) -> None:
        parts = mutant.path.with_suffix("").parts[1:]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        super().__init__(name, str(ROOT / mutant.path))
        self._text = mutant.text

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """As the import system asks it."""
        if name != self.name:
            return None
        package = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=package
        )

    def get_code(self, fullname: str) -> CodeType:
        """The changed text, compiled."""
        return compile(self._text, self.path, "exec")


def tried(mutant: Mutant, seen: Seen) -> str:
    """What becomes of a mutant: "killed", "timed out" or "survived"."""
    tests = seen.of(mutant)
    for part in (tests[:FIRST], tests[FIRST:]):
        status = _status(mutant, part, seen) if part else 0
        if os.WIFSIGNALED(status):
            return "timed out"
        if status:
            return "killed"
    return "survived"


def _status(mutant: Mutant, tests: list[str], seen: Seen) -> int:
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    code = 1
    with contextlib.suppress(BaseException):
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        signal.alarm(300)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        changed = Changed(mutant)
        sys.meta_path.insert(0, changed)
        for name in ("devlint.lint", changed.name):  # before pytest, which puts its finder first
            importlib.import_module(name)
        files = sorted({test.partition("::")[0] for test in tests})
        code = pytest.main(["-x", *OPTIONS, *files], plugins=[Chosen(tests, seen)])
    os._exit(code)
