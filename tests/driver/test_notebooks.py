"""`devlint check` over notebooks: what a run does with findings besides printing them."""

from __future__ import annotations

import io
import json
import textwrap
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from cells import code, notebook, text
from driver.conftest import Project

ROOT = Path(__file__).parents[2]
ON_GPU = 'import torch\nx = torch.ones(3, device="cuda")\n'
MEETS = "y = torch.zeros(3)\nz = x + y"
DEVICE = 'd = torch.device("gpu")'
ONLY = "--select=DEV202"


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.fixture
def told(project: Project) -> Project:
    """A project with one notebook, in which two cells meet that ran the other way round."""
    project.write({"a.ipynb": notebook(text(), code(ON_GPU, 2), text(), code(MEETS, 1))})
    return project


def test_the_excerpt_counts_the_lines_of_cells(told: Project) -> None:
    out = told.run("--no-cache", "--quiet", ONLY, "a.ipynb").out
    assert out.split("  = fix:")[0] == (
        "error[DEV202] operands-on-other-devices: `y` is on cpu but `x` is on cuda\n"
        " --> a.ipynb:cell 4:2:9\n"
        "  |\n"
        "1 | y = torch.zeros(3)\n"
        "  |     -------------- made without `device=` here: on the CPU\n"
        "2 | z = x + y\n"
        "  |         ^\n"
        " --> a.ipynb:cell 2:2:5\n"
        "  |\n"
        '2 | x = torch.ones(3, device="cuda")\n'
        "  |     ---------------------------- made on cuda here\n"
        "  |\n"
        "  = help: make it there: `device=x.device`. The cells may have been run in another order "
        "than they stand in.\n"
    )


def test_every_format_says_the_cell(told: Project) -> None:
    def of(name: str) -> str:
        return told.run("--no-cache", "--quiet", ONLY, f"--output-format={name}", "a.ipynb").out

    row = 1 + (told.folder / "a.ipynb").read_text().split("\n").index('    "z = x + y"')
    assert of("concise").startswith("a.ipynb:cell 4:2:9: DEV202 ")
    assert of("grouped").startswith("a.ipynb:\n  cell 4:2:9  DEV202 ")
    [found] = json.loads(of("json"))
    assert (found["cell"], found["location"]) == (4, {"row": 2, "column": 9})
    assert [step["cell"] for step in found["trace"]] == [2, 4]
    assert [edit["cell"] for edit in found["fix"]["edits"]] == [4]
    assert f"line={row},endLine={row},col=14," in of("github")
    assert "::a.ipynb:cell 4:2:9: DEV202" in of("github")
    assert f"linenumber={row};columnnumber=14;code=DEV202;]cell 4, line 2: `y`" in of("azure")
    assert of("pylint").startswith(f"a.ipynb:{row}: [DEV202] cell 4, line 2: `y` is on cpu")
    [diagnostic] = json.loads(of("rdjson"))["diagnostics"]
    assert diagnostic["location"]["range"] == {"start": {"line": row}, "end": {"line": row}}
    assert diagnostic["message"].startswith("cell 4, line 2: `y` is on cpu")
    assert "suggestions" not in diagnostic
    [issue] = json.loads(of("gitlab"))
    assert issue["description"].startswith("DEV202: cell 4, line 2: ")
    assert issue["location"]["lines"] == {"begin": row, "end": row}
    case = ElementTree.fromstring(of("junit")).find(".//testcase")
    assert case is not None
    assert (case.get("name"), case.get("line")) == (
        "DEV202 operands-on-other-devices (cell 4:2:9)",
        str(row),
    )
    [result] = json.loads(of("sarif"))["runs"][0]["results"]
    assert result["message"]["text"].startswith("cell 4, line 2: `y` is on cpu")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (row, 14)
    related = [each["message"]["text"] for each in result["relatedLocations"]]
    assert related[0].startswith("cell 2, line 2: made on")


def test_a_cache_holds_where_in_the_cells_findings_are(told: Project) -> None:
    args = ("--output-format=json", ONLY, f"--cache-dir={told.folder / 'cache'}", "a.ipynb")
    assert told.run(*args).out == told.run(*args).out
    ran = told.run("--verbose", *args)
    assert json.loads(ran.out)[0]["cell"] == 4
    assert "1 of them from the cache" in ran.err


def test_a_baseline_outlives_runs_of_the_notebook(told: Project) -> None:
    assert told.concise(ONLY, "--baseline=b.json", "a.ipynb").code == 0
    again = code(MEETS, 7, outputs=[{"output_type": "stream", "text": ["other\n"] * 50}])
    told.write({"a.ipynb": notebook(code(ON_GPU, 6), again)})
    assert told.concise(ONLY, "--baseline=b.json", "a.ipynb").out == ""
    told.write({"a.ipynb": notebook(code(ON_GPU, 6), again, code("w = torch.zeros(3)\nt = x - w"))})
    assert told.concise(ONLY, "--baseline=b.json", "a.ipynb").out.startswith("a.ipynb:cell 3:2:")


