"""What is less certain: shown with `--pedantic`, counted without, and forgotten by nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from driver.conftest import Project

from devlint import lint
from devlint.cli import main
from devlint.config.settings import Settings, check_layer, merge
from devlint.lint import check
from devlint.model.findings import LESS_CERTAIN
from devlint.verdict import saying, score
from devlint.verdict.together import Said

DISCARDED = "import torch\n\nx = torch.zeros(3)\nx.to('cuda')\n"
"""One finding of DEV302, which has a safe fix."""
HARDCODED = "y = x.cuda()\n"
COUNTED = "1 less certain finding: --pedantic."


@pytest.fixture(autouse=True)
def _only_what_claims_no_error_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the fit makes of DEV302, it is less certain here; DEV101 scores 100."""
    monkeypatch.setattr(score, "THRESHOLD", 100)


def settings(**values: object) -> Settings:
    return merge([check_layer("x", "", {"select": ["DEV002", "DEV101", "DEV302"], **values})])


def codes(text: str, **values: object) -> list[str]:
    return [each.code for each in check(text.encode(), "a.py", settings(**values)).findings]


@pytest.fixture
def mixed(project: Project) -> Project:
    """A finding that is certain, and one that isn't."""
    selected = '[tool.devlint]\nselect = ["DEV002", "DEV101", "DEV302"]\n'
    project.write({"pyproject.toml": selected, "a.py": DISCARDED + HARDCODED})
    return project


# --- the option and the key ----------------------------------------------------------------


def test_it_is_shown_with_the_option_or_the_key(mixed: Project) -> None:
    both = ["a.py DEV302", "a.py DEV101"]
    assert mixed.found() == ["a.py DEV101"]
    assert mixed.found("--pedantic") == both
    assert mixed.found("--config", "pedantic=true") == both
    mixed.write({"pyproject.toml": mixed.read("pyproject.toml") + "pedantic = true\n"})
    assert mixed.found() == both
    assert mixed.found("--no-pedantic") == ["a.py DEV101"]
    assert "pedantic = true" in mixed.run("--show-settings").out


def test_the_exit_code_is_that_of_what_is_shown(project: Project) -> None:
    project.write({"a.py": DISCARDED})
    assert project.concise("--select=DEV302").code == 0
    assert project.concise("--select=DEV302", "--pedantic").code == 1


def test_a_number_under_the_threshold_is_withheld_and_one_at_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = check(DISCARDED.encode(), "a.py", settings(pedantic=True)).findings
    (number,) = {finding.score for finding in found}
    monkeypatch.setattr(score, "THRESHOLD", number)
    assert codes(DISCARDED) == ["DEV302"]
    monkeypatch.setattr(score, "THRESHOLD", number + 1)
    assert codes(DISCARDED) == []


def test_findings_depend_on_it() -> None:
    assert settings().decisive() != settings(pedantic=True).decisive()


# --- a number instead ----------------------------------------------------------------------

SURE, UNSURE = "a.py DEV101", "a.py DEV302"


def number_of(text: str) -> int:
    """The score of what is less certain in a text."""
    found = check(text.encode(), "a.py", settings(pedantic=True)).findings
    return min(finding.score for finding in found)


def test_what_scores_as_much_is_shown(mixed: Project) -> None:
    least = number_of(DISCARDED)
    assert mixed.found("--min-confidence", str(least)) == [UNSURE, SURE]
    assert mixed.found("--min-confidence", str(least + 1)) == [SURE]
    assert mixed.found("--min-confidence=0") == mixed.found("--pedantic")
    assert mixed.found("--min-confidence=100") == [SURE]
    assert mixed.found("--config", f"min-confidence = {least}") == [UNSURE, SURE]


def test_it_may_withhold_more_than_the_default_does(
    mixed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "THRESHOLD", 0)
    assert mixed.found() == [UNSURE, SURE]
    ran = mixed.run("--no-cache", "--min-confidence=100", "--output-format=concise")
    assert "DEV302" not in ran.out
    assert ran.out.splitlines()[-1].endswith(COUNTED)


