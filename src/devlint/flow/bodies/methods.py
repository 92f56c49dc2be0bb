"""What a class's methods find in `self`: attributes after `__init__`, and where they are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce

from devlint.flow.bodies import cached, unregistered
from devlint.flow.bodies.annotations import annotated
from devlint.flow.bodies.classes import is_never_set_up
from devlint.flow.bodies.functions import run_alone
from devlint.flow.bodies.occasions import (
    is_asked_by_constructors,
    is_exporting,
    is_out_of_use,
    is_trying_itself,
)
from devlint.flow.bodies.registered import (
    gather,
    leave_open,
    place_parts,
    register,
    tell_kept_tensors,
)
from devlint.flow.domain.keys import ALL_ON_HOST, CUDA_AVAILABLE, IS_NONE
from devlint.flow.domain.lattice import UNKNOWN, conditions, join, only_host
from devlint.flow.domain.paths import path_value
from devlint.flow.domain.settled import Conditions
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.traits import REGISTERED, Trait
from devlint.flow.domain.value_joins import join_values
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.facts import Role
from devlint.flow.frames import fields
from devlint.flow.frames.files import CONSTRUCTORS, OWN_MOVES, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.frames.protocols import runs_again
from devlint.flow.modules import optimizers, stale
from devlint.flow.modules.asked import as_methods_ask
from devlint.flow.modules.inherited import inherited
from devlint.flow.modules.placement import as_users_choose
from devlint.flow.modules.rewritten import (
    forget_moved,
    forget_rewritten,
    forget_tested,
    is_of_one_test,
)
from devlint.flow.syntax.parts import is_private
from devlint.flow.syntax.walk import statements_of
from devlint.model import ir

_SETUP_ROUNDS = 8


def run_class(info: ClassInfo, around: Frame) -> None:
    """Run every method of a class: `__init__` first, then those that set up, then all."""
    # Each of what it inherits is looked for in all of its bases.
    inherited_methods = sum(len(base.methods) for base in info.ancestors)
    around.world.step(len(info.ancestors) * inherited_methods)
    around = _where_defined(info, around)
    this = _receiver(info, around)
    init = info.method("__init__")
    if info.is_module and init is not None and is_never_set_up(init[1]):
        return
    start = around
    if init is None:
        if fields.is_written(info):
            _store_fields(info, around, this)
        init = info.method("__post_init__")  # what Python writes calls it at its end
    if init is not None:
        start = run_alone(info.closure_of(init[1], init[0]), around, this)
        if not start.state.alive and not _raises(init[1]):
            return  # it calls what raises, so there are no objects
        as_methods_ask(info, init[1], start.state.heap)
        start.state.known = Conditions(_known_of_object(around, start))
    made = start
    start = _after_setup(info, around, start, this)
    if info.is_module:
        register(info, start, this)
        gather(info, start, this)
    elif info.is_open:
        leave_open(start, this)
    made_with = _run_while_made(info)
    for method in _callers_first(info):
        if init is not None and init[1] is method:
            continue
        if is_out_of_use(info, method.name) or method in around.world.followed:
            continue
        early = method.name in made_with
        receiver = _receiver_of(info, method, this)
        on_host = is_exporting(info, method.name) or is_trying_itself(info, method)
        known = {ALL_ON_HOST: True} if on_host else None
        own = run_alone(
            info.closure_of(method), made if early else start, receiver, known, while_made=early
        )
        if info.is_module and receiver is this and not early:
            unregistered.tell_filled(info, made, own, this)
            cached.tell(info, method, start, this)
    for base, name in inherited(info, start, this):
        run_alone(info.closure_of(base.methods[name], base), start, this, inherited=True)
    tell_kept_tensors(info, start)
    stale.tell(info, start)


def _raises(function: ir.Function) -> bool:
    """Whether a function has a `raise` of its own, as what is left to subclasses has."""
    return any(isinstance(each, ir.Raise) for each in statements_of(function.body))


def _store_fields(info: ClassInfo, around: Frame, this: Value) -> None:
    """What a constructor that Python writes stores of what its annotation says to be a tensor."""
    found = around.state.heap[this.data]
    given = {
        name: annotated(around, annotation, path_value(f"self.{name}"))
        for name, annotation in fields.declared(info)
    }
    tensors = {name: value for name, value in given.items() if value.kind is Kind.TENSOR}
    around.state.heap[this.data] = replace(found, entries=tensors)


def _callers_first(info: ClassInfo) -> list[ir.Function]:
    """The methods in an order in which each comes after those that call it, which tell of it; the
    private ones late. Nobody calls setters by name."""
    calls = {name: info.file.scan(method).self_calls for name, method in info.methods.items()}
    called = {name for names in calls.values() for name in names}
    seen: set[str] = set()
    called_first: list[str] = []

    def visit(name: str) -> None:
        if name in calls and name not in seen:
            seen.add(name)
            for inner in sorted(calls[name]):
                visit(inner)
            called_first.append(name)

    for name in sorted(calls, key=lambda name: (is_private(name), name in called), reverse=True):
        visit(name)
    return [*info.setters.values(), *(info.methods[name] for name in reversed(called_first))]


def _known_of_object(around: Frame, made: Frame) -> dict[str, bool]:
    """What is known in every method: what holds around the class, and that CUDA is there where the
    constructor hasn't come back without it."""
    known = dict(around.state.known.literals())
    if made.state.known.told(CUDA_AVAILABLE):
        known[CUDA_AVAILABLE] = True
    return known


