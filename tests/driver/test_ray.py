"""Work on a Ray cluster: the findings of one process, nothing lost, nothing doubled.

What needs a cluster is one test: it takes some seconds to start, and tests are spread over
processes. The extra `dev` leaves Ray out, which is 88 MB to download: `pip install '.[ray]'` runs
these tests as well.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, Project
from driver.test_executors import write_projects

from devlint.driver import executors
from devlint.driver.run import DIED

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")

WORKER = """
import os
import time
from dataclasses import replace
from pathlib import Path

from devlint.driver import remote, run

here, own = Path(__file__).parent, remote.version()

def check(source):
    (here / "begun").touch()
    if source.shown == "deadly.py":
        with (here / "died").open("a") as file:
            file.write("x")
        os._exit(9)
    if source.shown == "slow.py":
        time.sleep(60)
    return run.check_file(source)

remote.check_file = check
remote.version = lambda: replace(own, code="0" * 32) if (here / "another").exists() else own
"""
"""What a worker runs first: files beside it say what becomes of it."""


@contextmanager
def ray(folder: Path) -> Iterator[str]:
    """The address of a Ray of two processors, whose workers import `preloaded` from a folder."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH")))),
        "RAY_preload_python_modules": "preloaded",
        # Ray starts a process for each client, and gRPC may hang between its fork and its program.
        "GRPC_ENABLE_FORK_SUPPORT": "0",
    }
    words = [
        "start", "--head", "--block", "--num-cpus=2", "--port=0", "--include-dashboard=false",
        "--include-log-monitor=false", "--no-monitor", "--disable-usage-stats",
        "--object-store-memory=80000000", f"--temp-dir={folder}/r",
        f"--ray-client-server-port={port}",
    ]  # fmt: skip
    (folder / "preloaded.py").write_text(WORKER)
    log = folder / "log"
    with log.open("wb") as output:
        head = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *words],
            cwd=folder, stdout=output, stderr=output, env=environment,
        )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while "runtime started" not in log.read_text():
            alive = head.poll() is None and time.monotonic() < end
            assert alive, log.read_text()
            time.sleep(0.05)
        host = re.search(r"Local node IP: (\S+)", log.read_text())
        assert host is not None
        yield f"ray://{host[1]}:{port}"
    finally:
        head.terminate()  # ends all that it has started
        head.wait(60)


def test_a_file_kills_its_worker_another_devlint_is_refused_and_an_interrupt_ends_it(
    project: Project, in_time: Callable[[Callable[[], bool], float], None]
) -> None:
    pytest.importorskip("ray", reason="the extra `ray` isn't installed")
    write_projects(project, 8)
    project.write({"deadly.py": BAD_DEVICE})
    words = ("-n", "--output-format=concise", "--quiet")
    alone = project.spawn(*words, "-j1", "--exclude=deadly.py")
    with (
        # The path of a socket has some 100 characters at most, and Ray takes 60 of them.
        tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as made,
        ray(Path(made)) as address,
    ):
        folder, words = Path(made), (*words, f"--executor={address}")
        ran = project.spawn(*words)
        assert (ran.code, ran.out) == (2, alone.out), ran.err
        assert ran.err == f"devlint: deadly.py: {DIED}\n"
        # Once with others, whose work is done again, and once alone.
        assert (folder / "died").read_text() == "xx"

        (folder / "another").touch()
        ran = project.spawn(*words)
        (folder / "another").unlink()
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert ran.err.startswith(
            "devlint: --executor: a worker is refused: its code is 000000000000, and here it is "
        )

        project.write({"slow.py": BAD_DEVICE})
        (folder / "begun").unlink()
        process = subprocess.Popen(
            project.command(*words, "slow.py"),
            cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # A shell may have it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        in_time((folder / "begun").exists, 60)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "devlint: interrupted\n")
        assert time.monotonic() - began < 10


def test_a_ray_that_is_not_there_is_one_clear_error(project: Project) -> None:
    pytest.importorskip("ray", reason="the extra `ray` isn't installed")
    project.write({"a.py": BAD_DEVICE})
    at_once = {f"RAY_CLIENT_{which}_CONNECTION_TIMEOUT_S": "0" for which in ("INITIAL", "MAX")}
    ran = project.spawn("--executor=ray://127.0.0.1:1", **at_once)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("devlint: --executor: no Ray answers at 127.0.0.1:1 (")


def test_a_ray_that_has_gone_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ray itself would do it, by one of this machine."""
    ray = pytest.importorskip("ray", reason="the extra `ray` isn't installed")
    begun: list[object] = []
    monkeypatch.setattr(ray, "init", lambda *args, **_: begun.append(args))
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 3.0})
    executor = executors._Ray("127.0.0.1:1")
    assert executor.workers == 3
    with pytest.raises(ConnectionError, match="Ray has gone"):
        executor.submit(len, "abc").result(10)
    assert begun == [("ray://127.0.0.1:1",)]
