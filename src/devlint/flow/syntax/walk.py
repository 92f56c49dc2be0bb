"""The nodes below a node of the intermediate form."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain

from devlint.model import ir
from devlint.model.trees import children, dotted_name
from devlint.model.trees import descendants as descendants


def inner_statements(statement: ir.Stmt) -> Iterator[ir.Stmt]:
    """The statements of which a compound one is made, but for those of functions and classes."""
    for block, _ in inner_blocks(statement):
        yield from block


def inner_blocks(statement: ir.Stmt) -> Iterator[tuple[ir.Body, bool]]:
    """The blocks of which a compound statement is made, each with whether it runs whenever the
    statement does, as far as it comes."""
    match statement:
        case ir.If() | ir.For() | ir.While():
            yield from ((statement.body, False), (statement.orelse, False))
        case ir.With():
            yield statement.body, True
        case ir.Try():
            yield from ((statement.body, True), (statement.orelse, False), (statement.final, True))
            for handler in statement.handlers:
                yield handler.body, False
        case ir.Match():
            for case in statement.cases:
                yield case.body, False


def statements_of(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """All statements, those inside of functions and classes included."""
    stack = [*body]
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, (ir.Function, ir.Class)):
            stack.extend(statement.body)
        elif not isinstance(statement, (ir.Assign, ir.Evaluate)):
            stack.extend(inner_statements(statement))


def always(statement: ir.Stmt) -> Iterator[ir.Node]:
    """The nodes of a statement that are evaluated whenever it is, but for those of its blocks."""
    blocks = {each for block, _ in inner_blocks(statement) for each in block}
    stack: list[ir.Node] = [statement]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case ir.Conditional(test=sure) | ir.Boolean(left=sure):
                stack.append(sure)
            case ir.Function() | ir.Class() | ir.Lambda() | ir.Comprehension():
                pass
            case _:
                stack.extend(each for each in children(node) if each not in blocks)


def nodes_of(body: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """All that stands in statements, those inside of functions and classes included."""
    return chain.from_iterable(map(descendants, body))


def units(body: ir.Body) -> Iterator[ir.Stmt]:
    """The functions, methods and other statements of a file, those of a class in its place."""
    for statement in body:
        yield from statement.body if isinstance(statement, ir.Class) else (statement,)


def targets(statement: ir.Node) -> Iterator[ir.Expr]:
    """What a statement by itself assigns to, puts something into, or binds anew in each round, one
    by one."""
    match statement:
        case ir.Assign(targets=whole):
            yield from chain.from_iterable(map(single_targets, whole))
        case ir.Augment(target=target) | ir.For(target=target):
            yield from single_targets(target)
        case ir.With(items=items):
            for _, entered in items:
                yield from () if entered is None else single_targets(entered)


def single_targets(target: ir.Expr) -> Iterator[ir.Expr]:
    """`a`, `b[0]` and `c` of `a, (b[0], *c) = ...`."""
    match target:
        case ir.Display(items=items):
            yield from chain.from_iterable(map(single_targets, items))
        case ir.Starred(value=inner):
            yield from single_targets(inner)
        case _:
            yield target


def filled(body: ir.Body) -> frozenset[str]:
    """The names whose items or attributes statements assign to: `batch[key] = batch[key].cuda()`,
    `batch.x = batch.x.cuda()`."""
    stored = (target for node in nodes_of(body) for target in targets(node))
    return frozenset(
        each.value.id
        for each in stored
        if isinstance(each, (ir.Subscript, ir.Attribute)) and isinstance(each.value, ir.Name)
    )


def names_assigned(body: Iterable[ir.Node]) -> Iterator[str]:
    """The names to which statements by themselves assign."""
    for statement in body:
        if isinstance(statement, ir.Assign):
            yield from (each.id for each in statement.targets if isinstance(each, ir.Name))


def names_in(node: ir.Node) -> Iterator[str]:
    """The names in a node, which it reads or binds."""
    return (each.id for each in descendants(node) if isinstance(each, ir.Name))


def mentions(node: ir.Node, name: str) -> bool:
    """Whether a name stands in a node, to be read or to be bound."""
    return name in names_in(node)


def is_one_of(node: ir.Node, names: Container[str]) -> bool:
    """Whether a node is a name, and one of these."""
    return isinstance(node, ir.Name) and node.id in names


def self_attribute(node: ir.Node, this: str) -> str:
    """The attribute's name where a node is `self.attribute`, else ""."""
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name) and node.value.id == this:
        return node.attr
    return ""


def stored_calls(nodes: Iterable[ir.Node], this: str) -> Iterator[ir.Call]:
    """The calls of `self.part = call(...)`."""
    for node in nodes:
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call):
            if any(self_attribute(target, this) for target in node.targets):
                yield node.value


