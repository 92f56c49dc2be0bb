"""What a module needs of its inputs: where one of them is elsewhere, `forward` is run with it.

What meets the module's own parameters there has to be where the module is. What is only looked at
by the host, used as an index, moved or handed back may be anywhere. Of what goes into code that
isn't seen nothing is known, but that the first input is what a model is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from devlint.flow.domain.derivation import Sort, Step, led_by, steps
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import only_host
from devlint.flow.domain.paths import path_value
from devlint.flow.domain.settled import Conditions
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Kind, Value, as_loaded
from devlint.flow.facts import Fact, Indexing
from devlint.flow.facts.meetings import met
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.contents import each_items, flatten
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import Trial
from devlint.flow.operations import batches, unpacking
from devlint.flow.syntax.walk import is_static
from devlint.model import ir

_ARE_TENSORS = (*TENSORS, Kind.ENCODING)


@dataclass(frozen=True, slots=True)
class _Input:
    """A tensor that a call gives: the argument it comes with, its place in that where it is one of
    several, and a step of its derivation by which it is found again."""

    argument: int
    item: int | None
    node: ir.Expr
    value: Value
    mark: Step

    @property
    def marked(self) -> Value:
        return self.value.but(trace=led_by(self.mark, self.value.trace))


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run of a `forward` tells, as marks of its inputs: those that meet something elsewhere,
    those that go into code that isn't seen, and those that are handed on."""

    met: set[Step]
    lost: set[Step]
    handed_on: set[Step]


def entered(frame: Frame, module: Value) -> Value:
    """What the inputs of a module go into: of a chain of modules, its first part."""
    found = frame.object(module)
    while found is not None and found.source == "torch.nn.Sequential" and found.items:
        module = found.items[0]
        found = frame.object(module)
    return module


def needed(frame: Frame, module: Value, part: Value, args: Arguments) -> list[Given]:
    """The tensors that a call gives to a module, whose inputs go into a `part` of a class that is
    seen, without those that may be elsewhere than the module. Of several modules, as those in a
    list are, one has to need them."""
    inputs = list(_inputs(frame, args))
    place = frame.place(module)
    strangers = {
        each.mark for each in inputs if difference(place, frame.place(each.value)) is not None
    }
    leading = {each.mark for each in inputs[:1] if each.argument == 0}
    free = set(strangers)
    for one in frame.each(part) if strangers else ():
        found = frame.object(one)
        method = None if found is None else forward_of(found)
        if method is None:
            continue
        run = _followed(frame, one, method, args, inputs)
        free -= run.met | (leading & run.lost)
        if part is not module:
            free -= run.handed_on  # the next part has them
        for each in inputs:
            if each.mark in run.met:
                batches.note_tensor(frame, each.node, each.value)
    return [_as_given(frame, args, each) for each in inputs if each.mark not in free]


def _as_given(frame: Frame, args: Arguments, each: _Input) -> Given:
    """An input, or the list, or the tuple of nobody knows how many, that it is one of, where that
    is given as a whole."""
    argument, value = args.all[each.argument]
    whole = each.item is not None and argument.value is each.node
    counted = value.kind is Kind.TUPLE and bool(each_items(frame, value))
    return each.node, value if whole and not counted else each.value


def forward_of(module: Object) -> tuple[ClassInfo, ir.Function] | None:
    """The `forward` of a module's class, and the class that defines it, where they are seen."""
    info = module.source
    return info.method("forward") if isinstance(info, ClassInfo) else None


def _inputs(frame: Frame, args: Arguments) -> Iterator[_Input]:
    for number, (argument, value) in enumerate(args.all):
        is_row = value.kind in (Kind.TUPLE, Kind.LIST)
        given = flatten(frame, argument.value, value) if is_row else [(argument.value, value)]
        for place, (part, each) in enumerate(given):
            each = as_loaded(each)
            if each.kind in _ARE_TENSORS:
                item = None if each is value else place
                yield _Input(number, item, part, each, Step(Sort.ARGUMENT, part))


def _followed(
    frame: Frame,
    module: Value,
    method: tuple[ClassInfo, ir.Function],
    args: Arguments,
    inputs: list[_Input],
) -> _Run:
    """What becomes of the inputs in a `forward`."""
    owner, function = method
    marks = {each.mark for each in inputs}
    if args.unpacked or function in frame.world.tried:
        return _Run(set(), marks, marks)
    own = {each.name for each in function.params}
    known = Conditions(frame.known_in(owner.file, own), frame.asked)  # asked there is asked here
    alone = alone_with(frame, method, known)
    alone.site = (*frame.site, function)  # a call has led there, with what it gives
    given = _marked(alone, args, inputs)
    this = () if is_static(function) else (module.but(trait=Trait.SELF),)
    rest = (value for argument, value in given.all if argument.keyword is None)
    unpacking.bind_parameters(
        alone, function.params, (*this, *rest),
        {name: value for name, (_, value) in given.keywords().items()},
        lambda parameter, value: value or path_value(parameter.name),
    )  # fmt: skip
    tried = _try(alone, function)
    meeting = (each for fact in tried.facts if not _is_lookup(fact) for each in met(fact))
    found = {step for operand in meeting for step in steps(operand.value.trace)}
    returned = {step for each, state in alone.returns for step in _steps_of(each, state)}
    return _Run(found & marks, tried.escaped & marks, returned & marks)


def alone_with(frame: Frame, method: tuple[ClassInfo, ir.Function], known: Conditions) -> Frame:
    """A frame in which a method runs by itself, of which nothing is told."""
    owner, function = method
    state = State({}, Heap(frame.state.heap), known, frame.state.default)
    name = owner.closure_of(function).qualname
    return Frame(frame.world, owner.file, state, function, name, owner.role, owner, recording=False)


def _steps_of(value: Value, state: State) -> Iterator[Step]:
    held = state.heap.get(value.data) if value.kind.is_container else None
    for each in (value, *(() if held is None else held.inside)):
        yield from steps(each.trace)


def _is_lookup(fact: Fact) -> bool:
    """Whether an index of the host looks something up, which it may wherever that is."""
    return isinstance(fact, Indexing) and only_host(fact.index.device)


def _try(frame: Frame, function: ir.Function) -> Trial:
    world = frame.world
    before, tried = world.trial, Trial()
    world.trial = tried
    world.tried.add(function)
    try:
        world.run(frame, function.body)
    finally:
        world.tried.discard(function)
        world.trial = before
    return tried


def _marked(frame: Frame, args: Arguments, inputs: list[_Input]) -> Arguments:
    """The arguments, with the marks of the tensors in them."""
    values = [value for _, value in args.all]
    for each in inputs:
        value = values[each.argument]
        found = frame.object(value) if each.item is not None else None
        if found is None or each.item is None:
            values[each.argument] = each.marked
            continue
        if found.items is None:
            found = replace(found, element=each.marked)
        else:
            items = (*found.items[: each.item], each.marked, *found.items[each.item + 1 :])
            found = replace(found, items=items)
        ref = ("given", each.argument)
        frame.state.heap[ref] = found
        values[each.argument] = value.but(data=ref)
    given = tuple((a, value) for (a, _), value in zip(args.all, values, strict=True))
    return replace(args, all=given)
