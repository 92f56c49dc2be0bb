"""What PyTorch's text says of a call by itself: a headline, the rule that reports it, and a fix."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from devlint.crashes.messages import Kind, Words

FIND_OUT = '"cuda" if torch.cuda.is_available() else "cpu"'
"""A device that is there."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A rule, by its name, and a repair."""

    rule: str
    fix: str


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a mistake."""

    headline: str
    remedy: Remedy
    lines: tuple[tuple[str, str], ...] = ()
    argument: str = ""


INPUTS = frozenset({"mat1", "input", "Input", "index", "indices", "mat", "vec1"})
"""What PyTorch calls the argument of a layer."""


def said_of_meeting(words: Words, call: str, callee: str, operand: str) -> str:
    """The headline of two tensors of which PyTorch names both devices.

    Args:
        words: what the text says.
        call: as its line writes it.
        callee: the layer that it calls with the operand as its input; empty if it doesn't.
        operand: the stranger, as the line writes it; empty if unknown.
    """
    (name, device), (other, home) = words.operands[:2]
    if callee:
        return f"{callee} received {operand} on {device}; its parameters are on {home}"
    what = call or words.operation or "an operation"
    met = f"{other or 'another tensor'} on {home}"
    return f"{what} takes {operand or name or 'a tensor'} on {device} and {met}"


def named_by_torch(words: Words) -> list[tuple[str, str]]:
    """What PyTorch calls the stranger, as a line below the headline."""
    name, device = words.operands[0]
    of = f" of {words.operation}" if words.operation else ""
    return [("operand", f"{name}{of}: on {device}")] if name else []


def said_of(words: Words, call: str, node: ast.AST | None) -> Said:
    """What the text says of a call, as its line writes it, and of its tree."""
    parts = [] if node is None else list(ast.walk(node))
    if words.kind in _SAYERS:
        return _SAYERS[words.kind](words, call, parts)
    return _plain(words, call)


def _plain(words: Words, call: str) -> Said:
    found = f"on {words.device}" if words.device else "on an accelerator"
    head = _HEADS.get(words.kind, "{call} failed because of devices").format(
        call=call or words.operation or "an operation",
        found=found,
        device=words.device or "an accelerator",
        home=words.home or "one device",
    )
    return Said(head, REMEDIES[words.kind])


_HEADS: Mapping[Kind, str] = {
    "index": "{call} indexes a tensor on {home} from another device",
    "host": "{call} reads a tensor {found}, and needs it on cpu",
    "generator": "{call} draws numbers on {home} with a generator {found}",
    "pinned": "{call} pins a tensor {found}, and only host memory can be pinned",
    "lengths": "{call} takes the lengths of the sequences {found}, not on cpu",
    "state": "{call} takes the state of random numbers, which is needed on cpu",
    "optimizer": "{call} works on a parameter, a gradient and a state that aren't all on one "
    "device",
    "fused": "{call} steps parameters of an accelerator only, and got one {found}",
    "gradient": "{call} gave a gradient {found}, and its tensor is on {home}",
    "leaf": "{call} got the result of a move, which is no parameter",
    "replica": "{call} wants a module in one place, and a part of it is {found}",
    "parameters": "{call} takes parameters of one device, and got some of several",
    "load": "{call} reads a file with tensors {found}, which isn't there",
    "missing": "{call} needs {device}, which this machine or this torch doesn't have",
    "fork": "a forked process uses {device}, which its parent has used already",
    "empty": "{call} copies from meta, where tensors have no data",
    "backend": "{call} was given a tensor {found}, for which the process group has no backend",
}


def _missing(words: Words, call: str, parts: list[ast.AST]) -> Said:
    said = _plain(words, call or "the program")
    names = [getattr(part.func, "attr", "") for part in parts if isinstance(part, ast.Call)]
    if "cuda" in names:
        fix = f"move it with .to(device), where device = {FIND_OUT}"
        return Said(said.headline, Remedy("hardcoded-cuda-call", fix))
    if "torch.cuda." in call:
        fix = "ask before: if torch.cuda.is_available():"
        return Said(said.headline, Remedy("unguarded-cuda-api", fix))
    rule = "hardcoded-cuda-device" if devices_named(parts) else ""
    return Said(said.headline, Remedy(rule, said.remedy.fix))


def _ordinal(words: Words, call: str, parts: list[ast.AST]) -> Said:
    named = devices_named(parts)
    asked = named[0] if len(named) == 1 and ":" in named[0] else ""
    head = f"{asked or 'the requested accelerator'} isn't there: its number is too high"
    remedy = REMEDIES["ordinal"]
    return Said(head, remedy if asked else Remedy("", remedy.fix), (), asked)


def devices_named(parts: list[ast.AST]) -> list[str]:
    """The accelerators that a line names, as text or as in `x.cuda(5)`."""
    return [found for part in parts if (found := _device_named(part))]


def _device_named(part: ast.AST) -> str:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return part.value if re.fullmatch(r"(cuda|xpu|hpu)(:\d+)?", part.value) else ""
    method = getattr(part.func, "attr", "") if isinstance(part, ast.Call) else ""
    given = part.args[0] if isinstance(part, ast.Call) and len(part.args) == 1 else None
    number = given.value if isinstance(given, ast.Constant) else None
    return f"{method}:{number}" if type(number) is int and method in ("cuda", "xpu") else ""


def _numpy(words: Words, call: str, parts: list[ast.AST]) -> Said:
    where = f"on {words.device}" if words.device else "on an accelerator"
    for node in parts:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "numpy":
                text = " ".join(ast.unparse(node.func.value).split())
                copied = f"{text.removesuffix('.detach()')}.detach().cpu().numpy()"
                remedy = Remedy("numpy-on-accelerator", f"copy it to the host first: {copied}")
                return Said(f"{text} is {where}, numpy needs it on cpu", remedy, (), text)
    rule = "accelerator-tensor-in-host-library" if call else "numpy-on-accelerator"
    head = f"{call or 'numpy'} reads a tensor {where} as an array, which needs it on cpu"
    return Said(head, Remedy(rule, REMEDIES["numpy"].fix))


_SAYERS = {"missing": _missing, "ordinal": _ordinal, "numpy": _numpy}


REMEDIES: Mapping[Kind, Remedy] = {
    "meeting": Remedy("operands-on-other-devices", "move all of them to one device first"),
    "index": Remedy("index-on-other-device", "move the index to where the tensor is"),
    "numpy": Remedy("numpy-on-accelerator", "copy it to the host first: .cpu()"),
    "host": Remedy("cpu-only-argument", "copy it to the host first: .cpu()"),
    "generator": Remedy("generator-on-other-device", "make the generator for that device"),
    "pinned": Remedy(
        "misused-pinned-memory", "pin it before it is moved, or leave the pinning out"
    ),
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
        "module-wrapped-before-move",
        "move the whole module to the device of this rank before it is wrapped",
    ),
    "parameters": Remedy("", "move all of them to one device first"),
    "load": Remedy(
        "load-without-map-location", 'say where to load them: torch.load(..., map_location="cpu")'
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
