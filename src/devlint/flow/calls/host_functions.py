"""Plain functions that are meant for tensors of the host.

An argument of a function may be anywhere, unless something tells otherwise: the function itself
reads it as only a tensor of the host can be read, or sends it to a device that was chosen, or a
call in the file brings to the host what it gives, or gives what it has made of arrays. Then nothing
is said of where that argument meets others. Where what it reads so is the output of a model, the
model is on the host as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devlint.flow.calls.callers import is_edge, is_trial
from devlint.flow.domain.derivation import Sort, shown, steps
from devlint.flow.domain.lattice import (
    CPU,
    THE_MODULE,
    UNKNOWN,
    Device,
    Symbol,
    is_named_by_argument,
    is_place_of_argument,
    may_be_accelerator,
    parameter_of,
    path_of,
)
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, TENSORS, Kind, Origin, Value
from devlint.flow.effects.host import class_around
from devlint.flow.effects.sending import is_sent
from devlint.flow.facts import (
    CachedTensor,
    Elsewhere,
    Fact,
    HostRead,
    Join,
    KeptTensor,
    ModuleCall,
    Operand,
    Role,
)
from devlint.flow.facts.meetings import met
from devlint.flow.frames.arguments import Arguments, by_parameter
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.noted import note_handing, place_given
from devlint.flow.frames.others import Parameter
from devlint.flow.frames.world import World
from devlint.flow.modules.asked import kept_arguments
from devlint.flow.syntax.passing import is_sent_after
from devlint.flow.syntax.signs import made_up_for_tests
from devlint.flow.syntax.walk import descendants
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


def note_brought(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, has_receiver: bool
) -> None:
    """Remember which arguments of a function this call brings to the host (`scores.cpu()`), or
    leaves there (`torch.from_numpy(rows)`)."""
    function, listens = closure.node, frame.world.listens
    note_handing(frame, closure, args, has_receiver)
    if not isinstance(function, ir.Function):
        return
    if closure.file is not frame.world.home and not listens:
        return
    earnest = listens and not is_trial(frame)
    given = by_parameter(function, args, has_receiver)
    for (argument, _), (name, value) in zip(args.all, given, strict=True):
        inside = [each for each in contents(frame, value) if each is value or each.kind in TENSORS]
        away = (each for each in inside if may_be_accelerator(frame.place(each)))
        value = next(away, inside[0] if inside else value)
        place, key = frame.place(value), (closure.file.path, closure.qualname, name)
        given_here = frame.world.brought.setdefault(key, set())
        if _is_tested(frame, value) or (listens and _is_yet_to_go(frame, node, argument, place)):
            given_here.add(True)
        elif earnest and (handed_on := _handed_on(frame, value, place)):
            given_here.add(handed_on)
        elif value.trait is Trait.PARAMETER:
            given_here.add(False)  # wherever it was made: a move of its module moves it in place
        elif may_be_accelerator(place) and value.trait not in _UNPROVEN:
            given_here.add(False)
        elif _is_brought(value, place) or _is_left_there(frame, place):
            given_here.add(True)
        elif earnest and (place == CPU or (place == UNKNOWN and frame.role is Role.DATA)):
            given_here.add(True)  # of what code that makes samples has, nothing needs to be known


_UNPROVEN = (Trait.PART, Trait.BESIDE)
"""Of several things that a module gives of which nothing is known, one may be anywhere."""


def _handed_on(frame: Frame, value: Value, place: Device) -> Parameter | None:
    """The parameter of the running function that a value is, or a part of which; None where it is
    of none, or of one that is given what follows a module."""
    frame = frame.outermost
    function = frame.function
    if not isinstance(function, ir.Function):
        return None
    name = ""
    if is_place_of_argument(place) or is_named_by_argument(place):
        name = parameter_of(place)
    elif value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        name = value.data.root
    if any(name == parameter.name for parameter in function.params[frame.owner is not None :]):
        edge = is_edge(function.name, frame.role)
        return None if edge else (frame.file.path, frame.qualname, name)
    return _kept_argument(frame.owner, value, place)


def _kept_argument(owner: ClassInfo | None, value: Value, place: Device) -> Parameter | None:
    """The parameter of the constructor that keeps it as it is, where a value is `self.table`: its
    place goes by the name of either."""
    init = None if owner is None else owner.method("__init__")
    if init is None:
        return None
    text = path_of(place) if isinstance(place, Symbol) else ""
    text = value.data.text if isinstance(value.data, Path) else text
    source, function = init
    for name, attribute in kept_arguments(source, function).items():
        if text in (name, attribute):
            return (source.file.path, f"{source.node.name}.__init__", name)
    return None


def note_numpy(frame: Frame, func: ir.Attribute) -> None:
    """Remember that the running method takes an argument with a gradient, the output of a module,
    for an array as it is: `scores.detach().numpy()`."""
    match func.value:
        case ir.Call(func=ir.Attribute(value=base, attr="detach")):
            while isinstance(base, (ir.Attribute, ir.Subscript)):
                base = base.value
            method = None if frame.owner is None or frame.is_followed else frame.function
            params = () if method is None else method.params[1:]
            if isinstance(base, ir.Name) and any(base.id == each.name for each in params):
                frame.world.run_on_host.add(frame.qualname)


def _is_tested(frame: Frame, value: Value) -> bool:
    """Whether a test has told that what was given is on the host (`if not x.is_cuda`)."""
    place = place_given(value)
    return is_place_of_argument(place) and frame.state.simplify(place) == CPU


def _is_brought(value: Value, place: Device) -> bool:
    """Whether the code says by itself that it is on the host: what is there since another tensor is
    may be anywhere the next time."""
    copied = any(step.sort in _SAID and step.device == CPU for step in steps(value.trace))
    return place == CPU and (copied or _is_of_array(value))


_SAID = frozenset((Sort.MOVE_HOST, Sort.MOVE_TYPE, Sort.NAMED, Sort.STORED, Sort.FILE))


def _is_left_there(frame: Frame, place: Device) -> bool:
    """Whether it is on the host where the code that runs has something on an accelerator: it isn't
    made up to try things there."""
    running = frame.outermost
    if place != CPU or running.role is Role.TEST:
        return False
    return any(may_be_accelerator(running.place(each)) for each in running.state.env.values())


def _is_yet_to_go(frame: Frame, node: ir.Call, argument: ir.Argument, place: Device) -> bool:
    """Whether nobody has sent it anywhere, and the running function does so after this call: a
    batch is changed first."""
    function = frame.function
    if not isinstance(function, ir.Function) or not isinstance(argument.value, ir.Name):
        return False
    name, unsent = argument.value.id, place == UNKNOWN or is_place_of_argument(place)
    if not unsent or name not in frame.file.scan(function).moved:
        return False
    return is_sent_after(function.body, node, name)


def _is_of_array(value: Value) -> bool:
    """Whether it is made of an array: that is data, where numbers that are made up try things."""
    step = shown(value.trace) if value.origin is Origin.HOST_DATA else None
    made = step.node if step is not None else None
    return isinstance(made, ir.Call) and last_name(made.func) == "from_numpy"


def without_host_functions(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those about arguments that are on the host."""
    for fact in facts:
        inner = fact.fact if isinstance(fact, Elsewhere) else fact
        function = fact.context.function
        on_host = {function, class_around(function)} & world.run_on_host
        if on_host and _hangs_on_the_model(inner):
            continue
        if _meets_setup(world, inner):
            continue
        meeting = () if isinstance(inner, ModuleCall) else met(inner)
        if not any(_is_kept_on_host(world, fact, each) for each in meeting):
            yield fact


