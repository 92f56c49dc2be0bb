"""The fix of a mistake of which only the kind is known, and the rule that reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devlint.crashes.messages import Kind

FIND_OUT = '"cuda" if torch.cuda.is_available() else "cpu"'
"""A device that is there."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A rule, by its name, and a repair."""

    rule: str
    fix: str


REMEDIES: Mapping[Kind, Remedy] = {
    "meeting": Remedy("operands-on-other-devices", "bring all of them to one device first"),
    "index": Remedy("index-on-other-device", "move the index to where the tensor is"),
    "numpy": Remedy("numpy-on-accelerator", "copy it to the host first: .cpu()"),
    "host": Remedy("cpu-only-argument", "copy it to the host first: .cpu()"),
    "generator": Remedy("generator-on-other-device", "make the generator for that device"),
    "pinned": Remedy("pinned-memory-misuse", "pin it before it is moved, or leave the pinning out"),
    "lengths": Remedy("cpu-only-argument", "copy the lengths to the host: .cpu()"),
    "state": Remedy("cpu-only-argument", "copy the state to the host: .cpu()"),
    "optimizer": Remedy(
        "optimizer-before-move",
        "move the model before the optimizer is made or its state is loaded, "
        "and don't move it later",
    ),
    "fused": Remedy("", "move the model before the optimizer is made"),
    "gradient": Remedy(
        "", "return gradients from backward() on the device of the input that they belong to"
    ),
    "leaf": Remedy("moved-parameter", "move it before it becomes a parameter"),
    "replica": Remedy(
        "wrapped-before-move",
        "move the whole module to the device of this rank before it is wrapped",
    ),
    "parameters": Remedy("", "move all of them to one device first"),
    "load": Remedy(
        "load-without-map-location", 'say where they are to go: torch.load(..., map_location="cpu")'
    ),
    "missing": Remedy("", f"ask before: device = {FIND_OUT}"),
    "ordinal": Remedy(
        "hardcoded-device-index",
        "numbers go from 0 to torch.cuda.device_count() - 1, and count only the devices of "
        "CUDA_VISIBLE_DEVICES",
    ),
    "fork": Remedy(
        "accelerator-in-worker",
        'leave the accelerator out of the code of workers, or start them with "spawn" '
        '(a DataLoader: multiprocessing_context="spawn")',
    ),
    "empty": Remedy(
        "", "give the module memory with .to_empty(device=...), and load its weights then"
    ),
    "backend": Remedy(
        "cpu-tensor-in-collective",
        "move the tensor to the accelerator of this rank first, or name a backend for each "
        'device: init_process_group("cpu:gloo,cuda:nccl")',
    ),
}
"""By the kind of PyTorch's text."""
