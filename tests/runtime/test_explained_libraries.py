"""What is told where an installed library fails: the user's own lines, and a fix for those."""

from __future__ import annotations

import linecache
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import devlint
from devlint.runtime.explain import Explanation
from devlint.runtime.explaining.caught import explain_error

LIBRARY = """
import importlib.util
import sys
import sysconfig
import tempfile
import torch
from torch import nn


class Count(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.total = torch.zeros(classes)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.total = fn(self.total)
        return self

    def update(self, rows):
        rows = rows.sum(0)
        self.total += rows

    def forward(self, rows):
        self.update(rows)
        return self.total


class Counts(nn.ModuleDict):
    def add(self, rows):
        for each in self.values():
            each.update(rows)


class Gather(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, width))
        path = tempfile.mkdtemp() + "/acme_gather.py"
        with open(path, "w") as file:
            file.write("def gather(x, index):\\n    return x.index_select(0, index)\\n")
        spec = importlib.util.spec_from_file_location("acme.written", path)
        self.written = importlib.util.module_from_spec(spec)
        sys.modules["acme.written"] = self.written
        spec.loader.exec_module(self.written)

    def forward(self, x, index):
        index = torch.cat([index, torch.arange(2, device=index.device)])
        return self.written.gather(x @ self.weight, index)


class Position(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.table = torch.ones(width)

    def forward(self, x):
        return x * self.scale + self.table


class Pipeline:
    def __init__(self, net):
        self.net = net

    def to(self, device):
        self.net.to(device)
        return self

    def __call__(self, rows):
        return self.net(rows)


def pooled(x, batch):
    return x.new_zeros(2, x.shape[1]).index_add_(0, batch, x)


def noisy(x):
    return x + torch.zeros(3)


def checked(values, weights):
    return values[weights.abs() > 0]


def rows_of(count):
    made = torch.ones(count, 3)
    return {"rows": made}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    installed = tmp_path / "site-packages" / "acme"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text(LIBRARY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(installed.parent))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield tmp_path
    for name in ("acme", "acme.written"):
        sys.modules.pop(name, None)


def told(folder: Path, program: str, mode: str = "strict") -> Explanation:
    """What is said of a program that fails."""
    code = "import acme, torch\nfrom torch import nn\n" + textwrap.dedent(program).strip()
    (folder / "train.py").write_text(code, "utf-8")
    linecache.clearcache()
    with (
        pytest.raises(RuntimeError) as caught,
        devlint.emulate("cuda", 2),
        devlint.guard(mode=mode),
    ):
        exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})
    found = explain_error(caught.value)
    assert found is not None
    return found.explanation


def runs(folder: Path, program: str) -> None:
    code = "import acme, torch\nfrom torch import nn\n" + textwrap.dedent(program)
    with devlint.emulate("cuda", 2):
        exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("mode", ["explain", "strict", "trace"])
def test_a_module_of_a_library_is_moved_by_who_made_it(folder: Path, mode: str) -> None:
    program = """
        count = acme.Count(3)
        x = torch.ones(4, 3).cuda()
        count.update(x)
    """
    found = told(folder, program, mode)
    assert found.headline == "Count is on cpu, but met x on cuda:0"
    assert found.fix == "move the module before the call: count.to(x.device)"
    lines = dict(found.lines)
    assert lines["model"] == "on cpu, made at train.py:3"
    assert lines["used at"] == "train.py:5  count.update(x)"
    assert lines["inside"].startswith("site-packages/acme/__init__.py:")
    runs(folder, program.replace("count.update", "count.to(x.device)\n        count.update"))


def test_a_module_is_moved_and_not_one_of_its_parameters(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.nodes, self.gather = nn.Embedding(4, 2), acme.Gather(2)
            def forward(self, at):
                return self.gather(self.nodes.weight, at)
        net = Net()
        net(torch.tensor([1, 2], device="cuda"))
    """
    found = told(folder, program)
    assert found.headline.startswith("gather (Gather) received args[0] on cpu")
    assert found.fix.startswith("move the module before the call: net.to(")
    runs(folder, program.replace("Net()\n", 'Net().to("cuda")\n'))


def test_the_whole_is_moved_that_a_module_of_a_library_is_a_part_of(folder: Path) -> None:
    found = told(
        folder,
        """
        counts = acme.Counts({"rows": acme.Count(3)})
        x = torch.ones(4, 3).cuda()
        counts.add(x)
        """,
    )
    assert found.module == "rows (Count)"
    assert found.fix == "move the module before the call: counts.to(x.device)"


