"""Python's own functions: what iterating, counting and converting make of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count

from devlint.flow.conditions import implications, questions
from devlint.flow.conditions.of_types import is_instance
from devlint.flow.domain.derivation import Sort, Step, is_making
from devlint.flow.domain.lattice import CPU, UNKNOWN, Symbol
from devlint.flow.domain.paths import Path, as_device, identity, path_value, place_of_path
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all, join_held
from devlint.flow.domain.values import NONE, NOTHING, Kind, Origin, Value
from devlint.flow.effects.reflection import REFLECTION
from devlint.flow.effects.use import Overlay
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted, library_value
from devlint.flow.operations import arrivals, unpacking
from devlint.flow.operations.containers import lazily, pairs, reorder, rows
from devlint.flow.operations.dimensions import note_length
from devlint.flow.operations.unpacking import known_items
from devlint.flow.operations.yielded import part_of_any
from devlint.model import ir
from devlint.torchapi.effects import Row


def _yielded(frame: Frame, given: Given | None) -> Value:
    """What iterating over an argument yields."""
    return NOTHING if given is None else unpacking.element_of(frame, given[1], given[0])


def _iterate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`tqdm(x)`, `iter(x)`, `reversed(x)`, `list(x)`: they yield what iterating `x` yields."""
    given, name = args.find((0, "iterable", "population")), row.name.rpartition(".")[2]
    lazy, kind = name not in _CONTAINERS, _CONTAINERS.get(name, Kind.TUPLE)
    if given is None:
        if lazy or args.unpacked:
            return NOTHING
        return Value(kind, data=frame.allocate(node, Object(items=())))
    value = given[1]
    if value.kind is Kind.LOADER:
        return value
    found = frame.object(value)
    if found is not None and found.items is not None and name in ("list", "tuple", "deque"):
        return Value(kind, data=frame.allocate(node, Object(items=found.items)))
    element = _yielded(frame, given)
    if element is NOTHING and not value.kind.is_container:
        return NOTHING if lazy else Value(kind)
    if lazy:
        return lazily(frame, node, Object(element=element))
    return Value(kind, data=frame.allocate(node, Object(element=element)))


_CONTAINERS = {
    "list": Kind.LIST, "sorted": Kind.LIST, "deque": Kind.LIST, "tuple": Kind.TUPLE,
    "set": Kind.SET, "sample": Kind.LIST, "choices": Kind.LIST,
}  # fmt: skip


def _enumerate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0, "iterable"))
    if given is None:
        return NOTHING
    items = known_items(frame, given[1])
    if args.count == 1 and unpacking.are_one_by_one(frame, items):  # it is counted from zero
        numbered = ((Value(Kind.NUMBER, data=at), item) for at, item in enumerate(items))
        return rows(frame, node, (Object(items=pair) for pair in numbered))
    return pairs(frame, node, Value(Kind.NUMBER), _yielded(frame, given))