@pytest.mark.parametrize(
    ("in_file", "options", "shown"),
    [
        ("pedantic = true", ["--min-confidence=100"], [SURE]),
        ("min-confidence = 100", ["--pedantic"], [UNSURE, SURE]),
        ("min-confidence = 0", ["--no-pedantic"], [UNSURE, SURE]),
        ("min-confidence = 0", ["--min-confidence=100"], [SURE]),
    ],
)
def test_the_stronger_of_two_places_wins(
    mixed: Project, in_file: str, options: list[str], shown: list[str]
) -> None:
    mixed.write({"pyproject.toml": f"{mixed.read('pyproject.toml')}{in_file}\n"})
    assert mixed.found(*options) == shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pedantic", "--min-confidence=80"], "the command line: `pedantic` and `min-"),
        (["--min-confidence=101"], "argument --min-confidence: `101` is not a number from 0 to"),
        (["--min-confidence=-1"], "argument --min-confidence: `-1` is not a number from 0 to"),
        (["--min-confidence=much"], "argument --min-confidence: `much` is not a number from"),
        (
            ["--config", "min-confidence = 1000"],
            "--config min-confidence = 1000: `min-confidence` must be a number from 0 to 100, not",
        ),
        (
            ["--config", "min-confidence = true"],
            "--config min-confidence = true: `min-confidence` must be a number from 0 to 100, not",
        ),
    ],
)
def test_what_is_no_such_number(mixed: Project, options: list[str], message: str) -> None:
    ran = mixed.run(*options)
    assert ran.err.startswith(f"devlint: {message}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_comments_and_baselines_forget_nothing_that_a_number_withholds(mixed: Project) -> None:
    most = "--min-confidence=100"
    assert "Wrote a baseline of 2 " in mixed.run("--no-cache", "--baseline=known.json", most).err
    assert mixed.run("--no-cache", "--baseline=known.json", "--pedantic").code == 0
    text = DISCARDED.replace("')", "')  # devlint: ignore[DEV302] -- so")
    assert codes(text, **{"min-confidence": 100}) == []
    assert codes(text, pedantic=True) == []


def test_a_number_decides_what_is_fixed_too(mixed: Project) -> None:
    before = mixed.read("a.py")
    mixed.run("--no-cache", "--fix", "--min-confidence=100")
    assert mixed.read("a.py") == before
    mixed.run("--no-cache", "--fix", f"--min-confidence={number_of(DISCARDED)}")
    assert "x = x.to(" in mixed.read("a.py")


def test_findings_depend_on_the_number() -> None:
    numbers = [settings(**{"min-confidence": each}).decisive() for each in (0, 50, 100)]
    assert len({*numbers, settings().decisive()}) == 4
    assert numbers[0] == settings(pedantic=True).decisive()


# --- what is said of it --------------------------------------------------------------------


@pytest.mark.parametrize("output_format", ["full", "grouped"])
def test_the_last_line_counts_it(mixed: Project, output_format: str) -> None:
    run = mixed.run("--no-cache", "--output-format", output_format)
    assert run.out.splitlines()[-1].endswith(COUNTED)
    shown = mixed.run("--no-cache", "--output-format", output_format, "--pedantic")
    assert "less certain" not in shown.out
    mixed.write({"b.py": DISCARDED})
    run = mixed.run("--no-cache", "--output-format", output_format)
    assert run.out.splitlines()[-1].endswith("2 less certain findings: --pedantic.")


def test_it_is_told_beside_what_policy_withholds(project: Project) -> None:
    helper = "import torch\n\ndef shifted(x: torch.Tensor, d):\n    return x[0] + torch.ones(3)\n"
    project.write({"tests/helpers.py": helper, "a.py": DISCARDED})
    last = project.run("--no-cache", "--select=DEV203,DEV302").out.splitlines()[-1]
    assert "1 finding withheld by policy (files-of-tests): " in last
    assert last.endswith(COUNTED)


def test_sarif_counts_it_and_json_leaves_it_out(mixed: Project) -> None:
    run = json.loads(mixed.run("--no-cache", "--output-format=sarif").out)["runs"][0]
    assert run["properties"]["lessCertain"] == 1
    assert [each["ruleId"] for each in run["results"]] == ["DEV101"]
    found = json.loads(mixed.run("--no-cache", "--output-format=json").out)
    assert [each["code"] for each in found] == ["DEV101"]
    run = json.loads(mixed.run("--no-cache", "--output-format=sarif", "--pedantic").out)["runs"][0]
    assert "lessCertain" not in run["properties"]


def test_standard_input_is_no_exception(
    mixed: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, shown in (((), False), (("--pedantic",), True)):
        with (mixed.folder / "a.py").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            main(["-", *options])
        out = capsys.readouterr().out
        assert ("DEV302" in out) is shown
        assert (COUNTED in out) is not shown


# --- comments, baselines, the cache, fixes -------------------------------------------------


def test_a_suppression_of_it_is_not_idle() -> None:
    text = DISCARDED.replace("')", "')  # devlint: ignore[DEV302] -- so")
    for pedantic in (False, True):
        checked = check(text.encode(), "a.py", settings(pedantic=pedantic))
        assert checked.findings == []
        assert checked.withheld_by == {}
    idle = DISCARDED.replace("')", "')  # devlint: ignore[DEV101] -- so")
    checked = check(idle.encode(), "a.py", settings())
    assert [each.code for each in checked.findings] == ["DEV002"]
    assert checked.withheld_by == {"less-certain": 1}


def test_a_comment_leaves_what_is_shown_where_something_alike_is_withheld(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def say(*given: object) -> Said:
        *_, sieve = given
        assert callable(sieve)
        said = saying.say(*given)  # type: ignore[arg-type]
        for page, report in said:
            sieve(page, report, LESS_CERTAIN)
        return said

    monkeypatch.setattr(lint, "say", say)
    text = f"{DISCARDED}{HARDCODED}# devlint: ignore[DEV101] -- so\nz = 1\n"
    assert codes(text) == ["DEV101", "DEV002"]


def test_a_baseline_lists_it(mixed: Project) -> None:
    baseline = ("--no-cache", "--baseline", "known.json")
    assert "Wrote a baseline of 2 findings " in mixed.run(*baseline).err
    for options in ((), ("--pedantic",)):
        assert mixed.run(*baseline, *options).code == 0
    mixed.write({"b.py": DISCARDED})
    assert mixed.run(*baseline).code == 0
    assert mixed.run(*baseline, "--pedantic").code == 1


def test_the_cache_keeps_both(mixed: Project) -> None:
    time.sleep(0.03)  # what is written as a run begins is linted again by the next
    with_it = ("--output-format=full", "--pedantic")
    first, second = mixed.run("--output-format=full"), mixed.run(*with_it)
    assert COUNTED in first.out
    assert "DEV302" in second.out
    for _ in range(2):
        assert mixed.run("--output-format=full") == first
        assert mixed.run(*with_it) == second


def test_it_is_not_fixed(mixed: Project) -> None:
    before = mixed.read("a.py")
    mixed.run("--no-cache", "--fix")
    assert mixed.read("a.py") == before
    mixed.run("--no-cache", "--fix", "--pedantic")
    assert "x = x.to(" in mixed.read("a.py")


def test_what_is_left_after_fixes_is_what_is_shown(mixed: Project) -> None:
    mixed.write({"a.py": f"{DISCARDED}{HARDCODED}# devlint: ignore[DEV101] -- so\ny = 1\n"})
    run = mixed.run("--no-cache", "--fix", "--output-format=concise")
    assert "# devlint" not in mixed.read("a.py")
    assert "DEV101" in run.out
    assert "DEV302" not in run.out


def test_comments_are_added_for_what_is_shown(mixed: Project) -> None:
    assert "Suppressed 1 finding." in mixed.run("--no-cache", "--add-ignore").err
    assert "ignore[DEV101]" in mixed.read("a.py")
    assert "DEV302" not in mixed.read("a.py")


# --- why -----------------------------------------------------------------------------------


def test_why_says_what_it_takes(mixed: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (number,) = {
        each.score for each in check(DISCARDED.encode(), "a.py", settings(pedantic=True)).findings
    }
    assert main(["why", "a.py:4"]) == 0
    told = f"(not shown: its confidence is {number}, --pedantic shows it [less-certain])"
    assert told in capsys.readouterr().out
    assert main(["why", "a.py:4", "--config", "pedantic=true"]) == 0
    assert "DEV302" in (out := capsys.readouterr().out)
    assert "less-certain" not in out
    Path("a.py").write_text(DISCARDED.replace("')", "')  # devlint: ignore[DEV302]"))
    assert main(["why", "a.py:4", "--output-format=json"]) == 0
    answer = json.loads(capsys.readouterr().out)["findings"]
    (found,) = (each for each in answer if each["code"] == "DEV302")
    assert (found["withheld_by"], found["confidence"]) == ("suppressed", number)
