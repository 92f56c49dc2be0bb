"""What a function copies to the host before it reads it, and elsewhere reads as it is.

`low.append(x.min().cpu().numpy())` beside `high.append(x.max().numpy())`: who copies in one line
thinks of an accelerator, and that line runs wherever the other one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.flow.domain.paths import identity
from devlint.flow.syntax.walk import always, by_parameter, inner_blocks, names_in, nodes_of, targets
from devlint.model import ir
from devlint.model.trees import last_name, root_name

Way = tuple[ir.Body, ...]
"""The blocks around a statement, from the outside in."""


def copied_elsewhere(
    body: ir.Body,
    params: tuple[ir.Parameter, ...],
    read: ir.Call,
    parts: Mapping[str, ir.Function],
) -> tuple[ir.Call, str] | None:
    """The call that copies what `read` reads, in a line that runs whenever that one does, of the
    function or of a part that it calls, and the path of what it copies; None where there is none,
    or where the name is bound more than once."""
    whole = path_before(read)
    if not whole:
        return None
    found, here = list[tuple[ir.Call, str, Way]](), None
    for statement, way in _statements(body, ()):
        for node in always(statement):
            if node is read:
                here = way
            elif isinstance(node, ir.Call):
                found += [(copy, path, way) for copy, path in _copies(node, parts)]
    name = root_name(read)
    given = any(parameter.name == name for parameter in params)
    if here is None or _binds(body, name) + given > 1:
        return None
    for copy, path, way in found:
        related = path and (_is_below(whole, path) or _is_below(path, whole))
        if related and here[: len(way)] == way:
            return copy, path
    return None


def path_before(call: ir.Call) -> str:
    """The path at the front of a chain of calls: `x.data` of `x.data.detach().numpy()`."""
    node: ir.Expr = call
    while isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute):
        node = node.func.value
    return identity(node)


def _is_below(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _copies(call: ir.Call, parts: Mapping[str, ir.Function]) -> Iterator[tuple[ir.Call, str]]:
    """What a call copies, and what in the part that it calls is copied whenever that runs: the call
    that does, with the path of what it copies."""
    if (copy := _copy(call)) is not None:
        yield copy, path_before(copy)
    part = parts.get(last_name(call.func))
    if part is None:
        return
    params = part.params[isinstance(call.func, ir.Attribute) :]
    given = {name: identity(each.value) for name, each in by_parameter(params, call.args)}
    for statement, way in _statements(part.body, ()):
        for node in () if way else always(statement):
            if isinstance(node, ir.Call) and (copy := _copy(node)) is not None:
                name = root_name(copy)
                if given.get(name) and not _binds(part.body, name):
                    yield copy, given[name] + path_before(copy).removeprefix(name)


def _copy(read: ir.Call) -> ir.Call | None:
    """The `.cpu()` in `x.cpu().detach().numpy()`."""
    match read:
        case ir.Call(func=ir.Attribute(value=node, attr="numpy")):
            while isinstance(node, (ir.Call, ir.Attribute)):
                match node:
                    case (
                        ir.Call(func=ir.Attribute(attr="cpu"), args=())
                        | ir.Call(
                            func=ir.Attribute(attr="to"),
                            args=(ir.Argument(value=ir.Constant(value="cpu")),),
                        )
                    ):
                        return node
                node = node.func if isinstance(node, ir.Call) else node.value
    return None


def _statements(body: ir.Body, way: Way) -> Iterator[tuple[ir.Stmt, Way]]:
    for statement in body:
        yield statement, way
        for block, is_sure in inner_blocks(statement):
            yield from _statements(block, way if is_sure else (*way, block))


def _binds(body: ir.Body, name: str) -> int:
    """How often a name is bound."""
    bound = (target for node in nodes_of(body) for target in targets(node))
    return sum(found == name for target in bound for found in names_in(target))
