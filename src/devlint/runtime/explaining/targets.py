"""What stands for a device in a line of the program that is to be changed or added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from devlint.runtime.explaining.lookup import (
    MISSING,
    Named,
    contents,
    getter_of,
    modules_below,
    own_tensors,
    read,
)
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import binds, parameters
from devlint.runtime.explaining.stack import as_module, own_name
from devlint.runtime.operands import is_tensor


def can_be_assigned(text: str) -> bool:
    """Whether `text = ...` is a statement."""
    return re.fullmatch(r"[A-Za-z_]\w*(\.\w+|\[[^\[\]()]*\])*", text) is not None


def device_text(
    scene: Scene,
    index: int,
    device: str,
    callee: str = "",
    other: Named | None = None,
    near: Named | None = None,
    line: int = 0,
) -> str:
    """What stands for a device in a frame's function: the program's own words, if it has any.

    Args:
        scene: what was going on.
        index: of the frame; -1 if there is none.
        device: as in `cuda:0`.
        callee: how the line writes a module whose parameters are there.
        other: a tensor that is there, or what names some that are.
        near: another one that is taken where `other` names none.
        line: of the function, where that isn't the failing one.
    """
    if index >= 0:
        name = own_name(scene.stack[index])
        module = as_module(scene.stack[index].names.get(name)) if name else None
        if module is not None and scene.owners.device_of(module) == device:
            return _of_module(scene, name, module, device)
    if callee and can_be_assigned(callee):
        module = as_module(scene.value(callee, index))
        if target := _of_module(scene, callee, module, device):
            return target
    there = "" if other is None else tensor_named_in(scene, other, device, index)
    if not there and near is not None and can_be_assigned(near.text):
        there = near.text
    if there:
        return f"{there}.device"
    return (
        next(_in_scope(scene, index, device, line), f'"{device}"') if index >= 0 else f'"{device}"'
    )


def _of_module(scene: Scene, text: str, module: nn.Module | None, device: str) -> str:
    """The device of a module's first parameter, or of its first buffer if it has none."""
    for way in ("parameters", "buffers"):
        parts = () if module is None else modules_below(module)
        first = next((t for _, part in parts for _, t in own_tensors(part, (f"_{way}",))), None)
        if module is None or scene.is_on(first, device):
            return f"next({text}.{way}()).device"
        if first is not None:
            break
    return ""


def can_be_set(scene: Scene, text: str, index: int) -> bool:
    """Whether a line of a frame can give a new value to what it calls so.

    A name of the file, or of a function around this one, would be a new name of this function's,
    and what a property computes has no place of its own.
    """
    if index < 0 or not can_be_assigned(text):
        return False
    spot, (owner, _, name) = scene.stack[index], text.rpartition(".")
    if owner and getter_of(scene.value(owner, index), name) is not None:
        return False
    is_own = text in (*spot.code.co_varnames, *spot.code.co_cellvars)
    return is_own or not text.isidentifier() or spot.code.co_name == "<module>"


def tensor_named_in(scene: Scene, named: Named, device: str, index: int) -> str:
    """A tensor on a device that an expression names: itself, or one that it is computed from."""
    if named.node is not None and index >= 0:
        source = scene.source(index)
        for part in ast.walk(named.node):
            if isinstance(part, (ast.Name, ast.Attribute)):
                text = source.text_of(part)
                if can_be_assigned(text) and scene.is_on(read(part, source.spot), device):
                    return text
        value = read(named.node, source.spot)
        if value is not MISSING and not is_tensor(value):
            if source.text_of(named.node) == named.text:
                return ""  # what holds tensors has no device
    return named.text if can_be_assigned(named.text) else ""


def _in_scope(scene: Scene, index: int, device: str, line: int) -> Iterator[str]:
    """What a function has at a line that names a device, and then what is on it."""
    spot = scene.stack[index]
    names = {**spot.names, **{name: spot.globals.get(name) for name in spot.code.co_names}}
    names = {name: value for name, value in names.items() if not name.startswith("_")}
    known = {name: value for name, value in names.items() if _is_set(scene, index, name, line)}
    for name, value in known.items():
        if _is_place(value, device):
            yield name
        elif _is_place(_own(value).get("device"), device):
            yield f"{name}.device"
    for name, value in known.items():
        if scene.is_on(value, device):
            yield f"{name}.device"


def _own(value: Any) -> Mapping[str, Any]:
    return {} if is_tensor(value) or issubclass(type(value), type) else contents(value)


def _is_set(scene: Scene, index: int, name: str, line: int) -> bool:
    """Whether a name has its value at a line already."""
    source = scene.source(index)
    if name in parameters(source.spot.code) or not line:
        return True
    sets = [getattr(node, "lineno", line) for node in source.nodes if binds(node, name)]
    return all(found < line for found in sets)


def accelerator() -> str:
    """The kind of accelerator that this process has, or would have."""
    found = getattr(torch._C, "_get_accelerator", lambda: torch.device("cuda"))().type
    return "cuda" if found == "cpu" else str(found)


_DEVICE = type(torch.device("cpu"))  # an emulation has another object for `torch.device`


def _is_place(value: object, device: str) -> bool:
    """Whether a value names a device: without a number it is the current one of its kind."""
    text = str(value) if type(value) in (str, _DEVICE) else ""
    if re.fullmatch(r"[a-z]+(:\d+)?", text) is None:
        return False
    kind, _, number = text.partition(":")
    wanted, _, wanted_number = device.partition(":")
    if kind != wanted or not wanted_number:
        return kind == wanted
    current = getattr(getattr(torch, kind, None), "current_device", lambda: 0)
    return wanted_number == (number or str(current()))
