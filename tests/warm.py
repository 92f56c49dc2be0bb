"""Programs that start at once: children of a process that has imported torch and the guard.

A Python of its own takes seconds to import them, and for most tests that is all it does. What a
program notices is the same but for that: its own `__main__`, arguments, folder, environment and
streams, and an end that runs threads and `atexit` functions. Where a test is about what is
imported and when, it needs a Python of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# The child leaves the loop and the module ends as any program does.
_SERVER = """
import json, os, sys
import devlint.cli.running, devlint.runtime.program, torch
for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, name in enumerate(request["streams"]):
    flags = os.O_RDONLY if number == 0 else os.O_WRONLY
    file = os.open(name, flags)
    os.dup2(file, number)
    os.close(file)
sys.stdin = open(0)
os.chdir(request["folder"])
os.environ.clear()
os.environ.update(request["environment"])
for name in ("json", "line", "number", "name", "flags", "file", "child"):
    globals().pop(name, None)
sys.argv, sys.path[0], code = request["argv"], "", request["code"]
del request
exec(code)
"""

_DEVLINT = "from devlint.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Ran:
    """How a program ended."""

    code: int
    out: str
    err: str


class Warm:
    """Starts programs, one after the other."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._folder = folder

    def run(self, folder: Path, code: str, *words: str, stdin: str = "", **variables: str) -> Ran:
        """Run `python -c code words`; `sys` is imported there already."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        streams = [self._folder / name for name in ("in", "out", "err")]
        for path, text in zip(streams, (stdin, "", ""), strict=True):
            path.write_text(text)
        request = {
            "streams": list(map(str, streams)),
            "folder": str(folder),
            "environment": {**os.environ, **variables},
            "argv": ["-c", *words],
            "code": code,
        }
        print(json.dumps(request), file=self._server.stdin, flush=True)
        ended = int(self._server.stdout.readline())
        return Ran(ended, streams[1].read_text(), streams[2].read_text())

    def devlint_run(self, folder: Path, *words: str, stdin: str = "", **variables: str) -> Ran:
        """Run `python -m devlint run words`."""
        return self.run(folder, _DEVLINT, "run", *words, stdin=stdin, **variables)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        yield Warm(server, Path(folder))
