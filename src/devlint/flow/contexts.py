"""What the rest of the project does with what a fact is about: what its calls give to a function,
and what it makes of an object's attributes. It is asked only where there is something to report.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.calls.callers import is_edge
from devlint.flow.domain.lattice import Symbol, is_place_of_argument, only_host, parameter_of
from devlint.flow.domain.values import Kind, Origin
from devlint.flow.facts import Fact, Indexing, Join, ModuleCall, Operand
from devlint.flow.project import Project
from devlint.flow.syntax.walk import descendants
from devlint.model import ir

FROM_HOST = "callers-bring-it-from-the-host"
FROM_OUTSIDE = "placed-from-outside"


def withheld(fact: Fact, path: str, project: Project) -> str:
    """Why a fact of a file isn't so for all that the project shows: `FROM_HOST`, `FROM_OUTSIDE`;
    "" where nothing speaks against it."""
    if any(project.brings((path, *each)) for each in _arguments(fact)):
        return FROM_HOST
    if any(project.places(path, *each) for each in _attributes(fact)):
        return FROM_OUTSIDE
    return ""


def _arguments(fact: Fact) -> Iterator[tuple[str, str]]:
    """The arguments of a plain function that anybody may call of which a fact says something: the
    function's dotted name and that of the parameter. A place may go by the name that it has where
    the function is called."""
    context = fact.context
    if is_edge(context.running.rpartition(".")[2]):
        return
    for operand in _meeting(fact):
        if operand.origin in (Origin.INPUT, Origin.FOLLOWS) and is_place_of_argument(
            operand.device
        ):
            assert isinstance(operand.device, Symbol)
            yield context.running, parameter_of(operand.device)
            if isinstance(operand.node, ir.Name) and not is_edge(
                context.function.rpartition(".")[2]
            ):
                yield context.function, operand.node.id


def _meeting(fact: Fact) -> tuple[Operand, ...]:
    if isinstance(fact, Join):
        return fact.placed
    return (fact.base, fact.index) if isinstance(fact, Indexing) else ()


def _attributes(fact: Fact) -> Iterator[tuple[str, bool]]:
    """The attributes of the running method's object on which it hangs that something is on the
    host, and whether they are modules: there its class has put them, unless others do."""
    this = fact.context.receiver
    if not this:
        return
    operands = (fact.module, *fact.inputs) if isinstance(fact, ModuleCall) else _meeting(fact)
    for operand in filter(lambda each: only_host(each.device), operands):
        for node in (operand.node, *(step.node for step in operand.steps)):
            called = node.func if isinstance(node, ir.Call) else None
            for each in descendants(called or node):
                match each:
                    case ir.Attribute(value=ir.Name(id=name), attr=attr) if name == this:
                        yield attr, each is called or operand.kind is Kind.MODULE