def test_comments_are_written_into_cells(told: Project) -> None:
    before = (told.folder / "a.ipynb").read_bytes()
    ran = told.run("--no-cache", "--quiet", ONLY, "--add-ignore=later", "a.ipynb")
    assert (ran.code, ran.err) == (0, "")
    after = (told.folder / "a.ipynb").read_bytes()
    comment = b"  # devlint: ignore[DEV202] -- later"
    assert after == before.replace(b"z = x + y", b"z = x + y" + comment)
    assert told.concise(ONLY, "a.ipynb").out == ""


def test_a_fix_is_written_into_its_cell(told: Project) -> None:
    before = (told.folder / "a.ipynb").read_bytes()
    assert told.concise(ONLY, "--fix", "--unsafe-fixes", "a.ipynb").code == 0
    after = (told.folder / "a.ipynb").read_bytes()
    assert after == before.replace(b"zeros(3)", b"zeros(3, device=x.device)")


def test_a_diff_is_shown_of_the_cell(told: Project) -> None:
    out = told.concise(ONLY, "--diff", "--unsafe-fixes", "a.ipynb").out
    assert out == (
        "--- a.ipynb:cell 4\t\n+++ a.ipynb:cell 4\t\n@@ -1,2 +1,2 @@\n-y = torch.zeros(3)\n"
        "+y = torch.zeros(3, device=x.device)\n z = x + y\n"
    )


def test_a_broken_cell_fails_the_run_and_stops_no_fix(project: Project) -> None:
    project.write({"a.ipynb": notebook(code(ON_GPU), code("x ="), code(MEETS))})
    ran = project.concise("--select=DEV202,DEV001", "--fix", "--unsafe-fixes", "a.ipynb")
    assert (ran.code, ran.out) == (2, "a.ipynb:cell 2:1:4: DEV001 invalid syntax\n")
    assert "zeros(3, device=x.device)" in project.read("a.ipynb")


def test_standard_input_is_a_notebook_by_its_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = notebook(code(ON_GPU), code("x ="), code(MEETS))
    stdin(monkeypatch, data)
    ran = project.run("-", "--stdin-filename=a.ipynb", ONLY, "--output-format=concise", "--quiet")
    assert [line.split(" ")[1:3] for line in ran.out.splitlines()] == [
        ["2:1:4:", "DEV001"],
        ["3:2:9:", "DEV202"],
    ]
    stdin(monkeypatch, data)
    ran = project.run("-", "--stdin-filename=a.ipynb", ONLY, "--fix", "--unsafe-fixes", "--quiet")
    assert ran.out.encode() == data.replace(b"zeros(3)", b"zeros(3, device=x.device)")


def test_what_is_known_of_a_line_of_a_cell(told: Project) -> None:
    for place in ("a.ipynb:4:2", "a.ipynb:cell 4:2"):
        out = told.run("why", place).out
        assert out.startswith("a.ipynb:cell 4:2\n    z = x + y\n")
        assert "cell 2, line 2  made on" in out
    assert "NOTEBOOK:CELL:LINE" in told.run("why", "a.ipynb:4").err
    for place in ("a.ipynb:1:1", "a.ipynb:2:99", "a.ipynb:9:1"):
        assert "there is no line" in told.run("why", place).err


def test_a_notebook_follows_what_it_imports_and_is_imported_by_nobody(project: Project) -> None:
    maker = 'import torch\n\ndef make():\n    return torch.ones(3, device="cuda")\n'
    cells = (code("import torch\nfrom maker import make"), code("z = make() + torch.zeros(3)"))
    project.write({"maker.py": maker, "a.ipynb": notebook(*cells), "b.py": "import a\n"})
    assert project.concise(ONLY, ".").out.startswith("a.ipynb:cell 2:1:")


def test_large_outputs_are_read_past(project: Project) -> None:
    big = code(ON_GPU, outputs=[{"data": {"image/png": "A" * 30_000_000}}])
    project.write({"a.ipynb": notebook(big, code(MEETS))})
    assert project.concise(ONLY, "a.ipynb").out.startswith("a.ipynb:cell 2:2:9")
    project.write({"a.ipynb": b'{"cells": [], "x": "' + b"A" * (64 * 1024 * 1024) + b'"}'})
    ran = project.concise("a.ipynb")
    assert "DEV003" in ran.out
    assert "up to which notebooks are read" in ran.out


def test_the_hooks_take_notebooks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["types_or"] for hook in hooks] == [["python", "pyi", "jupyter"]] * 2


@pytest.mark.parametrize("before", ["%run helpers.py", "%pylab inline", "# run helpers.py first"])
def test_a_notebook_may_use_names_that_its_cells_do_not_bind(project: Project, before: str) -> None:
    reading = """
        import torch

        def shifted(x):
            x = x.to("cuda") + offset
            return x + torch.ones(3, device="cpu")

        shifted(torch.ones(3))
    """
    project.write({"a.ipynb": notebook(code(before), code(textwrap.dedent(reading)))})
    project.write({"a.py": textwrap.dedent(reading)})
    assert "DEV202" in project.run("--no-cache", "--quiet", ONLY, "a.ipynb").out
    assert project.run("--no-cache", "--quiet", ONLY, "a.py").out == ""
