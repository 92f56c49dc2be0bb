"""Calls of classes and of what they make: `Net(...)`, `model(x)`."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from devlint.flow.calls import contracts, fields, hooks, outputs
from devlint.flow.calls.brought import note_receiver
from devlint.flow.calls.function_calls import REFUSED, call_function, refuses
from devlint.flow.calls.judged import given_by, is_told, parts, told_by_call
from devlint.flow.calls.module_inputs import is_given_device, may_hold_tensors
from devlint.flow.domain.derivation import Sort, Step, shown
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, only_host, outside
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import (
    NONE,
    NOTHING,
    TENSORS,
    Kind,
    Origin,
    Value,
)
from devlint.flow.frames.arguments import Arguments, Given, by_parameter
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.noted import note_handing
from devlint.flow.modules import wrapping
from devlint.flow.modules.holdings import holds_buffers_only, inherit, may_inherit_something
from devlint.flow.modules.placement import is_parted, is_registered
from devlint.flow.operations import arrivals, meet
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


def construct(frame: Frame, node: ir.Call, info: ClassInfo, args: Arguments) -> Value:
    """`Net(...)`: a new object, and its `__init__`."""
    kind = Kind.MODULE if info.is_module else Kind.INSTANCE
    inside = {} if info.is_module else fields.items(frame, node, info, args)
    made = Value(kind, data=frame.allocate(node, Object(source=info, entries=inside)))
    frame.world.classes.called.discard(made.data)
    init = info.reached("__init__")
    if init is None:
        if info.is_module:
            inherit(frame, made, info, args)
        fields.fill(frame, made, info, args)
        _after_fields(frame, node, info, made)
    else:
        if info.is_module:
            _note_passed(frame, info, init, args)
        result = call_function(frame, node, init, args, made.but(trait=Trait.SELF))
        if result.trait is Trait.EXITS:
            return result
    if info.is_module:
        _place_new_module(frame, node, info, made, wrapping.spreads(info, args))
    return made


def _after_fields(frame: Frame, node: ir.Call, info: ClassInfo, made: Value) -> None:
    """What a constructor that Python writes calls at its end."""
    method = info.reached("__post_init__")
    if method is not None:
        closure = replace(method, qualname=f"{info.node.name}.__init__")
        call_function(frame, node, closure, Arguments(()), made.but(trait=Trait.SELF))


def _note_passed(frame: Frame, info: ClassInfo, init: Closure, args: Arguments) -> None:
    """Which parameters the file has something to pass for, besides parameters of its own."""
    for name, argument, value in by_parameter(init.node, args, has_receiver=True):
        if value.kind is not Kind.NONE and not frame.is_parameter(argument.value):
            names = [each.name for each in init.node.params] if argument.star else [name]
            passed = frame.world.of_file.passed
            passed.update((info.file.path, info.node.name, each) for each in names)


def _place_new_module(
    frame: Frame, node: ir.Call, info: ClassInfo, made: Value, spreads: bool
) -> None:
    """A module is somewhere only if it holds something: parameters, buffers, other modules. One
    that `spreads` takes its inputs to devices itself."""
    found = frame.object(made)
    if found is None:
        return
    stateless = bool(found.entries) or info.method("__init__") is None
    places: set[Device] = set()
    for held in found.entries.values():
        if held.kind is Kind.MODULE:
            inner = frame.object(held)
            place = frame.place(held)
            stateless = stateless and inner is not None and inner.stateless
        elif is_registered(held):
            place, stateless = frame.place(held), False
        else:
            stateless = stateless and not _may_be_modules(frame, held)
            continue
        if only_host(place):
            place = CPU  # where a condition decides whether it is there, it is nowhere else
        if place != UNKNOWN:
            places.add(place)
    device = places.pop() if len(places) == 1 else UNKNOWN  # its parts may be in several places
    told = found.trace
    if device == CPU and shown(told) is None:
        told = Step(Sort.MODULE, node, device=CPU)
    stateless = stateless and not (info.is_open or may_inherit_something(frame, info))
    managed = found.managed or spreads
    placed = replace(found, device=device, stateless=stateless, managed=managed, trace=told)
    frame.update(made, placed)


def _may_be_modules(frame: Frame, held: Value) -> bool:
    """Whether it may be a module, or a list of some, which may be registered in another way."""
    found = frame.object(held)
    if found is not None and held.kind.is_container:
        held = found.elements() if found.items != () or found.entries else NONE
    return held.kind in (Kind.UNKNOWN, Kind.MODULE) or held.kind.is_container


def call_module(frame: Frame, node: ir.Call, func: ir.Expr, value: Value, args: Arguments) -> Value:
    """`model(x)`: the result is where the model is."""
    found = frame.object(value)
    info = frame.class_of(value)
    if info is not None and (own := info.reached("__call__")) is not None:
        return call_function(frame, node, own, args, value)
    objects = frame.objects(value)
    managed = bool(objects) and all(each.managed for each in objects)
    frame.world.classes.called.add(value.data)
    method = None if info is None else _called(info)
    if method is not None and refuses(frame, method, args, value):
        return REFUSED
    if method is not None:
        note_handing(frame, method, by_parameter(method.node, args, has_receiver=True))
        note_receiver(frame, method, value)
    wrappers = [each for each in objects if _hands_to_wrapper(frame, each, _DEEPEST)]
    self_moving = 0 < len(objects) == len(wrappers) or (info is None and is_given_device(args))
    if value.trait in (Trait.IF_MODULE, Trait.LOADED):
        value = value.but(kind=Kind.MODULE, data=None)
    place, buffers = frame.place(value), holds_buffers_only(frame, value)
    inputs = _given(frame, value, found, args)
    if not managed:
        meet.call_parts(frame, node, (func, value))
    hooks.run(frame, node, func, value)
    parted = is_parted(frame, value)
    if parted:
        place = UNKNOWN  # its parts are what its inputs meet
    elif buffers:
        place = UNKNOWN if only_host(place) or _is_given_others(frame, place, inputs) else place
    elif not managed and _adapts(frame, info, value):
        place = UNKNOWN  # what comes out is where the input was
    elif not managed and not self_moving:
        bare = _where_bare(frame, value, wrappers) if wrappers else value
        place = meet.call_module(frame, node, (func, bare), inputs)
    gathered = wrapping.where_gathered(frame, value) if managed or wrappers else UNKNOWN
    if gathered != UNKNOWN:
        place = gathered
    source = "" if found is None else found.library_class
    if not source.startswith("torch.nn.") and not _only_computes(info):
        frame.state.wait()
    arrivals.work(frame, node, place)
    if managed:
        wrapping.call_wrapper(frame, node, func, value)
        if place == UNKNOWN:
            return NOTHING
    if place == UNKNOWN and info is not None and found is not None and found.stateless:
        return _computed(frame, node, value, info, args)
    if not managed and is_told(frame, value, () if buffers or parted else inputs, args):
        for part, source_of_part, given in parts(frame, node, value, args):
            with told_by_call(frame, part, source_of_part):
                result = _computed(frame, node, part, source_of_part, given)
            if parted and part is value and result.kind in TENSORS:
                return given_by(node, result)
    if place == UNKNOWN:
        told = _stateless_call(frame, node, func, source, inputs)
        number = found is not None and found.gives_number and told.kind in TENSORS
        return told.but(scalar=True) if number else told
    operand = frame.operand(func, value)
    unmoved = operand.origin is Origin.INPUT  # nobody here has moved it: it may stay on the host
    pipeline = found is None and _is_pipeline(func, args)
    if unmoved or pipeline or _is_given_object(frame, place, args):
        return NOTHING
    row = frame.world.table.get(source)
    several = row is not None and (row.parts or row.managed)  # a wrapper gives what its module does
    kind = Kind.TENSOR if source.startswith("torch.nn.") and not several else Kind.BATCH
    unproven = Trait.PART if found is None else None  # nobody knows what it is, or what it returns
    there = Value(
        kind, place, origin=Origin.FOLLOWS, grad=True,
        scalar=_gives(frame, found) if kind is Kind.TENSOR else None,
        trait=Trait.GUARDED if operand.guarded and place != gathered else unproven,
        trace=Step(Sort.OUTPUT, node, operand.value.trace),
    )  # fmt: skip
    return outputs.of_forward(frame, node, there, value)


def _where_bare(frame: Frame, value: Value, wrappers: list[Object]) -> Value:
    """A module that is wrapped under a condition, where that doesn't hold: a wrapper moves what it
    is given by itself."""
    place, found = frame.place(value), frame.object(value)
    bare = reduce(lambda place, each: outside(place, each.device), wrappers, place)
    trait = value.trait if bare == place else Trait.GUARDED
    return Value(Kind.MODULE, bare, trait=trait, trace=None if found is None else found.trace)


def _called(info: ClassInfo) -> Closure | None:
    """The `forward` that a call of a module hands its arguments to, as they are."""
    return None if info.method("__call__") else info.reached("forward")


def _gives(frame: Frame, module: Object | None) -> bool | None:
    """Whether a module of torch gives a tensor without dimensions, as a loss does, or with some, as
    a layer does that has parameters; None where that isn't known."""
    row = None if module is None else frame.world.table.get(module.library_class)
    if module is None or row is None:
        return None
    return module.gives_number or (False if row.parameters and not row.reduces else None)


