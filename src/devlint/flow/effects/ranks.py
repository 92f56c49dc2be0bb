"""Processes of one machine of which none has chosen its GPU: all work on GPU 0.

And the rank of a process among all of a program's, on whichever machines they run. It is a number
with a trait, and its derivation begins with a step of its own: so whoever takes it for the index of
a device can be told. What is calculated of it (`rank % count`) has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from devlint.flow.conditions.cuda_proofs import ON_CUDA_ALONE
from devlint.flow.conditions.implications import implied
from devlint.flow.devices.own_index import own_index
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE
from devlint.flow.domain.lattice import CUDA, leaves
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.effects.collectives import UNKNOWN_BACKEND
from devlint.flow.facts import (
    ApiCall,
    Context,
    DeviceUse,
    Guard,
    Move,
    Operand,
    OwnIndex,
    Role,
    SharedDevice,
    Sharing,
)
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax import processes
from devlint.flow.syntax.imports import imported
from devlint.flow.syntax.reach import Around, Guards, Place, Reach, atoms, reach
from devlint.flow.syntax.walk import by_parameter, descendants, first_row
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.torchapi.effects import Row

_OF_GPUS = ON_CUDA_ALONE | {""}
"""Backends that work on GPUs; without one there is one for each type of device."""
_OF_BOTH = "cuda:nccl"
_NAMES = ("device", "map_location")
_Found = tuple[Sharing, ir.Expr, Context, str]


def shared(top: Frame) -> Iterator[SharedDevice]:
    """For each process group on GPUs the first thing that is on GPU 0 in all its processes."""
    world, body = top.world, top.file.body
    if not world.processes.groups or any(_is_out_of_sight(top, each) for each in body):
        return
    file = _File(top, imported(ir.Module(body)), reach(body))
    if processes.chooses(body, file.names):
        return
    own = processes.spawned(body, file.names)
    for group, given in world.processes.groups.items():
        place = file.reach.places.get(group)
        if place is None or processes.is_of_one(group, body) or _is_bound(group):
            continue
        starts = own or file.spawned_elsewhere(place)
        several = bool(starts) or processes.counts_locally(body)
        backends = file.backends(group, place, given)
        if backends.isdisjoint(_OF_GPUS) and not any(_OF_BOTH in each for each in backends):
            continue
        if several or processes.by_launcher(group):
            index = own_index(group, place, body, file.names, starts)
            yield from file.told(group, place, backends <= ON_CUDA_ALONE, index)


def _is_out_of_sight(top: Frame, statement: ir.Stmt) -> bool:
    """`from .setup import start`, where nobody follows that."""
    if not isinstance(statement, ir.ImportFrom) or not statement.level:
        return False
    project = top.world.project
    return not project or project.imported(top.file, statement.level, statement.module) is None


def _is_bound(group: ir.Call) -> bool:
    """Whether a group is, or may be, told the device of its process."""
    return any(
        each.star == "**"
        or (each.keyword == "device_id" and getattr(each.value, "value", "") is not None)
        for each in group.args
    )


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of a file in which groups are started."""

    top: Frame
    names: Mapping[str, str]
    reach: Reach

    def spawned_elsewhere(self, place: Place) -> Mapping[str, bool]:
        """The functions that lead to a place and for which other files start processes."""
        project, leading = self.top.world.project, {each for each, _ in self.reach.ways_to(place)}
        names = [each.name for each in (place.function, *leading) if each is not None]
        return {} if project is None else project.spawned(self.top.file.path, dict.fromkeys(names))

    def backends(self, group: ir.Call, place: Place, given: set[str]) -> set[str]:
        """The names of backends that a group may get."""
        found = given - {UNKNOWN_BACKEND}
        named = [a for a in group.args if a.keyword == "backend"]
        for argument in named or [a for a in group.args[:1] if not (a.keyword or a.star)]:
            texts = processes.possible(argument.value, place.function, self.stored)
            found |= {each.lower() for each in texts if each is not None}
        return found or self.top.world.of_file.options

    def stored(self, function: ir.Function | None) -> processes.Stored:
        """What a function stores, or the whole file."""
        return self.top.file.once(_stored, function or self.top.file)

    def told(
        self, group: ir.Call, place: Place, only_gpus: bool, index: OwnIndex | None
    ) -> Iterator[SharedDevice]:
        """What there is to tell of a group, if anything. `only_gpus`: it takes no tensors of the
        host."""
        runs = self.runs_with(place)
        all_of = self.running(self.named(), runs)
        if not all_of and any(map(processes.indexes, self.reach.places)):
            all_of = self.running(self.current(only_gpus), runs)
            all_of = all_of or self.running(self.loaded(), runs)
        if all_of:
            how, use, context, name = all_of[0]
            node = group if how is Sharing.CURRENT else use
            torch = self.names.get("torch") == "torch"
            index = None if any(self.is_earlier(each[1], place) for each in all_of) else index
            yield SharedDevice(node, context, group, use, how, name, index, torch)

    def is_earlier(self, use: ir.Expr, start: Place) -> bool:
        """Whether something runs before a group is started, where to choose a GPU comes too late:
        it stands or is called above that, or runs when the file is imported."""
        found, leading = self.reach.places[use], {each for each, _ in self.reach.ways_to(start)}
        if found.function is start.function:
            return first_row(use) < first_row(start.statement)
        if found.function in leading:
            starts = self.calls(leading - {found.function}, (found.function,))
            return not starts or first_row(use) < min(starts)
        calls = self.calls({found.function}, (start.function,))
        if found.function is None:
            return True
        on_import = start.function is not None and self.calls({found.function}, (None,))
        return bool(on_import) or any(row < first_row(start.statement) for row in calls)

    def calls(self, functions: Collection[Around], within: Collection[Around]) -> list[int]:
        """The rows of the calls of some functions, in others."""
        names = {each.name for each in functions if each is not None}
        return [
            first_row(node)
            for node, place in self.reach.places.items()
            if isinstance(node, ir.Call)
            and place.function in within
            and last_name(node.func) in names
        ]

    def runs_with(self, place: Place) -> Callable[[ir.Node], bool]:
        """What tells of a node whether it runs wherever a place is reached, if there are GPUs."""
        ways = []
        for root, guards in self.reach.ways_to(place):
            known = {atom for test, holds in guards for atom in atoms(test, holds)}

            def hold(others: Guards, known: Collection[object] = known) -> bool:
                return all({*atoms(*each)} <= {*known} or self.asks(*each) for each in others)

            ways.append((self.reach.reached(root, hold) | {None}, hold))

        def runs(node: ir.Node) -> bool:
            found = self.reach.places.get(node)
            return found is not None and any(
                found.function in reached and hold(found.guards) for reached, hold in ways
            )

        return runs

    def asks(self, test: ir.Node, holds: bool) -> bool:
        """Whether a condition holds where there are GPUs, as far as it says."""
        known = implied(self.top, test, holds) if isinstance(test, ir.Expr) else ()
        return any(key in (CUDA_AVAILABLE, ACCELERATOR_CHOSEN) and value for key, value in known)

    def running(self, found: Iterator[_Found], runs: Callable[[ir.Node], bool]) -> list[_Found]:
        """Those that run, in the order of the file."""
        those = [each for each in found if each[2].role is not Role.MANAGED and runs(each[1])]
        return sorted(those, key=lambda each: first_row(each[1]))

    def named(self) -> Iterator[_Found]:
        """Where something goes to a device that is named without an index."""
        for fact in self.top.world.facts:
            match fact:
                case Move(method="cuda", target=None, idle=False, managed=False):
                    if not any(each.star for each in fact.node.args):
                        yield Sharing.NAMED, fact.node, fact.context, ""
                case Move(method="to", target=Operand() as target, idle=False, managed=False):
                    if CUDA in leaves(fact.device) and self.is_current(target.node):
                        yield Sharing.NAMED, fact.node, fact.context, ""
                case DeviceUse(node=ir.Expr() as node, via=via, operand=operand) if via in _NAMES:
                    if CUDA in leaves(operand.device) and self.is_current(node):
                        yield Sharing.NAMED, node, fact.context, ""

    def is_current(self, node: ir.Expr) -> bool:
        """Whether all that an expression may be names no index, where that is all spelled out."""
        place = self.reach.places.get(node)
        if place is None:
            return False
        texts = set(processes.possible(node, place.function, self.stored))
        return "cuda" in texts and not any(each is None or ":" in each for each in texts)

    def current(self, only_gpus: bool) -> Iterator[_Found]:
        """Where something works on the current GPU. Objects go through the memory of the host where
        a backend takes that."""
        for node in self.reach.places:
            name = processes.takes_current(node, self.names)
            if isinstance(node, ir.Call) and name and (only_gpus or name == processes.STREAM):
                yield Sharing.CURRENT, node, Context(), name

    def loaded(self) -> Iterator[_Found]:
        """Where the state of a model is loaded to where it was saved."""
        for fact in self.top.world.facts:
            if isinstance(fact, ApiCall) and _is_load(fact) and self.restores(fact.node):
                yield Sharing.LOADED, fact.node, fact.context, ""

    def restores(self, load: ir.Call) -> bool:
        """Whether `load_state_dict` gets what is loaded, or a part of it."""
        place = self.reach.places.get(load)
        if place is None:
            return False
        targets = place.statement.targets if isinstance(place.statement, ir.Assign) else ()
        names = {each.id for each in targets if isinstance(each, ir.Name)}
        handed = dict(self.handed_on(names, place.function))
        for node, other in self.reach.places.items():
            if isinstance(node, ir.Call) and last_name(node.func) == "load_state_dict":
                inside = [part for argument in node.args[:1] for part in descendants(argument)]
                here = handed.get(other.function, ())
                if load in inside or any(getattr(each, "id", None) in here for each in inside):
                    return True
        return False

    def handed_on(self, names: set[str], around: Around) -> Iterator[tuple[Around, set[str]]]:
        """A function with some names, and the parts that it gives them to, with theirs."""
        yield around, names
        for node, other in self.reach.places.items():
            if isinstance(node, ir.Call) and other.function is around:
                part = self.top.file.parts.get(last_name(node.func))
                if part is not None:
                    params = part.params[isinstance(node.func, ir.Attribute) :]
                    given = by_parameter(params, node.args)
                    yield part, {p for p, a in given if getattr(a.value, "id", None) in names}


