"""Linting starts no program: not git, and nothing that a repository's settings or hooks name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LINT = """
import json, subprocess, sys

STARTS = "subprocess. os.exec os.fork os.posix_spawn os.spawn os.startfile os.system pty."
WAYS = "check,check,check --diff,check --fix --unsafe-fixes,check --no-cache"
started = []

def hook(event, arguments):
    if event.startswith(tuple(STARTS.split())):
        started.append(event)

sys.addaudithook(hook)
from devlint.cli import main

codes = [main([*words.split(), "--jobs=1", "--quiet", "."]) for words in WAYS.split(",")]
by_devlint = list(started)
subprocess.run([sys.executable, "-c", ""])
print(json.dumps([codes, by_devlint, started[len(by_devlint) :]]), file=sys.stderr)
"""
"""Lints in several ways, and then starts a process, to show that this is noticed."""

FIXABLE = """import torch


def f(device):
    x = torch.ones(2)
    x.to(device)
    return x
"""


def test_linting_a_repository_starts_no_process(tmp_path: Path) -> None:
    folder, marker = tmp_path / "project", tmp_path / "ran"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    command = f"echo ran >> {marker};"
    with (folder / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "{command}"\n\tpager = "{command}"\n')
        config.write(f'[filter "x"]\n\tclean = "{command}"\n\tsmudge = "{command}"\n')
    (folder / ".gitattributes").write_text("* filter=x\n")
    (folder / ".gitignore").write_text("left_out.py\n")
    for name in ("a.py", "b.py", "left_out.py"):
        (folder / name).write_text(FIXABLE)
    done = subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True)
    codes, by_devlint, by_test = json.loads(done.stderr.splitlines()[-1])
    assert codes == [1, 1, 1, 0, 0]
    assert by_devlint == []
    assert by_test
    assert not marker.exists()
