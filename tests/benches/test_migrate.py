"""What `bench/migrate.py` tells of a program before and after a migration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from migrate import (
    MPS,
    CudaOnly,
    Migration,
    Patch,
    Row,
    corrected,
    differences,
    entries,
    measured,
)
from programs import CUDA, PLAIN, Outcome

TRAIN = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=OLD)
for _ in range(2):
    loss = model(torch.randn(4, 3).cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
"""
DEVICE = "torch.accelerator.current_accelerator(check_available=True) or torch.device('cpu')"
MIGRATE = f"""\
import pathlib, sys
file = pathlib.Path(sys.argv[1], "train.py")
file.write_text(file.read_text().replace(".cuda()", ".to({DEVICE})"))
"""
PATCH = Patch("train.py", "OLD", "0.1", "no such name")


def program(**values: object) -> CudaOnly:
    entry = {"name": "made", "repository": "a/b", "script": "train.py", "loss": r"loss (\S+)"}
    return CudaOnly(**{**entry, "patch": (PATCH,), **values})  # type: ignore[arg-type]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


def test_a_program_that_is_migrated(source: Path) -> None:
    row = measured(program(), source, [sys.executable, "-c", MIGRATE], 100)
    assert list(row.failures()) == []
    assert "CUDA" in row.outcomes[f"before, {PLAIN}"].failure
    assert len(row.outcomes[f"after, {CUDA}"].losses) == 2
    assert row.migration is not None
    assert (row.found, row.migration.left, row.migration.lines) == (2, 0, (2, 2))
    assert (source / "train.py").read_text() == TRAIN


def test_what_is_not_as_it_should_be() -> None:
    ended, failed = Outcome(("1",), 1.0, "", ""), Outcome((), 1.0, "AssertionError", "")
    row = Row(program(), 2, Migration("", {}, left=2, settled=False))
    row.outcomes = {f"before, {device}": ended for device in (CUDA, PLAIN)}
    row.outcomes |= {f"after, {device}": failed for device in (CUDA, MPS, PLAIN)}
    assert list(row.failures()) == [
        "after, cuda:1: AssertionError",
        "after, mps: AssertionError",
        "after, cpu: AssertionError",
        "before, cpu: runs, so it isn't for CUDA only",
        "2 findings of DEV1 are left",
        "a second migration changes more",
        "other losses on cuda:1 than before",
    ]


def test_a_patch_that_does_not_fit(source: Path) -> None:
    late = program(patch=(Patch("train.py", "NEWER", "0.1", "no such name"),))
    with pytest.raises(ValueError, match="NEWER"), corrected(late, source):
        pass


def test_differences(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.py").write_text("x = 1\n")
    (tmp_path / "new" / "more.py").write_text("y = 2\n")
    found = dict(differences(tmp_path / "old", tmp_path / "new"))
    assert list(found) == ["more.py"]
    assert "+y = 2" in found["more.py"]


def test_the_table() -> None:
    table = entries()
    assert len({each.name for each in table}) == len(table)
    assert all(each.kind for each in table)
