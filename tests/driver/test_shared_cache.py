"""One cache folder for many jobs: nothing is lost or broken, and nothing believed but ours."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project
from driver.test_cache import cached, run

from devlint.driver.cache import _MOST_SEGMENTS, Cache, Entry
from devlint.safety.files import Look

WRITERS = """
import os, sys
from devlint.driver.cache import Cache, Entry
from devlint.safety.files import Look

folder, project, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

def tell(text):
    print(text, file=sys.stderr, flush=True)
    os._exit(1)

start, go = os.pipe()
children = []
for number in range(count):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(start, 1)  # until all are there
        with Cache(folder, project, tell) as cache:
            for part in range(3):
                path = os.path.join(project, f"m{number}-{part}.py")
                cache.add("key", path, Entry(Look(1, 2, 3), f"d{number}", "[" + "1" * 900))
        os._exit(0)
    children.append(child)
os.close(go)
sys.exit(any([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]))
"""


def entries(folder: Path, project: Path) -> dict[str, list[Entry]]:
    warnings: list[str] = []
    with Cache(str(folder), str(project), warnings.append) as cache:
        found = cache.entries("key")
    assert warnings == []
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks cheap writers")
def test_two_hundred_writers_at_once_lose_nothing_and_warn_of_nothing(project: Project) -> None:
    folder = project.folder / "cache"
    command = [sys.executable, "-c", WRITERS, str(folder), str(project.folder), "200"]
    ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ran.stderr, ran.returncode) == ("", 0)
    found = entries(folder, project.folder)
    assert len(found) == 600
    for path, (entry,) in found.items():
        number = Path(path).stem.split("-")[0][1:]
        assert entry == Entry(Look(1, 2, 3), f"d{number}", "[" + "1" * 900)
    run_once = [sys.executable, "-c", WRITERS, str(folder), str(project.folder), "1"]
    subprocess.run(run_once, check=True, timeout=60)  # joins what all of these have written
    assert len(list(folder.glob("*.results"))) <= _MOST_SEGMENTS
    assert entries(folder, project.folder) == found


def test_a_folder_that_another_run_is_just_making_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its mark may come between a look at what is in it and any other."""
    folder = tmp_path / "cache"
    folder.mkdir()
    list_folder = os.scandir

    def mark(path: str) -> object:
        with list_folder(path) as listing:
            seen = list(listing)
        if path == str(folder):
            (folder / "CACHEDIR.TAG").touch()
        return contextlib.nullcontext(seen)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", mark)
        assert entries(folder, tmp_path) == {}


def test_many_runs_leave_few_files(project: Project) -> None:
    project.write({f"m{i}.py": BAD_DEVICE for i in range(3 * _MOST_SEGMENTS)})
    for number in range(3 * _MOST_SEGMENTS):
        project.run("--quiet", "--cache-dir=cache", f"m{number}.py")
    assert len(list((project.folder / "cache").glob("*.results"))) <= _MOST_SEGMENTS
    assert cached(run(project, "--cache-dir=cache")) == 3 * _MOST_SEGMENTS


def test_two_branches_share_a_cache(project: Project) -> None:
    for content in (BAD_DEVICE, CLEAN, BAD_DEVICE, CLEAN):
        project.write({"a.py": content, "b.py": CLEAN})
        ran = run(project)
    assert cached(ran) == 2
    assert "a.py" not in ran.out
    project.write({"a.py": BAD_DEVICE})
    ran = run(project)
    assert cached(ran) == 2
    assert "a.py:3:" in ran.out


def test_of_one_path_only_the_latest_contents_are_kept(project: Project) -> None:
    for number in range(_MOST_SEGMENTS + 1):
        project.write({"a.py": f"{BAD_DEVICE}x = {number}\n"})
        run(project)
    assert cached(run(project)) == 1
    project.write({"a.py": f"{BAD_DEVICE}x = 0\n"})
    assert cached(run(project)) == 0


def test_a_job_for_strangers_neither_reads_nor_adds_what_is_believed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": CLEAN})
    monkeypatch.setenv("DEVLINT_CACHE_KEY", "secret")
    run(project, "--cache-dir=cache")
    assert cached(run(project, "--cache-dir=cache")) == 2
    monkeypatch.delenv("DEVLINT_CACHE_KEY")
    assert cached(run(project, "--cache-dir=cache")) == 0
    project.write({"a.py": BAD_DEVICE.replace("gpu", "cudaa")})
    assert cached(run(project, "--cache-dir=cache")) == 1  # its own, of the run before
    monkeypatch.setenv("DEVLINT_CACHE_KEY", "secret")
    ran = run(project, "--cache-dir=cache")
    assert cached(ran) == 1
    assert "cudaa" in ran.out
