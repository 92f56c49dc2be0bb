"""A plugin of pytest for oracle.py: which lines of a project have called torch, on which device."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devlint.runtime.ported.code import Code
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.running import running_world
from devlint.runtime.virtual.tags import CPU, shown_place, tensors_in


class Lines(dict[Any, Handler]):
    """The emulation's handlers; a call is noted when it is looked up, so no frame is added to it.

    Args:
        handlers: those that there are.
        code: whose code is whose.
    """

    def __init__(self, handlers: Mapping[Any, Handler], code: Code) -> None:
        super().__init__(handlers)
        self._code = code
        self.on_device: dict[tuple[str, int], bool] = {}

    def get(self, func: Any, default: Any = None) -> Any:
        """The handler of a function that the frame above is called for."""
        caller = sys._getframe(1)
        side, frame = self._code.asking(caller)
        if side == "project" and frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            if not self.on_device.get(place):
                given = caller.f_locals.get("args") or (), caller.f_locals.get("kwargs") or {}
                tensors = tensors_in(given)
                self.on_device[place] = any(shown_place(each) is not CPU for each in tensors)
        return super().get(func, default)


class Plugin:
    """Notes lines, and writes them at the end.

    Args:
        file: where to.
        code: whose code is whose.
    """

    def __init__(self, file: Path, code: Code) -> None:
        self._file = file
        functions = running_world().functions
        self._lines = functions.handlers = Lines(functions.handlers, code)

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
