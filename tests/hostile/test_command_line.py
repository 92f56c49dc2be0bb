"""The names of files are not taken for commands and options, and no stream is taken for granted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

from devlint.safety.files import LARGEST_SOURCE


@pytest.mark.parametrize("name", ["--output-file=..", "-qo..", "--cache-dir=x", "--config=x"])
def test_a_file_is_no_option(project: Project, name: str) -> None:
    """As pre-commit passes the names of a repository's files, behind its own options."""
    victim = project.folder / "victim.py"
    project.write({"victim.py": "precious", f"repo/{name}/victim.py": BAD_DEVICE, "repo/a.py": ""})
    os.chdir("repo")
    words = ("check", "--force-exclude", f"{name}/victim.py", "a.py")
    ran = project.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"devlint: `{name}/victim.py` is a file here: put `--` before the paths\n"
    assert victim.read_text() == "precious"
    assert "DEV304" in project.run("--no-cache", "--force-exclude", "--", *words[2:]).out


def test_a_list_of_files_runs_none_of_them(project: Project) -> None:
    project.write({"run": "", "z.py": "open('ran', 'w')\n"})
    ran = project.spawn(*sorted(path.name for path in project.folder.iterdir()))
    assert ran.code == 2
    assert "`run` is here: say `devlint run -- PROGRAM`, or `devlint ./run` to lint it" in ran.err
    assert not (project.folder / "ran").exists()


def test_a_setting_on_the_command_line_is_no_file(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, 'select=["ALL"]': 'ignore = ["ALL"]\n'})
    assert "DEV304" in project.run("--no-cache", "--config", 'select=["ALL"]').out
    assert project.run("--no-cache", "--config", './select=["ALL"]').code == 0


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
@pytest.mark.parametrize(
    ("streams", "code"),
    [("2>&-", 1), (">&-", 1), ("<&-", 1), (">&- 2>&- <&-", 1), (">/dev/full", 2)],
)
@pytest.mark.parametrize("words", ["-n -q .", "-n --output-format=json .", "rule DEV202"])
def test_streams_that_lead_nowhere(project: Project, words: str, streams: str, code: int) -> None:
    if "full" in streams and not Path("/dev/full").exists():
        pytest.skip("no device that is full")
    project.write({"a.py": BAD_DEVICE})
    done = subprocess.run(
        f"'{sys.executable}' -m devlint {words} {streams}",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (code if words[0] == "-" or code == 2 else 0)
    if streams == "2>&-" and "json" in words:
        assert '"DEV304"' in done.stdout


def test_a_current_directory_that_is_gone(project: Project) -> None:
    (project.folder / "gone").mkdir()
    os.chdir("gone")
    (project.folder / "gone").rmdir()
    ran = project.run(".")
    os.chdir(project.folder)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "the current directory is gone" in ran.err


def test_a_baseline_that_leads_to_itself(project: Project) -> None:
    project.write({"a.py": CLEAN})
    (project.folder.parent / "loop.json").unlink(missing_ok=True)
    (project.folder / "loop.json").symlink_to("loop.json")
    for name in ("loop.json", "x" * 300, "a.py/below"):
        ran = project.run("--no-cache", f"--baseline={name}")
        assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_standard_input_without_end(project: Project) -> None:
    ran = project.spawn("-n", "-", stdin=b"#" * (LARGEST_SOURCE + 1))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"devlint: standard input is larger than {LARGEST_SOURCE:,} bytes\n"