def _receiver_of(info: ClassInfo, method: ir.Function, this: Value) -> Value | None:
    """What the first parameter of a method is: the object, its class, or nothing special."""
    names = {name_in(info.file, decorator) for decorator in method.decorators}
    if "builtins.staticmethod" in names:
        return None
    return Value(Kind.CLASS, data=info) if "builtins.classmethod" in names else this


def _where_defined(info: ClassInfo, around: Frame) -> Frame:
    """The frame of the file, under the conditions that hold where the class stands."""
    if not info.known:
        return around
    state = around.fork()
    state.known.update(info.known)
    return replace(around, state=state)


def _receiver(info: ClassInfo, around: Frame) -> Value:
    kind = Kind.MODULE if info.is_module else Kind.INSTANCE
    ref = (info, "self")
    around.state.heap[ref] = Object(device=UNKNOWN, source=info)
    optimizers.fill_groups(info, around.state, ref)
    return Value(kind, data=ref, trait=Trait.SELF)


def _after_setup(info: ClassInfo, around: Frame, start: Frame, this: Value) -> Frame:
    """The state in which methods run: what other methods store or move, its own and those of bases,
    is joined in.

    `setup()` that moves the model runs before `train()`; so an attribute that one method moves
    is where that method leaves it, and where methods disagree, nobody knows. What a plain class is
    for, its file tells.
    """
    role = around.of_role if info.role is Role.PLAIN else info.role
    merged = replace(around, state=_without_names(start), of_role=role)
    own = _without_names(start)
    ready = Frame(start.world, start.file, own, of_role=start.of_role, recording=False)
    if info.is_module:
        place_parts(info, ready, this)
    before = ready.state.heap
    changed: dict[object, list[Object]] = {}
    reached = (each for each in info.all_methods() if info.method(each[1].name) == each)
    setups = [each for each in reached if _sets_up(info, *each)][:_SETUP_ROUNDS]
    for owner, method in setups:
        ended = run_alone(owner.closure_of(method), ready, this)
        for ref in ended.state.heap.written:
            found = ended.state.heap[ref]
            if method.name == "cuda":
                found = as_users_choose(found, before.get(ref))
            if ref in before and found != before[ref]:
                changed.setdefault(ref, []).append(found)
            elif ref not in before:
                merged.state.heap[ref] = found
    for ref, ends in changed.items():
        moved = any(map(partial(_is_moved, before[ref]), ends))
        if moved or ref == this.data:  # else it is as the constructor has left it
            merged.state.heap[ref] = _merge(info, before[ref], ends, ref == this.data)
    followed = [method for _, method in setups]
    stale.forget_devices(info, merged, this, followed)
    forget_rewritten(info, merged, this, followed)
    forget_tested(info, merged, this)
    forget_moved(info, merged, this)
    return merged


