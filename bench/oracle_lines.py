"""A plugin of pytest for oracle.py: which lines of a project have called torch, on which device."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from devlint.runtime.ported.code import Code
from devlint.runtime.virtual.mode_stack import Onlooker
from devlint.runtime.virtual.tags import CPU, shown_place, tensors_in


class Lines(Onlooker):
    """Notes, for each line of the project that calls torch, whether that was ever on the device.

    Args:
        code: whose code is whose.
    """

    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code
        self.on_device: dict[tuple[str, int], bool] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        side, frame = self._code.asking(sys._getframe(1))
        if side == "project" and frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            if not self.on_device.get(place):
                tensors = tensors_in((*args, *kwargs.values()))
                self.on_device[place] = any(shown_place(each) is not CPU for each in tensors)
        return func(*args, **kwargs)


class Plugin:
    """Notes lines while tests run, and writes them at the end.

    Args:
        file: where to.
        code: whose code is whose.
    """

    def __init__(self, file: Path, code: Code) -> None:
        self._file = file
        self._lines = Lines(code)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Any:
        """See the calls of a test and of its fixtures."""
        with self._lines:
            yield

    def pytest_sessionfinish(self) -> None:
        """Write it."""
        rows = [[*place, is_on] for place, is_on in self._lines.on_device.items()]
        self._file.write_text(json.dumps(rows))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare where to write."""
    parser.addoption("--oracle-lines", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    code = config.pluginmanager.get_plugin("devlint_port").code
    config.pluginmanager.register(Plugin(config.getoption("oracle_lines"), code))
