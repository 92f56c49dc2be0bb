"""A scratch project, and devlint run in it: in this process, or as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devlint.cli import main

BAD_DEVICE = 'import torch\n\nd = torch.device("gpu")\n'
"""One finding, DEV304 in row 3, that no fix goes with."""

CLEAN = "import torch\n\nx = torch.zeros(3)\n"

# Root may read and write everything; without these two capabilities it obeys modes as others do.
_UNPRIVILEGED = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if libc.prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
            sys.exit("can't drop capabilities")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str


@dataclass
class Project:
    """A folder that is the current one."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def run(self, *args: str) -> Ran:
        """Run devlint in this process, with one job and without the cache unless asked for."""
        self.capture.readouterr()
        code = main(args)
        printed = self.capture.readouterr()
        return Ran(code, printed.out, printed.err)

    def concise(self, *args: str) -> Ran:
        """The same with one line a finding and nothing remembered."""
        return self.run("--no-cache", "--output-format=concise", "--quiet", *args)

    def found(self, *args: str) -> list[str]:
        """`path CODE` of each finding."""
        lines = self.concise(*args).out.splitlines()
        words = (line.split() for line in lines if ": DEV" in line)
        return [f"{place.split(':')[0]} {code}" for place, code, *_ in words]

    def spawn(self, *args: str, unprivileged: bool = False, stdin: bytes = b"", **env: str) -> Ran:
        """Run devlint as a program."""
        done = subprocess.run(
            self.command(*args, unprivileged=unprivileged),
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            env={**os.environ, **env},
            timeout=120,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def command(self, *args: str, unprivileged: bool = False) -> list[str]:
        first = ["-c", _UNPRIVILEGED] if unprivileged else []
        return [sys.executable, *first, "-m", "devlint", *args]


@pytest.fixture
def project(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Project:
    for name in list(os.environ):
        if name.startswith("DEVLINT_") or name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)


@pytest.fixture
def in_time() -> Callable[[Callable[[], bool], float], None]:
    """Wait until something holds, or fail."""
    import time

    def wait(holds: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it didn't happen in time"
            time.sleep(0.02)

    return wait
