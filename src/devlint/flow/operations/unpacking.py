"""What is taken out of a value: by iterating, unpacking and binding."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.paths import Path, as_device, given_tensor, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import gathered
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value, as_loaded
from devlint.flow.frames import protocols
from devlint.flow.frames.callee_facts import local_name
from devlint.flow.frames.contents import each_items
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import CHILD
from devlint.flow.operations.yielded import of_loader
from devlint.model import ir


def element_of(frame: Frame, value: Value, node: ir.Node | None = None) -> Value:
    """What iterating over a value yields."""
    kind = value.kind
    if kind is Kind.LOADER:
        return of_loader(frame, value, node)
    if kind is Kind.TENSOR:
        told = value.trace if node is None else Step(Sort.ITERATION, node, value.trace)
        rows = value.trait is Trait.ROWS
        trait, scalar = (None, False) if rows else (Trait.ELEMENT, None)
        return value.but(scalar=scalar, data=None, trait=trait, trace=told)
    if kind is Kind.BATCH:
        kept = None if value.trait is Trait.UNPACKED else value.trait
        return value.but(scalar=None, trait=kept or Trait.ELEMENT)
    if kind is Kind.PLACED:
        return value.but(scalar=None, data=None, trait=Trait.ELEMENT)
    if kind is Kind.MODULE:
        return child_of(frame, value)
    if kind is Kind.INSTANCE:
        made = frame.object(value)
        if made is not None and made.items is not None:
            return join_all(list(made.items))
        return _of_iterator(frame, value, node)
    if kind is Kind.DICT:
        return Value(Kind.UNKNOWN)
    if kind is Kind.UNKNOWN:
        return _part(value, "i")
    found = frame.object(value)
    if found is not None and kind.is_container:
        return gathered(frame.state, found.held())
    return value if value.trait is Trait.MANAGED else NOTHING


_MOST_ITEMS, _MOST_NAMES = 4, 16
"""What is done to each isn't run one by one for more."""


def known_items(frame: Frame, source: Value) -> tuple[Value, ...]:
    """What iterating over a value yields, where that is known one by one."""
    found = frame.object(source) if source.kind in _GONE_THROUGH else None
    if found is None or found.items is None:
        return ()
    if source.kind is Kind.DICT:
        return tuple(Value(Kind.STRING, data=key) for key in found.entries)
    return found.items


_GONE_THROUGH = (Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.INSTANCE)
"""What may have items; of objects those of a named tuple."""


def are_one_by_one(frame: Frame, items: tuple[Value, ...]) -> bool:
    """Whether a body is run for each of some items: they are few, or not too many names, each of
    which may stand for another attribute or entry; and none is a module. What is done to one of
    several modules is done to each, which one report tells of all."""
    names = all(_is_name(frame, each) for each in items)
    few = 0 < len(items) <= (_MOST_NAMES if names else _MOST_ITEMS)
    return few and all(each.kind is not Kind.MODULE for each in items)


def _is_name(frame: Frame, value: Value) -> bool:
    """Whether it is a text that is known, or begins with one, as what `items()` gives does, or has
    one for its name, as what `dataclasses.fields()` gives."""
    found = frame.object(value) if value.kind in (Kind.TUPLE, Kind.INSTANCE) else None
    if found is not None and found.source == "dataclasses.fields":
        value = found.entries["name"]
    elif found is not None and found.items:
        value = found.items[0]
    return value.kind is Kind.STRING and isinstance(value.data, str)


def _of_iterator(frame: Frame, value: Value, node: ir.Node | None) -> Value:
    """What `__iter__` of an object gives, or `__next__` where that is the object itself; without
    one, what it has under each index."""
    if not isinstance(node, ir.Expr):
        return NOTHING
    info = frame.class_of(value)
    if info is not None and not info.defines("__iter__"):
        return protocols.answer(frame, node, value, "__getitem__", Value(Kind.NUMBER))
    iterator = protocols.answer(frame, node, value, "__iter__")
    if iterator.kind is Kind.INSTANCE:
        return protocols.answer(frame, node, iterator, "__next__")
    return element_of(frame, iterator, node)


def _part(value: Value, index: object) -> Value:
    """An element of something that came in through a parameter: it came in, too."""
    if isinstance(value.data, Path) and value.data.given and not value.trait:
        return path_value(f"{value.data.text}[{index}]", given=True)
    return NOTHING


def child_of(frame: Frame, value: Value) -> Value:
    """An element of a ModuleList or ParameterList: it is where the list is, and of the class that
    all of them are of."""
    found = frame.object(value)
    if found is None:
        return NOTHING
    if "Parameter" in found.library_class:
        follows = Origin.FOLLOWS
        return Value(Kind.TENSOR, found.device, origin=follows, grad=True, trace=found.trace)
    if found.items:
        return join_all(list(found.items))
    made = frame.objects(found.element) if found.element.kind is Kind.MODULE else []
    refs = []
    for number, child in enumerate(made or [Object()]):
        refs.append((CHILD, number, value.data))
        frame.state.heap[refs[-1]] = replace(child, device=found.device, trace=found.trace)
    return Value(Kind.MODULE, data=frozenset(refs) if len(refs) > 1 else refs[0])


