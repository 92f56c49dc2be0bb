"""The way in: a file's IR goes in, its facts come out."""

from __future__ import annotations

from collections.abc import Iterator

from devlint import ir
from devlint.flow import statements
from devlint.flow.devicestring import BACKENDS
from devlint.flow.expressions import evaluate
from devlint.flow.facts import Fact, Role
from devlint.flow.frame import Frame, World
from devlint.flow.functions import invoke, run_alone
from devlint.flow.modules import run_class
from devlint.flow.scan import Scan, scan
from devlint.flow.state import State
from devlint.torchapi.effects import Effect
from devlint.torchapi.table import Table

_INLINED_AT_LEAST = 2000
_TAKES_TENSOR = (Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.CREATE_LIKE)


def interpret(
    module: ir.Module,
    table: Table,
    device_types: frozenset[str] = frozenset(),
    role: Role = Role.PLAIN,
    speaks_of_devices: bool = True,
) -> list[Fact]:
    """All facts of a file, in no particular order.

    `device_types` are the device types of backend packages that the settings add to torch's own.
    `role` is what the file is for, as far as its place tells (`DATA`, `TEST`).
    `speaks_of_devices`: it names a device or moves something somewhere; without that, arguments
    of its plain functions are taken to be on the host.
    """
    scans: dict[ir.Function, Scan] = {}
    aliases = _aliases(module)
    has_arrays = any(name.partition(".")[0] == "numpy" for name in aliases.values())

    def takes_tensor(func: ir.Expr) -> bool:
        name = _spelled(func, aliases)
        row = table.get(name) if name.startswith("torch.") else None
        return row is not None and row.effect in _TAKES_TENSOR and not name.startswith("torch.nn.P")

    def scan_once(function: ir.Function) -> Scan:
        found = scans.get(function)
        if found is None:
            found = scans[function] = scan(function, takes_tensor, has_arrays)
        return found

    rebound = frozenset(_rebound(module.body))
    world = World(
        table,
        BACKENDS | device_types,
        scan=scan_once,
        budget=_INLINED_AT_LEAST,
        rebound=rebound,
        speaks_of_devices=speaks_of_devices,
    )
    world.evaluate, world.invoke, world.store = evaluate, invoke, statements.store
    world.run = statements.run
    top = Frame(world, State(), role=role)
    world.top = top
    statements.run(top, module.body)
    top.state.alive = True
    _run_rest(world, top)
    facts = world.facts
    _let_go(world)
    return facts


def _run_rest(world: World, top: Frame) -> None:
    """Functions and classes on their own; those that they define come after them."""
    done = 0
    classes: set[ir.Class] = set()
    while True:
        for node, info in list(world.classes.items()):
            if node not in classes:
                classes.add(node)
                run_class(info, top)
        if done == len(world.pending):
            return
        closure, around, known = world.pending[done]
        done += 1
        run_alone(closure, top if around.function is None else around, known=known)


def _let_go(world: World) -> None:
    """Cut the circles between frames, names and functions, so that all of it, the file's tree
    included, is freed at once: Python's collector would have to walk it first."""
    for _, frame, _ in world.pending:
        frame.state.env.clear()
    for info in world.classes.values():
        info.env.clear()
    if world.top is not None:
        world.top.state.env.clear()
    world.top = None
    world.pending.clear()
    world.answers.clear()


def _aliases(module: ir.Module) -> dict[str, str]:
    """What the file's imports bind, wherever they stand at its top level."""
    found: dict[str, str] = {}
    for statement in _top_level(module.body):
        if isinstance(statement, ir.Import):
            for alias in statement.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(statement, ir.ImportFrom) and statement.level == 0:
            for alias in statement.names:
                found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
    return found


def _top_level(body: ir.Body) -> Iterator[ir.Stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, (ir.If, ir.Try)):
            yield from _top_level(statement.body)


def _rebound(body: ir.Body) -> Iterator[str]:
    """The names that functions of the file declare `global` or `nonlocal`."""
    for statement in body:
        if isinstance(statement, ir.Scope):
            yield from statement.names
        elif isinstance(statement, ir.Try):
            for handler in statement.handlers:
                yield from _rebound(handler.body)
            yield from _rebound(statement.body + statement.orelse + statement.final)
        else:
            yield from _rebound(getattr(statement, "body", ()))
            yield from _rebound(getattr(statement, "orelse", ()))


def _spelled(node: ir.Expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ir.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ir.Attribute):
        base = _spelled(node.value, aliases)
        return f"{base}.{node.attr}" if base else ""
    return ""
