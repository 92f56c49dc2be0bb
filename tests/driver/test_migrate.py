"""`devlint migrate` as a user runs it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from driver.conftest import Project

TRAIN = """\
import torch
from torch import nn

model = nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 3, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


def test_a_project_is_migrated_and_then_there_is_nothing_to_do(project: Project) -> None:
    crlf = "import torch  # no CPU\r\n\r\nx = torch.ones(2).cuda()  # here\r\n"
    project.write({"train.py": TRAIN, "bom.py": b"\xef\xbb\xbf" + crlf.encode(), "a.py": "x = 1\n"})
    ran = project.run("migrate", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "bom.py: `.cuda()`: 1\ntrain.py: `.cuda()`: 1, devices: 1\nWrote 2 files.\n"
    assert project.read("a.py") == "x = 1\n"
    lines = (project.folder / "bom.py").read_bytes().split(b"\r\n")
    assert lines[0] == b"\xef\xbb\xbfimport torch  # no CPU"
    assert lines[-2] == b"x = torch.ones(2).to(device)  # here"
    assert b"\n" not in b"".join(lines)
    assert not project.found("--select=DEV1")

    again = project.run("migrate", "--yes")
    assert (again.code, again.out) == (0, "Nothing to migrate.\n")


def test_a_diff_is_a_patch_and_writes_nothing(project: Project) -> None:
    project.write({"src/train.py": TRAIN})
    ran = project.run("migrate", "src", "--diff")
    assert ran.code == 1
    assert project.read("src/train.py") == TRAIN
    applied = subprocess.run(["git", "apply", "-p0"], input=ran.out.encode(), check=False)
    assert applied.returncode == 0
    assert not project.run("migrate", "src", "--diff").out
    project.write({"src/train.py": TRAIN})
    assert "\x1b[3" in project.run("migrate", "--color=always", "--diff").out


def test_it_asks_before_it_writes(project: Project) -> None:
    project.write({"train.py": TRAIN})
    ran = project.spawn("migrate")
    assert ran.code == 2
    assert ran.err == (
        "devlint: there is no terminal to ask: give --yes to write, or --diff to look\n"
    )
    assert project.read("train.py") == TRAIN
    assert "nothing was written" in asked(project, b"\n")
    assert project.read("train.py") == TRAIN
    assert "Wrote 1 file." in asked(project, b"y\n")
    assert ".to(device)" in project.read("train.py")


def test_where_nothing_is_to_be_asked_the_terminal_is_not_missed(project: Project) -> None:
    ran = project.spawn("migrate", "nowhere")
    assert ran.code == 2
    assert ran.err == "devlint: nowhere: No such file or directory\n"


def asked(project: Project, answer: bytes) -> str:
    """What a user at a terminal sees who answers."""
    ours, theirs = pty.openpty()
    words = project.command("migrate")
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answer)
    told = b""
    with contextlib.suppress(OSError):  # what Linux says of a terminal that nobody holds any more
        while piece := os.read(ours, 4096):
            told += piece
    os.close(ours)
    process.wait(60)
    assert b"Write these changes to 1 file? [y/N]" in told
    return told.decode()


def test_the_name_of_the_variable(project: Project) -> None:
    project.write({"train.py": TRAIN})
    assert project.run("migrate", "--yes", "--device", "DEVICE").code == 0
    assert "model = nn.Linear(3, 1).to(DEVICE)\n" in project.read("train.py")
    for wrong, why in (
        ("cuda", "--device is a name for the variable, not a device: `cuda` is one"),
        ("my-device", "--device: `my-device` is no name that a variable can have"),
        ("class", "--device: `class` is no name that a variable can have"),
    ):
        ran = project.run("migrate", "--yes", "--device", wrong)
        assert (ran.code, ran.err) == (2, f"devlint: {why}\n")


def test_what_is_left_is_listed(project: Project) -> None:
    both = "import torch\n\na = torch.ones(2).cuda(0)\nb = torch.ones(2).cuda(1)\n"
    stream = "import torch\n\nwith torch.cuda.stream(torch.cuda.Stream()):\n    pass\n"
    project.write({"both.py": both, "stream.py": stream, "train.py": TRAIN})
    ran = project.run("migrate", "--yes")
    assert ran.code == 1
    assert "Left as they are, for you to decide (3):\n" in ran.out
    assert "  both.py:3: devices with several fixed indices are used side by side" in ran.out
    assert "  stream.py:3: `torch.cuda.Stream` needs CUDA\n" in ran.out
    assert project.read("both.py") == both
    assert ran.out.endswith("Wrote 1 file.\n")


