"""PyTorch's own operator database on the emulated accelerator: the first sample of each entry.

`bench/operators.py` without `--fast` runs all samples, on a second accelerator too.
"""

from __future__ import annotations

import sys

import pytest
import torch

pytest.importorskip("expecttest", reason="torch.testing._internal asks for it")

import operators

PARTS = 8


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (2, 13),
    reason="the list of what PyTorch takes is that of torch 2.13",
)
@pytest.mark.skipif(sys.platform != "linux", reason="the CPU's kernels, and so its bits, differ")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_entry_is_as_pytorch_has_it(part: int) -> None:
    names = list(operators.subjects())[part::PARTS]
    assert len(names) > 50
    assert operators.check_all(names, fast=True).differences == []
