"""What the failing line calls the operands that have met."""

from __future__ import annotations

import ast

from devlint.runtime.explaining.computed import deciding
from devlint.runtime.explaining.expressions import argument_for
from devlint.runtime.explaining.lookup import (
    MISSING,
    Named,
    is_distribution,
    read,
    tensors_of,
    tensors_of_distribution,
)
from devlint.runtime.explaining.objects import is_movable
from devlint.runtime.explaining.ownership import Test
from devlint.runtime.explaining.scene import Scene, is_same, shares_memory
from devlint.runtime.explaining.source import parameters
from devlint.runtime.operands import OperandFacts, is_tensor


def named_pair(
    scene: Scene, first: OperandFacts, second: OperandFacts
) -> tuple[Named | None, Named | None]:
    """Two operands of the failing line as it writes them.

    What the line computes on its way has no name; the one such part that is left belongs to
    the one operand that is left. Of several it is the one whose own parts are all in its place.
    """
    if scene.use < 0:
        return None, None
    pair = (first, second)
    names = [kept_inside(scene, facts) or scene.named(facts, scene.use) for facts in pair]
    written = scene.operands(scene.use)
    computed = [named for named in written if named.tensor is None]
    names = [named or _handed(scene, facts) for named, facts in zip(names, pair, strict=True)]
    if len(computed) == 1 and (names.count(None) == 1 or first == second):
        names = [named or computed[0] for named in names]
    for index, facts in enumerate(pair):
        if names[index] is None:
            names[index] = _only_one_on(scene, facts.device, written)
        if names[index] is None:
            names[index] = _computed_on(scene, facts, computed)
    names = [named or _by_place(scene, facts) for named, facts in zip(names, pair, strict=True)]
    left = [named for named in computed if named not in names]
    if len(computed) == 2 and len(left) == 1 and names.count(None) == 1:
        names = [named or left[0] for named in names]
    return names[0], names[1]


def _by_place(scene: Scene, facts: OperandFacts) -> Named | None:
    """The side of an operator, or of an index, by what PyTorch calls it."""
    source = scene.source(scene.use)
    node = source.failing
    side: ast.expr | None = None
    if isinstance(node, ast.BinOp):
        side = {"self": node.left, "other": node.right}.get(facts.name)
    elif isinstance(node, ast.Subscript):
        side = {"self": node.value, "indices": node.slice}.get(facts.name)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        side = {"self": node.left, "other": node.comparators[0]}.get(facts.name)
    return None if side is None else written(scene, source.text_of(side), side, scene.use)


def kept_inside(scene: Scene, facts: OperandFacts) -> Named | None:
    """Of a method of an object that isn't a module, a tensor that the object keeps: `dist.loc`."""
    call = scene.failing_call(scene.use)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    owner, text = call.func.value, scene.source(scene.use).text_of(call.func.value)
    value = read(owner, scene.stack[scene.use])
    if is_movable(value):
        kept = tensors_of(text, value, objects=True)
        same = (n.text for n in kept if n.tensor is not None and is_same(facts)(n.tensor))
        return next((Named(name, None, owner) for name in same), None)
    if not is_distribution(value):
        return None
    for test in (is_same(facts), shares_memory(facts)):
        for named in tensors_of_distribution(text, value):
            if named.tensor is not None and test(named.tensor):
                return Named(named.text, None)
    return None


def _computed_on(scene: Scene, facts: OperandFacts, computed: list[Named]) -> Named | None:
    """The computed operand that is on a device, if there is just one.

    One that may be anywhere is it where all others are known to be elsewhere.
    """
    source = scene.source(scene.use)
    there, unclear = [], []
    for named in computed:
        part = deciding(named.node, source, scene.device)
        if part is None or part.tensor is None:
            unclear.append(named)
        elif scene.device(part.tensor) == facts.device:
            there.append(named)
    if facts.site is None or is_made_at(scene, facts, scene.use):
        there = there or unclear
    return there[0] if len(there) == 1 else None


def behind(
    scene: Scene, facts: OperandFacts, named: Named | None, index: int
) -> tuple[OperandFacts, Named | None]:
    """Of what the failing line has computed, the part that says where it is; else as it was."""
    if named is None or index < 0:
        return facts, named
    is_made_here = facts.site is None or is_made_at(scene, facts, index)
    if named.tensor is not None and not is_made_here:
        return facts, named
    source = scene.source(index)
    part = deciding(named.node, source, scene.device, facts.device)
    if part is None or part.tensor is None or scene.device(part.tensor) != facts.device:
        return facts, named
    if part.text == named.text or not is_made_here or facts.moved is not None:
        return facts, named
    return scene.reader.facts(facts.name, part.tensor), part


def because(named: Named | None, part: Named | None, device: str) -> list[tuple[str, str]]:
    """The part of a computed operand that says where it is."""
    if part is None or named is None or part is named or named.tensor is not None:
        return []
    return [("because", f"{part.text} is on {device}")]


def is_made_at(scene: Scene, facts: OperandFacts, index: int) -> bool:
    """Whether a tensor was made by the failing statement itself."""
    site, spot, statement = facts.site, scene.stack[index], scene.source(index).statement
    if site is None or statement is None:
        return False
    if (site.file, site.first_line) != (spot.file, spot.code.co_firstlineno):
        return False
    return statement.lineno <= site.line <= (statement.end_lineno or statement.lineno)


def _handed(scene: Scene, facts: OperandFacts) -> Named | None:
    """The argument of a function of others that an operand is, or is computed from."""
    if scene.use + 1 >= len(scene.stack):
        return None
    call, spot = scene.failing_call(scene.use), scene.stack[scene.use + 1]
    names = parameters(spot.code)
    if call is None or names[:1] == ("self",):
        return None
    held = [(name, spot.names.get(name)) for name in names]
    tensors = [(name, value) for name, value in held if is_tensor(value)]
    for test in (is_same(facts), shares_memory(facts), _is_at(scene, facts.device)):
        found = [name for name, tensor in tensors if test(tensor)]
        if len(found) == 1:
            node = argument_for(call, names, found[0])
            source = scene.source(scene.use)
            return None if node is None else written(scene, source.text_of(node), node, scene.use)
    return None


def written(scene: Scene, text: str, node: ast.AST | None, index: int) -> Named:
    """What a frame's line has for a tensor, with the tensor if it takes no call to know it."""
    value = MISSING if node is None or index < 0 else read(node, scene.stack[index])
    return Named(text, value if is_tensor(value) else None, node)


def named_near(scene: Scene, facts: OperandFacts) -> Named | None:
    """An operand as the failing line writes it, or else what is there on the same device."""
    found = scene.named(facts, scene.use)
    near = (n for n in scene.operands(scene.use) if scene.is_on(n.tensor, facts.device))
    return next(near, None) if found is None else found


def _is_at(scene: Scene, device: str) -> Test:
    return lambda tensor: scene.device(tensor) == device


def _only_one_on(scene: Scene, device: str, written: list[Named]) -> Named | None:
    """What the operator was given may be a copy of what is written."""
    found = [
        named
        for named in written
        if named.tensor is not None and scene.device(named.tensor) == device
    ]
    return found[0] if len(found) == 1 else None
