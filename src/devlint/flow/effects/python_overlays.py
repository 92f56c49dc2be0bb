"""Python's own functions: what iterating, counting and converting make of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from devlint.flow.conditions import implications, questions
from devlint.flow.conditions.of_types import is_of_type
from devlint.flow.domain.derivation import Sort, Step, is_making
from devlint.flow.domain.paths import as_device, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, Kind, Origin, Value
from devlint.flow.effects.iteration import CONTAINERS, ITERATION, yielded
from devlint.flow.effects.reflection import REFLECTION
from devlint.flow.effects.use import Overlay
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted, library_value
from devlint.flow.modules.placement import place_of_parameters
from devlint.flow.operations import arrivals
from devlint.flow.operations.dimensions import note_length
from devlint.flow.operations.unpacking import known_items
from devlint.flow.operations.yielded import part_of_any
from devlint.model import ir
from devlint.torchapi.effects import Arg, Row


def _from_keys(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`dict.fromkeys(names, x)`: the same thing under each."""
    names, given = args.find((0, "iterable")), args.find((1, "value"))
    held = NONE if given is None else given[1]
    known = () if names is None else known_items(frame, names[1])
    texts = [each.data for each in known if isinstance(each.data, str)]
    if texts and len(texts) == len(known):
        made = Object(items=(), entries=dict.fromkeys(texts, held))
    else:
        made = Object(element=held)
    return Value(Kind.DICT, data=frame.allocate(node, made))


def _next(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0,))
    if given is not None and given[1].kind is Kind.UNKNOWN and isinstance(given[0], ir.Call):
        return _next_parameter(frame, given[0])
    return yielded(frame, given)


def _next_parameter(frame: Frame, call: ir.Call) -> Value:
    """`next(model.parameters())` of a model that isn't known is where that model is; while a module
    is made that has it as a part, nothing is where it will be."""
    func = call.func
    if not isinstance(func, ir.Attribute) or func.attr not in ("parameters", "buffers"):
        return NOTHING
    place = place_of_parameters(frame, func.value, func.attr)
    return Value(Kind.TENSOR, place, origin=Origin.FOLLOWS, grad=True, trace=Step(Sort.HELD, call))


