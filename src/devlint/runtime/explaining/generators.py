"""Random numbers that are to be made on one device with a generator of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import torch

from devlint.crashes.messages import Words
from devlint.runtime.explaining.definitions import code_of, place_of
from devlint.runtime.explaining.lookup import contents, read
from devlint.runtime.explaining.mistakes import Mistake
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import parameters
from devlint.runtime.explaining.targets import device_text
from devlint.runtime.explaining.traced import assigned
from devlint.runtime.operands import OperandFacts


def generator_elsewhere(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """The program's generator is elsewhere, or it has given none and torch has made one."""
    wanted, found = words.home, words.device
    written = _keyword(scene) or _name_of_generator(scene)
    lines = [("generator", f"{written}: on {found}")] if written else []
    made = assigned(scene, written, scene.use) if written else None
    lines += [] if made is None else [made.shown()]
    index = scene.use if made is None else scene.running_at(made.file, made.line, scene.use)
    target = device_text(scene, index, wanted, line=0 if made is None else made.line)
    new = f"torch.Generator(device={target})"
    head = f"the generator is on {found}, but the numbers are to be on {wanted}"
    fix = f"make it for that device: {new}"
    if not written:
        call = next(_calls_without(scene), None)
        if call is not None:
            node, where = call
            keyword = ast.keyword("generator", ast.parse(new, mode="eval").body)
            changed = code_of(ast.Call(node.func, node.args, [*node.keywords, keyword]))
            head = (
                f"{ast.unparse(node.func)} takes a generator on {found} where it is given none, "
                f"and makes numbers on {wanted}, the default device"
            )
            fix = f"give it one{where}: {changed}"
    return Mistake(
        head,
        lines,
        fix,
        "generator-on-other-device",
        module=scene.home_label,
        argument=written,
        devices=(found, wanted),
    )


def _keyword(scene: Scene) -> str:
    """What the failing line gives as `generator=`."""
    for node in scene.failing_nodes(scene.use):
        if isinstance(node, ast.keyword) and node.arg == "generator":
            return scene.source(scene.use).text_of(node.value)
    return ""


def _name_of_generator(scene: Scene) -> str:
    """The name that the failing line's function has for the generator in torch's own frames."""
    if scene.use < 0:
        return ""
    names = scene.stack[scene.use].names.items()
    for spot in scene.stack[scene.use + 1 :]:
        held = [spot.names.get("generator")]
        held += [contents(value).get("generator") for value in list(spot.names.values())]
        for generator in held:
            if type(generator) in (torch.Generator, torch._C.Generator):  # emulated, or not
                name = next((name for name, value in names if value is generator), "")
                if name:
                    return name
    return ""


def _calls_without(scene: Scene) -> Iterator[tuple[ast.Call, str]]:
    """The call of the user's that could have given a generator, and where it is if elsewhere."""
    if scene.use < 0 or scene.use + 1 >= len(scene.stack):
        return
    spot, failing = scene.stack[scene.use], scene.failing_call(scene.use)
    if failing is not None and "generator" in parameters(scene.stack[scene.use + 1].code):
        yield failing, ""
    for inner in reversed(scene.stack[scene.use + 1 :]):
        maker = inner.names.get("self")
        if "generator" not in contents(maker):
            continue
        texts = [name for name, value in spot.names.items() if value is maker]
        for node in scene.failing_nodes(scene.use):
            if isinstance(node, (ast.Name, ast.Attribute)):
                if any(part is maker for part in contents(read(node, spot)).values()):
                    texts.append(ast.unparse(node))
        for text in texts:
            line = assigned(scene, text, scene.use)
            if line is not None and isinstance(line.value, ast.Call):
                yield line.value, f" at {place_of(line.file, line.line)}"
