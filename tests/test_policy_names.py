"""Rows of policy on names: what each takes a name for, what hangs on that, and who hears of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from devlint import policy
from devlint.cli import main
from devlint.config.selection import catalogue
from devlint.config.settings import Settings, SettingsError, check_layer, merge
from devlint.driver.dumping import facts_of
from devlint.lint import check
from devlint.policy.hypotheses import MEANINGS, OF, Example, Hypothesis, read
from devlint.policy.toml import RowError
from devlint.source.script import Part
from devlint.why.alternatives import alternatives, without
from devlint.why.inspection import Judged, why

ROWS = policy.hypotheses()
EACH = [pytest.param(row, id=row.name) for row in ROWS.values()]
FILE = "area/work/main.py"

LOADER = """\
import torch
from torch import nn

def run(train_loader):
    net = nn.Linear(3, 3).to("cuda")
    for x in train_loader:
        net(x)
"""
COUNT = """\
import torch

def shifted(num_rows: torch.Tensor, device):
    return num_rows + torch.ones(3)
"""


def settings(**switches: bool) -> Settings:
    rows = {name.replace("_", "-"): on for name, on in switches.items()}
    # no project around it
    alone = {"select": ["ALL"], "follow-imports": False, "pedantic": True, "policy": rows}
    return merge([check_layer("x", "", alone)])


def rows_of(example: Example, given: Settings) -> list[int]:
    """The rows of what the example's rule finds."""
    found = check(example.source.encode(), example.file, given).findings
    return [each.span.row for each in found if each.code == example.rule]


# --- the rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", EACH)
def test_a_row_changes_its_case_and_not_the_other(row: Hypothesis) -> None:
    off = without(settings(), (row.name,))
    assert rows_of(row.changes, settings()) != rows_of(row.changes, off)
    assert rows_of(row.stays, settings()) == rows_of(row.stays, off) != []


@pytest.mark.parametrize("row", EACH)
def test_a_row_is_named_where_something_hangs_on_it(row: Hypothesis) -> None:
    rules = catalogue().codes("ALL")
    for example, speaks in ((row.changes, True), (row.stays, False)):
        found = list(alternatives(Part(example.source), example.file, settings(), rules))
        named = {each.row for each in found for page, _ in (*each.by_row, *each.withheld)
                 if page.code == example.rule}  # fmt: skip
        assert (row.name in named) is speaks


def test_each_meaning_has_a_row() -> None:
    assert {row.means for row in ROWS.values()} == MEANINGS


def test_no_row_has_the_name_of_another() -> None:
    assert len(policy.names()) == len({*policy.rows(), *ROWS}) == len({*policy.names()})


def without_field(field: str) -> str:
    """A row that is right but for one field."""
    case = 'rule = "DEV103"\nsource = "x"\n'
    parts = {
        "reason": 'reason = "so"\n',
        "pattern": 'pattern = "a"\n',
        "of": 'of = ["variable"]\n',
        "means": 'means = "loss"\n',
        "changes": f"[row.changes]\n{case}",
        "stays": f"[row.stays]\n{case}",
    }
    return "[row]\n" + "".join(text for name, text in parts.items() if name != field)


@pytest.mark.parametrize("field", ["reason", "pattern", "of", "means", "changes", "stays"])
def test_a_row_without_all_it_needs_is_refused(field: str) -> None:
    assert list(read(without_field(""))) == ["row"]
    with pytest.raises(RowError, match=r"^row: without "):
        read(without_field(field))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('means = "loss"', 'means = "losses"'),
        ('of = ["variable"]', 'of = ["file"]'),
        ('of = ["variable"]', "of = []"),
        ('pattern = "a"', 'pattern = "a"\nstem = "b"'),
        ('reason = "so"', 'reason = " "'),
        ('source = "x"', 'source = ""'),
        ('source = "x"', 'source = "x"\nnote = "y"'),
        ('rule = "DEV103"\n', ""),
    ],
)
def test_a_row_that_says_something_else_is_refused(right: str, wrong: str) -> None:
    assert right in without_field("")
    with pytest.raises(RowError, match=r"^row: "):
        read(without_field("").replace(right, wrong))


def test_a_row_may_speak_of_all_that_has_a_name() -> None:
    text = without_field("").replace('of = ["variable"]', f"of = {sorted(OF)}")
    assert read(text)["row"].of == OF


