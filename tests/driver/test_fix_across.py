"""Fixes of what a call leads to, in the file where it goes wrong."""

from __future__ import annotations

import json

from driver.conftest import Project

from devlint import check_text

LOSSES = """import torch
import torch.nn.functional as F


def balanced(logits, labels, counts):
    weight = torch.tensor([1.0 / count for count in counts])
    return F.relu(logits * weight)
"""
TRAIN = """import torch
from losses import balanced

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
logits = torch.randn(4, 3, device=device)
labels = torch.zeros(4, dtype=torch.long, device=device)
loss = balanced(logits, labels, [1, 2, 1])
"""
BOTH: dict[str, str | bytes] = {"losses.py": LOSSES, "train.py": TRAIN}
OLD = "weight = torch.tensor([1.0 / count for count in counts])"
NEW = "weight = torch.tensor([1.0 / count for count in counts], device=logits.device)"
FIXED = LOSSES.replace(OLD, NEW)
WORDS = ("--pedantic", "--select", "DEV2")


def test_the_finding_shows_the_fix_of_the_other_file(project: Project) -> None:
    project.write(BOTH)
    ran = project.run(*WORDS)
    assert ran.code == 1
    assert "error[DEV202]" in ran.out
    assert "--> train.py:7:8" in ran.out
    assert ", in losses.py (unsafe, --fix --unsafe-fixes)\n" in ran.out
    assert f"6 -     {OLD}\n6 +     {NEW}\n" in ran.out
    assert ran.out.endswith("Found 1 error in 1 file. 1 fixable with --fix --unsafe-fixes.\n")


def test_its_help_says_where_that_is_done(project: Project) -> None:
    project.write(BOTH)
    ran = project.run(*WORDS)
    assert "= help: in `balanced`: make it there: `device=logits.device`\n" in ran.out


