"""Which files LibCST reads, and that the others would have had no findings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from literate import file_cases, page_cases

from devlint import lint
from devlint.config.rulebook import pages
from devlint.config.settings import Settings, check_layer, merge
from devlint.flow.surroundings import Text
from devlint.model import ir
from devlint.model.findings import Level
from devlint.project import neighbours
from devlint.source.document import Document
from devlint.source.lower import lower
from devlint.source.reading import document_of
from devlint.source.script import Script
from devlint.verdict import saying

BAD = 'import torch\n\nd = torch.device("gpu")\n'
CLEAN = 'import torch\n\nd = torch.device("cpu")\n'

CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in file_cases(path)
] + [case for page in pages().values() for case in page_cases(page)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that LibCST reads."""
    names: list[str] = []

    def reads(script: Script, filename: str, text: str | None = None) -> Document:
        names.append(filename)
        return document_of(script, filename, text)

    monkeypatch.setattr(lint, "document_of", reads)
    return names


def codes(code: str, settings: Settings | None = None) -> list[str]:
    found = lint.check_source(code.encode(), "x.py", settings or Settings())
    return [finding.code for finding in found]


def test_a_file_without_findings_is_not_read_by_libcst(read: list[str]) -> None:
    assert codes(CLEAN) == []
    assert codes(CLEAN + "x = d  # noqa\ny = d  # noqa: F841\n") == []
    assert read == []


def test_nor_does_it_load_libcst() -> None:
    code = f"""
import sys
from devlint.lint import check_source
from devlint.config.settings import Settings
for code in {CLEAN!r}, "x = 1":
    assert check_source(code.encode(), "x.py", Settings()) == []
assert "libcst" not in sys.modules
assert check_source({BAD!r}.encode(), "x.py", Settings()) and "libcst" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_with_a_finding_is(read: list[str]) -> None:
    assert codes(BAD) == ["DEV304"]
    assert read == ["x.py"]


def test_a_rule_that_is_off_makes_libcst_read_nothing(read: list[str]) -> None:
    assert codes(BAD, merge([check_layer("x", "", {"ignore": ["DEV304"]})])) == []
    assert read == []


def test_suppressions_are_judged_in_clean_files_too(read: list[str]) -> None:
    assert codes(f"{CLEAN}x = d  # devlint: ignore[DEV304]\n") == ["DEV002"]
    assert codes(f"{CLEAN}x = d  # devlint: skip[DEV304]\n") == ["DEV002"]
    assert codes(f"{CLEAN}x = d  # noqa: DEV304\n") == ["DEV002"]
    assert codes(BAD.replace("\n\n", "\n# devlint: ignore[DEV304]\n")) == []
    assert codes(BAD.rstrip() + "  # noqa\n") == []
    assert len(read) == 5


def test_what_is_nested_deeply_gets_more_room(
    read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interpret, asked = saying.interpret, list[int]()

    def shallow(*arguments: Any, **keywords: Any) -> Any:
        asked.append(sys.getrecursionlimit())
        if len(asked) == 1:
            raise RecursionError
        return interpret(*arguments, **keywords)

    monkeypatch.setattr(saying, "interpret", shallow)
    assert codes(BAD) == ["DEV304"]
    assert asked[1] > asked[0]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python parses this itself")
@pytest.mark.parametrize("relevant", [True, False])
def test_newer_syntax_is_one_finding(relevant: bool) -> None:
    code = f"{BAD if relevant else ''}x = t'{{d}}'  # devlint: ignore[DEV304]\n"
    (finding,) = lint.check_source(code.encode(), "x.py", Settings())
    assert (finding.code, finding.span.row) == ("DEV001", 4 if relevant else 1)
    assert "run devlint with Python 3.14 or newer" in finding.message


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[ir.Module]:
    """The modules that are interpreted."""
    modules: list[ir.Module] = []
    interpret = saying.interpret

    def interprets(content: Text, *rest: Any, **keywords: Any) -> Any:
        modules.append(content.module)
        return interpret(content, *rest, **keywords)

    monkeypatch.setattr(saying, "interpret", interprets)
    return modules


def test_what_cannot_be_followed_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python doesn't read it again for each file that imports it, and LibCST not at all."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "newer.py").write_text("def first(xs) -> = ...\n")
    names = ["a.py", "b.py", "c.py"]
    for name in names:
        (tmp_path / name).write_text("import torch\nfrom newer import first\n\nx = first([1])\n")
    tried: list[str] = []

    def lowering(text: str, path: str, explain: bool = True) -> ir.Module:
        tried.append(Path(path).name)
        return lower(text, path, explain=explain)

    newer: list[str] = []
    monkeypatch.setattr(neighbours, "lower", lowering)
    monkeypatch.setattr("devlint.source.newer.newer_syntax", newer.append)
    settings = Settings()
    for name in names:
        path = tmp_path / name
        assert not lint.check_source(path.read_bytes(), str(path), settings)
    assert tried.count("newer.py") == 1
    assert not newer


def test_a_file_is_interpreted_once(interpreted: list[ir.Module]) -> None:
    assert codes(BAD) == ["DEV304"]
    assert len(interpreted) == 1


def test_the_first_place_tells_the_others() -> None:
    code = "import torch\na, b = torch.ones(2), torch.ones(2).cuda()\nb + a\nb * a\n"
    settings = merge([check_layer("x", "", {"select": ["DEV202"]})])
    (finding,) = lint.check_source(code.encode(), "x.py", settings)
    also = [step.span.row for step in finding.trace if step.message == "and here"]
    assert (finding.code, finding.span.row, also) == ("DEV202", 3, [4])
    assert finding.fix is not None
    assert finding.fix.message == "Move `a` to `b.device`, and 1 more like it"
    assert [edit.span.row for edit in finding.fix.edits] == [3, 4]


def test_one_cause_is_one_finding_whichever_rules_tell_it() -> None:
    code = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

def add(x: torch.Tensor):
    ones = torch.ones(3)
    return x + ones

def train(data, device):
    model = nn.Linear(3, 3).to(device)
    for x, y in DataLoader(data):
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)

def use(x, device):
    return add(x.to(device))
"""
    settings = merge([check_layer("x", "", {"pedantic": True})])
    made, batch = lint.check_source(code.encode(), "x.py", settings)
    assert (made.code, made.span.row, made.level) == ("DEV203", 6, Level.ERROR)  # DEV202 in row 7
    assert (batch.code, batch.span.row) == ("DEV201", 12)
    assert [(each.span.row, each.message) for each in batch.trace[-1:]] == [(13, "and `y` here")]
    assert batch.fix is not None
    assert [each.content.strip() for each in batch.fix.edits] == [
        "x, y = x.to(device), y.to(device)"
    ]


