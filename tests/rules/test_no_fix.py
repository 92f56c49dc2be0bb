"""What is found without a fix, since the fix would break the program."""

from __future__ import annotations

import pytest

from devlint.config.settings import check_layer, merge
from devlint.lint import check_source

PLACES = """\
import torch
from torch import nn


def draw(i):
    g = torch.Generator()
    return torch.randn(3, generator=g, device=f"cuda:{i}")


def move(rank):
    items = [torch.ones(3)]
    return items.to(f"cuda:{rank}")


def share(a, rank):
    return torch.from_numpy(a, device=f"cuda:{rank}")


class Net(nn.Module):
    def __init__(self, cfg, i):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3)).to(cfg[f"d{i}"].device)


def cast(x, rows, k):
    return x.cuda().type(rows[f"r{k}"].type())


def wrap(gpus, i):
    model = nn.Linear(3, 3)
    return nn.parallel.DistributedDataParallel(model, device_ids=[gpus[f"{i}"]])
"""
"""Their fixes would have to write an f-string a second time."""

INDEX = """\
import torch


def make(x: torch.Tensor):
    return torch.device("cuda", x.get_device())
"""
"""`torch.device("cuda", x.device)` is a TypeError."""

LOOPS = """\
import torch
from torch import nn

device = torch.device("cuda")
pair = (torch.ones(3), torch.zeros(3))
for t in pair:
    t.to(device)
whole = torch.ones(4, 3)
for row in whole:
    row.to(device)
model = nn.Linear(3, 3)
for p in model.parameters():
    p.to(device, non_blocking=True)
for b in model.buffers():
    b.cuda()
"""
"""A tuple takes no items, the rows of a tensor stay where it is, and a module is moved itself."""

BUFFERS = """\
import torch
from torch import nn


class Base(nn.Module):
    scale = None
    cache = None


class Net(Base):
    mask = None

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.mask = torch.ones(3)
        self.scale = torch.ones(3)
        self.cache = None

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.ones(3, device=x.device)
        return self.fc(x) * self.mask + self.scale + self.cache
"""
"""`register_buffer` raises KeyError where a class has an attribute of the name."""

CONTAINERS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.modes = {"train": nn.Linear(3, 3), "test": nn.Linear(3, 1)}
        self.heads = {"a": nn.Linear(3, 3)}
        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]
        self.kinds = {}
        self.kinds["half"] = nn.Linear(3, 3)
        self.weights = [nn.Parameter(torch.ones(3))]
        self.weights.insert(0, nn.Parameter(torch.ones(3)))

    def forward(self, x, mode):
        self.layers.reverse()
        for layer in self.layers:
            x = layer(x)
        return self.heads.get(mode, self.modes["test"])(x)
"""
"""A ModuleDict refuses a key that is a method of it, and has not all methods of a dict."""


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        pytest.param(
            PLACES, ["DEV105", "DEV207", "DEV301", "DEV306", "DEV404", "DEV407"], id="f-strings"
        ),
        pytest.param(INDEX, ["DEV111"], id="an index beside a type"),
        pytest.param(LOOPS, ["DEV302"], id="loops"),
        pytest.param(BUFFERS, ["DEV401"], id="buffers"),
        pytest.param(CONTAINERS, ["DEV402"], id="containers"),
    ],
)
def test_a_finding_without_a_fix(source: str, codes: list[str]) -> None:
    settings = merge([check_layer("x", "", {"select": codes, "follow-imports": False})])
    findings = check_source(source.encode(), "example.py", settings)
    assert sorted({finding.code for finding in findings}) == codes
    assert [finding.fix for finding in findings] == [None] * len(findings)
