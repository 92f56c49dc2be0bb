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


@pytest.mark.parametrize(
    ("source", "codes"),
    [(PLACES, ["DEV105", "DEV207", "DEV301", "DEV306", "DEV404"]), (INDEX, ["DEV111"])],
    ids=["f-strings", "an index beside a type"],
)
def test_a_finding_without_a_fix(source: str, codes: list[str]) -> None:
    settings = merge([check_layer("x", "", {"select": codes, "follow-imports": False})])
    findings = check_source(source.encode(), "example.py", settings)
    assert sorted({finding.code for finding in findings}) == codes
    assert [finding.fix for finding in findings] == [None] * len(findings)
