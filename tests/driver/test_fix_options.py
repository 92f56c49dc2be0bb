"""What is fixed, what is said of it, and how a diff looks."""

from __future__ import annotations

import json
import re
import subprocess

from driver.conftest import Project
from driver.test_cli import UNUSED, terminal

TIMES = "\N{MULTIPLICATION SIGN}"


def test_what_was_fixed_is_listed_by_file_and_rule(project: Project) -> None:
    moved = "import torch\n\nx = torch.zeros(3)\nx.cuda()\nx.cuda()\n"
    files: dict[str, str | bytes] = {"b.py": moved, "a.py": UNUSED}
    listed = [
        "Fixed 2 errors, 1 warning:",
        "- a.py:",
        f"    1 {TIMES} DEV002 (unused-suppression)",
        "- b.py:",
        f"    2 {TIMES} DEV302 (discarded-move)",
    ]
    words = ("--no-cache", "--unsafe-fixes", "--show-fixes", "--output-format=concise")

    project.write(files)
    ran = project.run(*words, "--fix")
    assert ran.out.splitlines()[2:-1] == [*listed, ""]
    assert ran.out.endswith("\nFixed 3 findings. Found 2 warnings in 1 file.\n")
    assert TIMES not in project.run(*words, "--fix").out

    for change, verb in (("--diff", "Would fix"), ("--fix-only", "Fixed")):
        project.write(files)
        ran = project.run(*words, change)
        first, last = f"{verb} 2 errors, 1 warning:", f"{verb} 3 findings."
        assert ran.err.splitlines() == [first, *listed[1:], last]

    project.write(files)
    ran = project.run(*words, "--fix", "--output-format=json")
    assert ran.err.splitlines() == listed
    assert {each["code"] for each in json.loads(ran.out)} == {"DEV101"}

    for more in ("--quiet", "--no-show-fixes"):
        project.write(files)
        ran = project.run(*words, "--fix", more)
        assert TIMES not in ran.out + ran.err


def test_what_was_fixed_on_standard_input_is_listed_too(project: Project) -> None:
    ran = project.spawn("-", "--fix", "--show-fixes", stdin=UNUSED.encode())
    listed = ["Fixed 1 warning:", "- -:", f"    1 {TIMES} DEV002 (unused-suppression)"]
    assert ran.err.splitlines()[:3] == listed


def test_rules_whose_fixes_are_applied(project: Project) -> None:
    moved = "import torch\n\nx = torch.zeros(3)\nx.cuda()\n"
    project.write({"a.py": UNUSED, "b.py": moved, "devlint.toml": 'unfixable = ["DEV002"]\n'})
    words = ("--no-cache", "--output-format=json", "--unsafe-fixes")

    def offered(*more: str) -> list[str]:
        found = json.loads(project.run(*words, *more).out)
        assert {each["code"] for each in found} == {"DEV002", "DEV101", "DEV302"}
        return [each["code"] for each in found if each["fix"] is not None]

    assert offered() == ["DEV302"]
    assert offered("--fixable", "DEV0") == ["DEV002"]
    assert offered("--extend-fixable", "unused-suppression") == ["DEV002", "DEV302"]
    assert offered("--unfixable", "DEV3") == []
    assert offered("--fixable", "DEV", "--unfixable", "DEV30") == ["DEV002"]
    assert offered("--fixable", "DEV302", "--unfixable", "DEV30,ALL") == ["DEV302"]
    assert offered("--isolated") == ["DEV002", "DEV302"]

    counted = project.run("--no-cache", "--select=DEV002").out
    assert "fix" not in counted.splitlines()[-1]
    assert "= fix" not in counted
    assert project.run("--no-cache", "--diff", "--unsafe-fixes", "a.py").code == 0
    project.run("--no-cache", "--fix-only", "--unsafe-fixes")
    assert project.read("a.py") == UNUSED
    assert "x = x.cuda()" in project.read("b.py")

    ran = project.run("--unfixable", "DEV999", ".")
    assert "the command line: unknown rule selector `DEV999`" in ran.err
    assert ran.code == 2


def test_offered_fixes_are_those_of_the_present_settings(project: Project) -> None:
    project.write({"a.py": UNUSED, "devlint.toml": ""})
    for config, end in (("", "--fix."), ('unfixable = ["DEV002"]', "file."), ("", "--fix.")):
        project.write({"devlint.toml": f"{config}\n"})
        last = [project.run().out.splitlines()[-1] for _ in range(2)]
        assert all(line.endswith(end) for line in last)


def test_a_diff_has_colour_where_it_is_read(project: Project) -> None:
    removed = "-- 1)  # devlint: ignore[DEV101]"
    project.write({"a.py": f"x = (\n    1\n{removed}\n", "b.py": UNUSED})
    words = ("-n", "-q", "--diff")
    plain = project.run(*words).out
    assert f"\n-{removed}\n" in plain

    def seen(*more: str, **env: str) -> str:
        return terminal(project, *words, *more, **env)[1].replace("\r\n", "\n")

    painted = seen()
    assert painted.startswith("\x1b[1m--- a.py\x1b[0m\n\x1b[1m+++ a.py\x1b[0m\n\x1b[1;34m@@ ")
    assert f"\n\x1b[31m-{removed}\x1b[0m\n" in painted
    assert "\n\x1b[32m+-- 1)\x1b[0m\n" in painted
    assert "\n\x1b[1m--- b.py\x1b[0m\n" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain
    assert seen("--color=never") == seen(NO_COLOR="1") == plain

    assert project.spawn(*words, FORCE_COLOR="1").out == plain  # it may be a patch
    assert project.run(*words, "--color=always").out == painted
    project.run(*words, "--color=always", "-o", "out.patch")
    assert project.read("out.patch") == plain
    patch = subprocess.run(["git", "apply", "-p0", "out.patch"], cwd=project.folder)
    assert patch.returncode == 0
    assert project.read("b.py") == "x = 1\n"


def test_only_fixes_that_hold_are_offered_and_counted(project: Project) -> None:
    project.write({"a.py": "import torch\n\nx = torch.zeros(3, device='gpu:1')\n"})
    before = project.read("a.py")
    words = ("--select=DEV304", "--no-cache")
    ran = project.run(*words)
    assert "= fix:" in ran.out
    assert ran.out.endswith("Found 1 error in 1 file. 1 fixable with --fix --unsafe-fixes.\n")
    ran = project.run(*words, "--extend-select=DEV104")  # the fix would bring one of these
    assert "= fix:" not in ran.out
    assert ran.out.endswith("Found 1 error in 1 file.\n")
    project.run(*words, "--extend-select=DEV104", "--fix", "--unsafe-fixes")
    assert project.read("a.py") == before
