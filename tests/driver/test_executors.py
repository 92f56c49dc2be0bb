"""Work on other machines: the findings of one process, nothing lost, nothing doubled."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from cluster import MORTAL, SLOW, SOURCE, Cluster, cluster
from driver.conftest import BAD_DEVICE, Project

from devlint.config.settings import SettingsError, check_file_layer
from devlint.driver import remote
from devlint.driver.executing import Crew, Died, ExecutorError, RefusedError, spread

USE = "from p{0}.helper import made\n\n\ndef use(x):\n    return x.to('cuda') + made()\n"
MAKE = "import torch\n\n\ndef made():\n    return torch.zeros(3)\n"


def write_projects(project: Project, count: int) -> None:
    """Packages in which one file's finding hangs on another file."""
    project.write({"pyproject.toml": ""})
    for i in range(count):
        project.write({
            f"p{i}/__init__.py": "", f"p{i}/helper.py": MAKE, f"p{i}/use.py": USE.format(i),
            f"p{i}/bad.py": BAD_DEVICE, f"p{i}/long.py": "#" * 3000,
            f"p{i}/broken.py": "def f(:\n" if i == 7 else "",
        })  # fmt: skip


# --- any executor -----------------------------------------------------------------------------


def squares_or_death(numbers: Sequence[int]) -> list[int]:
    if 13 in numbers:
        os._exit(9)
    return [number * number for number in numbers]


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_a_task_that_kills_is_named_and_the_others_are_done() -> None:
    units = [range(start, start + 5) for start in range(0, 40, 5)]
    results = list(spread(squares_or_death, units, Crew(processes, 4)))
    assert sorted(task for task, _ in results) == list(range(40))
    assert {task: result for task, result in results if task != 13} == {
        n: n * n for n in range(40) if n != 13
    }
    assert dict(results)[13] == Died()


def test_work_is_handed_out_as_it_is_done() -> None:
    """Ten million files are not all on their way at once."""
    taken: list[int] = []

    def units() -> Iterator[list[int]]:
        for number in range(100):
            taken.append(number)
            yield [number]

    work = spread(list, units(), Crew(lambda: ThreadPoolExecutor(1), 3))
    assert next(work)
    assert len(taken) <= 6
    work.close()


class Broken(ThreadPoolExecutor):
    """An executor that has never worked."""

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:  # type: ignore[override]
        raise BrokenExecutor("no process")


def test_an_executor_that_is_always_broken_ends_the_run() -> None:
    with pytest.raises(ExecutorError, match="breaks again and again"):
        list(spread(list, [[1], [2]], Crew(lambda: Broken(1), 2)))


def test_what_has_not_begun_is_cancelled_when_a_run_is_given_up() -> None:
    begun: list[int] = []

    def note(numbers: Sequence[int]) -> Sequence[int]:
        begun.extend(numbers)
        time.sleep(0.2)
        return numbers

    with ThreadPoolExecutor(1) as executor:
        work = spread(note, [[number] for number in range(50)], Crew(lambda: executor, 20))
        next(work)
        work.close()
    assert len(begun) <= 3


MAKERS = """
from concurrent.futures import ThreadPoolExecutor

def two(): return ThreadPoolExecutor(2)

number = 3
def fails(): raise OSError("no such cluster")
def text(): return "text"
"""


@pytest.fixture
def makers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("makers")
    (folder / "makers.py").write_text(MAKERS)
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.usefixtures("makers")
def test_any_executor_finds_what_one_process_finds(project: Project) -> None:
    write_projects(project, 12)
    alone = project.run("-n", "--output-format=json", "-j1")
    assert alone.out.count('"code": "DEV2') >= 12
    ran = project.run("-n", "--output-format=json", "--executor=makers:two")
    assert (ran.code, ran.out, ran.err) == (alone.code, alone.out, alone.err)


@pytest.mark.usefixtures("makers")
def test_what_was_done_elsewhere_is_remembered(project: Project) -> None:
    write_projects(project, 3)
    first = project.run("--output-format=json", "--executor=makers:two")
    ran = project.run("--output-format=json", "-v")
    assert "18 of them from the cache" in ran.err
    assert ran.out == first.out


