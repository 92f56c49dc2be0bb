"""The examples: each planted bug is found where examples/README.md says, and the twin is clean."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = re.compile(r"^\| `(?P<path>[\w./]+):(?P<row>\d+)` \| (?P<code>DEV\d{3}) ", re.MULTILINE)


def lint(folder: str, *options: str) -> tuple[int, list[tuple[str, int, str]]]:
    """The exit code, and path, row and code of every finding by the default rules."""
    command = [sys.executable, "-m", "devlint", "check", folder, "--isolated", "--no-cache"]
    command += options
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=EXAMPLES, capture_output=True, text=True
    )
    found = [
        (
            Path(EXAMPLES, finding["filename"]).relative_to(EXAMPLES).as_posix(),
            finding["location"]["row"],
            finding["code"],
        )
        for finding in json.loads(done.stdout)
    ]
    return done.returncode, found


def test_every_planted_bug_is_found_and_nothing_else() -> None:
    table = ROW.findall((EXAMPLES / "README.md").read_text())
    planted = sorted((path, int(row), code) for path, row, code in table)
    code, found = lint("digits")
    assert sorted(set(found)) == planted
    assert code == 1
    assert {code[:4] for _, _, code in planted} == {"DEV0", "DEV1", "DEV2", "DEV3", "DEV4"}


def test_the_twin_is_clean() -> None:
    assert lint("digits_fixed", "--pedantic") == (0, [])


@pytest.mark.parametrize("package", ["digits", "digits_fixed"])
def test_both_packages_have_the_same_modules(package: str) -> None:
    names = {path.name for path in (EXAMPLES / "digits").glob("*.py")}
    assert {path.name for path in (EXAMPLES / package).glob("*.py")} == names


def test_the_twin_trains_and_reads_on_the_host(tmp_path: Path) -> None:
    def run(module: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", f"digits_fixed.{module}", *arguments],
            cwd=EXAMPLES,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    checkpoint = str(tmp_path / "digits.pt")
    trained = run("train", "--epochs", "3", "--device", "cpu", "--checkpoint", checkpoint)
    accuracy = re.search(r"accuracy ([\d.]+)%", trained)
    assert accuracy is not None
    assert float(accuracy[1]) > 80

    picture = tmp_path / "seven.txt"
    rows = ["0 1 1 1 1 1 0 0", *["0 0 0 0 0 0 1 0"] * 6, "0 0 0 0 0 0 0 0"]
    picture.write_text("\n".join(rows) + "\n")
    assert run("predict", str(picture), "--checkpoint", checkpoint).split()[-1] == "7"


def test_the_diagnostic_in_the_readme_is_real() -> None:
    readme = (EXAMPLES.parent / "README.md").read_text()
    shown = re.search(r"\$ cd examples && devlint (.*)\n((?:.*\n)*?)```", readme)
    assert shown is not None
    done = subprocess.run(
        [sys.executable, "-m", "devlint", *shown[1].split(), "--isolated", "--no-cache"],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == shown[2].strip()


def test_the_suppressions_in_the_docs_work(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs/configuration.md").read_text()
    [block] = re.findall(r"## Suppressions\n\n```python\n(.*?)```", page, re.DOTALL)
    code = f'import torch\n\nmodel = torch.nn.Linear(2, 2)\nw = torch.load("w.pt")\n{block}'
    (tmp_path / "a.py").write_text(code)

    def codes(*options: str) -> list[str]:
        command = [sys.executable, "-m", "devlint", "--isolated", "--no-cache", *options, "a.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return re.findall(r"DEV\d+", done.stdout)

    assert codes("--output-format=concise") == []
    (tmp_path / "a.py").write_text(code.replace("# devlint", "# "))
    assert codes("--statistics", "-q") == ["DEV101", "DEV103", "DEV106"]