def bind(frame: Frame, target: ir.Name, value: Value) -> None:
    """Bind a name."""
    is_same = isinstance(value.data, Path) and value.data.text == target.id
    loaded = value if value.trait is Trait.LOADED else None
    if value.kind is Kind.UNKNOWN:
        value = _as_used(frame, target.id, value if loaded is None else NOTHING)
        if loaded is not None and value.kind is Kind.TENSOR:
            value = as_loaded(loaded)
    if value is NOTHING and not _is_left_out(frame, target.id):
        value = path_value(local_name(frame, target.id))
        value = value if loaded is None else loaded.but(data=value.data)
    elif value.kind is Kind.DEVICE and value.device == UNKNOWN and not value.trait:
        value = value.but(device=as_device(path_value(local_name(frame, target.id))))
    if target.id in frame.globals and frame.file.guest is None:
        frame.file.names[target.id] = value
    frame.state.bind(target.id, value, is_same)
    record = frame.world.record
    if record is not None and frame.recording and record.covers(target):
        record.bind(target, frame.operand(target, value), frame.site)


def bind_parameters(
    frame: Frame,
    params: Collection[ir.Parameter],
    positional: Collection[Value],
    keywords: Mapping[str, Value],
    proved: Callable[[ir.Parameter, Value | None], Value],
) -> None:
    """Bind the parameters of the function that runs to what a call gives, and else to their
    defaults. `proved` says what that is, or what stands there where it is neither."""
    rest, taken = list(positional), {each.name for each in params if each.kind != "**"}
    for parameter in params:
        value: Value | None = None
        if parameter.kind == "positional" and rest:
            value = rest.pop(0)
        elif parameter.name in keywords:
            value = keywords[parameter.name]
        elif parameter.kind == "*":
            value = Value(Kind.TUPLE, data=frame.allocate(parameter, Object(items=tuple(rest))))
        elif parameter.kind == "**":
            others = {name: each for name, each in keywords.items() if name not in taken}
            found = Object(items=(), entries=others)
            value = Value(Kind.DICT, data=frame.allocate(parameter, found))
        elif parameter.default is not None:
            value = frame.evaluate(parameter.default)
        frame.state.env[parameter.name] = proved(parameter, value)


def _is_left_out(frame: Frame, name: str) -> bool:
    """Whether a call leaves out the argument that takes a name: then nobody has chosen a place, and
    what is bound to it instead is most likely the default."""
    if frame.caller is None or frame.function is None or not frame.takes(name):
        return False
    given = frame.look_up(name)
    return given is not None and given.kind is Kind.NONE


def _as_used(frame: Frame, name: str, value: Value) -> Value:
    """A value that isn't known is a tensor where the function that binds it, once, uses it as only
    tensors are used."""
    if frame.function is None or value.trait:
        return value
    scan = frame.file.scan(frame.function)
    if name not in scan.used or name in scan.data or scan.assigned[name] != 1:
        return value
    if value is NOTHING:
        return Value(Kind.TENSOR) if name in scan.passed else value
    if isinstance(value.data, Path) and value.data.given:
        return given_tensor(value.data, Sort.TENSOR_BY_USE, frame.function)
    return value


def unpack(frame: Frame, value: Value, targets: tuple[ir.Expr, ...]) -> list[Value]:
    """The values that as many targets get."""
    count = len(targets)
    starred = any(isinstance(target, ir.Starred) for target in targets)
    each = each_items(frame, value)
    if starred and len(each) == 1 and (parts := _with_rest(frame, each[0], targets)):
        return parts
    fitting = [items for items in each if len(items) == count and not starred]
    if fitting:  # Python refuses those of another length
        return [gathered(frame.state, column) for column in zip(*fitting, strict=True)]
    if value.kind is Kind.BATCH:
        whole = value.but(scalar=None, data=value.batch)
        return [whole.but(trait=_unpacked(value, at)) for at in range(count)]
    if value.trait is Trait.SHAPE:
        return [Value(Kind.NUMBER, trait=Trait.PYTHON_NUMBER)] * count
    if value.trait is Trait.MANAGED:
        return [value] * count
    if value.kind is Kind.UNKNOWN:
        return [NOTHING if starred else _part(value, index) for index in range(count)]
    part = element_of(frame, value)
    several = part.kind is Kind.BATCH and part.trait is Trait.ELEMENT  # not rows of one tensor
    return [part.but(trait=None) if several else part] * count


def _with_rest(frame: Frame, items: tuple[Value, ...], targets: tuple[ir.Expr, ...]) -> list[Value]:
    """What `first, *rest` gets of items that are known; nothing where there are too few."""
    at = next(n for n, target in enumerate(targets) if isinstance(target, ir.Starred))
    after = len(targets) - at - 1
    end = len(items) - after
    if end < at:
        return []
    rest = Value(Kind.LIST, data=frame.allocate(targets[at], Object(items=items[at:end])))
    return [*items[:at], rest, *items[end:]]


def _unpacked(value: Value, position: int) -> Trait:
    """The trait of one of several things that a batch or an output is unpacked into."""
    if value.trait in (Trait.BESIDE, Trait.MANAGED):
        return value.trait
    return Trait.BESIDE if value.trait is Trait.PART and position else Trait.UNPACKED