@pytest.mark.usefixtures("makers")
@pytest.mark.parametrize(
    "change",
    [("p1/bad.py", "something else"), ("p1/helper.py", "of what it hangs on")],
    ids=["the file itself", "a file that it imports"],
)
def test_a_worker_that_reads_something_else_is_found_out(
    project: Project, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]
) -> None:
    """As one does on whose disk there is another checkout."""
    write_projects(project, 3)
    name, said = change
    path, check = project.folder / name, remote.check_file
    ours = path.read_bytes()

    def check_another(source: Any) -> Any:
        path.write_bytes(MAKE.replace("zeros", "ones").encode())
        try:
            return check(source)
        finally:
            path.write_bytes(ours)

    monkeypatch.setattr(remote, "check_file", check_another)
    ran = project.run("-n", "--output-format=concise", "--executor=makers:two")
    assert ran.code == 2
    assert f"devlint: {name}: a worker has read something else" in ran.err
    assert f"{name}:" not in ran.out
    assert "p0/bad.py:3:" in ran.out
    assert said in ran.err


@pytest.mark.usefixtures("makers")
def test_a_worker_of_another_version_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": BAD_DEVICE})
    own = remote.version()
    other = remote.Version("0.0.9", own.python, own.libcst, "0" * 32)
    answers = iter([own])
    monkeypatch.setattr(remote, "version", lambda: next(answers, other))
    ran = project.run("-n", "--executor=makers:two")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "devlint: --executor: a worker is refused: its devlint is 0.0.9, and here it is "
        f"{own.devlint}\n"
    )


def test_settings_that_mean_something_else_are_refused() -> None:
    terms = remote.terms_of([], "run")
    from devlint.config.settings import Settings
    from devlint.config.sources import Source
    from devlint.safety.files import UNSEEN

    with pytest.raises(RefusedError, match="settings"):
        remote.lint(terms, [Source("/a.py", "a.py", Settings(), UNSEEN)])


WRONG_NAMES = {
    "": "is none of dask://HOST:PORT, ray://HOST:PORT or MODULE:CALLABLE",
    "dask": "is none of dask://",
    "http://host:1": "is none of dask://",
    "dask://host": "is not of the form dask://HOST:PORT",
    "dask://host:99999": "is not of the form dask://HOST:PORT",
    "ray://user@host:1": "is not of the form ray://HOST:PORT",
    "makers:": "is none of dask://",
    "../makers:two": "is none of dask://",
    "nowhere_at_all:two": "No module named 'nowhere_at_all'",
    "makers:three": "has no attribute 'three'",
    "makers:number": "can't be called",
    "makers:fails": "makes no executor (OSError: no such cluster)",
    "makers:text": "gives a str, which is no executor",
}


@pytest.mark.usefixtures("makers")
@pytest.mark.parametrize("name", WRONG_NAMES)
def test_what_names_no_executor_is_one_clear_error(project: Project, name: str) -> None:
    project.write({"a.py": BAD_DEVICE})
    ran = project.run(f"--executor={name}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("devlint: --executor: ")
    assert WRONG_NAMES[name] in ran.err


def test_what_is_linted_is_no_place_for_an_executor(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "evil.py": "raise SystemExit('imported')"})
    ran = project.spawn("--executor=evil:make")
    assert ran.code == 2
    assert "No module named 'evil'" in ran.err


def test_no_configuration_names_an_executor(project: Project) -> None:
    with pytest.raises(SettingsError, match="unknown key `executor`"):
        check_file_layer("devlint.toml", "", {"executor": "dask://host:1"}, "")
    project.write({"a.py": BAD_DEVICE, "devlint.toml": "executor = 'dask://host:1'\n"})
    assert project.run().code == 2


@pytest.mark.parametrize("word", ["-", "--watch", "-j2", "--stdin-filename=a.py"])
def test_what_does_not_go_with_an_executor_is_refused(project: Project, word: str) -> None:
    project.write({"a.py": BAD_DEVICE})
    ran = project.run("--executor=dask://127.0.0.1:1", word)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--executor" in ran.err


@pytest.mark.usefixtures("makers")
def test_what_was_raised_instead_of_a_result_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": BAD_DEVICE})
    check = remote.check_file

    def fail(source: Any) -> Any:
        if source.shown == "b.py":
            raise OSError("no space left")
        return check(source)

    monkeypatch.setattr(remote, "check_file", fail)
    ran = project.run("-n", "--output-format=concise", "--executor=makers:two")
    assert ran.code == 2
    assert ran.out.startswith("a.py:3:")
    assert ran.err == (
        "devlint: b.py: internal error: nothing came back (OSError: no space left)\n"
    )


class Gone(ThreadPoolExecutor):
    """An executor that is reached once, and then no more."""

    asked = 0

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:  # type: ignore[override]
        self.asked += 1
        if self.asked == 1:
            return super().submit(*args, **kwargs)
        future = Future[Any]()
        future.set_exception(ConnectionError("gone"))
        return future