def _length(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    for _, value in args.positional():
        note_length(frame, value)
    return Value(Kind.NUMBER)


def _string(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`str(device)` names the device still; `str(index)` is digits."""
    given = args.value((0,))
    if given.kind is Kind.NUMBER:
        return Value(Kind.STRING, trait=Trait.DIGITS, trace=given.trace)
    of_tensor = given.trait is Trait.DEVICE_OF_TENSOR
    trait = Trait.TEXT_OF_DEVICE if of_tensor else Trait.BUILT
    return Value(Kind.STRING, as_device(given), trait=trait)


def _range(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Iterating yields numbers."""
    found = Object(element=Value(Kind.NUMBER, trait=Trait.PYTHON_NUMBER))
    counted = any(value.trait is Trait.DEVICE_COUNT for _, value in args.all)
    trait = Trait.DEVICE_INDICES if counted else Trait.LAZY
    return Value(Kind.TUPLE, data=frame.allocate(node, found), trait=trait)


_SETTINGS = (Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.DEVICE)


def _execute(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`exec(open("overrides.py").read())` at the top of a file: any setting may be another now."""
    text = args.find((0,))
    if frame.function is None and args.count == 1 and text is not None and text[1].data is None:
        for name, value in frame.state.env.items():
            if value.kind in _SETTINGS:
                frame.state.env[name] = path_value(name)
    return NONE


def _copy(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A copy is where the original is, and moves on its own from there."""
    given = args.find(row.of)
    if given is None or (row.device and args.find(row.device) is not None):
        return NOTHING
    found = frame.object(given[1])
    if found is None or given[1].kind is Kind.METHOD:
        return given[1].but(trait=Trait.PARAMETER if given[1].trait is Trait.PARAMETER else None)
    if is_making(found.trace):
        found = replace(found, trace=Step(Sort.COPY, node))
    if given[1].kind is Kind.MODULE and row.name != "copy.copy":
        found = _with_parts_copied(frame, node, found, ())
    return given[1].but(data=frame.allocate(node, found), trait=None)


def _with_parts_copied(
    frame: Frame, node: ir.Call, found: Object, within: tuple[int, ...]
) -> Object:
    """A module whose parts are copies, too: they don't move with the original any more."""
    number = count()

    def copied(held: Value) -> Value:
        path = (*within, next(number))
        part = frame.object(held) if held.kind is Kind.MODULE else None
        if part is None or len(path) > _DEEPEST:
            return held
        inside = _with_parts_copied(frame, node, part, path)
        return held.but(data=frame.allocate((node, path), inside))

    return found.mapped(copied)


_DEEPEST = 9


def _dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return Value(Kind.DICT, data=frame.allocate(node, of_dict(frame, args, row.data or (0,))))


def of_dict(frame: Frame, args: Arguments, source: tuple[Arg, ...] = (0,)) -> Object:
    """What `dict(pairs, x=x)` holds; `source` is the argument that is a dict, or gives pairs."""
    given = {name: value for name, (_, value) in args.keywords().items()}
    other = args.value(source)
    found, pairs_of = frame.object(other), _pairs(frame, other)
    whole, element = Object(), NOTHING
    if pairs_of:
        whole, found = Object(entries=pairs_of), Object(items=())
    elif found is not None and other.kind is Kind.DICT:
        whole, element = Object(entries=found.entries, unsure=found.unsure), found.element
    else:
        element = part_of_any(other)
    all_seen = args.find(source) is None or (found is not None and found.items == ())
    items = () if all_seen and not args.unpacked else None
    return replace(whole.with_entries(given), items=items, element=element)


def _pairs(frame: Frame, value: Value) -> dict[str, Value] | None:
    """The entries of a dict that is made of pairs, where all of them are known."""
    inside = [frame.object(each) for each in known_items(frame, value)]
    found = dict[str, Value]()
    for pair in inside if value.kind is not Kind.DICT else ():
        match None if pair is None else pair.items:
            case (Value(kind=Kind.STRING, data=str(name)), held):
                found[name] = held
            case _:
                return None
    return found or None


def _default_dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`defaultdict(list)`: under each key stands a container, in which all that is put counts."""
    made, factory = _dict(frame, node, row, args), args.find((0, "default_factory"))
    found, name = frame.object(made), "" if factory is None else dotted(frame, factory[0])
    kind = CONTAINERS.get(name.removeprefix("builtins."))
    if found is not None and kind is not None and found.items == () and not found.entries:
        inside = Value(kind, data=frame.allocate((node, "missing"), Object(items=())))
        frame.update(made, replace(found, items=None, element=inside))
    return made


def _is_instance(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    questions.note_typed(frame, node, args)
    told = is_of_type(frame, node)
    if told is not None:
        return Value(Kind.BOOL, data=told)
    return implications.truth(frame, node, Value(Kind.BOOL))


def _load_array(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`numpy.load(path)`: with pickles there may be anything in the file, tensors too."""
    pickles = args.find((2, "allow_pickle"))
    plain = pickles is None or pickles[1].data is False
    return Value(Kind.NDARRAY) if plain and not args.unpacked else NOTHING


def _random(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`numpy.random.default_rng(seed)`, `random.Random(seed)`: what it is asked for is what the
    module gives."""
    return library_value(row.name.rpartition(".")[0])


PYTHON_OVERLAYS: Mapping[str, Overlay] = {
    **ITERATION,
    **REFLECTION,
    "clock": lambda frame, node, row, args: arrivals.clock(frame, node),
    "copy": _copy,
    "defaultdict": _default_dict,
    "dict": _dict,
    "exec": _execute,
    "fromkeys": _from_keys,
    "isinstance": _is_instance,
    "len": _length,
    "load_array": _load_array,
    "next": _next,
    "random": _random,
    "range": _range,
    "str": _string,
}
