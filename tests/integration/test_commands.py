"""The commands of a checkout: which Python they choose, and what they keep of another's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTHON = """#!/bin/sh
case "$*" in
    *hexversion*) test "$4" = "{minor}" && echo "{number} $0" ;;
    *ensurepip*) exit {lacking} ;;
    *version_info*) echo "{minor}" ;;
esac
"""
"""A Python that answers what is asked of it, with the word behind the code for its version."""

MAKES_ENVIRONMENTS = """#!/bin/sh
case "$*" in
    *base_prefix*) echo "{name}" ;;
    *venv*)
        for folder; do :; done
        rm -rf "$folder" && mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python" && touch "$folder/pyvenv.cfg" ;;
esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def python(path: Path, minor: str = "3.99", number: int = 1, lacking: int = 0) -> Path:
    return program(path, PYTHON.format(minor=minor, number=number, lacking=lacking))


def oldest(folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "first"), str(folder / "second"), os.environ["PATH"]])
    return subprocess.run(
        [str(ROOT / ".ci" / "oldest-python")],
        env=os.environ | {"PATH": path, "PYENV_ROOT": str(folder / "pyenv")},
        capture_output=True,
        text=True,
    )


def test_the_oldest_patch_release_is_chosen(tmp_path: Path) -> None:
    python(tmp_path / "first" / "python3", number=50)
    assert oldest(tmp_path).stdout.split() == [str(tmp_path / "first" / "python3")]
    python(tmp_path / "second" / "python3.99", number=9)
    python(tmp_path / "second" / "python3", minor="3.98", number=1)
    assert oldest(tmp_path).stdout.split() == [str(tmp_path / "second" / "python3.99")]
    kept = python(tmp_path / "pyenv" / "versions" / "3.99.1" / "bin" / "python3.99", number=8)
    python(tmp_path / "pyenv" / "versions" / "3.98.1" / "bin" / "python3.98", "3.98", 7)
    done = oldest(tmp_path)
    assert (done.stdout.split(), done.stderr, done.returncode) == ([str(kept)], "", 0)


def test_a_python_without_environments_is_skipped(tmp_path: Path) -> None:
    python(tmp_path / "first" / "python3", number=50)
    lacking = python(tmp_path / "second" / "python3.99", number=9, lacking=1)
    done = oldest(tmp_path)
    assert done.stdout.split() == [str(tmp_path / "first" / "python3")]
    assert done.stderr.splitlines() == [
        f"skipped {lacking}: it can't make virtual environments, since it has no ensurepip"
    ]
    python(tmp_path / "first" / "python3", number=50, lacking=1)
    done = oldest(tmp_path)
    assert (done.stdout, done.returncode) == ("", 2)
    assert "install python3.99-venv" in done.stderr


def test_the_python_that_is_chosen_can_run_the_tests() -> None:
    done = subprocess.run([str(ROOT / ".ci" / "oldest-python")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    about = "import sys, venv, ensurepip; print(sys.version_info[:3])"
    told = subprocess.check_output([done.stdout.strip(), "-c", about], text=True)
    assert told.startswith("(3, ")


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make isn't installed")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
    )


@needs_make
@pytest.mark.parametrize("name", ["VENV", "DEMO_VENV", "OLDEST_VENV"])
def test_an_environment_of_another_python_is_made_anew(tmp_path: Path, name: str) -> None:
    first = program(tmp_path / "first", MAKES_ENVIRONMENTS.format(name="first"))
    second = program(tmp_path / "second", MAKES_ENVIRONMENTS.format(name="second"))
    folder = tmp_path / "environment"

    def made(python: Path) -> str:
        done = make(f"PYTHON={python}", f"{name}={folder}", f"{folder}/pyvenv.cfg")
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert made(first) == ""
    (folder / "installed").touch()
    assert made(first) == ""
    assert (folder / "installed").exists()
    assert made(second) == f"{folder} is of another Python than {second}: it is made anew\n"
    assert not (folder / "installed").exists()
    assert (folder / "bin" / "python").read_text() == second.read_text()


@pytest.fixture
def installed(tmp_path: Path) -> tuple[str, str]:
    """The words for an environment that is newer than all it depends on, so that nothing but the
    tests is to do."""
    python = program(tmp_path / "python", MAKES_ENVIRONMENTS.format(name="any"))
    folder = tmp_path / "environment"
    make(f"PYTHON={python}", f"VENV={folder}", f"{folder}/pyvenv.cfg")
    (folder / "installed").touch()
    return f"PYTHON={python}", f"VENV={folder}"


@needs_make
def test_as_many_tests_run_at_once_as_there_are_cores(installed: tuple[str, str]) -> None:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    assert f" -n {cores} " in make(*installed, "--dry-run", "test").stdout.splitlines()[-1]
    assert " -n 7 " in make(*installed, "JOBS=7", "--dry-run", "test").stdout.splitlines()[-1]


@needs_make
def test_all_tests_run_in_one_of_six_targets(installed: tuple[str, str]) -> None:
    names = (
        "test", "test-fixes", "test-benches", "test-metamorphic", "test-operators", "test-programs",
    )  # fmt: skip
    most, *others = (make(*installed, "--dry-run", name).stdout.split() for name in names)
    command = [word for word in most if not word.startswith("--ignore=")]
    modules = [word.removeprefix("--ignore=") for word in most if word not in command]
    assert all(other[: len(command)] == command for other in others)
    assert [module for other in others for module in other[len(command) :]] == modules
    assert all((ROOT / module).exists() for module in modules)
