"""What a run fails on, and what of it is told."""

from __future__ import annotations

import json

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


# --- levels of rules -----------------------------------------------------------------------

LEVELS = {
    "code": ('DEV106 = "error"', {"DEV106": "error", "DEV304": "error"}),
    "name": ('invalid-device = "warning"', {"DEV106": "warning", "DEV304": "warning"}),
    "prefix": ('DEV3 = "warning"', {"DEV106": "warning", "DEV304": "warning"}),
    "all": ('ALL = "error"', {"DEV106": "error", "DEV304": "error"}),
    "off": ('DEV106 = "off"', {"DEV304": "error"}),
    "all off but one": ('ALL = "off"\nDEV106 = "error"', {"DEV106": "error"}),
    "longer prefix": (
        'DEV1 = "error"\nDEV106 = "warning"\nDEV3 = "off"\nDEV30 = "warning"',
        {"DEV106": "warning", "DEV304": "warning"},
    ),
}


def levels(project: Project, *args: str) -> dict[str, str]:
    found = json.loads(project.run("-n", "--output-format=json", *args).out)
    return {each["code"]: each["level"] for each in found}


@pytest.mark.parametrize(("table", "expected"), LEVELS.values(), ids=LEVELS)
def test_levels(project: Project, table: str, expected: dict[str, str]) -> None:
    project.write({"pyproject.toml": f"[tool.devlint.levels]\n{table}\n"})
    project.write({"a.py": WARNING + 'd = torch.device("gpu")\n'})
    assert levels(project) == expected
    errors = "error" in expected.values()
    assert project.concise("--fail-on=error").code == int(errors)


def test_a_stronger_place_gives_levels_anew(project: Project) -> None:
    base = 'levels = { DEV106 = "error", DEV304 = "off" }\n'
    project.write({"base.toml": base, "a.py": WARNING + 'd = torch.device("gpu")\n'})
    project.write({"devlint.toml": 'extend = "base.toml"\n'})
    assert levels(project) == {"DEV106": "error"}
    for text, expected in (
        ('levels = { DEV1 = "warning" }', {"DEV106": "warning"}),
        ('levels = { DEV3 = "warning" }', {"DEV106": "error", "DEV304": "warning"}),
        ('levels = { DEV106 = "off" }', {}),
        ('extend-select = ["DEV304"]', {"DEV106": "error", "DEV304": "error"}),
        ('select = ["DEV3"]', {"DEV304": "error"}),
    ):
        project.write({"devlint.toml": f'extend = "base.toml"\n{text}\n'})
        assert levels(project) == expected
    assert levels(project, "--select=DEV3") == {"DEV304": "error"}


def test_a_level_turns_no_rule_on_and_makes_a_note_of_a_selected_one_count(
    project: Project,
) -> None:
    project.write({"a.py": NOTE, "devlint.toml": 'levels = { DEV102 = "error" }\n'})
    assert levels(project) == {}
    assert levels(project, "--select=DEV102") == {"DEV102": "error"}
    assert levels(project, "--select=DEV102", "--isolated") == {"DEV102": "note"}


def test_levels_hold_in_sarif_and_in_the_cache(project: Project) -> None:
    project.write({"a.py": WARNING})
    assert levels(project) == {"DEV106": "warning"}
    project.run()
    project.write({"devlint.toml": 'levels = { DEV106 = "error" }\n'})
    for _ in range(2):
        [run] = json.loads(project.run("--output-format=sarif").out)["runs"]
        assert [each["level"] for each in run["results"]] == ["error"]


def test_a_file_that_can_not_be_read_has_a_level_too(project: Project) -> None:
    project.write({"a.py": "x = 1\n" * 50, "devlint.toml": 'levels = { DEV0 = "warning" }\n'})
    assert levels(project, "--config=max-file-size=9") == {"DEV003": "warning"}
    assert project.concise("--config=max-file-size=9", "--fail-on=error").code == 2


# --- comments aside ------------------------------------------------------------------------

