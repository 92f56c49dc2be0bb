"""A repair does what is right for what is to be moved, and lets the program run."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from runtime.test_explained_causes import folder, runs, told
from torch import nn

import devlint
from devlint.runtime.explain import explain
from devlint.runtime.explaining.stack import raised
from devlint.runtime.operands import Reader
from devlint.runtime.virtual.tags import shown_place

__all__ = ["folder"]


@pytest.fixture
def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write a module as one of an installed package."""
    (folder / "site-packages").mkdir()
    monkeypatch.syspath_prepend(folder / "site-packages")

    def write(name: str, text: str) -> None:
        (folder / "site-packages" / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


def test_what_is_trained_is_not_assigned_anew(folder: Path) -> None:
    program = """
        prompt = nn.Parameter(torch.ones(1, 3))
        x = torch.ones(2, 3).cuda()
        y = prompt.expand(2, -1) + x
    """
    found = told(folder, program)
    assert found.fix == "move it first: prompt.to(x.device)"
    runs(program, "prompt.expand", "prompt.to(x.device).expand")


def test_an_array_becomes_a_tensor_where_it_is_to_be(
    folder: Path, install: Callable[[str, str], None]
) -> None:
    install(
        "acme_near",
        "import torch\n\ndef near(a, b):\n    a = torch.as_tensor(a)\n    return a @ b\n",
    )
    program = """
        import acme_near
        x, row = torch.ones(3).cuda(), torch.ones(3).numpy()
        acme_near.near(row, x)
    """
    found = told(folder, program)
    fix = "row = torch.as_tensor(row, device=x.device)"
    assert (found.argument, found.fix) == ("row", f"move it first: {fix}")
    assert any(text.startswith("train.py:4") for _, text in found.lines)
    runs(program, "acme_near.near", f"{fix}\nacme_near.near")


KEEPER = """
    class Averages:
        def __init__(self, parameters):
            self.kept = [p.detach().clone() for p in parameters]
        def to(self, device):
            self.kept = [each.to(device) for each in self.kept]
        def update(self, parameters):
            for each, p in zip(self.kept, parameters):
                each.lerp_(p.detach(), 0.5)
"""


def test_an_object_that_moves_itself_is_told_to(
    folder: Path, install: Callable[[str, str], None]
) -> None:
    install("acme_averages", KEEPER)
    program = """
        from acme_averages import Averages
        device = torch.device("cuda")
        net = nn.Linear(3, 2)
        average = Averages(net.parameters())
        net.to(device)
        average.update(net.parameters())
    """
    found = told(folder, program)
    assert found.argument == "average.kept[0]"
    assert found.fix == "move it first: average.to(net.weight.device)"
    assert dict(found.lines)["made at"].startswith("train.py:6  average =")
    runs(program, "average.update", "average.to(net.weight.device)\naverage.update")


def test_a_tuple_that_a_call_gives_is_moved_whole(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(3, 4)
            def start(self):
                return torch.zeros(1, 4), torch.zeros(1, 4)
            def forward(self, x):
                return self.rnn(x, self.start())
        Net().cuda()(torch.ones(5, 3).cuda())
    """
    found = told(folder, program)
    moved = "tuple(each.to(next(self.parameters()).device) for each in self.start())"
    assert found.fix == f"move it before the call: {moved}"
    runs(program, "x, self.start()", f"x, {moved}")


def test_what_a_function_that_has_ended_made_is_moved_where_it_is_used(folder: Path) -> None:
    program = """
        class Bonus:
            def __init__(self):
                self.bonus = torch.ones(3)
            def add(self, scores):
                return scores + self.bonus
        Bonus().add(torch.ones(3).cuda())
    """
    found = told(folder, program)
    assert found.fix == "move it first: self.bonus = self.bonus.to(scores.device)"
    runs(
        program,
        "        return",
        "        self.bonus = self.bonus.to(scores.device)\n        return",
    )


def test_a_moved_parameter_among_others_is_named(folder: Path) -> None:
    program = """
        prompt = nn.Parameter(torch.ones(3)).cuda()
        trained = [*nn.Linear(2, 2).cuda().parameters()] + [prompt]
        torch.optim.SGD(trained, lr=0.1)
    """
    found = told(folder, program, ValueError)
    assert found.argument == "prompt"
    assert found.fix.endswith("prompt = nn.Parameter(torch.ones(3).cuda())")


def test_a_part_that_only_a_method_works_on(
    folder: Path, install: Callable[[str, str], None]
) -> None:
    """The method of a module that wasn't called, with a part of it that was left behind."""
    install(
        "acme_part",
        "from torch import nn\n\n\nclass Average(nn.Module):\n"
        "    def __init__(self, module):\n        super().__init__()\n"
        "        self.module = module\n\n"
        "    def update(self, other):\n"
        "        for mine, its in zip(self.parameters(), other.parameters()):\n"
        "            mine.data.lerp_(its.data, 0.5)\n",
    )
    program = """
        from acme_part import Average
        average, net = Average(nn.Linear(2, 2)), nn.Linear(2, 2).cuda()
        average.update(net)
    """
    found = told(folder, program)
    assert (found.module, found.devices) == ("module (Linear)", ("cpu", "cuda:0"))
    runs(program, "average.update", "average.cuda()\naverage.update")


def test_the_tensor_of_a_collective_is_named(folder: Path) -> None:
    program = """
        import torch.distributed as dist
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
        device = torch.device("cuda")
        try:
            sums = torch.ones(2)
            dist.all_reduce(sums)
        finally:
            dist.destroy_process_group()
    """
    found = told(folder, program)
    assert (found.argument, found.code) == ("sums", "DEV210")
    assert found.fix == "move it first: sums = sums.to(device)"
    runs(program, "    dist.all", "    sums = sums.to(device)\n    dist.all")


def test_a_wrapper_tells_where_it_wants_its_module(folder: Path) -> None:
    program = """
        import torch.distributed as dist
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
        try:
            net = nn.Linear(2, 2)
            nn.parallel.DistributedDataParallel(net, device_ids=[0])
        finally:
            dist.destroy_process_group()
    """
    assert told(folder, program, ValueError).devices == ("cpu", "cuda:0")


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)
def test_lent_parameters_are_found_when_the_module_has_its_own_again() -> None:
    """On a real device nothing is known but the frames, after the call has ended."""
    from torch.func import functional_call

    with devlint.emulate("cuda"):
        net, x = nn.Linear(3, 2).to("meta"), torch.ones(4, 3).cuda()
        params = {name: torch.ones(p.shape) for name, p in net.named_parameters()}
        with pytest.raises(RuntimeError) as caught:
            functional_call(net, params, (x,))
        reader = Reader(shown_place, lambda tensor: None)
        found = explain(raised(caught.value.__traceback__), str(caught.value), (), reader)
    assert found is not None
    assert found.argument == 'params["weight"]'
    assert found.fix.endswith("params = {name: each.to(x.device) for name, each in params.items()}")


@pytest.mark.parametrize("use", ["liking + popular[at]", "torch.maximum(popular[at], liking)"])
def test_what_is_indexed_is_moved_where_its_items_meet_others(folder: Path, use: str) -> None:
    program = f"""
        liking, at = torch.ones(3).cuda(), torch.tensor([0, 2, 1], device="cuda")
        popular = torch.ones(4)
        y = {use}
    """
    fix = "popular = popular.to(at.device)"
    assert told(folder, program).fix == f"move it first: {fix}"
    runs(program, "y =", f"{fix}\ny =")


@pytest.mark.parametrize("use", ["liking + popular[at].to(liking.device)", "liking, popular[at]"])
def test_the_index_is_moved_where_its_items_meet_no_others(folder: Path, use: str) -> None:
    program = f"""
        liking, at = torch.ones(3).cuda(), torch.tensor([0, 2, 1], device="cuda")
        popular = torch.ones(4)
        y = {use}
    """
    assert told(folder, program).fix == "move the index: at.to(popular.device)"
    runs(program, "[at]", "[at.to(popular.device)]")


def test_a_list_whose_items_are_in_several_places_is_moved_whole(folder: Path) -> None:
    program = """
        norms = [torch.ones(2).to(f"cuda:{number}") for number in (0, 0, 1, 1)]
        y = torch.stack(norms)
    """
    fix = "norms = [each.to(norms[0].device) for each in norms]"
    assert told(folder, program).fix == f"move it first: {fix}"
    runs(program, "y =", f"{fix}\ny =")


@pytest.mark.parametrize(
    ("kind", "fix", "old", "new"),
    [
        ("list", "self.bank = [each.to(x.device) for each in self.bank]", "return", "{}; return"),
        ("deque", "[each.to(x.device) for each in self.bank]", "*self.bank]", "*{}]"),
    ],
)
def test_what_is_spread_into_a_list_is_moved(
    folder: Path, kind: str, fix: str, old: str, new: str
) -> None:
    program = f"""
        from collections import deque
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.bank = {kind}()
            def forward(self, x):
                self.bank.append(x.cpu())
                return torch.cat([x, *self.bank])
        Net()(torch.ones(2, 3).cuda())
    """
    found = told(folder, program)
    assert (found.argument, found.fix) == ("self.bank[0]", f"move it first: {fix}")
    runs(program, old, new.format(fix))


def test_a_class_that_moves_its_state_leaves_other_tensors_behind(folder: Path) -> None:
    program = """
        class Calibration(nn.Module):
            def __init__(self):
                super().__init__()
                self.total, self.edges = torch.zeros(3), torch.tensor([0.2, 0.6])
            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                self.total = fn(self.total)
                return self
            def forward(self, sure):
                return torch.bucketize(sure, self.edges) + self.total
        Calibration().cuda()(torch.rand(3).cuda())
    """
    found = told(folder, program)
    assert (found.argument, found.rule) == ("self.edges", "unregistered-tensor")
    assert 'self.register_buffer("edges"' in found.fix


@pytest.mark.parametrize("before", ["pass", "self.project = None"])
def test_a_layer_that_a_method_makes_is_moved_there(folder: Path, before: str) -> None:
    program = f"""
        class Hints(nn.Module):
            def __init__(self):
                super().__init__()
                {before}
            def forward(self, x):
                self.project = nn.Linear(x.size(1), 2)
                return self.project(x)
        hints = Hints().cuda()
        hints(torch.ones(4, 3).cuda())
    """
    fix = "self.project = nn.Linear(x.size(1), 2).to(x.device)"
    assert told(folder, program).fix == f"move it where it is made, at train.py:8: {fix}"
    runs(program, "self.project = nn.Linear(x.size(1), 2)", fix)


def test_a_tensor_that_a_distribution_hides_is_named(folder: Path) -> None:
    program = """
        from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal
        class Prior(nn.Module):
            def __init__(self):
                super().__init__()
                self.means, self.logits = nn.Parameter(torch.ones(4, 3)), torch.zeros(4)
            def forward(self, z):
                parts = Independent(Normal(self.means, 1.0), 1)
                return MixtureSameFamily(Categorical(logits=self.logits), parts).log_prob(z)
        Prior().cuda()(torch.ones(2, 3).cuda())
    """
    found = told(folder, program)
    assert found.argument == "self.logits"
    assert 'self.register_buffer("logits"' in found.fix
