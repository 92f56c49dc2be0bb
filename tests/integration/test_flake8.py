"""The flake8 plugin, found by flake8 as it finds an installed one."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devlint import __version__, lint
from devlint.integrations.flake8_plugin import Plugin

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
BAD_DEVICE = 'import torch\n\nd = torch.device("gpu")\n'
LOAD = 'import torch\n\nw = torch.load("w.pt")\n'


class Flake8:
    """flake8 in a folder of its own, with devlint installed from this checkout."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self._site = site

    def write(self, **files: str | bytes) -> None:
        for name, content in files.items():
            path = self.folder / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def run(self, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(self._site), str(ROOT / "src")))
        return subprocess.run(
            [sys.executable, "-m", "flake8", "--isolated", "-j1", *args],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            timeout=120,
        )

    def found(self, *args: str) -> list[str]:
        ran = self.run("--select=DEV", *args)
        assert ran.stderr == ""
        return ran.stdout.splitlines()


@pytest.fixture
def flake8(tmp_path: Path) -> Flake8:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / f"devlint-{__version__}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: devlint\nVersion: {__version__}\n"
    )
    [(name, place)] = project["entry-points"]["flake8.extension"].items()
    (info / "entry_points.txt").write_text(f"[flake8.extension]\n{name} = {place}\n")
    folder = tmp_path / "project"
    folder.mkdir()
    return Flake8(folder, info.parent)


def test_flake8_knows_it(flake8: Flake8) -> None:
    assert f"devlint: {__version__}" in flake8.run("--version").stdout


def test_its_findings_stand_among_others(flake8: Flake8) -> None:
    flake8.write(a_py="import os\n" + BAD_DEVICE, b_py=LOAD)
    ran = flake8.run("a.py", "b.py")
    lines = ran.stdout.splitlines()
    assert lines[0] == "a.py:1:1: F401 'os' imported but unused"
    assert lines[1].startswith('a.py:4:18: DEV304 "gpu" names no device')
    assert lines[2].startswith("b.py:3:5: DEV106 ")
    assert (ran.returncode, ran.stderr) == (1, "")


def test_settings_are_those_of_devlint(flake8: Flake8) -> None:
    flake8.write(devlint_toml='ignore = ["DEV3"]\n', a_py=BAD_DEVICE, b_py=LOAD)
    flake8.write(sub__devlint_toml="", sub__c_py=BAD_DEVICE)
    assert [line.split()[:2] for line in flake8.found(".")] == [
        ["./b.py:3:5:", "DEV106"],
        ["./sub/c.py:3:18:", "DEV304"],
    ]
    flake8.write(devlint_toml='per-file-ignores = { "b.py" = ["DEV1"] }\n')
    assert [line.split()[1] for line in flake8.found("a.py", "b.py")] == ["DEV304"]
    flake8.write(devlint_toml='force-exclude = true\nexclude = ["a.py"]\n')
    assert [line.split()[1] for line in flake8.found("a.py", "b.py")] == ["DEV106"]


def test_comments_of_both_kinds_count(flake8: Flake8) -> None:
    line = BAD_DEVICE.rstrip("\n")
    flake8.write(
        a_py=f"{line}  # devlint: ignore[DEV304] -- so\n", b_py=f"{line}  # noqa: DEV304\n"
    )
    assert flake8.found(".") == []
    assert len(flake8.found("--disable-noqa", ".")) == 2


def test_standard_input(flake8: Flake8) -> None:
    ran = flake8.run("--select=DEV", "-", stdin=BAD_DEVICE)
    assert ran.stdout.startswith("stdin:3:18: DEV304 ")
    flake8.write(devlint_toml='per-file-ignores = { "b.py" = ["DEV3"] }\n')
    ran = flake8.run("--select=DEV", "--stdin-display-name=b.py", "-", stdin=BAD_DEVICE)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_encodings_are_those_of_the_file(flake8: Flake8) -> None:
    latin = "# coding: latin-1\nimport torch\nd = '\xe9', torch.device('gpu')\n".encode("latin-1")
    bom = b"\xef\xbb\xbf" + "import torch\nd = '\xe9', torch.device('gpu')\n".encode()
    flake8.write(a_py=latin, b_py=bom)
    assert [line.split()[:2] for line in flake8.found("a.py", "b.py")] == [
        ["a.py:3:23:", "DEV304"],
        ["b.py:2:23:", "DEV304"],
    ]


def test_a_mistake_in_the_settings_ends_the_run_before_it_begins(flake8: Flake8) -> None:
    for text, told in (
        ("selct = []", 'devlint.toml: unknown key `selct`; did you mean "select"?'),
        ('select = ["DEV9"]', "devlint.toml: unknown rule selector `DEV9`"),
    ):
        flake8.write(devlint_toml=f"{text}\n", a_py=BAD_DEVICE)
        ran = flake8.run("a.py")
        assert ran.stderr.startswith(f"devlint: {told}")
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)


def test_a_mistake_in_a_folder_costs_its_files_only(flake8: Flake8) -> None:
    flake8.write(a_py=BAD_DEVICE, sub__devlint_toml="selct = []\n", sub__b_py=BAD_DEVICE)
    first, second = flake8.found(".")
    assert first.startswith("./a.py:3:18: DEV304")
    assert second.startswith("./sub/b.py:1:1: DEV003 sub/devlint.toml: unknown key `selct`")


def test_an_error_of_devlints_own_costs_one_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lint, "check", broken)
    [told] = Plugin(ast.parse(""), "a.py", ["x = 1\n"]).run()
    assert told[:3] == (1, 0, "DEV003 internal error: ZeroDivisionError: by zero")
