"""Completion: the scripts for shells, run where the shell is there."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from driver.conftest import Project

from devlint.cli.arguments import COMMANDS
from devlint.config.rulebook import pages
from devlint.config.settings import file_keys

ASK = """
source ./devlint.bash
words=("$@")
COMP_WORDS=("${words[@]}"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
function=$(complete -p devlint | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" devlint "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
CODES = sorted(page.code for page in pages().values())
COMPLETED = {
    "commands": (["devlint", ""], list(COMMANDS)),
    "a command": (["devlint", "mig"], ["migrate"]),
    "an option without a command": (["devlint", "--min"], ["--min-confidence"]),
    "an option behind a path": (["devlint", "src", "--ignore-n"], ["--ignore-noqa"]),
    "an option of a command": (["devlint", "run", "--gu"], ["--guard"]),
    "words": (["devlint", "check", "--fail-on", ""], ["error", "warning", "never"]),
    "codes": (["devlint", "--select", "DEV2"], [each for each in CODES if each[:4] == "DEV2"]),
    "names": (["devlint", "rule", "discarded-m"], ["discarded-move"]),
    "keys": (["devlint", "config", "ext"], [key for key in file_keys() if key[:3] == "ext"]),
    "files": (["devlint", "--output-file", "some"], ["some.json"]),
    "paths": (["devlint", "check", "tra"], ["train.py"]),
    "folders": (["devlint", "--cache-dir", "da"], ["data"]),
    "shells": (["devlint", "generate-shell-completion", ""], ["bash", "zsh", "fish"]),
}


@pytest.fixture
def completed(project: Project) -> Project:
    project.write({"some.json": "", "train.py": "", "data/a.py": "", "ask.sh": ASK})
    ran = project.run("generate-shell-completion", "bash")
    assert (ran.code, ran.err) == (0, "")
    project.write({"devlint.bash": ran.out})
    return project


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(("words", "expected"), COMPLETED.values(), ids=COMPLETED)
def test_bash_completes(completed: Project, words: list[str], expected: list[str]) -> None:
    told = subprocess.run(
        ["bash", "ask.sh", *words], cwd=completed.folder, capture_output=True, text=True, check=True
    )
    assert sorted(told.stdout.split()) == sorted(expected)


@pytest.mark.parametrize(
    ("shell", "sign"), [("zsh", "#compdef devlint\n"), ("fish", "complete -c devlint ")]
)
def test_other_shells_get_a_script_that_they_read(project: Project, shell: str, sign: str) -> None:
    ran = project.run("generate-shell-completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert sign in ran.out
    assert "min-confidence" in ran.out
    if shutil.which(shell):
        project.write({"script": ran.out})
        subprocess.run([shell, "-n", "script"], cwd=project.folder, check=True)


def test_without_the_library_that_is_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = project.run("generate-shell-completion", "bash")
    text = "devlint: generate-shell-completion needs shtab: pip install shtab\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_a_shell_that_is_not_known(project: Project) -> None:
    ran = project.run("generate-shell-completion", "zhs")
    text = 'devlint: SHELL must be one of bash, zsh, fish, not `zhs`; did you mean "zsh"?\n'
    assert (ran.code, ran.out, ran.err) == (2, "", text)
    assert project.run("generate-shell-completion").code == 2
