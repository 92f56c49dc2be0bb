"""What an optimizer steps with: parameters, gradients and states that aren't all in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from devlint.crashes.messages import Words
from devlint.crashes.remedies import REMEDIES
from devlint.runtime.explaining.definitions import code_of
from devlint.runtime.explaining.lookup import contents, locals_of
from devlint.runtime.explaining.mistakes import Mistake, described, origin
from devlint.runtime.explaining.origins import creation, verb
from devlint.runtime.explaining.scene import Scene, is_same
from devlint.runtime.explaining.source import TO_DEVICES
from devlint.runtime.explaining.stack import Spot
from devlint.runtime.explaining.traced import assigned
from devlint.runtime.operands import OperandFacts, is_tensor

_REMEDY = REMEDIES["optimizer"]


def is_optimizer_at_work(scene: Scene) -> bool:
    """Whether the failing line has called an optimizer of torch."""
    return any(True for _ in _frames(scene))


def _frames(scene: Scene) -> Iterator[Spot]:
    for spot in scene.stack[scene.use + 1 :]:
        if spot.owner == "torch" and Path(spot.file).parent.name == "optim":
            yield spot


def of_optimizer(scene: Scene, met: Mistake) -> Mistake:
    """A meeting of what an optimizer steps with, which the program has no names for."""
    call = scene.failing_text(scene.use) or "an optimizer"
    name = _name(scene)
    found = assigned(scene, name, scene.use)
    made = [] if found is None else [("optimizer", found.place())]
    for key, state, parameter in _strays(scene):
        facts, home = scene.reader.facts(key, state), scene.device(parameter)
        again = f": {name}.load_state_dict({name}.state_dict())" if name else ""
        fix, rule = f"move the state to the device of its parameters{again}", _REMEDY.rule
        if _was_put_there(scene, facts):
            rule = "operands-on-other-devices"
        else:
            fix = f"move the model before the optimizer is made, or its state now{again}"
        return Mistake(
            f"{call} has {key}, a state of a parameter on {home}, on {facts.device}",
            [described("state", key, facts), *origin(scene, facts, "", -1), *made],
            fix,
            rule,
            argument=key,
            devices=(facts.device, home),
            is_mismatch=True,
        )
    places = " and ".join(sorted(set(met.devices)))
    head = f"{call} works on parameters, gradients and states of {places}"
    return replace(
        met,
        headline=head,
        lines=[*met.lines, *made],
        fix=_REMEDY.fix,
        argument="",
        rule=_REMEDY.rule,
    )


def _name(scene: Scene) -> str:
    """How the failing line writes the optimizer."""
    call = scene.failing_call(scene.use)
    if call is None or not isinstance(call.func, ast.Attribute):
        return ""
    return scene.source(scene.use).text_of(call.func.value)


def _strays(scene: Scene) -> Iterator[tuple[str, Tensor, Tensor]]:
    """States that aren't where their parameter and its gradient are, and the parameter."""
    held = next((spot.names["self"] for spot in _frames(scene) if "self" in spot.names), None)
    states = contents(held).get("state")
    for parameter, state in list(dict.items(states)) if isinstance(states, dict) else ():
        if not is_tensor(parameter) or not isinstance(state, dict):
            continue
        home, gradient = scene.device(parameter), parameter.grad
        if gradient is None or scene.is_on(gradient, home):
            for key, value in list(dict.items(state)):
                if is_tensor(value) and value.dim() > 0 and not scene.is_on(value, home):
                    yield str(key), value, parameter


def _was_put_there(scene: Scene, state: OperandFacts) -> bool:
    """Whether the program itself has made or moved a state, as far as is noted."""
    site = state.moved or state.site
    if site is None:
        return False
    return verb(site, state.device) == "moved at" or (
        creation(scene, state, None, scene.use) is not None
    )


# --- a tensor that became a parameter and was moved then: the move gives another tensor


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
            if way.attr not in TO_DEVICES:
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
    given = (spot.names.get("param") for spot in reversed(list(_frames(scene))))
    value = next((each for each in given if is_tensor(each) and not each.is_leaf), None)
    return None if value is None else scene.reader.facts("param", value)


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
