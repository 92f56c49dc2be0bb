"""The GitHub Action: its script is run as a runner would run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import shipped
import yaml

ROOT = Path(__file__).parents[2]


def test_inputs_reach_the_script_by_the_environment_only() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    assert "${{" not in step["run"]
    passed = {name for name in step["env"] if name.startswith("INPUT_")}
    assert passed == {f"INPUT_{name.upper().replace('-', '_')}" for name in action["inputs"]}
    script = (ROOT / ".ci" / "action.sh").read_text()
    assert all(name in script for name in passed)


def test_the_action_annotates_reports_and_keeps_the_exit_code(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "bad.py").write_text("import torch\n\nx = torch.load('x.pt')\n")
    (source / "```\n::error::# forged.py").write_text("x = (\n")
    done = run(tmp_path, INPUT_SRC="src", INPUT_ARGS="--no-cache", INPUT_SARIF_FILE="out.sarif")
    assert done.returncode == 2, done.stderr
    assert "::warning" in done.stdout
    assert "file=src/bad.py,line=3" in done.stdout
    assert "\n::error::" not in done.stdout.replace("::error file=", "")
    title, blank, *rows = (tmp_path / "summary.md").read_text().splitlines()
    assert (title, blank) == ("### devlint", "")
    assert all(row.startswith("    ") for row in rows)  # code, in Markdown
    assert ["DEV001" in rows[0], "DEV106" in rows[1], len(rows)] == [True, True, 3]
    assert "exit-code=2" in (tmp_path / "output").read_text().splitlines()
    results = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["DEV001", "DEV106"]


def test_what_is_no_version_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, INPUT_VERSION="0.1.0; touch made")
    assert done.returncode == 2
    assert "is not a version" in done.stdout
    assert not (tmp_path / "made").exists()


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "ACTION": str(shipped.copy(folder / "action")),
        "PYTHON": sys.executable,
        "RUNNER_TEMP": str(folder / "temporary"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    return subprocess.run(
        ["bash", str(ROOT / ".ci" / "action.sh")],
        cwd=folder,
        env=environment | inputs,
        capture_output=True,
        text=True,
    )