def test_a_plain_class_is_for_what_its_file_is_for() -> None:
    code = """\
import torch

class Center:
    def __init__(self, mean):
        self.mean = torch.tensor(mean).view(3, 1, 1)

    def __call__(self, image):
        return image.div_(255.0).sub_(self.mean)

def send(image, device):
    return image.to(device)
"""
    files = "data/clips.py", "clip_dataset.py", "layers.py"
    found = [lint.check_source(code.encode(), name, Settings()) for name in files]
    assert [[finding.code for finding in each] for each in found] == [[], [], ["DEV203"]]


def test_what_is_written_for_an_export_to_onnx_runs_on_the_host() -> None:
    code = """\
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.fc(x) * self.scale + torch.ones(3)

def main():
    Decoder().cuda()(torch.ones(3))
"""
    files = "decoder_onnx.py", "onnx_export.py", "decoder.py"
    found = [lint.check_source(code.encode(), name, Settings()) for name in files]
    told = [[f.code for f in each if not f.code.startswith("DEV1")] for each in found]
    assert told == [["DEV201"], ["DEV201"], ["DEV401", "DEV203", "DEV201"]]


def test_what_is_named_for_cuda_runs_where_it_was_chosen() -> None:
    code = """
import torch

torch.cuda.synchronize()
"""

    def told(name: str) -> bool:
        return bool(lint.check_source(code.encode(), name, Settings(select=("DEV108",))))

    chosen = "gpu_utils.py", "kernels/cuda/shift.py", "nvidia/shift.py", "tests/test_gpu.py"
    assert not any(map(told, chosen))
    assert all(map(told, ("utils.py", "check_gpu.py", "train_cuda.py", "cuda/shift/utils.py")))


def test_a_module_that_holds_nothing_changes_samples_in_a_file_for_data() -> None:
    code = """\
import torch
from torch import nn

class Masked(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, image):  # runs before anything goes to the GPU
        return image * torch.ones(3, self.size, self.size), image.shape[-1]

class Projected(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, image):
        return self.fc(image) * torch.ones(3)

class Shifted(nn.Module):
    def forward(self, tokens, device_type="cuda"):  # after they have been put together: anywhere
        batch_size, length = tokens.size()
        return tokens + torch.arange(length)
"""
    files = "data/crops.py", "layers.py"
    found = [lint.check_source(code.encode(), name, Settings()) for name in files]
    rows = [[finding.span.row for finding in each] for each in found]
    assert rows == [[18, 23], [10, 18, 23]]


def test_what_a_call_gave_before_comes_by_way_of_its_own_arguments() -> None:
    code = """\
import torch

def rate(scores):
    hits = scores.argmax(dim=1)
    return hits.float().mean()

def train(scores, device):
    scores = scores.to(device)
    return rate(scores).numpy()

def test(scores, device):
    scores = scores.to(device)
    return rate(scores).numpy()
"""
    findings = lint.check_source(code.encode(), "a.py", Settings())
    steps = {finding.span.row: [step.span.row for step in finding.trace] for finding in findings}
    assert steps == {9: [8], 13: [12]}


HIDING = {
    "behind a statement": b"x = 1; import torch\ny = torch.zeros(3).to ('cu' 'da')\n",
    "in a branch": b"if 1: import torch\ny = torch.zeros(3).to ('cu' 'da')\n",
    "in a continued line": b"import \\\n torch\ny = torch.zeros(3).to ('cu' 'da')\n",
    "behind a form feed": b"\x0cimport torch\ny = torch.zeros(3).to ('cu' 'da')\n",
    "in lines of another kind": b"# c\rimport torch\ry = torch.zeros(3).to ('cu' 'da')\r",
    "in wide letters": "import t\uff4frch\ny = t\uff4frch.zeros(3).c\uff55da()\n".encode(),
    "in wide letters beside another framework": (
        "import jax\nimport t\uff4frch\ny = t\uff4frch.zeros(3).cuda()\n".encode()
    ),
    "in escapes": (
        b"# coding: unicode_escape\nimport \\x74orch\ny = \\x74orch.zeros(3).\\x63uda()\n"
    ),
    "in UTF-7": b"# coding: utf-7\nimport t+AG8-rch\ny = t+AG8-rch.zeros(3).c+AHU-da()\n",
}


@pytest.mark.parametrize("data", HIDING.values(), ids=HIDING)
def test_nothing_is_hidden_by_how_it_is_written(data: bytes) -> None:
    found = lint.check_source(data, "x.py", Settings(select=("ALL",)))
    assert {"DEV101", "DEV103"} & {finding.code for finding in found}
