"""Rows of policy: what they withhold, who hears of it, and how they are turned off."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import devlint
from devlint import policy
from devlint.config.settings import Settings, SettingsError, check_layer, merge
from devlint.lint import check
from devlint.policy.rows import Case, RowError, read
from devlint.why.inspection import why

ROWS = policy.rows()
HELPER = """\
import torch

def shifted(x: torch.Tensor, device):
    return x[0] + torch.ones(3)
"""


def settings(**switches: bool) -> Settings:
    rows = {name.replace("_", "-"): on for name, on in switches.items()}
    return merge([check_layer("x", "", {"select": ["ALL"], "pedantic": True, "policy": rows})])


def codes(source: str, file: str, given: Settings) -> set[str]:
    return {finding.code for finding in check(source.encode(), file, given).findings}


def off(name: str) -> Settings:
    return settings(**{name.replace("-", "_"): False})


# --- the rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS.values()])
def test_a_row_withholds_its_case_and_not_the_other(row: policy.Row) -> None:
    case, other = row.withheld, row.reported
    assert case.rule not in codes(case.source, case.file, settings())
    assert case.rule in codes(case.source, case.file, off(row.name))
    assert check(case.source.encode(), case.file, settings()).withheld_by[row.name]
    assert other.rule in codes(other.source, other.file, settings())


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS.values()])
def test_a_row_does_nothing_to_a_file_of_another_name(row: policy.Row) -> None:
    assert row.withheld.rule in codes(row.withheld.source, "area/work/main.py", settings())


def without(field: str) -> str:
    """A row that is right but for one field."""
    case = 'file = "a.py"\nrule = "DEV103"\nsource = "x"\n'
    parts = {
        "reason": 'reason = "so"\n',
        "stem": 'stem = "a"\n',
        "of": 'of = ["plain"]\n',
        "role": 'role = "test"\n',
        "withheld": f"[row.withheld]\n{case}",
        "reported": f"[row.reported]\n{case}",
    }
    return "[row]\n" + "".join(text for name, text in parts.items() if name != field)


@pytest.mark.parametrize("field", ["reason", "stem", "of", "role", "withheld", "reported"])
def test_a_row_without_all_it_needs_is_refused(field: str) -> None:
    assert list(read(without(""))) == ["row"]
    with pytest.raises(RowError, match=r"^row: "):
        read(without(field))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('role = "test"', 'role = "tests"'),
        ('role = "test"', 'role = "test"\nguard = "chosen"'),
        ('of = ["plain"]', 'of = ["main"]'),
        ('stem = "a"', 'stem = "a"\nending = "b"'),
        ('stem = "a"', 'stem = "a"\nunless = "b"\nbut_in = "c"'),
        ('reason = "so"', 'reason = " "'),
        ('source = "x"', 'source = ""'),
        ('source = "x"', 'source = "x"\nnote = "y"'),
    ],
)
def test_a_row_that_says_something_else_is_refused(right: str, wrong: str) -> None:
    assert right in without("")
    with pytest.raises(RowError, match=r"^row: "):
        read(without("").replace(right, wrong))


def test_a_row_may_speak_of_folders_alone() -> None:
    (row,) = read(without("").replace('stem = "a"', 'folder = "b"\nnear = 1')).values()
    assert row.speaks_of("x/b/a.py")
    assert not row.speaks_of("b/x/a.py")
    assert not row.speaks_of("x/y/b.py")


def test_a_row_may_speak_of_an_ending_alone() -> None:
    (row,) = read(without("").replace('stem = "a"', 'suffix = ".ipynb"')).values()
    assert row.speaks_of("x/b.ipynb")
    assert not row.speaks_of("x/ipynb.py")


def test_what_is_above_a_project_says_nothing_of_its_files(tmp_path: Path) -> None:
    area = tmp_path / "tests" / "area"
    (area / "kit" / "deep").mkdir(parents=True)
    (area / "tests" / "core" / "serve").mkdir(parents=True)
    (area / "pyproject.toml").touch()
    assert "DEV203" in codes(HELPER, str(area / "kit" / "a.py"), settings())
    assert "DEV203" in codes(HELPER, str(area / "kit" / "deep" / "a.py"), settings())
    assert "DEV203" not in codes(
        HELPER, str(area / "tests" / "core" / "serve" / "a.py"), settings()
    )


def test_a_case_names_a_rule_and_a_file() -> None:
    for row in ROWS.values():
        for case in (row.withheld, row.reported):
            assert isinstance(case, Case)
            assert re.fullmatch(r"DEV\d{3}", case.rule)
            assert case.file.endswith(".py")


def test_the_analysis_reads_no_name_of_a_file() -> None:
    flow = resources.files(devlint) / "flow"
    for path in Path(str(flow)).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"PurePath|basename\(|splitext\(|\.stem\b", text), path


# --- what is withheld ----------------------------------------------------------------------


def test_a_file_has_one_role_and_may_have_a_guard_besides() -> None:
    def found(path: str, *without: str) -> list[str]:
        return [row.name for row in policy.of_file(path, frozenset(without))]

    assert found("/a/tests/data/test_cuda.py") == ["files-of-tests", "files-for-cuda"]
    assert found("/a/tests/data/cuda.py", "files-of-tests") == ["files-of-data", "files-for-cuda"]
    assert found("/data/a/b/c.py") == []
    assert found("/a/b/train_cuda.py") == []
    assert found("/a/tests/train_cuda.py") == ["files-of-tests", "files-for-cuda"]


@pytest.mark.parametrize(
    ("given", "shown"), [("x.float()", False), ('torch.ones(3, device="cuda")', True)]
)
def test_what_a_call_leads_to_is_weighed_by_the_file_there(
    tmp_path: Path, given: str, shown: bool
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "area" / "datasets").mkdir(parents=True)
    for folder in ("area", "area/datasets"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "area" / "datasets" / "clips.py").write_text(
        "import torch\n\ndef cut(x, n):\n    return x + torch.ones(n)\n"
    )
    text = (
        "import torch\nfrom area.datasets.clips import cut\n\n"
        f"def shown(x: torch.Tensor, device):\n    return cut({given}, 3)\n"
    )
    main = tmp_path / "main.py"
    main.write_text(text)
    told = check(text.encode(), str(main), settings())
    found = {finding.code for finding in told.findings} & {"DEV202", "DEV203"}
    assert bool(found) == shown
    assert told.withheld_by == ({} if shown else {"files-of-data": 1})
    assert codes(text, str(main), off("files-of-data")) & {"DEV202", "DEV203"}


SHOWN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.fc(x) * self.scale
"""
HALVING = "device = torch.device('cuda')\nclass Half(Net):\n"
CHOSEN = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", set()),
        ("print(Net()(torch.ones(3)))", set()),
        (f"{CHOSEN}Net().to(device)(torch.ones(3).to(device))", {"DEV401"}),
        ("def half(x: torch.Tensor): return x * torch.ones(3)", set()),
        (f"{CHOSEN}def half(x: torch.Tensor): return x * torch.ones(3)", {"DEV401"}),
        (
            f"{HALVING}    def forward(self, x): return self.fc(x * torch.ones(3))",
            {"DEV203", "DEV401"},
        ),
        ("def half(x: torch.Tensor): return x.to(x.device) * torch.ones(3)", {"DEV401"}),
        (f"{CHOSEN}def half(x): return x.to(device) * torch.ones(3)", {"DEV202", "DEV401"}),
        (
            "def ones(c): return torch.ones(3, device=c.device) * torch.ones(3)",
            {"DEV202", "DEV401"},
        ),
    ],
)
def test_nobody_else_calls_an_example(tmp_path: Path, more: str, found: set[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    there = codes(f"{SHOWN}\n{more}\n", str(tmp_path / "examples" / "net.py"), settings())
    assert {code for code in there if code.startswith(("DEV2", "DEV4"))} == found


@pytest.mark.parametrize("speaks", [False, True])
def test_what_imports_an_example_may_move_it(tmp_path: Path, speaks: bool) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    (tmp_path / "pyproject.toml").touch()
    net, between, program = (folder / name for name in ("net.py", "nets.py", "run.py"))
    net.write_text(SHOWN)
    between.write_text("from net import Net\n\nnets = [Net]\n")
    program.write_text(f"import nets\n\nnet = nets.nets[0](){'.cuda()' if speaks else ''}\n")
    assert ("DEV401" in codes(SHOWN, str(net), settings())) == speaks


def test_why_names_the_row_and_its_reason() -> None:
    answer = why(HELPER.encode(), "tests/helpers.py", settings(), 4)
    (finding,) = [each for each in answer.findings if each.code == "DEV203"]
    assert finding.withheld_by == "files-of-tests"
    assert finding.reason == ROWS["files-of-tests"].reason
    again = why(HELPER.encode(), "tests/helpers.py", off("files-of-tests"), 4)
    assert [each.withheld_by for each in again.findings if each.code == "DEV203"] == [""]


def test_a_suppression_of_what_is_withheld_is_not_idle() -> None:
    text = HELPER.replace("ones(3)", "ones(3)  # devlint: ignore[DEV203] -- on the host")
    for given in (settings(), off("files-of-tests")):
        checked = check(text.encode(), "tests/helpers.py", given)
        assert [finding.code for finding in checked.findings if finding.code == "DEV002"] == []
        assert "files-of-tests" not in checked.withheld_by
    idle = HELPER.replace("ones(3)", "ones(3)  # devlint: ignore[DEV401] -- never")
    checked = check(idle.encode(), "tests/helpers.py", settings())
    assert "DEV002" in {finding.code for finding in checked.findings}
    assert checked.withheld_by["files-of-tests"] == 1


# --- settings ------------------------------------------------------------------------------


def test_a_row_that_is_not_there_is_an_error_with_the_nearest() -> None:
    with pytest.raises(SettingsError) as error:
        settings(files_of_date=False)
    assert str(error.value) == (
        'x: `policy` has no row `files-of-date`; did you mean "files-of-data"?'
    )
    with pytest.raises(SettingsError, match=r'`policy."files-of-data"` must be true or false'):
        check_layer("x", "", {"policy": {"files-of-data": "no"}})


def test_switches_add_up_and_the_stronger_layer_wins() -> None:
    layers = (
        {"policy": {"files-of-data": False, "files-of-tests": False}},
        {"policy": {"files-of-tests": True}},
    )
    assert merge(check_layer("x", "", each) for each in layers).policy_off == {"files-of-data"}


def test_findings_depend_on_it() -> None:
    assert settings().decisive() != off("files-of-data").decisive()
    assert settings().decisive() == settings(files_of_data=True).decisive()


# --- a run ---------------------------------------------------------------------------------


def lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devlint", "--cache-dir", str(folder / "cache"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV203"]\n')
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helpers.py").write_text(HELPER)
    return tmp_path


def turn_off(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as file:
        file.write("[tool.devlint.policy]\nfiles-of-tests = false\n")


def test_the_last_line_counts_what_is_withheld(project: Path) -> None:
    told = "1 finding withheld by policy (files-of-tests): `devlint why FILE:LINE` says why."
    for _ in ("cold", "warm"):
        run = lint(project, "tests")
        assert run.returncode == 0
        assert run.stdout.splitlines()[-1].endswith(told)
    sarif = json.loads(lint(project, "tests", "--output-format", "sarif").stdout)
    assert sarif["runs"][0]["properties"]["withheldByPolicy"] == {"files-of-tests": 1}
    assert json.loads(lint(project, "tests", "--output-format", "json").stdout) == []
    turn_off(project)
    run = lint(project, "tests")
    assert run.returncode == 1
    assert "withheld" not in run.stdout


def test_a_baseline_lists_what_is_withheld(project: Path) -> None:
    baseline = ("tests", "--baseline", "baseline.json")
    assert "Wrote a baseline of 1 finding " in lint(project, *baseline).stderr
    assert lint(project, *baseline).returncode == 0
    turn_off(project)
    assert lint(project, "tests").returncode == 1
    assert lint(project, *baseline).returncode == 0
