"""Questions for CUDA: which of them are to ask for any accelerator, and which end a program."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from devlint.migrate.scene import Scene
from devlint.migrate.syntax import grouped, is_cuda_text

_ENDS = frozenset({"sys.exit", "os._exit", "os.abort"})
_BOOL = m.Name("True") | m.Name("False")


def available(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.cuda.is_available()` where moves hang on the answer."""
    if not scene.is_available(original) or not _decides_moves(scene, original):
        return None
    if _asks_for_others(scene, original):
        return None
    scene.done["conditions"] += 1
    return scene.code(scene.choice.available)


def on_cuda(
    scene: Scene, original: cst.Attribute, updated: cst.Attribute
) -> cst.BaseExpression | None:
    """`x.is_cuda` where moves hang on the answer."""
    if original.attr.value != "is_cuda" or not _decides_moves(scene, original):
        return None
    scene.done["conditions"] += 1
    device = cst.Attribute(cst.Attribute(updated.value, cst.Name("device")), cst.Name("type"))
    target = cst.ComparisonTarget(cst.NotEqual(), cst.SimpleString('"cpu"'))
    compared = cst.Comparison(device, [target])
    alone = isinstance(scene.parent(original), (cst.If, cst.Assign, cst.Arg, cst.BooleanOperation))
    return compared if alone else grouped(compared)


def _asks_for_others(scene: Scene, node: cst.CSTNode) -> bool:
    """Whether an `or` asks for another kind of device beside CUDA."""
    above = scene.parent(node)
    while isinstance(above, cst.BooleanOperation):
        names = (scene.library(each.func) for each in _calls(above))
        if isinstance(above.operator, cst.Or) and any(
            name.endswith(".is_available") and name != "torch.cuda.is_available" for name in names
        ):
            return True
        above = scene.parent(above)
    return False


def _calls(node: cst.CSTNode) -> list[cst.Call]:
    return [each for each in m.findall(node, m.Call()) if isinstance(each, cst.Call)]


def _decides_moves(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether moves hang on a question, here or by the name that its answer gets."""
    below: cst.CSTNode = node
    above = scene.parent(node)
    while True:
        if isinstance(above, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)) or (
            isinstance(above, cst.IfExp) and below is above.test and _is_flag(above)
        ):
            below, above = above, scene.parent(above)
        else:
            break
    if isinstance(above, cst.IfExp) and below is above.test:
        if is_cuda_text(above.body) or m.matches(above.body, m.Call(args=[m.Arg()])):
            if below is node and _is_device(scene, above.body):
                return False  # a choice of a device, as a whole
        return scene.moves_below(node)
    if isinstance(above, (cst.If, cst.While)):
        return scene.moves_below(node)
    if isinstance(above, cst.Arg):
        return above.keyword is not None
    return isinstance(above, (cst.Assign, cst.AnnAssign, cst.Param, cst.Return, cst.DictElement))


def _is_flag(node: cst.IfExp) -> bool:
    """`True if ... else False`."""
    return m.matches(node.body, _BOOL) and m.matches(node.orelse, _BOOL)


def _is_device(scene: Scene, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call) and node.args:
        return scene.library(node.func) == "torch.device" and is_cuda_text(node.args[0].value)
    return is_cuda_text(node)


def ends_without_cuda(scene: Scene, statement: cst.CSTNode) -> bool:
    """`if not torch.cuda.is_available(): raise ...`, `assert torch.cuda.is_available()`."""
    if isinstance(statement, cst.Assert):
        return scene.is_available(statement.test)
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    test = statement.test
    if not isinstance(test, cst.UnaryOperation) or not isinstance(test.operator, cst.Not):
        return False
    return scene.is_available(test.expression) and _ends(scene, statement.body)


def is_only_way(scene: Scene, statement: cst.If) -> bool:
    """`if torch.cuda.is_available(): ...` with an `else` that ends the program."""
    other = statement.orelse
    if not isinstance(other, cst.Else) or not scene.is_available(statement.test):
        return False
    return _ends(scene, other.body)


def _ends(scene: Scene, body: cst.BaseSuite) -> bool:
    """Whether a body ends the program, by an exception or by an exit."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Raise):
        return True
    if not isinstance(last, cst.Expr) or not isinstance(last.value, cst.Call):
        return False
    called = last.value.func
    builtin = isinstance(called, cst.Name) and called.value in ("exit", "quit")
    return builtin or any(each.name in _ENDS for each in scene.names.get(called, ()))
