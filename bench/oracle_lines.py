"""A plugin of pytest for oracle.py: which lines of a project have called torch, on which device."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FrameType
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
        self._side_of = code.side_of
        self._done: dict[tuple[int, int], CodeType] = {}
        """Instructions that have run on the device, with what keeps the number of their code."""
        self.on_device: dict[tuple[str, int], bool] = {}

    def get(self, func: Any, default: Any = None) -> Any:
        """The handler of a function that the frame above is called for."""
        caller = sys._getframe(1)
        frame: FrameType | None = caller
        while frame is not None and self._side_of(frame.f_code.co_filename) == "between":
            frame = frame.f_back  # as Code.asking does it, at a third of the time
        if frame is None:  # a thread that only libraries have code in
            frame = self._code.asking(caller)[1]
        if frame is not None and (id(frame.f_code), frame.f_lasti) not in self._done:
            if self._side_of(frame.f_code.co_filename) == "project":
                self._note(frame, caller.f_locals)
        return dict.get(self, func, default)

    def _note(self, frame: FrameType, call: Mapping[str, Any]) -> None:
        """Note where a frame is, and whether the call that it makes there has a tensor on the
        device."""
        given = call.get("args") or (), call.get("kwargs") or {}
        is_on = any(shown_place(each) is not CPU for each in tensors_in(given))
        place = frame.f_code.co_filename, frame.f_lineno
        self.on_device[place] = is_on or self.on_device.get(place, False)
        if is_on:
            self._done[id(frame.f_code), frame.f_lasti] = frame.f_code


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
