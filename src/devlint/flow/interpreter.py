"""The way in: a file's IR goes in, its facts come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from devlint.flow.bodies import statements
from devlint.flow.bodies.classes import mark_mixins
from devlint.flow.bodies.expressions import EVALUATORS, watched
from devlint.flow.bodies.functions import invoke, run_alone
from devlint.flow.bodies.methods import run_class
from devlint.flow.calls.callers import calls_tell
from devlint.flow.calls.calls import call_value
from devlint.flow.calls.host_functions import without_host_functions, without_made_up_modules
from devlint.flow.conditions.guards import guard_of_file
from devlint.flow.conditions.required import sets_default_for_tests
from devlint.flow.domain.devicestring import BACKENDS
from devlint.flow.domain.keys import ALL_ON_HOST
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.state import State
from devlint.flow.effects import precision
from devlint.flow.effects.collectives import refused, sends_from_accelerators_only
from devlint.flow.effects.frameworks import places_batches
from devlint.flow.effects.ranks import shared
from devlint.flow.effects.workers import told
from devlint.flow.facts import Fact, Role
from devlint.flow.facts.causes import first_of_each
from devlint.flow.frames.changed import leave_changed
from devlint.flow.frames.coverage import Meetings
from devlint.flow.frames.files import ClassInfo, Closure, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.others import Heard
from devlint.flow.frames.record import Record
from devlint.flow.frames.steps import Steps
from devlint.flow.frames.world import World
from devlint.flow.modules.constructed import without_rewritten
from devlint.flow.modules.stale import settled
from devlint.flow.operations.batches import without_unproven
from devlint.flow.project import Project
from devlint.flow.surroundings import Text, runs_on_host, tests_on_host
from devlint.flow.syntax.bindings import rebound_in
from devlint.flow.syntax.imports import imported, spelled
from devlint.flow.syntax.parts import is_private, parts, with_parts
from devlint.flow.syntax.programs import holds_tests
from devlint.flow.syntax.scan import scan
from devlint.flow.syntax.seen import Scan
from devlint.model import ir
from devlint.torchapi.effects import Effect
from devlint.torchapi.table import Table

if TYPE_CHECKING:
    from devlint.project.neighbours import Neighbours

_TAKES_TWO = ("_loss", ".cross_entropy", ".matmul", ".mm", ".bmm", ".dot", ".mv", ".outer")
"""How functions end that take two tensors for sure."""
_TAKES_TENSOR = (Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.CREATE_LIKE)
_OF_OTHERS = ("module", "generator")
"""What comes of functions that take something else than tensors: `torch.jit.trace(model, x)`."""


def interpret(
    text: Text,
    table: Table,
    device_types: frozenset[str] = frozenset(),
    path: str = "",
    project: Project | None = None,
    record: Record | None = None,
    meetings: Meetings | None = None,
) -> list[Fact]:
    """All facts of a file, in no particular order.

    `device_types` are the device types of backend packages that the settings add to torch's own.
    `path` is the absolute path of the file, from which its imports are followed into a `project`;
    without one, other files stay unknown. `record` is told what stands at its lines,
    and `meetings` where tensors meet.
    """
    world = _world(text, path, table, device_types, project)
    if meetings is not None:
        world.meetings = meetings
    if record is not None:
        world.record, world.evaluators = record, watched(record)
    if project is not None:
        world.processes.sets_tensor_type = project.sets_tensor_type(path)
    top = _run(world, text, CPU if project is None else project.default_for(path))
    facts = [
        *_sieved(world),
        *world.left.values(),
        *refused(top),
        *told(world),
        *settled(top),
        *shared(top),
        *(world.processes.wraps if sends_from_accelerators_only(world) else ()),
    ]
    if record is not None:
        record.hear(world.home.body, world.callers.given)
    _let_go(world)
    return facts


def _sieved(world: World) -> list[Fact]:
    """What was written down, without what the file as a whole leaves no reason to report."""
    facts = list(without_rewritten(world, [*world.facts, *world.told_by_calls]))
    for name, sieve in _SIEVES.items():
        left = list(sieve(world, facts))
        if world.record is not None:
            world.record.lost(facts, left, name)
        facts = left
    return facts


_SIEVES: Mapping[str, Callable[[World, list[Fact]], Iterable[Fact]]] = {
    "calls-from-host": without_host_functions,
    "made-up-for-tests": without_made_up_modules,
    "unproven-part-of-batch": without_unproven,
    "first-of-its-cause": lambda _, facts: first_of_each(facts),
}


def _run(world: World, text: Text, default: Device) -> Frame:
    """Run a file, and all that it defines; gives the frame of its top level."""
    body = text.module.body
    known = {ALL_ON_HOST: True} if runs_on_host(text) or tests_on_host(text) else {}
    state = State(known=known, default=default)
    top = Frame(world, world.home, state, of_role=world.home.role, guard=guard_of_file(body))
    world.home.top = top
    statements.run(top, body)
    leave_changed(top)
    precision.tell(top, 0)
    top.state.alive = True
    if sets_default_for_tests(world.home):
        top.state.default = UNKNOWN
    _run_rest(world, top)
    return top


def new_project(
    surroundings: Neighbours, table: Table, device_types: frozenset[str] = frozenset()
) -> Project:
    """The files around linted ones, of which nothing has been read yet."""

    def world_of(text: Text, path: str, project: Project) -> World:
        return _world(text, path, table, device_types, project)

    def hear(text: Text, path: str, project: Project) -> Heard:
        world = world_of(text, path, project)
        world.callers.listens = True
        world.processes.sets_tensor_type = project.sets_tensor_type(path)
        world.is_program = project.is_program(path)
        _run(world, text, project.default_for(path))
        _let_go(world)
        uses = tuple(world.processes.uses.values())
        return Heard(world.callers.brought, world.of_file.passed, uses)

    return Project(surroundings, world_of, hear)


def _world(
    text: Text, path: str, table: Table, device_types: frozenset[str], project: Project | None
) -> World:
    world = World(
        table, _describe(text, path, table), BACKENDS | device_types, project,
        steps=Steps() if project is None else project.steps,
    )  # fmt: skip
    world.call, world.invoke = call_value, invoke
    world.store, world.run, world.evaluators = statements.store, statements.run, EVALUATORS
    return world


def _describe(text: Text, path: str, table: Table) -> File:
    """A file before it is run."""
    scans: dict[ir.Function, Scan] = {}
    own = {each.name: each for each in parts(text.module.body)}
    aliases = imported(text.module)
    has_arrays = any(name.partition(".")[0] == "numpy" for name in aliases.values())

    def takes_tensors(func: ir.Expr) -> int:
        name = spelled(func, aliases.get)
        row = table.get(name) if name.startswith("torch.") else None
        of_others = row is None or row.effect not in _TAKES_TENSOR or row.kind in _OF_OTHERS
        if of_others or name == "torch.nn.Parameter":
            return 0
        return 2 if name.endswith(_TAKES_TWO) else 1

    def scan_once(function: ir.Function) -> Scan:
        found = scans.get(function)
        if found is None:
            scans[function] = scan(function, takes_tensors, has_arrays)
            found = scans[function] = with_parts(scans[function], function, own, scan_once)
        return found

    placed = any(map(places_batches, aliases.values()))
    body, speaks = text.module.body, text.speaks_of_devices
    role = Role.TEST if holds_tests(body) else Role.PLAIN
    whole = text.module.whole
    return File(path, body, scan_once, rebound_in(body), whole, speaks, role, placed, own)


def _run_rest(world: World, top: Frame) -> None:
    """Functions and classes on their own; those that they define come after them. Functions of
    which calls may tell something are last, those of the file alone after the others, and those
    that call before what they call: by then it is known with what."""
    done = 0
    mark_mixins(world.home.classes.values())
    classes: set[ir.Class] = set()
    own, public = _Waiting(), _Waiting()
    while True:
        for info in _heirs_first([i for n, i in world.home.classes.items() if n not in classes]):
            classes.add(info.node)
            run_class(info, top)
        if done < len(world.pending):
            closure, around, known = world.pending[done]
            done += 1
            if calls_tell(closure):
                later = own if is_private(closure.name) else public
                later.add(closure, around, known)
                continue
        elif public.all or own.all:
            closure, around, known = (public if public.all else own).pop()
        else:
            return
        if closure.node in world.followed:
            continue
        run_alone(closure, top if around.function is None else around, known=known)


def _heirs_first(classes: list[ClassInfo]) -> list[ClassInfo]:
    """Classes in an order in which those that others inherit from come after these, which call
    their private methods."""
    bases = {base for info in classes for base in info.ancestors}
    plain = [info for info in classes if info not in bases]
    return plain + [info for info in reversed(classes) if info in bases]


class _Waiting:
    """Functions that wait until others have run, which may call them."""

    def __init__(self) -> None:
        self.all: list[tuple[Closure, Frame, dict[str, bool]]] = []
        self._callers: Counter[str] = Counter()

    def add(self, closure: Closure, around: Frame, known: dict[str, bool]) -> None:
        self.all.append((closure, around, known))
        self._callers.update(_may_call(closure))

    def pop(self) -> tuple[Closure, Frame, dict[str, bool]]:
        """The last of those that no other one calls; the last of all where they call each other."""
        indices = range(len(self.all) - 1, -1, -1)
        free = (i for i in indices if not self._callers[self.all[i][0].name])
        found = self.all.pop(next(free, -1))
        self._callers.subtract(_may_call(found[0]))
        return found


def _may_call(closure: Closure) -> set[str]:
    """The names of functions that a function may call, but for its own."""
    scan = closure.file.scan(closure.node)
    return (scan.called | scan.given) - {closure.name}


def _let_go(world: World) -> None:
    """Cut the circles between frames, names and functions, so that all of it, the file's tree
    included, is freed at once: Python's collector would have to walk it first."""
    for _, frame, _ in world.pending:
        frame.state.env.clear()
    for info in world.home.classes.values():
        info.env.clear()
    if world.home.top is not None:
        world.home.top.state.env.clear()
    world.home.top = None
    world.pending.clear()
    for kept in (world.answers.summaries, world.answers.variants):
        kept.clear()
