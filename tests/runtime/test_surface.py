"""Every public name of torch's modules of accelerators: it works, or says that it can't."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

import devlint
from devlint.runtime.virtual.api.surface import Public, is_refused, public

MODULES = [
    (kind, name)
    for kind in ("cuda", "xpu", "mps")
    for name in (kind, "accelerator")
    if hasattr(torch, name)
]

ARGUMENTS: dict[str, Callable[[str], Any]] = {
    "code": lambda kind: 0,
    "data_ptr": lambda kind: 1,
    "debug_mode": lambda kind: "default",
    "destination": lambda kind: 0,
    "device": lambda kind: 0,
    "devices": lambda kind: [0],
    "fraction": lambda kind: 0.5,
    "func": lambda kind: abs,
    "bwd": lambda kind: abs,
    "fwd": lambda kind: abs,
    "inputs": lambda kind: [torch.ones(1, device=kind)],
    "msg": lambda kind: "message",
    "new_state": lambda kind: torch.get_rng_state(),
    "new_states": lambda kind: [torch.get_rng_state()],
    "obj": lambda kind: torch.ones(1, device=kind),
    "peer": lambda kind: 0,
    "peer_device": lambda kind: 0,
    "range_id": lambda kind: 0,
    "res": lambda kind: 0,
    "seed": lambda kind: 1,
    "stream": lambda kind: None,
    "stream_ptr": lambda kind: 1,
    "tensor": lambda kind: torch.ones(1, device=kind),
    "tensors": lambda kind: [torch.ones(1, device=kind)],
}
"""What functions are called with, by the names of the parameters that they can't do without."""


def required(function: Any) -> list[str]:
    """The names of the parameters that a function can't do without.

    `devices` of the functions in `torch.cuda.comm` has a default, but needs a value.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        p.name
        for p in parameters
        if p.kind in kinds and (p.default is p.empty or p.name == "devices")
    ]


def outcome(kind: str, each: Public) -> str:
    """What calling it comes to; empty where it has worked."""
    name = each.name.rpartition(".")[2]
    function = getattr(each.owners[0], name)
    assert all(getattr(owner, name) is function for owner in each.owners)
    if not callable(function):
        return ""
    missing = [] if is_refused(function) else required(each.value)
    arguments = [ARGUMENTS[parameter](kind) for parameter in missing]
    try:
        function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing is raised" if is_refused(function) else ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), MODULES)
def test_every_public_name_works_or_says_that_it_cannot(kind: str, name: str) -> None:
    module = getattr(torch, name)
    names = public(module)
    with devlint.emulate(kind):
        found = {each.name: outcome(kind, each) for each in names}
    wrong = {
        key: said
        for key, said in found.items()
        if said and said != f"NotEmulatedError: torch.{name}.{key} can't be emulated"
    }
    assert not wrong
    assert "device_count" in found
