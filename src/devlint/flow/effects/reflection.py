"""What a program asks of objects by names that it computes, and all that they hold: `getattr`,
`setattr`, `vars`, the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from devlint.flow.conditions.fallbacks import default_of
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Kind, Value
from devlint.flow.effects.use import Overlay
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.fields import declared
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import library_value, member
from devlint.flow.frames.missing import leaves_default
from devlint.flow.frames.protocols import stores_itself
from devlint.flow.modules.placement import add_part
from devlint.flow.operations.objects import dict_of, method_named, of_each
from devlint.flow.operations.stores import replacing
from devlint.model import ir
from devlint.torchapi.effects import Row


def _get_attribute(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`getattr(self, "scale")`: what the object is known to hold by that name, its method, and the
    function that a library has by it. A default of the function around stands for all texts of its
    sort: `window="hann_window"` for the names of windows."""
    given, name = args.find((0, "object")), args.find((1, "name"))
    if given is None or name is None:
        return NOTHING
    whole, named = given[1], name[1]
    if named.kind is not Kind.STRING:
        default = default_of(frame, name[0])
        named = NOTHING if default is None else frame.evaluate(default)
    text = named.data
    if whole.kind is Kind.LIBRARY:
        return member(frame, f"{whole.data}", text, node)
    if named.kind is not Kind.STRING or not isinstance(text, str):
        return NOTHING
    found = frame.object(whole) if whole.kind in (Kind.MODULE, Kind.INSTANCE) else None
    if found is not None and text in found.entries:
        return found.entries[text]
    method = method_named(frame, given[0], whole, text)
    if method is not None:
        return Value(Kind.METHOD, data=method)
    if whole.kind is Kind.INSTANCE and (several := of_each(frame, given[0], whole, text)):
        return several
    other = args.find((2, "default"))
    if other is not None and leaves_default(frame, whole, text):
        return other[1]
    return Value(Kind.DTYPE, trait=Trait.ANNOTATED) if text == "dtype" else NOTHING


def _set_attribute(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`setattr(module, "device", d)` is an assignment in other words."""
    target, name, value = (args.find((position,)) for position in range(3))
    found = None if target is None else frame.object(target[1])
    if found is not None and target is not None and name is not None and value is not None:
        if isinstance(text := name[1].data, str):
            by_class = row.name == "builtins.setattr"
            if by_class and stores_itself(frame, node, target[1], text, value[1]):
                return NONE
            before = found.entries.get(text, NOTHING)
            stored = replacing(frame, node, before, value[1])
            frame.update(target[1], found.with_entry(text, stored))
        elif target[1].kind is Kind.MODULE and value[1].kind is Kind.MODULE:
            add_part(frame, target[1], value[1])
        elif target[1].kind is Kind.INSTANCE:
            any_of_them = {name: _or_another(held) for name, held in found.entries.items()}
            frame.update(target[1], replace(found, entries=any_of_them))
    return NONE


def _or_another(held: Value) -> Value:
    """What an object has under a name, or what was stored there: of tensors most likely another
    one."""
    return held.but(device=UNKNOWN, trace=None) if held.kind in TENSORS else NOTHING


def _field(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`dataclasses.field(default_factory=f)`: what `f` gives, but for an object of its own that
    each one has."""
    given = args.keyword("default")
    if given is not None:
        return given[1]
    factory = args.keyword("default_factory")
    if factory is None:
        return NOTHING
    made = frame.world.call(frame, node, *factory, Arguments(()))
    return NOTHING if frame.object(made) is not None else made


def _fields(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`dataclasses.fields(batch)`: objects that say what each field is called."""
    made = []
    for at, name in enumerate(_declared(frame, args)):
        field = Object(entries={"name": Value(Kind.STRING, data=name)}, source=row.name)
        made.append(Value(Kind.INSTANCE, data=frame.allocate((node, at), field)))
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=tuple(made))))


def _as_dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`dataclasses.asdict(batch)`: what its fields hold, under their names."""
    return dict_of(frame, node, args.all[0][1], _declared(frame, args)) if args.all else NOTHING


def _as_tuple(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`dataclasses.astuple(batch)`: what its fields hold, in their order."""
    found = frame.object(args.all[0][1]) if args.all else None
    names = _declared(frame, args)
    if found is None or not names or not {*names} <= found.entries.keys():
        return Value(Kind.TUPLE)
    items = tuple(found.entries[name] for name in names)
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=items)))


def _vars(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`vars(batch)`: all that an object holds."""
    return dict_of(frame, node, args.all[0][1]) if args.count == 1 else NOTHING


def _declared(frame: Frame, args: Arguments) -> tuple[str, ...]:
    """The names of the fields of the class, or of the object, that is given."""
    given = args.value((0,))
    info = given.data if isinstance(given.data, ClassInfo) else frame.class_of(given)
    return () if info is None else tuple(name for name, _ in declared(info))


def _type(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`type(x)` of a container or of an object of the project makes another one."""
    value = args.all[0][1] if args.count == 1 else NOTHING
    info = frame.class_of(value)
    if info is not None and value.kind in (Kind.INSTANCE, Kind.MODULE):
        return Value(Kind.CLASS, data=info)
    name = _TYPES.get(value.kind) if frame.object(value) is not None else None
    return NOTHING if name is None or value.trait else library_value(f"builtins.{name}")


_TYPES = {Kind.LIST: "list", Kind.TUPLE: "tuple", Kind.DICT: "dict"}


REFLECTION: Mapping[str, Overlay] = {
    "as_dict": _as_dict,
    "as_tuple": _as_tuple,
    "field": _field,
    "fields": _fields,
    "getattr": _get_attribute,
    "setattr": _set_attribute,
    "type": _type,
    "vars": _vars,
}