def _given(frame: Frame, module: Value, found: Object | None, args: Arguments) -> list[Given]:
    """The tensors that a module needs where it is."""
    part = contracts.entered(frame, module)
    if any(contracts.forward_of(each) is not None for each in frame.objects(part)):
        return contracts.needed(frame, module, part, args)
    return may_hold_tensors(frame, found, args)


def _is_pipeline(func: ir.Expr, args: Arguments) -> bool:
    """Whether what is called is a whole pipeline, by its name or by what it is asked for: it is
    moved as models are, and gives images, texts or arrays."""
    asked = any(argument.keyword == "output_type" for argument, _ in args.all)
    return asked or bool(means("pipeline", last_name(func), "variable"))


def _is_given_others(frame: Frame, place: Device, inputs: list[Given]) -> bool:
    return any(
        difference(place, frame.place(value)) is not None
        for _, value in inputs
        if value.kind in TENSORS
    )


def _is_given_object(frame: Frame, place: Device, args: Arguments) -> bool:
    """Whether what a module is called with first is an object made here, around a tensor that
    isn't known to be where the module is: `self(Points(torch.rand(3, 4)))`."""
    for _, value in args.all[:1]:
        found = frame.object(value)
        if found is not None and value.kind.is_container:
            value = found.elements()
            found = frame.object(value)
        if found is not None and value.kind is Kind.INSTANCE:
            return not any(frame.place(each) == place for each in found.entries.values())
    return False


