"""Nothing that lies in the linted tree or in the current directory is imported."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from devlint.driver.run import SMALL
from devlint.safety.isolation import isolate

MANY = SMALL + 1
"""So many files that a run takes several processes."""

SHADOW = "open({marker!r}, 'a').write(__name__ + '\\n')\n"


def dependencies() -> set[str]:
    """The top-level modules of devlint and of what it needs, at any depth."""
    found, waiting = {"devlint"}, {"devlint"}
    while waiting:
        for line in metadata.requires(waiting.pop()) or ():
            name = re.split(r"[^\w.-]", line)[0]
            if "extra ==" in line or name in found:
                continue
            try:
                files = metadata.files(name) or ()
            except metadata.PackageNotFoundError:  # of another Python or platform
                continue
            found.add(name)
            waiting.add(name)
            found.update(Path(file).parts[0].removesuffix(".py") for file in files)
    return {name for name in found if name.isidentifier()}


def shadow(folder: Path, marker: Path, but: frozenset[str] = frozenset()) -> set[str]:
    """Fill a folder with modules that say so when they are run. They are packages and files."""
    names = (
        set(sys.stdlib_module_names) | dependencies() | {"sitecustomize", "usercustomize"}
    ) - but
    for index, name in enumerate(sorted(names)):
        text = SHADOW.format(marker=str(marker))
        if index % 2:
            (folder / f"{name}.py").write_text(text)
        else:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text)
    return names


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project that shadows all there is, and the file in which its modules leave their names."""
    folder = tmp_path_factory.mktemp("hostile")
    marker = tmp_path_factory.mktemp("marks") / "marker"
    names = shadow(folder, marker)
    assert names > {"libcst", "json", "signal", "multiprocessing", "pathspec", "rich", "tomllib"}
    for index in range(MANY):
        (folder / f"train{index}.py").write_text("import torch\n\nw = torch.load('w.pt')\n")
    return folder, marker


COMMAND = Path(sys.executable).with_name("devlint" + (".exe" if os.name == "nt" else ""))

WORDS = {
    "one process": ("-j1", "."),
    "four processes": ("-j4", "."),
    "as pre-commit does": ("check", "--force-exclude", *(f"train{n}.py" for n in range(MANY))),
    "diff": ("--diff", "--unsafe-fixes", "train1.py", "train2.py"),
    "sarif": ("-v", "--output-format=sarif", "train1.py"),
    "standard input": ("-",),
    "files": ("--show-files",),
    "settings": ("--show-settings",),
    "rule": ("rule", "DEV202"),
    "config": ("config", "select"),
    "clean": ("clean",),
    "version": ("--version",),
    "help": ("--help",),
}


def run(folder: Path, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"DEVLINT_NO_CACHE": "1", "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
        input="",
        timeout=120,
    )


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_the_command_imports_nothing_of_the_tree(
    hostile: tuple[Path, Path], words: tuple[str, ...]
) -> None:
    folder, marker = hostile
    ran = run(folder, COMMAND, *words)
    assert not marker.exists(), marker.read_text()
    assert "Traceback" not in ran.stderr
    assert ran.returncode in (0, 1)
    if "." in words:
        assert "DEV106" in ran.stdout


def test_nor_by_way_of_a_variable_that_leads_there(tmp_path: Path) -> None:
    """But for what Python itself imports before devlint is asked: here, the command's own start."""
    marker = tmp_path / "marker"
    tree = tmp_path / "tree"
    tree.mkdir()
    code = "import re, devlint.cli, sys; print('sitecustomize usercustomize', *sys.modules)"
    early = run(tmp_path, sys.executable, "-c", code)
    shadow(tree, marker, but=frozenset(name.partition(".")[0] for name in early.stdout.split()))
    for index in range(MANY):
        (tree / f"train{index}.py").write_text("import torch\n\nw = torch.load('w.pt')\n")
    for path in (tmp_path, os.curdir):
        ran = run(tree, COMMAND, "-j4", ".", PYTHONPATH=str(path))
        assert not marker.exists(), marker.read_text()
        assert ran.stdout.count("DEV106") == MANY
    assert "DEV106" in run(tmp_path, COMMAND, "-j4", "tree", PYTHONPATH=str(tree)).stdout
    assert not marker.exists(), marker.read_text()


def test_the_module_leaves_the_current_directory_first_of_all(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "probe.py").write_text("import sys\nprint(*sys.modules)\n")
    early = run(tree, sys.executable, "-m", "probe")
    (tree / "probe.py").unlink()
    names = frozenset(name.partition(".")[0] for name in early.stdout.split()) | {"devlint"}
    shadow(tree, marker, but=names)
    for index in range(MANY):
        (tree / f"train{index}.py").write_text("import torch\n\nw = torch.load('w.pt')\n")
    ran = run(tree, sys.executable, "-m", "devlint", "-j4", ".")
    assert not marker.exists(), marker.read_text()
    assert ran.stdout.count("DEV106") == MANY


def test_every_way_to_start_processes_is_one(tmp_path: Path) -> None:
    """`multiprocessing`, whose start methods look into the current directory, is not even there."""
    for index in range(MANY):
        (tmp_path / f"train{index}.py").write_text("import torch\n\nw = torch.load('w.pt')\n")
    code = (
        "import sys\nfrom devlint.cli import main\ncode = main(['-j4', '--statistics', '.'])\n"
        "print('multiprocessing' in sys.modules)\nsys.exit(code)\n"
    )
    ran = run(tmp_path, sys.executable, "-c", code)
    assert ran.stdout.splitlines()[-1] == "False"
    assert ran.returncode == 1


@pytest.mark.parametrize(
    ("given", "stays"),
    [
        ("tree", False),
        ("tree/below", False),
        ("", False),
        ("above", False),
        ("beside", True),
        ("tree/site-packages", True),
    ],
)
def test_what_is_taken_off_the_import_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, stays: bool
) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    monkeypatch.chdir(tree)
    entry = {"": "", "above": str(tmp_path)}.get(given, str(tmp_path / given))
    monkeypatch.setenv("PYTHONPATH", entry)
    own = str(Path(isolate.__code__.co_filename).parents[1])
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tree / "site-packages")])
    monkeypatch.setattr(sys, "path", [entry, own, "/somewhere/site-packages"])
    isolate(["."])
    assert sys.path == [entry] * stays + [own, "/somewhere/site-packages"]
