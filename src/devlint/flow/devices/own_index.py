"""How a program calls the number of its process where that starts its group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.flow.facts import OwnIndex
from devlint.flow.syntax.imports import spelled
from devlint.flow.syntax.processes import LOCAL_RANK, by_launcher
from devlint.flow.syntax.reach import Place
from devlint.flow.syntax.walk import inner_blocks, names_assigned, nodes_of, statements_of
from devlint.model import ir
from devlint.model.trees import descendants, dotted_name, key, root_name
from devlint.policy import means


def own_index(
    group: ir.Call,
    place: Place,
    body: ir.Body,
    names: Mapping[str, str],
    spawned: Mapping[str, bool],
) -> OwnIndex | None:
    """The best expression for the GPU of a process; None where nothing in sight is one."""
    statement, function = place.statement, place.function
    if not isinstance(statement, (ir.Evaluate, ir.Assign)):
        return None
    params = () if function is None else function.params
    if function is not None and spawned.get(function.name) and params:
        sure = not any(_calls(each, function) for each in nodes_of(body))
        return OwnIndex(ir.Name(params[0].name), statement, sure=sure)
    for parameter in params:
        if means("local-rank", parameter.name, "variable"):
            return OwnIndex(ir.Name(parameter.name), statement)
    around = body if function is None else function.body
    before = list(_before(around, statement))
    others = () if function is None else body
    for each in reversed(before):
        if (name := _binds_index(each)) is not None:
            return OwnIndex(name, statement)
    bound = {parameter.name for parameter in params}.union(names_assigned((*before, *others)))
    assigns = (each for each in statements_of(body) if isinstance(each, ir.Assign))
    stored = {key(target) for node in assigns for target in node.targets}
    for node in nodes_of(around):
        if isinstance(node, ir.Attribute) and means("local-rank", node.attr, "variable"):
            if root_name(node) in bound and isinstance(node.value, ir.Name):
                if key(node) not in stored:  # else it may be stored later only
                    return OwnIndex(node, statement)
    if names.get("os") == "os" and any(map(_is_variable, nodes_of(body))):
        return OwnIndex(None, statement)
    for each in place.block[place.block.index(statement) + 1 :]:
        if (name := _binds_index(each)) is not None:
            return OwnIndex(name, each, after=True)
        if (name := _binds_rank(each, names)) is not None:
            return OwnIndex(name, each, after=True, local=False)
    for argument in group.args:
        if argument.keyword == "rank" and isinstance(argument.value, (ir.Name, ir.Attribute)):
            return OwnIndex(argument.value, statement, local=False)
    if names.get("os") == "os" and by_launcher(group):
        return OwnIndex(None, statement, sure=False)  # torchrun sets it; another may not
    return None


def _calls(node: ir.Node, function: ir.Function) -> bool:
    return isinstance(node, ir.Call) and dotted_name(node.func) == function.name


def _before(body: ir.Body, statement: ir.Stmt) -> Iterator[ir.Stmt]:
    """The statements that have run where one does: those above it in its block, and above the
    statements that it is a part of."""
    for index, each in enumerate(body):
        if statement in descendants(each):
            yield from body[:index]
            for block, _ in inner_blocks(each):
                yield from _before(block, statement)


def _binds_index(statement: ir.Stmt) -> ir.Name | None:
    """`local_rank` of `local_rank = int(...)`; a variable of the environment itself is a text."""
    match statement:
        case ir.Assign(targets=(ir.Name(id=name) as target,), value=ir.Expr() as value):
            number = isinstance(value, (ir.Binary, ir.Attribute, ir.Constant, ir.Name)) or (
                isinstance(value, ir.Call) and not any(map(_is_variable, value.args[:1]))
            )
            return target if number and means("local-rank", name, "variable") else None
    return None


def _binds_rank(statement: ir.Stmt, names: Mapping[str, str]) -> ir.Name | None:
    match statement:
        case ir.Assign(targets=(ir.Name() as target,), value=ir.Call(func=func)):
            return target if spelled(func, names.get) == "torch.distributed.get_rank" else None
    return None


def _is_variable(node: ir.Node) -> bool:
    """Whether a node spells the variable that launchers set."""
    inside = (node.value,) if isinstance(node, ir.Argument) else (node,)
    return any(isinstance(each, ir.Constant) and each.value == LOCAL_RANK for each in inside)