COMMENTED = {
    "beside": 'import torch\n\nd = torch.device("gpu")  # devlint: ignore[DEV304] -- so\n',
    "above": 'import torch\n\n# devlint: ignore[DEV304]\nd = torch.device("gpu")\n',
    "file": '# devlint: file-ignore[DEV304]\nimport torch\n\nd = torch.device("gpu")\n',
    "noqa": 'import torch\n\nd = torch.device("gpu")  # noqa: DEV304\n',
    "bare": 'import torch\n\nd = torch.device("gpu")  # noqa\n',
}


@pytest.mark.parametrize("text", COMMENTED.values(), ids=COMMENTED)
def test_comments_are_passed_over_where_that_is_asked_for(project: Project, text: str) -> None:
    project.write({"a.py": text})
    assert project.found() == []
    assert project.found("--ignore-noqa") == ["a.py DEV304"]
    assert project.found("--ignore-noqa", "--no-ignore-noqa") == []


def test_comments_are_not_judged_either(project: Project) -> None:
    project.write({"a.py": "x = 1  # devlint: ignore[DEV101]\n# devlint: ignoer[DEV1]\n"})
    assert project.found() == ["a.py DEV002", "a.py DEV002"]
    assert project.found("--ignore-noqa") == []


def test_the_cache_knows_whether_comments_count(project: Project) -> None:
    project.write({"a.py": COMMENTED["beside"]})
    for _ in range(2):
        assert project.run().code == 0
        assert project.run("--ignore-noqa").code == 1


def test_what_a_comment_suppresses_is_counted_as_withheld_without_it(project: Project) -> None:
    less_certain = "import torch\n\nx = torch.ones(3)\nx.to('cuda')  # noqa: DEV302\n"
    project.write({"a.py": less_certain})
    options = ("-n", "--select=DEV302", "--min-confidence=100")
    assert "less certain" not in project.run(*options).out
    assert "1 less certain finding" in project.run(*options, "--ignore-noqa").out


def test_why_passes_over_comments_too(project: Project) -> None:
    project.write({"a.py": COMMENTED["beside"]})
    assert "a comment suppresses it" in project.run("why", "a.py:3").out
    assert "(shown)" in project.run("why", "a.py:3", "--config=ignore-noqa=true").out


# --- silence -------------------------------------------------------------------------------


def test_silence_leaves_the_exit_code(project: Project) -> None:
    project.write({"bad.py": BAD_DEVICE, "broken.py": "def f(:\n", "clean.py": CLEAN})
    project.write({"idle.py": "x = 1  # devlint: ignore[DEV101]\n"})
    for words, code in (
        (["clean.py"], 0),
        (["bad.py"], 1),
        (["-s", "bad.py", "--exit-zero"], 0),
        (["bad.py", "broken.py"], 2),
        (["missing.py"], 2),
        (["--statistics", "bad.py"], 1),
        (["--diff", "idle.py"], 1),
        (["--baseline=base.json", "bad.py"], 0),
        (["--fix-only", "idle.py"], 0),
        (["--add-ignore", "bad.py"], 0),
    ):
        ran = project.run("--silent", *words)
        assert (ran.code, ran.out, ran.err) == (code, "", ""), words


def test_silence_keeps_files_and_fixed_text(project: Project) -> None:
    project.write({"bad.py": BAD_DEVICE})
    assert project.run("--silent", "--output-format=json", "-o", "out.json").out == ""
    assert "DEV304" in project.read("out.json")
    idle = b"x = 1  # devlint: ignore[DEV101]\n"
    ran = project.spawn("--silent", "--fix", "-", stdin=idle)
    assert (ran.code, ran.out, ran.err) == (0, "x = 1\n", "")
    ran = project.spawn("--silent", "-", stdin=BAD_DEVICE.encode())
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_silence_hides_no_mistake_in_what_was_asked_for(project: Project) -> None:
    project.write({"a.py": CLEAN})
    ran = project.run("--silent", "--select=DEV9")
    assert "unknown rule selector `DEV9`" in ran.err
    assert ran.code == 2


def test_lists_that_add_or_take_away_may_be_empty(project: Project) -> None:
    project.write({"build/a.py": BAD_DEVICE, "b.py": BAD_DEVICE})
    assert project.found("--ignore=", "--extend-select=") == ["b.py DEV304"]
    assert project.found("--exclude=") == ["b.py DEV304", "build/a.py DEV304"]
