"""Names and attributes that nothing binds, and that have to do with devices."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from devlint.config.settings import Settings
from devlint.lint import check_source

EVALUATOR = """
    import torch
    from torch import nn

    class Evaluator:
        def __init__(self, model, loader):
            self.loader = loader
            self.model = model
            {}

        def run(self, batch):
            return self.model(batch)
"""
AVERAGE = """
    import torch
    from torch import nn

    class Evaluator(nn.Module):
        def __init__(self, model, names=()):
            super().__init__()
            self.model = model
            {}

        def sample(self, count):
            return self.model(torch.randn(count, 4, device=self.step.device))
"""
USER = "from work import Evaluator\n\nEvaluator(None, [])\n"


def lint(root: Path, work: str, others: dict[str, str]) -> list[str]:
    (root / "pyproject.toml").touch()
    for name, text in {"work.py": textwrap.dedent(work), **others}.items():
        (root / name).write_text(text, encoding="utf-8")
    path = root / "work.py"
    found = check_source(path.read_bytes(), str(path), Settings(pedantic=True))
    told = [each for each in found if each.code == "DEV310"]
    return [f"{each.code}:{each.span.row} {each.message}" for each in told]


@pytest.mark.parametrize(
    "line", ["self.model.to(self.device)", "self.model.to(device=self.device)"]
)
def test_a_device_that_a_class_has_not(tmp_path: Path, line: str) -> None:
    assert lint(tmp_path, EVALUATOR.format(line), {"main.py": USER}) == [
        "DEV310:9 the device is `device` of `Evaluator`, which nothing sets"
    ]


@pytest.mark.parametrize("base", ["torch.utils.data.Dataset", "object", "typing.Generic[Row]"])
def test_a_class_on_what_has_no_attributes(tmp_path: Path, base: str) -> None:
    work = EVALUATOR.format("self.ids.cuda()").replace("Evaluator:", f"Evaluator({base}):")
    imports = "import typing\n\nimport torch.utils.data\n\nRow = typing.TypeVar('Row')\n"
    assert len(lint(tmp_path, imports + textwrap.dedent(work), {"main.py": USER})) == 1
    other = imports + textwrap.dedent(work).replace(f"({base})", "(elsewhere.Base)")
    assert lint(tmp_path, other, {"main.py": USER}) == []


def test_what_is_moved_is_an_attribute_that_a_class_has_not(tmp_path: Path) -> None:
    assert lint(tmp_path, EVALUATOR.format("self.ids.cuda()"), {"main.py": USER}) == [
        "DEV310:9 `.cuda()` moves `ids` of `Evaluator`, which nothing sets"
    ]


def test_a_buffer_that_was_renamed(tmp_path: Path) -> None:
    renamed = AVERAGE.format('self.register_buffer("steps", torch.zeros(1))')
    assert lint(tmp_path, renamed, {"main.py": USER}) == [
        "DEV310:12 `.device` is asked of `step` of `Evaluator`, which nothing sets"
    ]


@pytest.mark.parametrize(
    "line",
    [
        'self.register_buffer("step", torch.zeros(1))',
        'setattr(self, "step", torch.zeros(1))',
        "for name in names: setattr(self, name, torch.zeros(1))",
        'for name in names: setattr(self, f"st{name}", torch.zeros(1))',
        "self.__dict__.update(names)",
        "vars(self).update(names)",
    ],
)
def test_a_class_may_have_it(tmp_path: Path, line: str) -> None:
    assert lint(tmp_path, AVERAGE.format(line), {"main.py": USER}) == []


@pytest.mark.parametrize(
    "main",
    [
        "import work\n",  # nobody seems to make one: its users may build on it
        USER + "\nclass Own(Evaluator):\n    device = 'cpu'\n",
        USER + "\ndef bound(one):\n    one.device = 'cpu'\n",
    ],
)
def test_another_file_may_give_it(tmp_path: Path, main: str) -> None:
    line = "self.model.to(self.device)"
    work = EVALUATOR.format(line) if "Evaluator" in main else "\n"
    assert lint(tmp_path, work, {"main.py": main}) == []


def test_another_file_only_moves_one_of_that_name(tmp_path: Path) -> None:
    moves = USER + "\ndef moved(one):\n    return one.ids.cuda()\n"
    assert len(lint(tmp_path, EVALUATOR.format("self.ids.cuda()"), {"main.py": moves})) == 1


@pytest.mark.parametrize(
    "line",
    [
        "if hasattr(self, 'ids'): self.ids.cuda()",
        "ids = getattr(self, 'ids', None); self.ids.cuda()",
    ],
)
def test_it_is_asked_for(tmp_path: Path, line: str) -> None:
    assert lint(tmp_path, EVALUATOR.format(line), {"main.py": USER}) == []


def test_the_error_is_expected(tmp_path: Path) -> None:
    work = textwrap.dedent(EVALUATOR.format("pass")) + (
        "\n    def move(self):\n        try:\n            self.ids.cuda()\n"
        "        except AttributeError:\n            pass\n"
    )
    assert lint(tmp_path, work, {"main.py": USER}) == []


ONE_BRANCH = """
    {}
    if torch.cuda.is_available():
        device = torch.device("cuda")
    model = nn.Linear(3, 3).to(device)
"""


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ("import torch; from torch import nn", 1),
        ("from settings import *; import torch; from torch import nn", 0),
        ("import torch; from torch import nn; device = 'cpu'", 0),
        (
            "import torch; from torch import nn\n"
            "    def choose():\n        global device\n        device = torch.device('cpu')\n"
            "    choose()",
            0,
        ),
    ],
)
def test_a_device_that_one_branch_binds(tmp_path: Path, before: str, count: int) -> None:
    assert len(lint(tmp_path, ONE_BRANCH.format(before), {})) == count
