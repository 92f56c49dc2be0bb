"""Methods of lists, tuples, sets and dicts: what they hold after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import either, gathered
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all, join_held
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import with_items
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import place_module
from devlint.flow.operations.unpacking import element_of, known_items
from devlint.model import ir

_Method = Callable[[Frame, ir.Call, Value, Object, Arguments], Value]


def lazily(frame: Frame, node: ir.Node, found: Object) -> Value:
    """An iterator over what is in an object that is made here."""
    return Value(Kind.TUPLE, data=frame.allocate(node, found), trait=Trait.LAZY)


def pairs(frame: Frame, node: ir.Call, first: Value, second: Value) -> Value:
    """Something that yields pairs."""
    pair = Value(Kind.TUPLE, data=frame.allocate((node, "pair"), Object(items=(first, second))))
    return lazily(frame, node, Object(element=pair))


def rows(frame: Frame, node: ir.Call, inside: Iterable[Object]) -> Value:
    """Something that yields tuples, which are known one by one."""
    made = [
        Value(Kind.TUPLE, data=frame.allocate((node, at), held)) for at, held in enumerate(inside)
    ]
    return lazily(frame, node, Object(items=tuple(made)))


def method(frame: Frame, node: ir.Call, attr: str, base: Value, args: Arguments) -> Value:
    """The value of `base.attr(...)`, with its effect on `base`."""
    found = frame.object(base)
    if found is None:
        return NOTHING
    handler = _METHODS.get(attr)
    return NOTHING if handler is None else handler(frame, node, base, found, args)


def with_element(frame: Frame, found: Object, value: Value) -> Object:
    """A container that also holds `value`, nobody knows where."""
    held = [] if found.is_empty else found.held() or [NOTHING]
    return Object(element=element_of_all(frame, [*held, value]), source=found.source)


def element_of_all(frame: Frame, values: Sequence[Value]) -> Value:
    """What stands for each of several things in a container. A module among what isn't known is
    found there by whoever moves all of them: nobody knows where it is then."""
    element = gathered(frame.state, values)
    if element.kind is Kind.UNKNOWN:
        for each in values:
            if each.kind is Kind.MODULE:
                place_module(frame, each, UNKNOWN)
    return element


def _adding(position: int) -> _Method:
    """A method that puts in what it is given at a position."""

    def add(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
        given = args.find((position,))
        if given is not None:
            frame.update(base, with_element(frame, found, given[1]))
        return NONE

    return add


def _extend(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    given = args.find((0,))
    if given is not None:
        frame.update(base, with_element(frame, found, element_of(frame, given[1])))
    return NONE


def _update(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    if base.kind is Kind.SET:
        return _extend(frame, node, base, found, args)
    given, element = args.find((0,)), found.element
    other = Object(items=()) if given is None else frame.object(given[1])
    if other is None or (given is not None and given[1].kind is not Kind.DICT):
        frame.update(base, Object(element=NOTHING))
        return NONE
    items = None if args.unpacked or other.items != () else found.items
    found = found.with_entries(other.entries, other.unsure)
    found = found.with_entries({name: value for name, (_, value) in args.keywords().items()})
    element = join_all([v for v in (element, other.element) if v is not NOTHING])
    frame.update(base, replace(found, element=element, items=items))
    return NONE


def _get(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    key = args.value((0,)).data
    if base.kind is Kind.DICT and isinstance(key, str):
        if key in found.entries or found.items != ():
            return found.entries.get(key, found.element)
        default = args.find((1,))  # for all keys are known
        return NONE if default is None else default[1]
    return gathered(frame.state, found.held())


def _pop(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    """What is taken out isn't there any more."""
    value = _get(frame, node, base, found, args)
    remove(frame, base, args.value((0,)))
    return value


