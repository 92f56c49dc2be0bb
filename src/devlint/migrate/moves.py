"""`.cuda()`, `.type()` and types of tensors: what puts a thing on a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from devlint.migrate.reading import moves_itself
from devlint.migrate.scene import Default, Scene
from devlint.migrate.syntax import (
    argument,
    dotted,
    expression,
    integer,
    is_unpacked,
    keyword,
    moved_to,
    spelled,
    string,
)
from devlint.torchapi.spellings import dtype_of_type, place_of_type, type_on_cpu


def move(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`x.cuda(...)` -> `x.to(device, ...)`."""
    if not isinstance(original.func, cst.Attribute) or original.func.attr.value != "cuda":
        return None
    assert isinstance(updated.func, cst.Attribute)
    if scene.library(original.func) or "DEV301" in scene.codes(original):
        return None
    if m.matches(original.func.value, m.Call(func=m.Name("super"))):
        return None
    around = scene.function(original)
    if around is not None and moves_itself(around, scene.owner(around)):
        return None  # it is given the device from the next pass on
    if is_unpacked(original):
        scene.leave(original, "what `.cuda()` is given here isn't shown")
        return None
    where = argument(original, 0, "device")
    device = _beside(scene, original)
    if device is None:
        given = None if where is None else where.value
        device = _given(scene, original, given)
    if device is None:
        return None
    rest = []
    waits = argument(original, 1, "non_blocking")
    if waits is not None:
        place = original.args.index(waits)
        rest.append(keyword("non_blocking", updated.args[place].value))
    scene.done["`.cuda()`"] += 1
    return moved_to(updated.func.value, cst.Arg(device), *rest)


def _beside(scene: Scene, call: cst.Call) -> cst.BaseExpression | None:
    """`x.device`, of a move that hangs on `x.is_cuda`."""
    below: cst.CSTNode = call
    above = scene.parent(call)
    while above is not None and not isinstance(above, (cst.FunctionDef, cst.Lambda)):
        if isinstance(above, (cst.If, cst.IfExp)) and below is above.body:
            test = above.test
            if isinstance(test, cst.Attribute) and test.attr.value == "is_cuda":
                return cst.Attribute(test.value, cst.Name("device"))
        below, above = above, scene.parent(above)
    return None


def _given(
    scene: Scene, call: cst.Call, value: cst.BaseExpression | None
) -> cst.BaseExpression | None:
    """What the argument of `.cuda()` becomes; None where that isn't decided."""
    if value is None or m.matches(value, m.Name("None")):
        return scene.device_expression(call)
    if m.matches(value, m.Name("True") | m.Name("False")):
        return None  # DEV306 has it
    if integer(value) is not None or string(value) is not None:
        return _fixed(scene, call)
    if m.matches(value, m.Call(func=m.Attribute(attr=m.Name("get_device")), args=[])):
        assert isinstance(value, cst.Call)
        assert isinstance(value.func, cst.Attribute)
        return cst.Attribute(value.func.value, cst.Name("device"))
    name = dotted(value)
    is_named = name.rpartition(".")[2].endswith(("device", "dev"))
    if is_named and not scene.bindings.is_number(name, scene.row(call)):
        return value
    if scene.library(value) or m.matches(value, m.Call()):
        call_of = value.func if isinstance(value, cst.Call) else value
        if scene.library(call_of) == "torch.cuda.current_device":
            return scene.device_expression(call)
    if counts(scene, call, value):
        scene.leave(call, SEVERAL)
        return None
    current(scene, call, value)
    return scene.device_expression(call)


def counts(scene: Scene, node: cst.CSTNode, index: cst.BaseExpression) -> bool:
    """Whether an index is that of a loop, or is bound within an expression: several devices are
    used side by side."""
    names = _names_in(index)
    above = scene.parent(node)
    while above is not None and not isinstance(above, cst.FunctionDef):
        if names & {name for target in _bound(above) for name in _names_in(target)}:
            return True
        above = scene.parent(above)
    return False


