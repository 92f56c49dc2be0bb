"""What a default type of CUDA is to files that never speak of CUDA themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from devlint.config.configuration import Configuration
from devlint.driver.discover import discover
from devlint.migrate.choice import Choice
from devlint.migrate.project import migrate

TRAIN = """\
import sys

import torch

import parts

if torch.cuda.is_available() and "--cpu" not in sys.argv:
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
print((parts.Scale().weight + torch.zeros(2)).tolist())
"""
PARTS = "from parts.scale import *\n"
SCALE = """\
import torch


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.Tensor([1.0, 2.0]))
"""
AFTER = SCALE.replace("2.0])", "2.0]).to(torch.get_default_device())")
OTHER = "import torch\n\nprint(torch.Tensor([3.0]))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "train.py": TRAIN,
        "parts/__init__.py": PARTS,
        "parts/scale.py": SCALE,
        "parts/names.py": "Tensors = 1\n",
        "other.py": OTHER,
        "old.py": "from parts import Scale\nprint 'Tensor', torch.Tensor(2)\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def changed(folder: Path) -> dict[str, str]:
    """Migrate a project: the new text of each file that changes."""
    found = discover((str(folder),), Configuration((), isolated=True))
    migration = migrate(found.sources, Choice(Version("2.9")), "device")
    assert not migration.failures
    assert not migration.undecided
    return {
        str(Path(each.source.path).relative_to(folder)): each.new.decode()
        for each in migration.files
    }


def test_a_file_that_is_imported_makes_tensors_of_the_default_type(folder: Path) -> None:
    new = changed(folder)
    assert sorted(new) == ["parts/scale.py", "train.py"]
    assert new["parts/scale.py"] == AFTER


def test_nothing_becomes_of_it_without_a_default_type(folder: Path) -> None:
    text = TRAIN.replace("torch.set_default_tensor_type(torch.cuda.FloatTensor)", "pass")
    (folder / "train.py").write_text(text)
    assert "parts/scale.py" not in changed(folder)


@pytest.mark.parametrize("options", [[], ["--cpu"]])
@pytest.mark.parametrize("kind", ["cuda", "mps", ""])
def test_it_runs_everywhere_afterwards(folder: Path, kind: str, options: list[str]) -> None:
    for name, text in changed(folder).items():
        (folder / name).write_text(text)
    start = ["-m", "devlint", "run", "--emulate", kind] if kind else []
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *start, "train.py", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[1.0, 2.0]\n"), done.stderr
