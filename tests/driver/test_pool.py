"""Work in processes: nothing is lost, whatever happens to a process."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, Project

from devlint.config.sources import Source
from devlint.driver import run
from devlint.driver.executing import Died
from devlint.driver.pool import each
from devlint.driver.run import SMALL, Outcome, check_file


def square_or_die(number: int) -> tuple[int, int]:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number, os.getpid()


def test_every_task_comes_back_once_from_other_processes() -> None:
    results = dict(each(square_or_die, range(20, 60), 2))
    assert sorted(results) == list(range(20, 60))
    values = [result for result in results.values() if not isinstance(result, Died)]
    assert [value for value, _ in sorted(values)] == [n * n for n in range(20, 60)]
    assert os.getpid() not in {pid for _, pid in values}


def test_one_job_stays_in_this_process() -> None:
    enabled = gc.isenabled()
    results = [result for _, result in each(square_or_die, range(3), 1)]
    assert results == [(0, os.getpid()), (1, os.getpid()), (4, os.getpid())]
    assert gc.isenabled() == enabled


def test_a_process_that_dies_takes_only_its_task_along() -> None:
    results = list(each(square_or_die, range(40), 2))
    assert sorted(task for task, _ in results) == list(range(40))
    assert [task for task, result in results if isinstance(result, Died)] == [13]


def test_an_abandoned_run_leaves_no_process_behind(
    in_time: Callable[[Callable[[], bool], float], None],
) -> None:
    work = each(square_or_die, range(20, 400), 2)
    _, result = next(work)
    assert not isinstance(result, Died)
    work.close()
    in_time(lambda: not Path(f"/proc/{result[1]}").exists(), 20)


def import_path(_: int) -> tuple[list[str], bool]:
    return sys.path, bool(sys.flags.isolated)


def test_a_worker_has_our_import_path_and_nothing_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert [result for _, result in each(import_path, [1, 2], 2)] == [(sys.path, True)] * 2


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_the_number_of_jobs_changes_nothing(project: Project, jobs: str) -> None:
    project.write(
        {f"p{i % 3}/m{i}.py": BAD_DEVICE if i % 2 else "def f(:\n" for i in range(SMALL + 10)}
    )
    ran = project.concise("-j", jobs, ".")
    names = [line.split(":")[0] for line in ran.out.splitlines() if ": DEV" in line]
    assert names == sorted(names)
    assert len(names) == SMALL + 10
    assert ran.code == 2


@dataclass(frozen=True)
class Crashing:
    """Lints as ever, until a file that says so kills the process."""

    def __call__(self, source: Source) -> Outcome:
        if b"crash" in Path(source.path).read_bytes():
            os.kill(os.getpid(), signal.SIGKILL)
        return check_file(source)


def test_a_crashing_file_is_named_and_the_others_are_linted(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({f"src/m{i:02}.py": BAD_DEVICE for i in range(SMALL + 10)})
    project.write({"src/m17.py": "import torch  # crash\n"})
    monkeypatch.setattr(run, "check_file", Crashing())
    ran = project.concise("-j2", "src")
    assert ran.out.count("DEV304") == SMALL + 9
    assert ran.err == (
        "devlint: src/m17.py: internal error: the process died, out of memory or by a crash\n"
    )
    assert ran.code == 2


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_of_a_run_that_was_ended_go_without_a_word(project: Project) -> None:
    body = "".join(f"def f{i}(x):\n    return x.to('cuda') + {i}\n" for i in range(300))
    project.write({f"m{i}.py": f"import torch\n{body}" for i in range(SMALL + 10)})
    process = subprocess.Popen(
        project.command("-j2", "-n", "."), cwd=project.folder, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2.5)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGTERM, "")
