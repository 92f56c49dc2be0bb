"""A tensor that became a parameter and was moved then: what the move gives is another tensor."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from devlint.crashes.messages import Words
from devlint.runtime.explaining.definitions import code_of
from devlint.runtime.explaining.lookup import locals_of
from devlint.runtime.explaining.mistakes import Mistake, described
from devlint.runtime.explaining.scene import Scene, is_same
from devlint.runtime.explaining.traced import assigned
from devlint.runtime.operands import OperandFacts, is_tensor

_MOVES = ("to", "cuda", "cpu", "xpu")


def not_a_leaf(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake | None:
    """An optimizer was given the result of a move; nothing if it is another computation's."""
    facts = _refused(scene)
    if facts is None or scene.use < 0:
        return None
    held = [*scene.operands(scene.use), *locals_of(scene.stack[scene.use])]
    test = is_same(facts)
    for text in [each.text for each in held if each.tensor is not None and test(each.tensor)]:
        found = assigned(scene, text, scene.use)
        call = None if found is None else found.value
        way = call.func if isinstance(call, ast.Call) else None
        if found is not None and isinstance(call, ast.Call) and isinstance(way, ast.Attribute):
            if way.attr not in _MOVES:
                continue
            first = _moved_first(call, way)
            fix = "move it before it becomes a parameter"
            return Mistake(
                f"{text} is the result of a move, and no parameter: an optimizer can't step it",
                [described("argument", text, facts), found.shown()],
                f"{fix}: {text} = {first}" if first else fix,
                "moved-parameter",
                module=scene.home_label,
                argument=text,
                devices=(facts.device,),
            )
    return None


def _refused(scene: Scene) -> OperandFacts | None:
    """The tensor that torch's optimizer didn't take."""
    for spot in reversed(scene.stack[scene.use + 1 :]):
        if spot.owner == "torch" and Path(spot.file).parent.name == "optim":
            value = spot.names.get("param")
            if is_tensor(value) and not value.is_leaf:
                return scene.reader.facts("param", value)
    return None


def _moved_first(move: ast.Call, way: ast.Attribute) -> str:
    """The same with the move inside; empty for what isn't made where it is moved."""
    made = way.value
    if not isinstance(made, ast.Call):
        return ""
    if ast.unparse(made.func).rpartition(".")[2] == "Parameter" and made.args:
        inner = ast.Call(ast.Attribute(made.args[0], way.attr), move.args, move.keywords)
        return code_of(ast.Call(made.func, [inner, *made.args[1:]], made.keywords))
    if not any(keyword.arg == "requires_grad" for keyword in made.keywords):
        return ""
    if any(keyword.arg == "device" for keyword in made.keywords):
        return ""
    where = move.args[0] if move.args else ast.Constant(way.attr)
    if len(move.args) > 1 or move.keywords or (way.attr == "to" and not move.args):
        return ""
    keywords = [*made.keywords, ast.keyword("device", where)]
    return code_of(ast.Call(made.func, made.args, keywords))