# --- asking --------------------------------------------------------------------------------


def test_a_name_means_something_by_a_row_that_is_on() -> None:
    assert policy.means("loader", "train_loader", "parameter") == "loaders"
    assert policy.means("loader", "train_loader", "class") == ""
    assert policy.means("loader", "loaders", "parameter") == ""
    with policy.asking(("loaders",)):
        assert policy.means("loader", "train_loader", "parameter") == ""


def test_who_asks_hears_which_rows_have_spoken() -> None:
    with policy.asking(()) as outer:
        with policy.asking(("losses",)) as inner:
            policy.means("loss", "criterion", "variable")
            policy.means("model", "net", "variable")
            policy.means("model", "rows", "variable")
        assert inner.spoke == {"models"}
    assert outer.spoke == {"models"}


def test_what_is_unless_another_pattern_matches() -> None:
    assert policy.means("for-cuda", "CudaTimer", "class")
    assert not policy.means("for-cuda", "init_cuda", "function")


# --- derivations ---------------------------------------------------------------------------


def test_a_derivation_names_the_row() -> None:
    (finding,) = [
        each for each in check(LOADER.encode(), FILE, settings()).findings if each.code == "DEV201"
    ]
    assert "policy.loaders" in finding.sorts
    given = settings(loaders=False)
    assert "DEV201" not in {each.code for each in check(LOADER.encode(), FILE, given).findings}


def test_a_device_that_is_one_by_its_name_alone_names_the_row() -> None:
    code = """\
import torch

def run(net, rows, args):
    device = args.device
    with torch.cuda.amp.autocast():
        return net(rows)
"""
    found = check(code.encode(), FILE, settings()).findings
    (finding,) = [each for each in found if each.code == "DEV107"]
    assert "policy.names-for-the-device" in finding.sorts


def judged(text: str, row: int, code: str, given: Settings) -> list[Judged]:
    return [each for each in why(text.encode(), FILE, given, row).findings if each.code == code]


def test_why_names_the_row_by_which_something_is_found() -> None:
    (shown,) = judged(LOADER, 7, "DEV201", settings())
    assert (shown.withheld_by, shown.hangs_on) == ("", ("loaders",))


def test_why_names_no_row_by_which_something_else_is_found() -> None:
    sure = """
def again():
    net = nn.Linear(3, 3).to("cuda")
    for x in torch.utils.data.DataLoader([]):
        net(x)
"""
    (shown,) = judged(LOADER + sure, 12, "DEV201", settings())
    assert shown.hangs_on == ()


def test_why_names_the_row_by_which_nothing_is_found() -> None:
    (finding,) = judged(COUNT, 4, "DEV203", settings())
    assert (finding.withheld_by, finding.reason) == ("counts", ROWS["counts"].reason)
    (shown,) = judged(COUNT, 4, "DEV203", settings(counts=False))
    assert (shown.withheld_by, shown.hangs_on) == ("", ())


def test_the_command_why_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(LOADER)
    assert main(["why", f"{file}:7"]) == 0
    assert "; by the name of something [loaders])" in capsys.readouterr().out
    assert main(["why", f"{file}:7", "--output-format", "json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["hangs_on"] == ["loaders"]


def test_facts_are_asked_for_with_the_same_rows() -> None:
    def inputs(given: Settings) -> int:
        return sum(each["type"] == "ModuleCall" for each in facts_of(LOADER.encode(), FILE, given))

    assert inputs(settings()) > inputs(settings(loaders=False))


# --- settings ------------------------------------------------------------------------------


def test_a_row_that_is_not_there_is_an_error_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=re.escape('did you mean "losses"?')):
        settings(loses=False)


def test_findings_depend_on_it() -> None:
    assert settings().decisive() != settings(loaders=False).decisive()


def test_a_cache_knows_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LOADER)
    command = ["check", "--cache-dir", "cache", "--select", "DEV201", "--pedantic", "train.py"]
    project = tmp_path / "pyproject.toml"
    for switch, code in (("", 1), ("[tool.devlint.policy]\nloaders = false\n", 0), ("", 1)):
        project.write_text(switch)
        assert main(command) == code
        capsys.readouterr()