def _stored(whole: ir.Function | File) -> processes.Stored:
    return processes.stored(whole.body)


def _is_load(call: ApiCall) -> bool:
    """Whether a call loads what was saved to where it was, which another rule leaves alone since
    there are GPUs."""
    if call.name != "torch.load" or call.unpacked or len(call.positional) > 1:
        return False
    if call.context.guard is Guard.NONE:
        return False
    return not (call.keyword("map_location") or call.keyword("mmap"))


def of_variable(frame: Frame, node: ir.Expr, name: Value) -> Value:
    """What a variable of the environment holds: the text of a number, where launchers set it."""
    if name.data not in processes.GLOBAL_RANKS or _starts_processes(frame):
        return NOTHING
    return _rank(Kind.STRING, node)


def environment(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return of_variable(frame, node, args.value((0, "key")))


def get_rank(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """In another group than that of all it may be anything."""
    known = not args.all and not _starts_processes(frame)
    return _rank(Kind.NUMBER, node) if known else Value(Kind.NUMBER)


def _rank(kind: Kind, node: ir.Expr) -> Value:
    return Value(kind, trait=Trait.GLOBAL_RANK, trace=Step(Sort.GLOBAL_RANK, node))


def _starts_processes(frame: Frame) -> bool:
    """Whether the program starts its processes itself, or says so: all run on one machine."""
    project, path = frame.world.project, frame.file.path
    functions = [each.name for each in frame.file.body if isinstance(each, ir.Function)]
    return frame.file.once(_starts, frame.file) or (
        project is not None and bool(project.spawned(path, functions))
    )


def _starts(file: File) -> bool:
    return processes.is_on_one_machine(file.body, imported(ir.Module(file.body)))