def _only_computes(info: ClassInfo | None) -> bool:
    """Whether a class's `forward` brings nothing to the host, as far as its words tell."""
    method = None if info is None else info.method("forward")
    if info is None or method is None:
        return False
    scan = method[0].file.scan(method[1])
    return not scan.reads_back and not any(info.method(name) for name in scan.self_calls)


def _computed(frame: Frame, node: ir.Call, value: Value, info: ClassInfo, args: Arguments) -> Value:
    """A module of the project that holds nothing, a loss most likely: its `forward` is a function
    of what it is given."""
    method = _called(info)
    if method is None or info.moves_itself():
        return NOTHING
    return call_function(frame, node, method, args, value)


def _stateless_call(
    frame: Frame, node: ir.Call, func: ir.Expr, source: str, inputs: list[Given]
) -> Value:
    """A module that is nowhere: its inputs meet each other, as those of an operation do."""
    tensors = [pair for pair in inputs if pair[1].kind in TENSORS]
    if not source or not tensors:
        return NOTHING
    if source.endswith("CTCLoss") or source.startswith("torchmetrics."):
        return NOTHING  # it takes targets of the host, or may take what is elsewhere
    if len(tensors) == 1:
        return tensors[0][1].but(kind=Kind.TENSOR, data=None, scalar=None, trait=None)
    return meet.meet(frame, node, ir.render(func), tensors)


def _adapts(frame: Frame, info: ClassInfo | None, module: Value) -> bool:
    """Whether a module that nobody has moved takes its weights, or its parts, to where its input
    is."""
    method = None if info is None else info.method("forward")
    if method is None or not only_host(frame.place(module)):
        return False
    names = {parameter.name for parameter in method[1].params[1:]}
    scan = method[0].file.scan(method[1])
    return bool(names & scan.followed or scan.self_moves)


_DEEPEST = 3
"""Parts of parts that are looked into."""


def _hands_to_wrapper(frame: Frame, module: Object, depth: int) -> bool:
    if module.managed or not depth:
        return module.managed
    method = contracts.forward_of(module)
    if method is None:
        return False
    names = {parameter.name for parameter in method[1].params[1:]}
    handed = {attr for attr, name in method[0].file.scan(method[1]).self_inputs if name in names}
    held = (module.entries[attr] for attr in handed & module.entries.keys())
    parts = (part for each in held if each.kind is Kind.MODULE for part in frame.objects(each))
    return any(_hands_to_wrapper(frame, part, depth - 1) for part in parts)