def test_a_module_that_an_object_of_a_library_keeps(folder: Path) -> None:
    program = """
        pipe = acme.Pipeline(nn.Linear(3, 2))
        x = torch.ones(4, 3).cuda()
        pipe(x)
    """
    found = told(folder, program)
    assert found.fix == "move the module before the call: pipe.to(x.device)"
    assert dict(found.lines)["used at"] == "train.py:5  pipe(x)"
    runs(folder, program.replace("pipe(x)", "pipe.to(x.device)\n        pipe(x)"))


@pytest.mark.parametrize("mode", ["explain", "strict", "trace"])
def test_an_argument_that_a_library_computes_with_in_generated_code(
    folder: Path, mode: str
) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.gather = acme.Gather(3)

            def forward(self, x, edges):
                return self.gather(x, edges)

        net = Net().cuda()
        edges = torch.tensor([1, 0])
        out = net(torch.ones(2, 3).cuda(), edges)
    """
    found = told(folder, program, mode)
    assert found.module == "gather (Gather)"
    assert found.argument == "edges"
    assert found.fix == ("move it before the call: edges = edges.to(next(net.parameters()).device)")
    lines = dict(found.lines)
    assert lines["made at"] == "train.py:12  edges = torch.tensor([1, 0])"
    assert lines["passed at"].startswith("train.py:13")
    assert lines["used at"] == "train.py:9  return self.gather(x, edges)"
    assert lines["inside"].startswith("site-packages/acme/__init__.py:")
    runs(folder, program.replace("[1, 0])", "[1, 0]).cuda()"))


def test_an_argument_of_a_function_of_a_library(folder: Path) -> None:
    found = told(
        folder,
        """
        x = torch.ones(4, 3).cuda()
        batch = torch.tensor([0, 0, 1, 1])
        acme.pooled(x, batch)
        """,
    )
    assert found.headline == "acme.pooled(x, batch) takes x on cuda:0 and batch on cpu"
    assert found.fix == "move it first: batch = batch.to(x.device)"


def test_what_a_library_leaves_behind_is_moved_from_outside(folder: Path) -> None:
    program = """
        net = nn.Sequential(acme.Position(3)).cuda()
        net(torch.ones(2, 3).cuda())
    """
    found = told(folder, program, "explain")
    assert found.fix == (
        "Position leaves it behind when it is moved: "
        "net[0].table = net[0].table.to(next(net.parameters()).device)"
    )
    assert "site-packages" not in dict(found.lines)["used at"]
    fixed = "net[0].table = net[0].table.to(next(net.parameters()).device)\n        net(torch"
    runs(folder, program.replace("net(torch", fixed))


@pytest.mark.parametrize("mode", ["explain", "trace"])
def test_what_a_library_has_made_comes_from_the_line_that_called_it(
    folder: Path, mode: str
) -> None:
    found = told(
        folder,
        """
        net = nn.Linear(3, 2).cuda()
        batch = acme.rows_of(4)
        net(batch["rows"])
        """,
        mode,
    )
    assert dict(found.lines)["made at"] == "train.py:4  batch = acme.rows_of(4)"


def test_a_library_that_ignores_devices_is_called_with_another_default(folder: Path) -> None:
    program = """
        x = torch.ones(3).cuda()
        y = acme.noisy(x)
    """
    found = told(folder, program)
    fix = "with torch.device(x.device): y = acme.noisy(x)"
    assert found.fix == f"the library makes it on the default device: {fix}"
    assert found.rule == "tensor-on-default-device"
    runs(folder, program.replace("y = acme.noisy(x)", fix))


def test_an_index_that_a_library_has_made_is_not_to_blame(folder: Path) -> None:
    found = told(
        folder,
        """
        x = torch.ones(3)
        weights = torch.ones(3).cuda()
        acme.checked(x, weights)
        """,
    )
    assert found.argument == "x"
    assert found.fix == "move it first: x = x.to(weights.device)"


# --- scripts that an installer has written


def test_a_script_that_an_installer_has_written_is_not_the_users(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = sysconfig.get_path("scripts")
    about = folder / "site-packages" / "acme-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n", "utf-8")
    (about / "entry_points.txt").write_text("[console_scripts]\nacme-fit = acme:fit\n", "utf-8")
    code = "import acme\nacme.noisy(acme.torch.ones(2).cuda())\n"
    for name, file in (("acme-fit", "__init__.py"), ("acme-own", "acme-own")):
        with pytest.raises(RuntimeError) as caught, devlint.emulate("cuda", 2):
            exec(compile(code, str(Path(scripts) / name), "exec"), {"__name__": "__main__"})
        vars(caught.value).clear()
        assert caught.value.__traceback__ is not None
        found = explain_error(caught.value.with_traceback(caught.value.__traceback__.tb_next))
        assert found is not None
        assert Path(found.explanation.place[0]).name == file