def test_a_cluster_that_has_gone_is_told_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("makers")
    (folder / "gone.py").write_text("make = None\n")
    monkeypatch.syspath_prepend(str(folder))
    import gone  # type: ignore[import-not-found]

    gone.make = lambda: Gone(1)
    write_projects(project, 4)
    ran = project.run("-n", "--executor=gone:make")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "devlint: --executor: it does nothing (ConnectionError: gone)\n"


# --- Dask -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with cluster(tmp_path_factory.mktemp("dask")) as made:
        yield made


@pytest.fixture(scope="module")
def another_devlint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that says it is this version, and finds nothing."""
    folder = tmp_path_factory.mktemp("another")
    for name in ("src/devlint", "rules"):
        shutil.copytree(SOURCE / name, folder / name)
    run = folder / "src/devlint/driver/run.py"
    run.write_text(run.read_text() + "\n\ndef check_file(source):\n    return Outcome()\n")
    return folder


def test_one_worker_dies_one_is_slow_one_lies_and_nothing_is_lost(
    project: Project, dask: Cluster, another_devlint: Path
) -> None:
    write_projects(project, 40)
    alone = project.spawn("-n", "--output-format=json", "-j1")
    dask.start("plain", SLOW.format(seconds=0.005))  # or the others have nothing to do
    dask.start("slow", SLOW.format(seconds=0.03))
    dask.start("mortal", MORTAL)
    dask.start("liar", source=another_devlint)
    dask.wait(4)
    words = ("-n", "--output-format=json", f"--executor=dask://{dask.address}")
    ran = project.spawn(*words)
    assert ran.out == alone.out, ran.err
    assert dask.workers["mortal"].wait(10) == 9
    assert ran.code == 2
    refused, *others = ran.err.splitlines()
    assert others == alone.err.splitlines()
    assert refused.startswith("devlint: --executor: the worker tcp://127.0.0.1:")
    assert " is refused: its code is " in refused
    # Without the one that lies, the run ends as one process does.
    dask.workers["liar"].kill()
    again = project.spawn(*words)
    assert (again.code, again.out, again.err) == (alone.code, alone.out, alone.err)


def test_workers_that_all_differ_end_the_run(
    project: Project, tmp_path: Path, another_devlint: Path
) -> None:
    pytest.importorskip("distributed")
    project.write({"a.py": BAD_DEVICE})
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with cluster(folder) as made:
        made.start("liar", source=another_devlint)
        made.wait(1)
        ran = project.spawn(f"--executor=dask://{made.address}", "a.py")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("devlint: --executor: all workers are refused (tcp://127.0.0.1:")


def test_a_scheduler_of_another_version_is_refused(
    project: Project, tmp_path_factory: pytest.TempPathFactory, another_devlint: Path
) -> None:
    pytest.importorskip("distributed")
    project.write({"a.py": BAD_DEVICE})
    with cluster(tmp_path_factory.mktemp("dask"), another_devlint) as made:
        made.start("worker")
        made.wait(1)
        ran = project.spawn(f"--executor=dask://{made.address}", "a.py")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"devlint: --executor: the scheduler at {made.address} is refused: ")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_ends_the_run_at_once(project: Project, dask: Cluster) -> None:
    dask.start("interrupted")
    dask.wait(1)
    body = "".join(f"def f{i}(x):\n    return x.to('cuda') + {i}\n" for i in range(300))
    project.write({f"m{i}.py": f"import torch\n{body}" for i in range(200)})
    process = subprocess.Popen(
        project.command("-n", f"--executor=dask://{dask.address}", "."),
        cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may ignore it
    )  # fmt: skip
    time.sleep(3)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "devlint: interrupted\n")
    assert time.monotonic() - began < 10


def test_a_scheduler_that_is_not_there_is_one_clear_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from devlint.driver import executors

    monkeypatch.setattr(executors, "_PATIENCE", 0.5)
    project.write({"a.py": BAD_DEVICE})
    ran = project.run("--executor=dask://127.0.0.1:1")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "devlint: --executor: no scheduler of Dask answers at 127.0.0.1:1\n"


def test_an_extra_that_is_missing_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devlint.driver import executors

    monkeypatch.setattr(executors, "find_spec", lambda name: None)
    project.write({"a.py": BAD_DEVICE})
    ran = project.run("--executor=ray://127.0.0.1:1")
    assert ran.err == "devlint: --executor: it needs `pip install 'ray[client]'`\n"


def test_errors_say_where_they_come_from() -> None:
    assert str(ExecutorError("it is gone")) == "--executor: it is gone"
