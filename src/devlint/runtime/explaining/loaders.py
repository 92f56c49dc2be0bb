"""Data loaders that pin what is on an accelerator already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch.utils.data import DataLoader

from devlint.runtime.explaining.definitions import code_of, place_of
from devlint.runtime.explaining.lookup import Named, contents, read, tensors_of
from devlint.runtime.explaining.mistakes import Mistake, described, origin
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.traced import assigned
from devlint.runtime.operands import OperandFacts, Site


def pinned_by_loader(scene: Scene, facts: OperandFacts) -> Mistake | None:
    """A loader has pinned a batch that its data set, or what collates it, has put elsewhere."""
    found = next(_loaders(scene), None)
    if found is None:
        return None
    text, loader = found
    lines, argument = [described("batch", "", facts)], text
    site = facts.moved or facts.site
    if site is None or _is_of_frame(site, scene):
        kept = next(_kept_on(scene, text, loader, facts.device), None)
        if kept is not None and kept.tensor is not None:
            facts, argument = scene.reader.facts(kept.text, kept.tensor), kept.text
            lines = [described("data", kept.text, facts)]
    lines += origin(scene, facts, "", -1)
    made = assigned(scene, text, scene.use)
    fix = "leave pin_memory=True out, or keep the data on the host"
    if made is not None:
        lines.append(("loader", made.place()))
        if isinstance(made.value, ast.Call):
            rest = [k for k in made.value.keywords if k.arg != "pin_memory"]
            call = code_of(ast.Call(made.value.func, made.value.args, rest))
            fix = f"leave the pinning out at {place_of(made.file, made.line)}: {call}"
    return Mistake(
        f"{text} pins its batches, which are on {facts.device}: only memory of the host can be",
        lines,
        fix,
        "pinned-memory-misuse",
        argument=argument,
        devices=(facts.device, "cpu"),
    )


def _loaders(scene: Scene) -> Iterator[tuple[str, object]]:
    """The loaders that the failing line, or else its function, has a name for."""
    if scene.use < 0:
        return
    spot, source = scene.stack[scene.use], scene.source(scene.use)
    for node in scene.failing_nodes(scene.use):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = read(node, spot)
            if issubclass(type(value), DataLoader):
                yield source.text_of(node), value
    for name, value in list(spot.names.items()):
        if issubclass(type(value), DataLoader):
            yield name, value


def _is_of_frame(site: Site, scene: Scene) -> bool:
    """Whether a line is the one that has failed."""
    spot = scene.stack[scene.use]
    return (site.file, site.line) == (spot.file, spot.line)


def _kept_on(scene: Scene, text: str, loader: object, device: str) -> Iterator[Named]:
    """The tensors on a device that the data set of a loader keeps."""
    data = contents(loader).get("dataset")
    for named in tensors_of(f"{text}.dataset", data):
        if scene.is_on(named.tensor, device):
            yield named
    for name, value in list(contents(data).items()):
        for named in tensors_of(f"{text}.dataset.{name}", value, objects=True):
            if scene.is_on(named.tensor, device):
                yield named
