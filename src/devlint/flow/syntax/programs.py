"""What a file or a class is there for, by what it says: a program, whose doing holds for all that
it uses, or tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from devlint.flow.syntax.imports import brought
from devlint.flow.syntax.walk import descendants, inner_statements, nodes_of, units
from devlint.model import ir
from devlint.model.trees import dotted_name


def runs(body: ir.Body) -> bool:
    """Whether a file does something where it is run, besides defining and importing."""
    for statement in body:
        match statement:
            case ir.Evaluate(value=ir.Call()) | ir.For() | ir.While() | ir.With():
                return True
            case ir.If() if _asks_for_name(statement):
                return True
    return False


def trains(body: ir.Body) -> bool:
    """Whether a file makes an optimizer of torch, and is run by its name; or makes one wherever it
    is run or imported, as programs and notebooks do."""
    if any(map(_makes_optimizer, _wherever_run(body))):
        return True
    guarded = [each for each in body if _asks_for_name(each)]
    if not guarded:
        return False
    inside = list(nodes_of(guarded))
    called = {dotted_name(node.func) for node in inside if isinstance(node, ir.Call)}
    run = [each for each in body if isinstance(each, ir.Function) and each.name in called]
    made = any(map(_makes_optimizer, chain(inside, nodes_of(run))))
    return made or any(_imports(each, ("torch.optim.",)) for each in body)


def _wherever_run(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """The statements that run where a file is run or imported, those inside of others included."""
    for statement in body:
        if not _asks_for_name(statement):
            yield statement
            yield from _wherever_run(inner_statements(statement))


def _asks_for_name(statement: ir.Node) -> bool:
    match statement:
        case ir.If(test=ir.Compare(left=ir.Name(id="__name__"))):
            return True
    return False


def _makes_optimizer(node: ir.Node) -> bool:
    match node:
        case ir.Assign(value=ir.Call(func=func)):
            return dotted_name(func).split(".")[-2:-1] == ["optim"]
    return False


def makes_its_own(body: ir.Body) -> bool:
    """Whether a file makes a module of its own wherever it is run or imported: a program that shows
    what the module does."""
    modules = {
        each.name
        for each in body
        if isinstance(each, ir.Class)
        and any(isinstance(inner, ir.Function) and inner.name == "forward" for inner in each.body)
    }
    for statement in _wherever_run(body):
        match statement:
            case ir.Assign(value=ir.Call(func=ir.Name(id=name))) if name in modules:
                return True
    return False


_FRAMEWORKS = ("pytest.", "unittest.")


def holds_tests(body: ir.Body) -> bool:
    """Whether the top level of a file defines tests: functions or methods called `test_...` that
    check something, or any of that name where pytest or unittest is imported."""
    tests = list(filter(is_named_test, units(body)))
    framed = any(_imports(each, _FRAMEWORKS) for each in body)
    return bool(tests) and (framed or any(map(_checks, tests)))


def is_class_of_tests(node: ir.Class) -> bool:
    """Whether a class without a constructor has methods called `test_...`, one of which checks
    something: its tests are run by a framework that makes it anew for each."""
    methods = [each for each in node.body if isinstance(each, ir.Function)]
    made = any(method.name == "__init__" for method in methods)
    return not made and any(is_named_test(each) and _checks(each) for each in methods)


def is_named_test(node: ir.Node) -> bool:
    """Whether pytest would collect a function by its name."""
    return isinstance(node, ir.Function) and node.name.startswith("test_")


def _checks(function: ir.Node) -> bool:
    """Whether a function asserts something: by a statement, or by a call of such a name."""
    for node in descendants(function):
        match node:
            case ir.Assert():
                return True
            case ir.Call(func=ir.Attribute(attr=name) | ir.Name(id=name)):
                if name.startswith("assert"):
                    return True
    return False


def _imports(statement: ir.Stmt, modules: tuple[str, ...]) -> bool:
    """Whether a statement imports one of some modules, each with a dot at its end, or a part of
    one."""
    return any(f"{name}.".startswith(modules) for name in brought(statement))