def without_made_up_modules(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those about where modules are that tests make up and leave on the host."""
    made_up = made_up_for_tests(world.home.body)
    for fact in facts:
        if isinstance(fact, (KeptTensor, CachedTensor)):
            is_made_up = fact.class_name in made_up
        else:
            inside = not made_up.isdisjoint(fact.context.function.split("."))
            is_made_up = inside and _hangs_on_the_module(fact)
        if not is_made_up:
            yield fact


def _hangs_on_the_module(fact: Fact) -> bool:
    """Whether it goes wrong only where somebody moves the module, or what it is given."""
    places = [operand.device for operand in met(fact)]
    return any(place == THE_MODULE or is_place_of_argument(place) for place in places)


def _hangs_on_the_model(fact: Fact) -> bool:
    """Whether it goes wrong only where the model, or what it is given, is on an accelerator."""
    if isinstance(fact, ModuleCall):
        return fact.module.device == THE_MODULE
    operands = (fact.receiver,) if isinstance(fact, HostRead) else met(fact)
    return any(each.origin is Origin.FOLLOWS for each in operands)


def _meets_setup(world: World, fact: Fact) -> bool:
    """Whether an argument that the methods of a plain object give each other meets what one of
    them, which sets the object up (`initialize`), has made on the host: most likely it was computed
    with that. What a constructor has made is there whatever the object is given."""
    if not isinstance(fact, Join) or fact.context.role is not Role.PLAIN:
        return False
    if all(each.origin is not Origin.INPUT for each in fact.placed):
        return False
    made = {each.trace[0].node for each in fact.placed if each.origin in MADE and each.trace}
    name, _, running = fact.context.function.rpartition(".")
    owner = next((c for c in world.home.classes.values() if c.node.name == name), None)
    if not made or owner is None:
        return False
    if all(running not in world.home.scan(each).self_calls for each in owner.methods.values()):
        return False
    apart = ("__init__", running)
    setups = (method for called, method in owner.methods.items() if called not in apart)
    return made <= {node for method in setups for node in descendants(method)}


def _is_kept_on_host(world: World, fact: Fact, operand: Operand) -> bool:
    function = fact.context.function
    if operand.origin is not Origin.FOLLOWS and is_sent(world, function, operand.device):
        return True
    place, is_input = operand.device, operand.origin is Origin.INPUT
    if operand.origin not in _GIVEN or not isinstance(place, Symbol):
        return False
    if is_place_of_argument(place):
        asked = (function, place.key)
        if asked in world.read_on_host or (asked in world.sent_on and _is_of_lengths(place)):
            return True
        if is_input and _reads_of_others(world, function, place):
            return True
        if _is_part_read_on_host(world, function, place):
            return True
        handed = world.handed.get((function, parameter_of(place)))
        if handed and handed <= world.read_on_host:
            return True  # whoever hands it on needs it there
    given = world.brought.get((world.home.path, function, parameter_of(place)))
    return is_input and given == {True}


def _is_part_read_on_host(world: World, function: str, place: Symbol) -> bool:
    """Whether it is where a part of an argument is of which another part is read on the host: what
    came in as one thing (`batch["boxes"]`, `graph.edges`) is in one place."""
    whole = parameter_of(place)
    if whole == path_of(place):
        return False
    there = world.read_on_host | world.beside_host
    parts = (key for read, key in there if read == function and key != place.key)
    return any(
        key.startswith((f"{whole}.", f"{whole}[")) and key != f"{whole}.device" for key in parts
    )


def _is_of_lengths(place: Symbol) -> bool:
    """Whether an argument is called as lengths are, which are on the host most likely: where the
    mask that is made of them is moved from there, they are."""
    return bool(means("host-number", parameter_of(place), "variable"))


def _reads_of_others(world: World, function: str, place: Symbol) -> bool:
    """Whether another method of the same plain object, or of its family, reads an argument of that
    name on the host: what `fit(scores)` takes for an array, `apply(scores)` is given as well."""
    owner, read = function.rpartition(".")[0], world.read_on_host
    readers = {method.rpartition(".")[0] for method, other in read if place.key == other}
    if not owner or not readers or readers.isdisjoint(_family(world, owner)):
        return False
    return bool(means("one-thing", parameter_of(place), "parameter"))


def _family(world: World, owner: str) -> set[str]:
    """A class, and those of the file with which it shares a base: they can stand for each other."""
    classes = world.home.classes.values()
    lines = [set(each.lineage()) for each in classes if each.node.name == owner]
    own = set[ClassInfo]().union(*lines)
    return {owner} | {each.node.name for each in classes if not own.isdisjoint(each.lineage())}


_GIVEN = (Origin.INPUT, Origin.FOLLOWS)
