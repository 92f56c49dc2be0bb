"""What a module takes an argument for: for a tensor, for text, or for nobody knows what.

`forward` tells by what it does with the argument, its own methods by what they do with it then, and
so do the parts that it hands it to, as far as their classes are in sight.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.devices.named import last_name
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Kind
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import descendants, self_attribute
from devlint.model import ir
from devlint.policy import means
from devlint.torchapi.spellings import says_text

_OF_TEXT = frozenset("lower upper strip lstrip rstrip startswith endswith replace encode".split())
"""Methods that strings have and tensors have not."""
_TAKE_INDICES = frozenset("gather index_select scatter scatter_ scatter_add scatter_add_".split())
"""Methods of tensors that take an index, and that one where they are."""
_ARITHMETIC = ("-", "*", "/", "@", "**")
_DEEPEST = 3

Method = tuple[ClassInfo, ir.Function]


def takes_tensor(
    frame: Frame, module: Object | None, method: Method, name: str, depth: int = 0
) -> bool | None:
    """Whether a method of a module takes a parameter for a tensor; None where it doesn't tell."""
    function = method[1]
    parameter = next((each for each in function.params if each.name == name), None)
    if parameter is None:
        return None
    if parameter.annotation is not None:
        said = ir.render(parameter.annotation, 200)
        tensor, other = "Tensor" in said, says_text(said)
        if tensor != other:
            return tensor
    scan = method[0].file.scan(function)
    proved = name in scan.tensors | scan.used | scan.passed | scan.masks | scan.sliced
    told = {_said_by(frame, module, method, name, node, depth) for node in _nodes(function)}
    if False in told:
        return False
    return True if proved or True in told else None


def _nodes(function: ir.Function) -> Iterator[ir.Node]:
    for statement in function.body:
        yield from descendants(statement)


def _said_by(
    frame: Frame, module: Object | None, method: Method, name: str, node: ir.Node, depth: int
) -> bool | None:
    """What one expression tells of a name that stands in it."""
    match node:
        case ir.Call(func=ir.Attribute(value=ir.Name(id=base), attr=attr)) if base == name:
            return False if attr in _OF_TEXT else None
        case ir.Call(func=ir.Attribute(attr=attr), args=args) if attr in _TAKE_INDICES:
            return True if any(_is(each.value, name) for each in args) else None
        case ir.Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
            return True if _is(left, name) or _is(right, name) else None
        case ir.Call(args=args):
            given = [each for each in args if _is(_whole(each.value), name)]
            if given and depth < _DEEPEST:
                return _said_by_call(frame, module, method, node, given[0], depth)
    return None


def _said_by_call(
    frame: Frame,
    module: Object | None,
    method: Method,
    call: ir.Call,
    given: ir.Argument,
    depth: int,
) -> bool | None:
    """What a call tells of an argument: one of a tokenizer, of a method or of a part of `self`."""
    if means("tokenizer", last_name(call.func), "function"):
        return False
    attr = self_attribute(holder_of(method[1], call.func), method[1].params[0].name)
    if not attr or module is None or isinstance(given.value, ir.Subscript):
        return None
    held = module.entries.get(attr)
    part = frame.object(held) if held is not None and held.kind is Kind.MODULE else None
    if part is not None and isinstance(part.source, str):
        return True  # torch's own and its companions' take tensors
    if part is not None and isinstance(part.source, ClassInfo):
        inner, called = part, part.source.method("forward")
    else:
        own = module.source if isinstance(module.source, ClassInfo) else method[0]
        inner, called = module, own.method(attr)
    if called is None:
        return None
    name = given.keyword or _at(called[1], call.args.index(given))
    return takes_tensor(frame, inner, called, name, depth + 1)


def holder_of(function: ir.Function, func: ir.Expr) -> ir.Expr:
    """`self.layers` of `self.layers[0]`, and of `layer` where that runs over `self.layers`."""
    if isinstance(func, ir.Subscript):
        return func.value
    if isinstance(func, ir.Name):
        for node in _nodes(function):
            if isinstance(node, ir.For) and _is(node.target, func.id):
                return node.iter
    return func


def _at(function: ir.Function, position: int) -> str:
    names = [parameter.name for parameter in function.params[1:]]
    return names[position] if position < len(names) else ""


def _whole(node: ir.Expr) -> ir.Expr:
    """`batch` of `batch["text"]`."""
    return node.value if isinstance(node, ir.Subscript) else node


def _is(node: ir.Expr, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name