def first_parameter(function: ir.Function | None) -> str:
    """The name by which a method knows its object; "" of all else, and where it is static."""
    if function is None or not function.is_method:
        return ""
    return function.params[0].name if function.params and not is_static(function) else ""


def parameter_named(function: ir.Function, name: str) -> ir.Parameter | None:
    """The parameter of a function that has a name."""
    return next((each for each in function.params if each.name == name), None)


def defaults_to_none(parameter: ir.Parameter | None) -> bool:
    """Whether it is None where it is left out."""
    default = None if parameter is None else parameter.default
    return isinstance(default, ir.Constant) and default.value is None


def is_static(function: ir.Function) -> bool:
    """Whether it is a method that gets no object: `@staticmethod`."""
    return any(dotted_name(each) == "staticmethod" for each in function.decorators)


def docstring(function: ir.Function) -> str:
    """The text at the beginning of a function, "" for none."""
    match function.body[:1]:
        case (ir.Evaluate(value=ir.Constant(value=str(text))),):
            return text
    return ""


def uncalled(body: ir.Body) -> dict[str, list[ir.Name | ir.Attribute]]:
    """The names and attributes of a file that stand for themselves, not for a call."""
    called: set[ir.Expr] = set()
    used: list[ir.Name | ir.Attribute] = []
    for node in nodes_of(body):
        if isinstance(node, ir.Call):
            called.add(node.func)
        elif isinstance(node, (ir.Name, ir.Attribute)):
            used.append(node)
    found: dict[str, list[ir.Name | ir.Attribute]] = {}
    for node in used:
        if node not in called:
            found.setdefault(node.id if isinstance(node, ir.Name) else node.attr, []).append(node)
    return found


_FILL = ("append", "add", "update", "setdefault")


def fills_others(function: ir.Function) -> bool:
    """Whether a function puts something into a container that it hasn't made: one of its object, or
    of its file."""
    own = {each.name for each in function.params[1:]}
    into: list[ir.Expr] = []
    for node in descendants(function):
        own.update(each.id for each in targets(node) if isinstance(each, ir.Name))
        match node:
            case ir.Assign(targets=(ir.Subscript(value=to),)):
                into.append(to)
            case ir.Call(func=ir.Attribute(value=to, attr=attr)) if attr in _FILL:
                into.append(to)
    return any(own.isdisjoint(names_in(to)) for to in into)


def bases_named(body: ir.Body) -> frozenset[str]:
    """The names that stand in the bases of a file's classes, whatever else does."""
    classes = (each for each in statements_of(body) if isinstance(each, ir.Class))
    inside = nodes_of(base for each in classes for base in each.bases)
    return frozenset(
        each.id if isinstance(each, ir.Name) else each.attr
        for each in inside
        if isinstance(each, (ir.Name, ir.Attribute))
    )


def given_back(body: ir.Body) -> frozenset[ir.Function]:
    """The functions inside of functions that these do nothing with but to return them."""
    found = set[ir.Function]()
    for around in statements_of(body):
        below = statements_of(around.body) if isinstance(around, ir.Function) else ()
        inner = [each for each in below if isinstance(each, ir.Function)]
        if not inner:
            continue
        nodes = list(descendants(around))
        returned = {each.value for each in nodes if isinstance(each, ir.Return)}
        names = [each for each in nodes if isinstance(each, ir.Name)]
        used = {each.id for each in names if each not in returned}
        named = {each.id for each in names} - used
        found.update(each for each in inner if each.name in named)
    return frozenset(found)


def by_parameter(
    params: tuple[ir.Parameter, ...], args: Iterable[ir.Argument]
) -> Iterator[tuple[str, ir.Argument]]:
    """The arguments of a call, each with the name of the parameter that takes it; "" where none
    is known to. `params` are those without a receiver's."""
    places = iter([each.name for each in params if each.kind == "positional"])
    for argument in args:
        if argument.star == "*":
            places = iter(())
        positional = argument.keyword is None and not argument.star
        yield (next(places, "") if positional else argument.keyword or ""), argument


def first_row(node: ir.Node) -> int:
    """The row, counted from 1, on which a node begins; 0 for what stands in no file."""
    return node.origin[1] if isinstance(node.origin, tuple) else 0


def function_around(body: ir.Body, row: int) -> ir.Function | None:
    """The innermost function of a file that a row belongs to."""
    around = [n for n in statements_of(body) if isinstance(n, ir.Function) and _holds(n, row)]
    return max(around, key=first_row, default=None)


def _holds(function: ir.Function, row: int) -> bool:
    rows = [each.origin[3] for each in descendants(function) if isinstance(each.origin, tuple)]
    return first_row(function) <= row <= max(rows, default=0)
