"""What constructors that nobody wrote are given: those of dataclasses, named tuples, models of a
library, and plain namespaces."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.effects.python_overlays import of_dict
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import ITEMS
from devlint.flow.frames.fields import declared, is_written
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir


def fill(frame: Frame, made: Value, info: ClassInfo, args: Arguments) -> None:
    """Store what a constructor that stands nowhere is given under the names of its fields."""
    found = frame.object(made)
    if found is None or made.kind is not Kind.INSTANCE:
        return
    names = tuple(name for name, _ in declared(info))
    given = _given(frame, names, args) if is_written(info) else _by_keyword(args, names)
    if given is None:
        return
    if not args.unpacked:
        given = _defaults(info, names) | given
    items = _in_order(names, given) if "typing.NamedTuple" in info.library_bases() else None
    frame.update(made, replace(found, items=items, entries={**found.entries, **given}))


def items(frame: Frame, node: ir.Call, info: ClassInfo, args: Arguments) -> dict[str, Value]:
    """What an object of a class of dicts holds besides its attributes: the items that it is given,
    or nobody knows which."""
    if not _DICTS.intersection(info.library_bases()) or info.method("__getitem__"):
        return {}
    init = info.method("__init__")
    unseen = init is not None and any(map(_gives_items, nodes_of(init[1].body)))
    if unseen or info.method("__setitem__"):
        made = Object()
    else:
        made = of_dict(frame, args if init is None else Arguments(()))
    return {ITEMS: Value(Kind.DICT, data=frame.allocate((node, ITEMS), made))}


def _gives_items(node: ir.Node) -> bool:
    """`super().__init__(items)`, `dict.__init__(self, items)`, `self.update(items)`"""
    match node:
        case ir.Call(func=ir.Attribute(attr="__init__" | "update"), args=args):
            return bool(args)
    return False


_DICTS = frozenset(("builtins.dict", "collections.OrderedDict", "typing.Dict"))


COPIES = ("dataclasses.replace", "copy.replace")


def namespace(frame: Frame, node: ir.Call, name: str, args: Arguments) -> Value:
    """`SimpleNamespace(x=x, y=y)`"""
    if args.unpacked or args.positional():
        return NOTHING
    found = Object(entries=_by_keyword(args), source=name)
    return Value(Kind.INSTANCE, data=frame.allocate(node, found))


def named_tuple(frame: Frame, node: ir.Call, args: Arguments) -> Value:
    """`namedtuple("Batch", "images labels")`: a class as `class Batch(NamedTuple)` is."""
    given = args.find((1, "field_names"))
    found = None if given is None else frame.object(given[1])
    if given is None or set(args.keywords()) - {"typename", "field_names"}:
        return NOTHING
    names: tuple[object, ...] = ()
    if isinstance(given[1].data, str) and given[1].kind is Kind.STRING:
        names = tuple(given[1].data.replace(",", " ").split())
    elif found is not None and found.items is not None:
        names = tuple(item.data for item in found.items)
    spelled = tuple(name for name in names if isinstance(name, str))
    if not names or len(spelled) < len(names):
        return NOTHING
    return Value(Kind.CLASS, data=frame.file.once(_class_of, (node, spelled), frame.file))


def _class_of(made: tuple[ir.Call, tuple[str, ...]], file: File) -> ClassInfo:
    node, names = made
    body = tuple(ir.Assign((ir.Name(name),), None, node) for name in names)
    return ClassInfo(ir.Class("namedtuple", (), body), file, ("typing.NamedTuple",))


def replaced(frame: Frame, node: ir.Call, base: Value, args: Arguments) -> Value:
    """`batch._replace(images=images)`, `dataclasses.replace(batch, images=images)`: another object,
    that holds what this one does but for what is given."""
    found = frame.object(base)
    if found is None or base.kind is not Kind.INSTANCE or args.unpacked or not _has_fields(found):
        return NOTHING
    entries = {**found.entries, **_by_keyword(args)}
    items = None
    if found.items is not None and isinstance(found.source, ClassInfo):
        items = _in_order(tuple(name for name, _ in declared(found.source)), entries)
    made = replace(found, items=items, entries=entries)
    return base.but(data=frame.allocate(node, made), trait=None)


def _has_fields(found: Object) -> bool:
    """Whether all that an object holds is what its constructor was given."""
    info = found.source
    if not isinstance(info, ClassInfo) or not is_written(info):
        return False
    return info.method("__init__") is None and info.method("__post_init__") is None


def _given(frame: Frame, names: tuple[str, ...], args: Arguments) -> dict[str, Value] | None:
    """What is given for each of some names; None where nobody knows. `Batch(*zip(*rows))` gives a
    tuple for each."""
    match args.all:
        case ((ir.Argument(star="*"), value),):
            found = frame.object(value)
            return None if found is None else dict.fromkeys(names, found.elements())
    if args.unpacked:
        return None
    in_order = dict(zip(names, (value for _, value in args.positional()), strict=False))
    return in_order | _by_keyword(args, names)


def _by_keyword(args: Arguments, names: tuple[str, ...] | None = None) -> dict[str, Value]:
    """What is given by name, for one of some names or for any. Constructors of a library take
    nothing else, as those of settings do (`class Settings(BaseModel)`)."""
    given = args.keywords().items()
    return {name: value for name, (_, value) in given if names is None or name in names}


def _defaults(info: ClassInfo, names: tuple[str, ...]) -> dict[str, Value]:
    """What fields are that nothing is given for."""
    found = dict[str, Value]()
    for each in reversed(info.lineage()):
        found.update((name, each.env[name]) for name in names if name in each.env)
    return found


def _in_order(names: tuple[str, ...], given: dict[str, Value]) -> tuple[Value, ...] | None:
    """The elements of a named tuple; None where some are left out."""
    return tuple(given[name] for name in names) if given.keys() == set(names) else None
