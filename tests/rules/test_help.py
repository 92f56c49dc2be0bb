"""The remedy beside a finding, in the words of the program."""

from __future__ import annotations

import pytest

from devlint.config.settings import check_layer, merge
from devlint.lint import check_source

HELPS = {
    "a loop over a tuple": (
        "DEV302",
        "for t in (torch.ones(3), torch.zeros(3)):\n    t.to(device)",
        "make a tuple of the results",
    ),
    "a loop over a tensor": (
        "DEV302",
        "x = torch.ones(4, 3)\nfor row in x:\n    row.to(device)",
        "move the whole tensor: `x = x.to(device)`",
    ),
    "a loop over parameters": (
        "DEV302",
        "net = torch.nn.Linear(3, 3)\nfor p in net.parameters():\n    p.cuda(device=0)",
        "move the module: `net.cuda(device=0)`",
    ),
    "a flag of a move": (
        "DEV301",
        "[torch.ones(3)].to(device, non_blocking=True)",
        "move what it holds: `[item.to(device, non_blocking=True) for item in [torch.ones(3)]]`",
    ),
    "an optimizer": (
        "DEV301",
        "torch.optim.SGD([torch.ones(3, requires_grad=True)], 0.1).to(device)",
        "move the model, then build the optimizer: it makes its state where the parameters are",
    ),
    "an index of 0": (
        "DEV304",
        "def run(gpu=None):\n    return torch.device(gpu)",
        'choose one: `torch.device(gpu if gpu is not None else "cpu")`',
    ),
    "capitals": (
        "DEV305",
        'x = torch.ones(3, device=device).device.type == "CUDA"',
        'device types are lower case: compare with "cuda"',
    ),
    "a cast of a quantised model": (
        "DEV308",
        "from transformers import AutoModel\n"
        "net = AutoModel.from_pretrained('a', load_in_8bit=True)\n"
        "net = net.to(torch.float16)",
        "choose the dtype where it is loaded: `from_pretrained(..., torch_dtype=dtype)`",
    ),
    "a base without a name": (
        "DEV204",
        "torch.ones(3)[torch.tensor([0], device=device)]",
        "an index may be on the CPU or with the indexed tensor: "
        "`torch.tensor([0], device=device).cpu()`",
    ),
}


@pytest.mark.parametrize(("code", "source", "told"), HELPS.values(), ids=HELPS)
def test_help(code: str, source: str, told: str) -> None:
    settings = merge([check_layer("x", "", {"select": [code], "follow-imports": False})])
    program = f'import torch\n\ndevice = torch.device("cuda")\n{source}\n'
    (found,) = check_source(program.encode(), "example.py", settings)
    assert found.help == told
