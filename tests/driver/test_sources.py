"""The text that reports quote is the file's own, as Python reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driver.conftest import Project

from devlint.cli.session import read_source


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa\r\n", "a\r\n"),
        (b"# coding: latin-1\n\xe9", "# coding: latin-1\né"),
        (b"\xff", None),
        (b"# coding: none-such\n", None),
    ],
)
def test_sources_are_read_as_python_reads_them(
    tmp_path: Path, data: bytes, text: str | None
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    assert read_source(str(path)) == text
    assert read_source(str(tmp_path / "missing.py")) is None


def test_a_reason_that_stands_in_another_file(project: Project) -> None:
    """Every format says in which file a step is; paths are as those of findings."""
    project.write(
        {
            "pkg/__init__.py": "",
            "pkg/helpers.py": "import torch\n\n\ndef make(n):\n    return torch.zeros(n)\n",
            "train.py": (
                "import torch\nfrom pkg.helpers import make\n\n"
                'x = make(3) + torch.ones(3, device="mps")\n'
            ),
            "pyproject.toml": "[tool.devlint]\n",
        }
    )
    for _ in range(2):  # as it is found, and as the cache has it
        found = json.loads(project.run("--select=DEV202", "--output-format=json").out)[0]
        steps = {(step["filename"], step["location"]["row"]) for step in found["trace"]}
        assert steps == {("pkg/helpers.py", 5), ("train.py", 4)}
    full = project.run("--select=DEV202").out
    assert "in pkg/helpers.py:5:12" in full
    sarif = json.loads(project.run("--select=DEV202", "--output-format=sarif").out)
    related = sarif["runs"][0]["results"][0]["relatedLocations"]
    uris = {place["physicalLocation"]["artifactLocation"]["uri"] for place in related}
    assert uris == {"pkg/helpers.py", "train.py"}
    assert "pkg/helpers.py:5:12: " in project.run("--select=DEV202", "--output-format=junit").out


def test_a_package_that_is_only_a_folder_is_no_problem(project: Project) -> None:
    project.write(
        {
            "tools/thing.py": "import torch\n\n\ndef made():\n    return torch.ones(3)\n",
            "main.py": "import torch\nimport tools\nfrom tools import thing\n\n"
            "x = torch.add(torch.ones(3, device='cuda'), thing.made())\nprint(tools)\n",
        }
    )
    ran = project.concise("main.py", "--select=DEV2")
    assert (ran.code, ran.err) == (1, "")
    assert "main.py:5:" in ran.out
