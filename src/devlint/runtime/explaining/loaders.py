"""Data loaders that pin what is on an accelerator already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch.utils.data import DataLoader

from devlint.runtime.explaining.definitions import code_of, place_of
from devlint.runtime.explaining.given import ANY
from devlint.runtime.explaining.lookup import read
from devlint.runtime.explaining.mistakes import Mistake, described, origin
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.traced import assigned, decided, written_at
from devlint.runtime.operands import OperandFacts


def pinned_by_loader(scene: Scene, facts: OperandFacts) -> Mistake | None:
    """A loader has pinned a batch that its data set, or what collates it, has put elsewhere."""
    text = next(_loaders(scene), "")
    point = written_at(scene.running, text, scene.use) if text else None
    if point is None:
        return None
    lines = [described("batch", "", facts)]
    found = [each.shown() for each in decided(scene, point.part((ANY, ANY)), facts.device)]
    lines += found or origin(scene, facts, "", -1)
    made = assigned(scene, text, scene.use)
    fix = "leave pin_memory=True out, or keep the data on the host"
    if made is not None:
        lines.append(("loader", made.place()))
        if isinstance(made.value, ast.Call):
            rest = [k for k in made.value.keywords if k.arg != "pin_memory"]
            call = code_of(ast.Call(made.value.func, made.value.args, rest))
            fix = f"leave the pinning out at {place_of(made.file, made.line)}: {call}"
    return Mistake(
        f"{text} pins its batches, which are on {facts.device}: only host memory can be",
        lines,
        fix,
        "misused-pinned-memory",
        argument=text,
        devices=(facts.device, "cpu"),
    )


def _loaders(scene: Scene) -> Iterator[str]:
    """The loaders that the failing line, or else its function, has a name for."""
    if scene.use < 0:
        return
    spot, source = scene.stack[scene.use], scene.source(scene.use)
    for node in scene.failing_nodes(scene.use):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = read(node, spot)
            if issubclass(type(value), DataLoader):
                yield source.text_of(node)
    for name, value in list(spot.names.items()):
        if issubclass(type(value), DataLoader):
            yield name