def _filter(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`filter(f, x)` yields some of what iterating `x` yields."""
    element = _yielded(frame, args.find((1,)))
    return NOTHING if element is NOTHING else lazily(frame, node, Object(element=element))


def _zip(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    turned = _columns(frame, args)
    if turned is not None:
        return rows(frame, node, (Object(element=each) for each in turned))
    if args.count == 1 and args.unpacked:  # nobody knows how many columns there are
        each = unpacking.element_of(frame, unpacking.element_of(frame, args.all[0][1]))
        column = frame.allocate((node, "column"), Object(element=each))
        return lazily(frame, node, Object(element=Value(Kind.TUPLE, data=column)))
    sources = [known_items(frame, value) for _, value in args.positional()]
    if (
        not args.unpacked
        and sources
        and all(unpacking.are_one_by_one(frame, each) for each in sources)
    ):
        return rows(frame, node, (Object(items=each) for each in zip(*sources, strict=False)))
    inside = tuple(_yielded(frame, given) for given in args.positional())
    each_row = frame.allocate((node, "row"), Object(items=inside))
    return lazily(frame, node, Object(element=Value(Kind.TUPLE, data=each_row)))


def _tuples(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`product(a, b)`, `combinations(a, 2)`, `pairwise(a)`: tuples of what these yield."""
    if args.unpacked:
        return NOTHING
    if row.name.endswith(".product") and args.keyword("repeat") is None:
        held = Object(items=tuple(_yielded(frame, given) for given in args.positional()))
    else:
        held = Object(element=_yielded(frame, args.find((0, "iterable"))))
    each = Value(Kind.TUPLE, data=frame.allocate((node, "row"), held))
    return lazily(frame, node, Object(element=each))


def _repeat(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`repeat(x, 3)`"""
    given = args.find((0, "object"))
    return NOTHING if given is None else lazily(frame, node, Object(element=given[1]))


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


def _columns(frame: Frame, args: Arguments) -> tuple[Value, ...] | None:
    """What the columns hold that `zip(*rows)` makes of rows that are alike."""
    if args.count != 1 or args.all[0][0].star != "*":
        return None
    row = frame.object(unpacking.element_of(frame, args.all[0][1]))
    return None if row is None else row.items


def _next(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0,))
    if given is not None and given[1].kind is Kind.UNKNOWN and isinstance(given[0], ir.Call):
        return _next_parameter(frame, given[0])
    return _yielded(frame, given)


def _next_parameter(frame: Frame, call: ir.Call) -> Value:
    """`next(model.parameters())` of a model that isn't known is where that model is; while a module
    is made that has it as a part, nothing is where it will be."""
    func = call.func
    if not isinstance(func, ir.Attribute) or func.attr not in ("parameters", "buffers"):
        return NOTHING
    owner = identity(func.value)
    place = place_of_path(Path(owner, given=True))
    if isinstance(place, Symbol):  # a module has no `device` that could be asked
        place = Symbol(place.key, f"next({owner}.{func.attr}()).device")
    if _is_of_new_module(frame, func.value):
        place = UNKNOWN
    return Value(Kind.TENSOR, place, origin=Origin.FOLLOWS, grad=True, trace=Step(Sort.HELD, call))


def _is_of_new_module(frame: Frame, node: ir.Expr) -> bool:
    """Whether it is a part of a module that is just made: nobody has placed that yet."""
    match node:
        case ir.Attribute(value=ir.Name(id=name)):
            owner = frame.look_up(name)
            if owner is None or owner.kind is not Kind.MODULE or owner.trait is not Trait.SELF:
                return False
            return frame.place(owner) in (CPU, UNKNOWN)
    return False


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
    given = {name: value for name, (_, value) in args.keywords().items()}
    source = row.data or (0,)
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
    made = replace(whole.with_entries(given), items=items, element=element)
    return Value(Kind.DICT, data=frame.allocate(node, made))


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
    kind = _CONTAINERS.get(name.removeprefix("builtins."))
    if found is not None and kind is not None and found.items == () and not found.entries:
        inside = Value(kind, data=frame.allocate((node, "missing"), Object(items=())))
        frame.update(made, replace(found, items=None, element=inside))
    return made


def _is_instance(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    questions.note_typed(frame, node, args)
    told = is_instance(frame, node)
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


def _choice(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`random.choice(x)` and `max(x)` are one of what iterating `x` yields; `max(x, y)` is one of
    these."""
    given = args.positional()
    if len(given) > 1:
        return join_all([value for _, value in given])
    return _yielded(frame, given[0] if given else None)


def _chain(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`chain(a, b)` yields what each of these does, `chain.from_iterable(lists)` and
    `chain(*lists)` what is in what that yields."""
    parts: list[Value] = []
    for argument, value in args.all:
        several = argument.star or row.name.endswith("from_iterable")
        known = known_items(frame, value) if several else (value,)
        parts += known or [unpacking.element_of(frame, value)]
    inside = [known_items(frame, each) for each in parts]
    if all(inside):
        return lazily(frame, node, Object(items=tuple(chain.from_iterable(inside))))
    elements = [unpacking.element_of(frame, each) for each in parts]
    return lazily(frame, node, Object(element=join_held(elements)))


def _shuffle(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`random.shuffle(rows)`: the same things, in any order."""
    given = args.find((0, "x"))
    if given is not None and given[1].kind.is_container:
        reorder(frame, given[1])
    return NONE


def _sum(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`sum(losses)` is where each of them is."""
    element = _yielded(frame, args.find((0, "iterable")))
    return element.alike() if element.kind is Kind.TENSOR and args.count == 1 else NOTHING


PYTHON_OVERLAYS: Mapping[str, Overlay] = {
    **REFLECTION,
    "chain": _chain,
    "choice": _choice,
    "clock": lambda frame, node, row, args: arrivals.clock(frame, node),
    "copy": _copy,
    "defaultdict": _default_dict,
    "deque": _iterate,
    "dict": _dict,
    "enumerate": _enumerate,
    "exec": _execute,
    "filter": _filter,
    "fromkeys": _from_keys,
    "isinstance": _is_instance,
    "iter": _iterate,
    "iterate": _iterate,
    "len": _length,
    "list": _iterate,
    "load_array": _load_array,
    "next": _next,
    "random": _random,
    "range": _range,
    "repeat": _repeat,
    "reversed": _iterate,
    "set": _iterate,
    "shuffle": _shuffle,
    "sorted": _iterate,
    "str": _string,
    "sum": _sum,
    "tuple": _iterate,
    "tuples": _tuples,
    "zip": _zip,
}