def test_formats_for_programs_name_the_file(project: Project) -> None:
    project.write(BOTH)
    (found,) = json.loads(project.run(*WORDS, "--output-format=json").out)
    assert (found["filename"], found["fix"]["filename"]) == ("train.py", "losses.py")
    assert [edit["location"]["row"] for edit in found["fix"]["edits"]] == [6]
    (result,) = json.loads(project.run(*WORDS, "--output-format=sarif").out)["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "losses.py"
    (diagnostic,) = json.loads(project.run(*WORDS, "--output-format=rdjson").out)["diagnostics"]
    assert "suggestions" not in diagnostic  # they can't be of another file
    page = project.run(*WORDS, "--output-format=html").out
    assert "in <code>losses.py</code>" in page
    assert "counts], device=logits.device)" in page


def test_it_is_applied_with_the_unsafe_ones(project: Project) -> None:
    project.write(BOTH)
    assert project.run(*WORDS, "--fix").code == 1
    assert project.read("losses.py") == LOSSES
    ran = project.run(*WORDS, "--fix", "--unsafe-fixes", "--show-fixes")
    assert (ran.code, project.read("losses.py"), project.read("train.py")) == (0, FIXED, TRAIN)
    assert "Fixed 1 error:\n- train.py:\n" in ran.out


def test_a_diff_shows_it_and_changes_nothing(project: Project) -> None:
    project.write(BOTH)
    ran = project.run(*WORDS, "--diff", "--unsafe-fixes")
    assert "--- losses.py\n+++ losses.py\n" in ran.out
    assert f"-    {OLD}\n+    {NEW}\n" in ran.out
    assert project.read("losses.py") == LOSSES


def test_it_is_one_of_the_other_file_where_none_of_its_own_can_be_made(project: Project) -> None:
    """Nothing names a device where the targets are made."""
    trainer = """class Trainer:
    def __init__(self, model, loss, device):
        self.model, self.loss, self.device = model.to(device), loss, device

    def step(self, inputs, targets):
        outputs = self.model(inputs.to(self.device))
        return self.loss(outputs, targets)
"""
    train = """import torch
from torch import nn
from trainer import Trainer

targets = torch.tensor([0, 1, 1, 0])
trainer = Trainer(nn.Linear(3, 2), nn.CrossEntropyLoss(), "cuda")
trainer.step(torch.randn(4, 3), targets)
"""
    project.write({"trainer.py": trainer, "train.py": train})
    assert project.run(*WORDS, "--fix", "--unsafe-fixes").code == 0
    moved = trainer.replace("outputs, targets)", "outputs, targets.to(outputs.device))")
    assert (project.read("trainer.py"), project.read("train.py")) == (moved, train)


def test_only_files_that_are_linted_are_changed(project: Project) -> None:
    project.write(BOTH)
    alone = ("train.py", *WORDS)
    (found,) = json.loads(project.run(*alone, "--output-format=json").out)
    assert found["fix"] is None
    assert project.run(*alone, "--fix", "--unsafe-fixes").code == 1
    assert project.read("losses.py") == LOSSES
    project.write({"devlint.toml": 'extend-exclude = ["losses.py"]\n'})
    assert project.run(*WORDS, "--fix", "--unsafe-fixes").code == 1
    assert project.read("losses.py") == LOSSES


def test_a_notebook_is_fixed_in_the_module_that_it_calls(project: Project) -> None:
    cell = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": []}
    notebook = {"cells": [{**cell, "source": TRAIN}], "metadata": {}, "nbformat": 4}
    text = json.dumps({**notebook, "nbformat_minor": 5})
    project.write({"losses.py": LOSSES, "train.ipynb": text})
    shown = project.run(*WORDS).out
    assert "--> train.ipynb:cell 1:7:8" in shown
    assert ", in losses.py (unsafe, --fix --unsafe-fixes)\n  |\n6 - " in shown
    assert project.run(*WORDS, "--fix", "--unsafe-fixes").code == 0
    assert (project.read("losses.py"), project.read("train.ipynb")) == (FIXED, text)


def test_a_text_on_standard_input_offers_none(project: Project) -> None:
    project.write(BOTH)
    words = ("--stdin-filename=train.py", *WORDS, "--output-format=json", "-")
    (found,) = json.loads(project.spawn(*words, stdin=TRAIN.encode()).out)
    assert found["fix"] is None


def test_a_fix_of_its_own_file_comes_first_and_is_kept(project: Project) -> None:
    own = f"{LOSSES}\n\ndef none(x):\n    x = torch.zeros(3)\n    x.cuda()\n    return x\n"
    project.write({**BOTH, "losses.py": own})
    words = ("--pedantic", "--select", "DEV2,DEV3", "--unsafe-fixes")
    ran = project.run(*words, "--diff")
    assert ran.out.count("--- losses.py") == 1
    assert "+    x = x.cuda()\n" in ran.out
    assert f"+    {NEW}\n" in ran.out
    ran = project.run(*words, "--fix")
    assert ran.code == 0
    fixed = own.replace(OLD, NEW).replace("    x.cuda()", "    x = x.cuda()")
    assert project.read("losses.py") == fixed


def test_one_change_of_a_file_serves_all_who_call_it(project: Project) -> None:
    project.write({**BOTH, "again.py": TRAIN})
    ran = project.run(*WORDS, "--fix", "--unsafe-fixes", "--show-fixes")
    assert (ran.code, project.read("losses.py")) == (0, FIXED)


def test_what_it_uncovers_is_fixed_with_it(project: Project) -> None:
    two = """import torch


def joined(x):
    first = torch.zeros(3)
    both = torch.cat([x, first])
    second = torch.ones(6)
    return torch.dot(both, second)
"""
    call = 'import torch\nfrom two import joined\n\njoined(torch.zeros(3, device="cuda"))\n'
    project.write({"two.py": two, "call.py": call})
    assert project.run(*WORDS, "--fix", "--unsafe-fixes").code == 0
    rows = project.read("two.py").splitlines()
    assert rows[4] == "    first = torch.zeros(3, device=x.device)"
    assert rows[6].startswith("    second = torch.ones(6, device=")


def test_a_file_that_cannot_be_written_is_told(project: Project) -> None:
    project.write(BOTH)
    (project.folder / "losses.py").chmod(0o444)
    project.folder.chmod(0o555)
    try:
        ran = project.spawn(*WORDS, "--fix", "--unsafe-fixes", unprivileged=True)
    finally:
        project.folder.chmod(0o755)
    assert ran.code == 2
    assert "losses.py: can't be fixed" in ran.err
    assert project.read("losses.py") == LOSSES


JOINED = """import torch


def joined(x):
    first = torch.zeros(3)
    return x * first
"""
MOVED = "import torch\nfrom two import joined\n\nx = torch.ones(3)\nx.cuda()\njoined(x)\n"


def test_what_its_own_fix_uncovers_elsewhere_is_fixed_there(project: Project) -> None:
    project.write({"two.py": JOINED, "call.py": MOVED})
    words = ("--pedantic", "--select", "DEV2,DEV3", "--unsafe-fixes")
    (found,) = json.loads(project.run(*words, "--output-format=json").out)
    assert (found["code"], found["fix"] is None) == ("DEV302", False)
    ran = project.run(*words, "--fix")
    assert (ran.code, ran.err) == (0, "")
    assert project.read("call.py") == MOVED.replace("x.cuda()", "x = x.cuda()")
    assert "torch.zeros(3, device=x.device)" in project.read("two.py")


def test_without_the_other_file_that_fix_is_left_out(project: Project) -> None:
    project.write({"two.py": JOINED, "call.py": MOVED})
    words = ("call.py", "--pedantic", "--select", "DEV2,DEV3", "--unsafe-fixes")
    ran = project.run(*words, "--fix")
    assert ran.code == 1
    assert "call.py: 5: the fix of DEV302 was left out: DEV202 would appear in row 6" in ran.err
    assert (project.read("call.py"), project.read("two.py")) == (MOVED, JOINED)


def test_no_fix_names_the_device_that_is_given_already(project: Project) -> None:
    cache = """import torch


class Cache:
    def __init__(self, size, device=None):
        self.table = torch.zeros(size, device=device)

    def reorder(self, rows):
        self.table = self.table.index_select(0, rows)
"""
    call = (
        "import torch\nfrom cache import Cache\n\n"
        'Cache(3).reorder(torch.zeros(2, dtype=torch.long, device="cuda"))\n'
    )
    project.write({"cache.py": cache, "call.py": call})
    (found,) = check_text(call, "call.py", {"pedantic": True, "select": ["DEV2"]})
    assert found.fix is not None
    assert [edit.content for edit in found.fix.edits] == [".to(rows.device)"]
