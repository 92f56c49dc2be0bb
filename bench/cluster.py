"""A Dask cluster of this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]

SLOW = """
import time
from devlint.driver import remote, run

def check_slowly(source):
    time.sleep({seconds})
    return run.check_file(source)

remote.check_file = check_slowly
"""

MORTAL = """
import os
from devlint.driver import remote, run

left = [12]

def check_and_die(source):
    left[0] -= 1
    if not left[0]:
        os._exit(9)
    return run.check_file(source)

remote.check_file = check_and_die
"""
"""It is killed by its twelfth file."""


@dataclass
class Cluster:
    """A scheduler at an address, and workers by the names they were given."""

    address: str
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, preload: str = "", source: Path | None = None) -> None:
        """Start a worker in which a text is run first; of our devlint, or that of a folder."""
        words = [f"tcp://{self.address}", "--nthreads=1", "--no-nanny", "--host=127.0.0.1"]
        if preload:
            (self.folder / f"{name}.py").write_text(preload)
            words += ["--preload", str(self.folder / f"{name}.py")]
        self.workers[name] = self._start("dask_worker", words, f"{name}.log", source)

    def wait(self, count: int) -> None:
        """Wait until so many workers are there."""
        from distributed import Client

        with Client(f"tcp://{self.address}", timeout=30, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def _start(
        self, program: str, words: list[str], log: str, source: Path | None
    ) -> subprocess.Popen[bytes]:
        environment = dict(os.environ)
        if source is not None:
            environment["PYTHONPATH"] = str(source / "src")
        with (self.folder / log).open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *words],
                cwd=self.folder, stdout=output, stderr=output, env=environment,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def end(self) -> None:
        """End all of it."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def cluster(folder: Path, source: Path | None = None) -> Iterator[Cluster]:
    """A scheduler without workers yet; of our devlint, or that of a folder. They are gone in the
    end."""
    made = Cluster("", folder)
    try:
        words = ["--host=127.0.0.1", "--port=0"]
        scheduler = made._start("dask_scheduler", words, "scheduler.log", source)
        end = time.monotonic() + 60
        while not made.address and scheduler.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
            with suppress(OSError):
                log = (folder / "scheduler.log").read_text()
                found = re.search(r"Scheduler at:\s*tcp://([\d.]+:\d+)", log)
                made.address = "" if found is None else found[1]
        assert made.address, (folder / "scheduler.log").read_text()
        yield made
    finally:
        made.end()
