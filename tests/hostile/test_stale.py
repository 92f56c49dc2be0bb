"""Whatever changes around a file, a cached result says what a fresh one does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.conftest import Project

from devlint.project import importing

HELPER = 'import torch\n\ndef make():\n    return torch.zeros(3, device="{0}")\n'
USE = 'import torch\nfrom {0} import make\n\nx = make() + torch.ones(3, device="cpu")\n'
LIB = 'import torch\n\nx = torch.zeros(3) + torch.ones(3, device="cuda")\n'
PROGRAM = 'import torch\nimport {0}\n\ntorch.set_default_device("cuda")\n'

Change = Callable[[Project, Path], object]

CHANGES: dict[str, tuple[dict[str, str], Change]] = {
    "a mark of a project appears": (
        {"scripts/use.py": USE.format("helper"), "helper.py": HELPER.format("cuda")},
        lambda project, _: project.write({"setup.py": ""}),
    ),
    "a mark of a project goes": (
        {
            "scripts/use.py": USE.format("helper"),
            "helper.py": HELPER.format("cuda"),
            "setup.py": "",
        },
        lambda project, _: (project.folder / "setup.py").unlink(),
    ),
    "a repository appears around it": (
        {"sub/use.py": USE.format("helper"), "helper.py": HELPER.format("cuda"), "setup.py": ""},
        lambda project, _: (project.folder / "sub/.git").mkdir(),
    ),
    "its folder becomes a package": (
        {
            "pkg/use.py": USE.format("helper"),
            "pkg/helper.py": HELPER.format("cuda"),
            "setup.py": "",
        },
        lambda project, _: project.write({"pkg/__init__.py": ""}),
    ),
    "a package comes before a module": (
        {"use.py": USE.format("helper"), "helper.py": HELPER.format("cuda"), "setup.py": ""},
        lambda project, _: project.write({"helper/__init__.py": HELPER.format("cpu")}),
    ),
    "a module comes before a folder": (
        {
            "use.py": USE.format("helper.below"),
            "helper/below.py": HELPER.format("cuda"),
            "setup.py": "",
        },
        lambda project, _: project.write({"helper.py": "below = 1\n"}),
    ),
    "the folder of sources appears": (
        {"scripts/use.py": USE.format("helper"), "setup.py": ""},
        lambda project, _: project.write({"src/helper.py": HELPER.format("cuda")}),
    ),
    "a module becomes a link that leads out": (
        {"use.py": USE.format("helper"), "helper.py": HELPER.format("cuda"), "setup.py": ""},
        lambda project, outside: _link(project.folder / "helper.py", outside / "helper.py"),
    ),
    "a program appears": (
        {"lib.py": LIB, "setup.py": ""},
        lambda project, _: project.write({"prog.py": PROGRAM.format("lib")}),
    ),
    "a program begins to import it": (
        {"lib.py": LIB, "setup.py": "", "prog.py": PROGRAM.format("torch")},
        lambda project, _: project.write({"prog.py": PROGRAM.format("lib")}),
    ),
    "a program sets its default": (
        {"lib.py": LIB, "setup.py": "", "prog.py": "import lib\n"},
        lambda project, _: project.write({"prog.py": PROGRAM.format("lib")}),
    ),
}


def _link(path: Path, target: Path) -> None:
    target.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize(("files", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_around_a_file_is_seen(
    project: Project,
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str],
    change: Change,
) -> None:
    project.write(files)
    before = run(project)
    change(project, tmp_path_factory.mktemp("outside"))
    after = run(project)
    assert after == run(project, "--no-cache")
    assert after != before


def run(project: Project, *words: str) -> str:
    """What is found, as by a process of its own: nothing is remembered but in the cache."""
    time.sleep(0.03)
    importing.forget()
    return project.run("--output-format=concise", "--quiet", *words).out
