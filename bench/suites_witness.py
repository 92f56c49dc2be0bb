"""A plugin of pytest for suites.py: writes a line for each test, with what devlint makes of it."""

from __future__ import annotations

import json
import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

_ORDER = ("skipped", "passed", "left", "cause", "failed")
"""Of what a test comes to by its parts, the last one counts."""


class Witness:
    """Keeps what came of the tests, and writes it at the end.

    Args:
        file: where to.
        only: the tests to run, by their ids; None for all. With a device, suites have more tests.
    """

    def __init__(self, file: Path, only: frozenset[str] | None) -> None:
        self._file = file
        self._only = only
        self._tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the other tests out."""
        if self._only is not None:
            items[:] = [item for item in items if item.nodeid in self._only]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """The same random numbers in both runs, though a test before it has failed in one."""
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Take down a part of a test: its fixtures, itself, a subtest."""
        known = len(item.user_properties)
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        part: dict[str, Any] = {"outcome": report.outcome}
        for name, value in item.user_properties[known:]:
            if name == "devlint_not_taken_along":
                part |= {"outcome": "left", "reason": value}
            elif name == "devlint_cause":
                file, _, line = str(value).rpartition(":")
                part |= {"outcome": "cause", "causes": [{"file": file, "line": int(line)}]}
        if part["outcome"] == "failed":
            part["error"] = str(report.longrepr)[-2000:]
        before = self._tests.get(item.nodeid)
        causes = [*(before or {}).get("causes", ()), *part.get("causes", ())]
        if before is None or _ORDER.index(part["outcome"]) >= _ORDER.index(before["outcome"]):
            skipped = before is not None and before["outcome"] == "skipped"
            if not (skipped and part["outcome"] == "passed"):  # after it, its fixtures end
                self._tests[item.nodeid] = part
        self._tests[item.nodeid]["causes"] = causes

    def pytest_sessionfinish(self) -> None:
        """Write it."""
        with self._file.open("w") as file:
            for name, part in self._tests.items():
                file.write(json.dumps({"test": name, **part}) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare where to write, and the witness's lines of the run whose tests are to run."""
    parser.addoption("--witness", type=Path)
    parser.addoption("--witness-before", type=Path)


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    before, only = config.getoption("witness_before"), None
    if before is not None:
        only = frozenset(json.loads(line)["test"] for line in before.read_text().splitlines())
    config.pluginmanager.register(Witness(config.getoption("witness"), only))
