"""What a run fails on, and what of it is told."""

from __future__ import annotations

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

WARNING = 'import torch\n\nw = torch.load("w.pt")\n'
"""DEV106, a warning."""
NOTE = "import torch\n\nif torch.cuda.is_available():\n    torch.zeros(3).cuda().sum()\n"
"""DEV102, which is off by default: a note."""


# --- from which level on -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "failing"),
    [("error", ["e.py"]), ("warning", ["e.py", "n.py", "w.py"]), ("never", [])],
)
def test_the_exit_code_hangs_on_the_level(project: Project, level: str, failing: list[str]) -> None:
    project.write({"e.py": BAD_DEVICE, "w.py": WARNING, "n.py": NOTE, "clean.py": CLEAN})
    select = ("--select=DEV106,DEV102,DEV304",)
    for name in ("e.py", "w.py", "n.py", "clean.py"):
        ran = project.concise(*select, "--fail-on", level, name)
        assert (ran.code == 1) is (name in failing)
        assert (": DEV" in ran.out) is (name != "clean.py")


def test_the_level_is_a_key_and_the_command_line_wins(project: Project) -> None:
    project.write({"devlint.toml": 'fail-on = "error"\n', "w.py": WARNING})
    assert project.concise().code == 0
    assert project.concise("--fail-on=warning").code == 1
    project.write({"devlint.toml": 'fail-on = "warning"\n'})
    assert project.concise().code == 1
    assert project.concise("--fail-on=error").code == 0
    assert project.concise("--exit-zero").code == 0


def test_what_can_not_be_checked_fails_at_every_level(project: Project) -> None:
    project.write({"broken.py": "def f(:\n"})
    for options in (["--fail-on=error"], ["--fail-on=never"], ["--exit-zero"]):
        assert project.concise(*options).code == 2
        assert project.concise(*options, "missing.py").code == 2


def test_what_would_be_fixed_fails_unless_nothing_does(project: Project) -> None:
    project.write({"a.py": "x = 1  # devlint: ignore[DEV101]\n"})  # DEV002, a warning
    assert project.run("--diff", "--fail-on=error").code == 1
    assert project.run("--diff", "--fail-on=never").code == 0


def test_a_baseline_and_the_level(project: Project) -> None:
    project.write({"e.py": BAD_DEVICE, "w.py": WARNING})
    project.run("--baseline=base.json", "e.py")
    assert project.concise("--baseline=base.json").code == 1
    assert project.concise("--baseline=base.json", "--fail-on=error").code == 0


def test_migrate_has_exit_codes_of_its_own(project: Project) -> None:
    project.write(
        {"devlint.toml": 'fail-on = "never"\n', "a.py": "import torch\ntorch.ones(1).cuda()\n"}
    )
    assert project.run("migrate", "--diff").code == 1