def _bound(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What holds the names that a loop, a comprehension or a lambda binds."""
    if isinstance(node, cst.For):
        yield node.target
    elif isinstance(node, cst.BaseComp):
        each: cst.CompFor | None = node.for_in
        while each is not None:
            yield each.target
            each = each.inner_for_in
    elif isinstance(node, cst.Lambda):
        yield from (each.name for each in node.params.params)


def _names_in(node: cst.CSTNode) -> set[str]:
    return {each.value for each in m.findall(node, m.Name()) if isinstance(each, cst.Name)}


def _fixed(scene: Scene, call: cst.Call) -> cst.BaseExpression | None:
    if len(scene.project.indices) > 1:
        scene.leave(call, SEVERAL)
        return None
    return scene.device_expression(call)


SEVERAL = "devices with several fixed indices are used side by side: say which parts go where"


def current(scene: Scene, node: cst.CSTNode, index: cst.BaseExpression) -> None:
    """An index that is chosen at run time becomes the current device, which `device` then means,
    unless the project does so itself."""
    text = spelled(index)
    if _is_current(scene, node, index, text):
        return
    statement = node
    while not isinstance(statement, cst.SimpleStatementLine):
        above = scene.parent(statement)
        if above is None or isinstance(above, cst.BaseCompoundStatement):
            break
        statement = above
    row = scene.row(statement)
    around = scene.function(node) if isinstance(index, cst.Name) else None
    scene.indexed.setdefault((around, text), row)


def _is_current(scene: Scene, node: cst.CSTNode, index: cst.BaseExpression, text: str) -> bool:
    """Whether something makes an index the current device: of a plain name, the same function."""
    known = {text, f"int({text})"}
    if not isinstance(index, cst.Name):
        return bool(known & set(scene.project.indexed))
    around = scene.function(node)
    calls = m.findall(around, _SET) if around is not None else ()
    given = (each.args[0].value for each in calls if isinstance(each, cst.Call))
    return any(spelled(each) in known for each in given)


_SET = m.Call(func=m.Attribute(attr=m.Name("set_device")), args=[m.AtLeastN(n=1)])


def as_float(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`x.cuda().float()` -> `x.float().to(device)`: MPS takes no float64."""
    inner = original.func.value if isinstance(original.func, cst.Attribute) else None
    if not m.matches(original, m.Call(func=m.Attribute(attr=m.Name("float")), args=[])):
        return None
    if inner is None or not m.matches(inner, m.Call(func=m.Attribute(attr=m.Name("cuda")))):
        return None
    assert isinstance(updated.func, cst.Attribute)
    moved = updated.func.value
    if not m.matches(moved, m.Call(func=m.Attribute(attr=m.Name("to")))):
        return None
    assert isinstance(moved, cst.Call)
    assert isinstance(moved.func, cst.Attribute)
    first = updated.with_changes(func=updated.func.with_changes(value=moved.func.value))
    return moved.with_changes(func=moved.func.with_changes(value=first))


def tensor_type(scene: Scene, node: cst.BaseExpression) -> str | None:
    """`torch.cuda.FloatTensor`, as a name or as a string."""
    name = string(node) or scene.library(node)
    return name if name and place_of_type(name) == "cuda" else None


def type_called(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.cuda.FloatTensor(x)` -> `torch.FloatTensor(x).to(device)`."""
    name = tensor_type(scene, original.func)
    if name is None:
        return None
    scene.done["tensor types"] += 1
    made = updated.with_changes(func=scene.code(type_on_cpu(name)))
    return moved_to(made, cst.Arg(scene.device_expression(original)))


def type_method(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`x.type(torch.cuda.FloatTensor)` -> `x.to(device, torch.float32)`."""
    if not m.matches(original, m.Call(func=m.Attribute(attr=m.Name("type")), args=[m.Arg()])):
        return None
    name = tensor_type(scene, original.args[0].value)
    if name is None:
        return None
    assert isinstance(updated.func, cst.Attribute)
    scene.done["tensor types"] += 1
    return to_type(scene, original, updated.func.value, name)


def to_type(
    scene: Scene, original: cst.Call, value: cst.BaseExpression, name: str
) -> cst.BaseExpression:
    """`value.to(device, torch.float32)`."""
    dtype = scene.code(f"torch.{dtype_of_type(name)}")
    return moved_to(value, cst.Arg(scene.device_expression(original)), cst.Arg(dtype))


def type_asked(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`isinstance(x, torch.cuda.FloatTensor)` -> `x.is_cuda and x.dtype == torch.float32`."""
    if not m.matches(original, m.Call(func=m.Name("isinstance"), args=[m.Arg(), m.Arg()])):
        return None
    name = tensor_type(scene, original.args[1].value)
    subject = spelled(original.args[0].value)
    if name is None or not m.matches(original.args[0].value, m.Name() | m.Attribute()):
        return None
    scene.done["tensor types"] += 1
    text = f'({subject}.device.type != "cpu" and {subject}.dtype == torch.{dtype_of_type(name)})'
    return scene.code(text)


def bare_type(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.Tensor(x)`, which no default device moves as a default type does."""
    default = scene.project.default
    if default is Default.NONE or scene.library(original.func) != "torch.Tensor":
        return None
    if m.matches(scene.parent(original) or original, m.Attribute(attr=_MOVED)):
        return None
    scene.done["tensor types"] += 1
    if default is Default.SOMETIMES:
        return moved_to(updated, cst.Arg(scene.code(scene.choice.default_device)))
    return moved_to(updated, cst.Arg(scene.device_expression(original)))


_MOVED = m.Name("to") | m.Name("cuda")


def default_type(scene: Scene, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`torch.set_default_tensor_type("torch.cuda.FloatTensor")`."""
    if scene.library(original.func) != "torch.set_default_tensor_type" or not original.args:
        return None
    name = tensor_type(scene, original.args[0].value)
    if name is None:
        return None
    if dtype_of_type(name) != "float32" or not scene.choice.has_default_device:
        scene.leave(original, "set the default device and the default dtype apart")
        return None
    scene.done["tensor types"] += 1
    device = scene.device_expression(original)
    return cst.Call(expression("torch.set_default_device"), [cst.Arg(device)])