def _reordered(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    """What stands where isn't known any more."""
    reorder(frame, base)
    return NONE


def reorder(frame: Frame, base: Value) -> None:
    """What a container holds is in any order from here on."""
    found = frame.object(base)
    if found is not None and found.items is not None:
        frame.update(base, replace(found, items=None, element=found.elements()))


def remove(frame: Frame, base: Value, index: Value) -> None:
    """`del base[index]`."""
    found = frame.object(base)
    if found is None:
        return
    if base.kind is not Kind.DICT:
        reorder(frame, base)
    elif isinstance(index.data, str):
        frame.update(base, found.without((index.data,)))
    else:  # any of them
        frame.update(base, replace(found, items=None, entries={}, element=found.elements()))


def _set_default(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    """What stands under a key; what is given, where there is nothing yet."""
    key, given = args.value((0,)).data, args.find((1,))
    value = _get(frame, node, base, found, args)
    if base.kind is Kind.DICT and args.all and found.items is not None:
        if isinstance(key, str):
            if key not in found.entries:
                value = NONE if given is None else given[1]
                frame.update(base, found.with_entry(key, value))
        elif found.is_empty and given is not None:  # whatever the key is, this stands there
            frame.update(base, replace(found, items=None, element=given[1]))
            return given[1]
        else:
            frame.update(base, replace(found, items=None))
    return value


def _names(frame: Frame, base: Value) -> tuple[Value, ...]:
    """The keys of a dict, where all are known."""
    return known_items(frame, base) if base.kind is Kind.DICT else ()


def _keys(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    return lazily(frame, node, Object(items=_names(frame, base) or None))


def _values(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    if _names(frame, base):
        return lazily(frame, node, Object(items=tuple(found.entries.values())))
    return lazily(frame, node, Object(element=found.elements()))


def _items(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    if names := _names(frame, base):
        known = zip(names, found.entries.values(), strict=True)
        return rows(frame, node, (Object(items=pair) for pair in known))
    return pairs(frame, node, NOTHING, found.elements())


def _copy(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    return Value(base.kind, data=frame.allocate(node, found))


def _clear(frame: Frame, node: ir.Call, base: Value, found: Object, args: Arguments) -> Value:
    frame.update(base, Object(items=()))
    return NONE


_METHODS: dict[str, _Method] = {
    "append": _adding(0),
    "appendleft": _adding(0),
    "add": _adding(0),
    "insert": _adding(1),
    "extend": _extend,
    "extendleft": _extend,
    "update": _update,
    "get": _get,
    "pop": _pop,
    "popleft": _pop,
    "setdefault": _set_default,
    "popitem": _pop,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "copy": _copy,
    "clear": _clear,
    **dict.fromkeys(("remove", "reverse", "rotate", "sort"), _reordered),
}


OF_DICTS = frozenset(
    ("get", "pop", "popitem", "setdefault", "update", "keys", "values", "items", "clear")
)
"""The methods of dicts."""


def store_item(frame: Frame, base: Value, index: Value, value: Value) -> None:
    """`base[index] = value` of a container, or of what a tokenizer gives."""
    base = with_items(frame, base)
    found = frame.object(base)
    if found is None:
        return
    if base.kind is Kind.MODULE:
        extend_module(frame, base, value)
    elif base.kind in (Kind.DICT, Kind.ENCODING) and isinstance(index.data, str):
        frame.update(base, found.with_entry(index.data, value))
    else:  # what stood there before is gone
        several = frame.object(value) if index.trait is Trait.SLICE else None
        held = value if several is None else gathered(frame.state, several.held())
        if not found.is_empty:
            held = either(frame.state, gathered(frame.state, found.held()), held)
        frame.update(base, Object(element=held, source=found.source))


def extend_module(frame: Frame, module: Value, added: Value) -> None:
    """`module_list.append(layer)`: the list is where its layers are, which it holds."""
    found = frame.object(module)
    if found is None:
        return
    one = added.kind is Kind.MODULE
    inner = frame.object(added)
    if inner is not None and added.kind.is_container:
        added = inner.elements()
    if added.kind is not Kind.MODULE:  # what it has by now is in it still
        items = (*found.items, NOTHING) if found.items is not None and inner is None else None
        element = NOTHING if items is not None else found.elements()
        frame.update(module, replace(found, items=items, element=element))
        return
    device = found.device if found.items else frame.place(added)
    if found.items is not None and one:
        frame.update(module, replace(found, device=device, items=(*found.items, added)))
        return
    others, empty = found.elements(), found.items == ()
    held = added if empty else join_held([others, added]) if others.kind is Kind.MODULE else NOTHING
    frame.update(module, replace(found, device=device, items=None, element=held))