def _without_names(frame: Frame) -> State:
    """What a frame leaves to others: all but its own names."""
    state = frame.fork()
    state.env, state.alive = {}, True
    return state


def _called_by_constructors(info: ClassInfo) -> frozenset[str]:
    scans = (scan for method, scan in info.scans() if method.name == "__init__")
    return frozenset[str]().union(*(scan.self_calls for scan in scans))


def _sets_up(info: ClassInfo, owner: ClassInfo, method: ir.Function) -> bool:
    """Whether a method of a class or of its base stores or moves something that others find. What
    constructors call has been followed there, and what comes after that call counts."""
    name = method.name
    if name in (*CONSTRUCTORS, "forward") or is_of_one_test(info, method):
        return False
    if owner.file.parts.get(name) is method:
        return False  # it runs in what calls it
    if name in info.once(_called_by_constructors, info):
        return False
    for each in owner.lineage():
        if name in each.methods:
            scan = each.file.scan(each.methods[name])
            if scan.self_moves or scan.makes:
                return True
            if name not in scan.methods:  # as `super().setup()` is
                return False
    return False


def _where_it_is(value: Value) -> Value:
    """What a method moves unless it, or something else, is None: that it is there, and nobody knows
    whether it has been moved."""
    absent = any(key.endswith(IS_NONE) for key in conditions(value.device))
    return value.but(device=UNKNOWN) if absent else value


def _unreleased(value: Value) -> Value:
    """What a method brings to the host: most likely it is done with it then, and other methods run
    before that."""
    released = value.origin is Origin.MOVED and only_host(value.device)
    return value.but(device=UNKNOWN) if released else value


def _is_moved(before: Object, end: Object) -> bool:
    """Whether a method has moved an object, and not to the host."""
    return end.device != before.device and not only_host(end.device)


def _merge(info: ClassInfo, before: Object, ends: list[Object], is_self: bool) -> Object:
    """What is known of the object itself, or of one that it holds, after methods that set up."""
    moved = [*filter(partial(_is_moved, before), ends)]
    device = reduce(join, (end.device for end in moved)) if moved else before.device
    entries = dict(before.entries)
    for end in ends if is_self else moved:
        for name, value in end.entries.items():
            known = entries.get(name)
            if not is_self:
                if known is not None and value.trait in REGISTERED:  # it has gone with its module
                    entries[name] = value.but(device=device)
            elif known is not None:
                entries[name] = _where_it_is(join_values(known, _unreleased(value)))
            elif not info.is_open:  # else a base that isn't seen may have set it before
                entries[name] = _unreleased(value)
    trace = moved[0].trace if moved else before.trace
    guarded = any(end.guarded for end in moved)
    return replace(before, device=device, entries=entries, trace=trace, guarded=guarded)


_FOR_ALL = ("forward", "train", *OWN_MOVES)
"""Methods that other files and torch itself call."""


def _run_while_made(info: ClassInfo) -> set[str]:
    """The methods of a module that its constructor or one of its bases' calls, and no others but
    these; and those that the file calls in other constructors only, of modules that have this one
    as a part. `reset_parameters` runs again, and so does what that calls."""
    if info.method("__init__") is None or not info.is_module:
        return set()
    callers: dict[str, set[str]] = {n: set() for n, m in info.methods.items() if not runs_again(m)}
    for each, method in info.all_methods():
        scan = each.file.scan(method)
        for called in callers.keys() & (scan.self_calls | scan.applied) - {method.name}:
            callers[called].add(method.name)
    early = {"__init__"}
    while more := {name for name, by in callers.items() if by and by <= early} - early:
        early |= more
    asked = (name for name, by in callers.items() if "__init__" not in by and name not in _FOR_ALL)
    return early | {name for name in asked if is_asked_by_constructors(info.file, name)}
