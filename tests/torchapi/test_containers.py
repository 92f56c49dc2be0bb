"""The lists and dicts of torch.nn are as `spellings` says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from torch import nn

from devlint.torchapi.spellings import is_lacking, names_submodule


@pytest.mark.parametrize(
    ("container", "plain"),
    [
        (nn.ModuleDict, dict),
        (nn.ModuleList, list),
        (nn.ParameterDict, dict),
        (nn.ParameterList, list),
    ],
)
def test_what_a_container_lacks(container: type, plain: type) -> None:
    methods = {name for name in dir(plain) if not name.startswith("_")}
    lacking = {name for name in methods if is_lacking(container.__name__, name)}
    assert methods - set(dir(container)) <= lacking


def test_what_names_no_submodule() -> None:
    # asked of a process of its own: here other tests may have given modules more
    code = "from torch import nn; print(*dir(nn.ModuleDict()))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {name for name in told.stdout.split() if not name.startswith("_")}
    assert not any(map(names_submodule, own))
    assert names_submodule("encoder")
