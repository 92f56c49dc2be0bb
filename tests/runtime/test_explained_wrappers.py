"""What is told of a wrapper whose module isn't where it has to be."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import devlint


def test_a_module_that_was_not_moved_before_it_is_called() -> None:
    with devlint.emulate("cuda", 2), devlint.guard(), pytest.raises(RuntimeError) as caught:
        nn.DataParallel(nn.Linear(3, 2))(torch.rand(4, 3))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "DataParallel wants the module on cuda:0" in told
    assert "[DEV404]" in told