def test_a_notebook_keeps_all_but_the_source_of_its_cells(project: Project) -> None:
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch"]},
        {"cell_type": "markdown", "source": "x.cuda()"},
        {"cell_type": "code", "source": ["x = torch.ones(2).cuda()\n", "x"]},
    ]
    for cell in cells:
        cell |= {"metadata": {"a": 1}}
        if cell["cell_type"] == "code":
            cell |= {"outputs": [{"data": {"text/plain": "1"}}], "execution_count": 3}
    kernel = {"kernelspec": {"name": "python3", "language": "python"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    project.write({"a.ipynb": json.dumps(book, indent=3)})
    assert project.run("migrate", "--yes").code == 0
    written = project.read("a.ipynb")
    after = json.loads(written)
    sources = ["".join(cell["source"]) for cell in after["cells"]]
    assert sources[0] == "%matplotlib inline\nimport torch"
    assert "device = torch" in sources[2]
    assert sources[2].endswith("x = torch.ones(2).to(device)\nx")
    for cell, old in zip(after["cells"], cells, strict=True):
        assert {**cell, "source": 0} == {**old, "source": 0}
    assert "\n   " in written


def test_what_cannot_be_read_is_told_and_the_rest_is_migrated(project: Project) -> None:
    project.write({"broken.py": "x.cuda(\n", "train.py": TRAIN})
    ran = project.run("migrate", "--yes")
    assert ran.code == 2
    assert re.fullmatch(r"devlint: broken\.py: line 1: .*\n", ran.err)
    assert ".to(device)" in project.read("train.py")
    ran = project.run("migrate", "--yes", "nowhere")
    assert (ran.code, ran.err) == (2, "devlint: nowhere: No such file or directory\n")


def test_a_file_that_is_changed_meanwhile_is_left(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"train.py": TRAIN})

    def changed(path: str, old: bytes, new: bytes) -> None:
        Path(path).write_text("x = 1\n")
        rewrite(path, old, new)

    from devlint.safety import writing

    rewrite = writing.rewrite
    monkeypatch.setattr(writing, "rewrite", changed)
    ran = project.run("migrate", "--yes")
    assert ran.code == 2
    assert "it was changed meanwhile" in ran.err
    assert project.read("train.py") == "x = 1\n"


# --- proof -----------------------------------------------------------------------------------


def test_a_program_proves_its_migration(project: Project) -> None:
    project.write({"train.py": TRAIN})
    ran = project.run("migrate", "--yes", "--verify", "python train.py")
    assert ran.code == 0
    told = re.findall(r"^(.*): ends, 3 losses, last loss (.*)$", ran.out, re.MULTILINE)
    names = [name for name, _ in told]
    assert names == [
        "before, on emulated cuda",
        "after, on emulated cuda",
        "after, on emulated mps",
        "after, on the CPU",
    ]
    assert told[0][1] == told[1][1]
    assert "Verified: the same 3 losses to the digit" in ran.out
    assert [each.name for each in project.folder.iterdir()] == ["train.py"], "it writes into copies"
    assert ".to(device)" in project.read("train.py")


def test_other_losses_speak_against_it(project: Project) -> None:
    reads_itself = TRAIN.replace(
        "loss.backward()",
        'loss = loss * open("train.py").read().count("cuda")\n    loss.backward()',
    )
    project.write({"train.py": reads_itself})
    ran = project.run("migrate", "--yes", "--verify", "python train.py")
    assert ran.code == 1
    assert "not verified, so nothing is written: after, on emulated cuda: loss 1 is" in ran.err
    assert project.read("train.py") == reads_itself


def test_a_program_that_fails_before_or_afterwards_speaks_against_it(project: Project) -> None:
    project.write({"train.py": TRAIN + "raise SystemExit(3)\n"})
    ran = project.run("migrate", "--yes", "--verify", "python train.py")
    assert ran.code == 1
    assert "it ends with 3 before anything is changed" in ran.err
    on_mps = 'if model.weight.device.type == "mps":\n    raise ValueError("not here")\n'
    project.write({"train.py": TRAIN + on_mps})
    ran = project.run("migrate", "--yes", "--verify", "python train.py")
    assert ran.code == 1
    assert "ValueError: not here" in ran.err
    assert "after, on emulated mps: it ends with 1" in ran.err
    assert ".cuda()" in project.read("train.py")


def test_modules_options_and_variables_of_a_command(project: Project) -> None:
    program = (
        "import os, sys\n\nimport torch\n\n"
        'assert (os.environ["STEPS"], sys.argv[1:]) == ("2", ["--epochs", "1"])\n'
        "print(torch.ones(2).cuda())\n"
    )
    project.write({"package/__init__.py": "", "package/train.py": program})
    words = "STEPS=2 python3 -u -m package.train --epochs 1"
    ran = project.run("migrate", "--yes", "--verify", words)
    assert ran.code == 0
    assert "note: no loss was differentiated in its process" in ran.out
    assert "Verified: it ends on emulated cuda, emulated mps and the CPU.\n" in ran.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("bash train.sh", "`bash train.sh` doesn't run Python"),
        ("python", "`python` names no script, and no module with -m"),
        ("python -c 1", "`python -c 1` names no script, and no module with -m"),
        ('python "', "can't be read: No closing quotation"),
    ],
)
def test_a_command_that_is_no_program_of_python(project: Project, words: str, why: str) -> None:
    project.write({"train.py": TRAIN})
    ran = project.run("migrate", "--yes", "--verify", words)
    assert ran.code == 2
    assert why in ran.err
    assert project.read("train.py") == TRAIN
