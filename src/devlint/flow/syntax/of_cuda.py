"""What goes to the current CUDA device where a tensor is on CUDA: `if x.is_cuda: y = y.cuda()`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.model import ir
from devlint.model.trees import children, descendants, key, last_name


def sent(body: ir.Body) -> dict[ir.Expr, ir.Expr]:
    """The tests of `x.is_cuda` in a file, each with what they send there: a move of something else,
    a choice that is given as a device, or the name of CUDA where that is kept for one. Nothing
    where the current device is set around it, or an `elif` asks for more."""
    found: dict[ir.Expr, ir.Expr] = {}
    stack: list[tuple[ir.Node, ir.Node | None]] = [(statement, None) for statement in body]
    while stack:
        node, function = stack.pop()
        if isinstance(node, ir.With) and any(_sets_device(each) for each, _ in node.items):
            continue
        found.update(_sent(node, function))
        inner = node if isinstance(node, ir.Function) else function
        stack.extend((each, inner) for each in children(node))
    return found


def _sets_device(context: ir.Expr) -> bool:
    """`with torch.cuda.device(x.device):`"""
    return isinstance(context, ir.Call) and last_name(context.func) in ("device", "device_of")


def _sent(node: ir.Node, function: ir.Node | None) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    match node:
        case ir.If(test=test, body=(ir.Assign(targets=(target,), value=ir.Expr() as value),)):
            asks_more = any(isinstance(each, ir.If) for each in node.orelse)
        case ir.Assign(targets=(target,), value=ir.Conditional(test=test, body=value) as choice):
            asks_more = isinstance(choice.orelse, ir.Conditional)
        case _:
            for given in _devices(node):
                match given:
                    case ir.Conditional(test=ir.Attribute(attr="is_cuda") as test):
                        if _names_cuda(given.body):
                            yield test, given
            return
    if not isinstance(test, ir.Attribute) or test.attr != "is_cuda" or asks_more:
        return
    kept = isinstance(value, ir.Call) or _is_device(target, function)
    if _is_moved(value, test.value) or (_names_cuda(value) and kept):
        yield test, value


def _is_moved(value: ir.Expr, tested: ir.Expr) -> bool:
    """`y.cuda()`, `y.to("cuda")` of something else than what was tested."""
    match value:
        case ir.Call(func=ir.Attribute(value=moved, attr="cuda"), args=()):
            return key(moved) != key(tested)
        case ir.Call(func=ir.Attribute(value=moved, attr="to"), args=(ir.Argument(value=where),)):
            return _names_cuda(where) and key(moved) != key(tested)
    return False


def _names_cuda(node: ir.Expr) -> bool:
    """`"cuda"`, `torch.device("cuda")`"""
    match node:
        case ir.Constant(value="cuda"):
            return True
        case ir.Call(args=(ir.Argument(value=ir.Constant(value="cuda")),)):
            return last_name(node.func) == "device"
    return False


def _devices(node: ir.Node) -> Iterator[ir.Expr]:
    """The arguments of a call that are devices, by where they stand."""
    if not isinstance(node, ir.Call):
        return
    first = isinstance(node.func, ir.Attribute) and node.func.attr in ("to", "device")
    for at, argument in enumerate(node.args):
        if argument.keyword == "device" or (first and at == 0 and argument.keyword is None):
            yield argument.value


def _is_device(target: ir.Expr, function: ir.Node | None) -> bool:
    """Whether what a name gets is given as a device in the same function."""
    nodes = () if function is None else descendants(function)
    devices = (each for node in nodes for each in _devices(node))
    return isinstance(target, ir.Name) and any(
        isinstance(each, ir.Name) and each.id == target.id for each in devices
    )
