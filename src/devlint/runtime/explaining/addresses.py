"""How the user's lines reach a module that is at work."""

from __future__ import annotations

import ast

from torch import nn

from devlint.runtime.explaining.lookup import modules_below, own_tensors, read
from devlint.runtime.explaining.ownership import path_in
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.stack import ModuleFrame, as_module


def written_callee(scene: Scene, frame: ModuleFrame) -> tuple[str, int]:
    """How the user writes a module at work, or what it is a part of, and the line's index."""
    index = scene.users_frame(frame.index - 1)
    if index < 0:
        return "", -1
    node = scene.call_of(frame.module, index) if frame.is_call else None
    if node is not None and index == frame.index - 1:
        return scene.source(index).text_of(node.func), index
    found = written_with(scene, frame.module, index)
    return ("" if found is None else found[0]), index


def written_with(scene: Scene, module: nn.Module, index: int) -> tuple[str, str] | None:
    """What a frame's line calls a module, or what it is a part of, and its path there."""
    source = scene.source(index)
    for node in scene.failing_nodes(index):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            path = path_in(read(node, scene.stack[index]), module)
            if path is not None:
                return source.text_of(node), path
    return None


def address(scene: Scene, module: nn.Module) -> tuple[str, int]:
    """How the line that calls the outermost module reaches one at work, and its index."""
    for index in (scene.users_frame(scene.modules[0].index - 1), scene.use):
        found = written_with(scene, module, index) if index >= 0 else None
        if found is not None:
            text, path = found
            for step in filter(None, path.split(".")):
                is_key = issubclass(type(scene.value(text, index)), nn.ModuleDict)
                name = f'["{step}"]' if is_key else f".{step}"
                text += f"[{step}]" if step.isdigit() else name
            return text, index
    return "", -1


def whole_on(scene: Scene, device: str) -> str:
    """How the user writes the outermost module, if its first tensor is on a device."""
    root = scene.modules[0].module
    text, index = address(scene, root)
    parts = (tensor for _, part in modules_below(root) for _, tensor in own_tensors(part))
    is_module = as_module(scene.value(text, index)) is not None
    return text if is_module and scene.is_on(next(parts, None), device) else ""
