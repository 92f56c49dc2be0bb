"""Tests of what something is: of its type, and of the attributes that it has."""

from __future__ import annotations

from collections.abc import Mapping, Set

from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import PROVED, Kind, Origin, Value
from devlint.flow.frames.aspects import Aspect
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import (
    asked_attribute,
    asked_types,
    dotted,
    is_builtin,
    named_types,
)
from devlint.flow.syntax.walk import first_parameter, self_attribute
from devlint.model import ir
from devlint.model.trees import is_named, one_or_several


def is_of_type(frame: Frame, node: ir.Expr) -> bool | None:
    """What `isinstance(x, types)` or `torch.is_tensor(x)` gives for a tensor that is made here, for
    what a call has passed, and for containers that are made here. Where a function runs on its
    own, what its parameters are is guessed by what is done to them."""
    subject, types = _asked(frame, node)
    match subject:
        case ir.Name(id=name):
            value = frame.look_up(name)
        case ir.Subscript(value=ir.Name(), index=ir.Constant() | ir.Name()):
            value = frame.ask(subject)
        case _:
            return None
    if value is None or value.kind not in _TYPES:
        return None
    is_made = value.kind is Kind.TENSOR and value.origin in PROVED and isinstance(subject, ir.Name)
    if not is_made:
        if value.trait in (Trait.ANNOTATED, Trait.LAZY):
            return None
        if value.kind is Kind.TENSOR and value.origin is Origin.INPUT:
            return None  # it is taken for one by what is done to it
        is_object = value.kind.is_container or value.kind is Kind.INSTANCE
        if not frame.site and (not is_object or frame.object(value) is None):
            return None
    own, is_all = _types_of(frame, value)
    told = {_told(frame, each, own, is_all) for each in types}
    return True if True in told else None if None in told else False


def _asked(frame: Frame, node: ir.Expr) -> tuple[ir.Expr | None, tuple[ir.Expr | None, ...]]:
    """Of what a test asks, and the types; None for tensors, of which `torch.is_tensor` asks."""
    if (asked := asked_types(frame, node)) is not None:
        return asked[0], one_or_several(asked[1])
    return (named_types(frame, node) or (None, ()))[0], (None,)


def _types_of(frame: Frame, value: Value) -> tuple[Set[str | ClassInfo], bool]:
    """The types in sight, and the names of others, that a value is of; whether these are all."""
    if value.kind is Kind.NUMBER:
        return {f"builtins.{type(value.data).__name__}"}, isinstance(value.data, (int, float))
    info = frame.class_of(value) if value.kind is Kind.INSTANCE else None
    if info is None:
        is_all = value.kind is not Kind.INSTANCE and value.trait is not Trait.EITHER_CHOICE
        return _TYPES[value.kind], is_all
    bases = {*info.library_bases()}
    known = bases & _BASES.keys()
    is_all = bases == known and not info.is_open and value.trait is not Trait.SELF
    return bases.union(info.lineage(), *map(_BASES.__getitem__, known)), is_all


def _told(
    frame: Frame, named: ir.Expr | None, own: Set[str | ClassInfo], is_all: bool
) -> bool | None:
    """Whether something of some types is of the one that is named."""
    name = "torch.Tensor" if named is None else dotted(frame, named)
    head, _, last = name.rpartition(".")
    name = _SPELLED.get(name) or (last if head in _ABSTRACT else name)
    of = frame.ask(named).data if named is not None and not name and is_named(named) else None
    if name in own or of in own:
        return True
    is_other = name in _KNOWN or (isinstance(of, ClassInfo) and "typing.Protocol" not in of.bases)
    return False if is_all and is_other else None


def is_exact_type(frame: Frame, node: ir.Expr) -> bool | None:
    """What `type(x) is torch.Tensor` gives for a tensor that a call has passed, but for one that
    may be a parameter."""
    match node:
        case ir.Compare(
            op="is" | "is not" | "==" | "!=" as op,
            left=ir.Call(
                func=ir.Name(id="type") as func, args=(ir.Argument(value=ir.Name(id=name)),)
            ),
            right=right,
        ) if is_builtin(frame, func):
            value = frame.state.env.get(name)
        case _:
            return None
    if value is None or not frame.site or value.kind is not Kind.TENSOR or value.trait:
        return None
    of_tensor = value.origin in PROVED and dotted(frame, right) == "torch.Tensor"
    return op in ("is", "==") if of_tensor else None


_TYPES: Mapping[Kind, frozenset[str]] = {
    Kind.TENSOR: frozenset(("torch.Tensor",)), Kind.NDARRAY: frozenset(("numpy.ndarray",)),
    Kind.LIST: frozenset(("builtins.list", "Sequence", "MutableSequence")),
    Kind.TUPLE: frozenset(("builtins.tuple", "Sequence")),
    Kind.DICT: frozenset(("builtins.dict", "Mapping", "MutableMapping")),
    Kind.INSTANCE: frozenset(), Kind.NONE: frozenset(), Kind.NUMBER: frozenset(),
    Kind.STRING: frozenset(("builtins.str", "Sequence")),
    Kind.BOOL: frozenset(("builtins.bool", "builtins.int")),
}  # fmt: skip
_KNOWN = frozenset(
    ("builtins.set", "builtins.bytes", "builtins.int", "builtins.float",
     "PIL.Image.Image", "pathlib.Path")
).union(*_TYPES.values())  # fmt: skip
"""These types, and others of which nothing is that is of one of these."""
_ABSTRACT = ("collections.abc", "typing", "collections")
_SPELLED = {
    "typing.List": "builtins.list",
    "typing.Tuple": "builtins.tuple",
    "typing.Dict": "builtins.dict",
}
_BASES: Mapping[str, frozenset[str]] = {
    "builtins.object": frozenset(), "abc.ABC": frozenset(), "typing.Generic": frozenset(),
    "builtins.dict": _TYPES[Kind.DICT], "collections.OrderedDict": _TYPES[Kind.DICT],
    "builtins.list": _TYPES[Kind.LIST], "builtins.tuple": _TYPES[Kind.TUPLE],
    "typing.NamedTuple": _TYPES[Kind.TUPLE],
}  # fmt: skip
"""Of what else an object is whose class has such a base."""


def has_attribute(frame: Frame, node: ir.Expr) -> bool | None:
    """What `hasattr(x, "name")` gives for what a call has passed: a tensor, a module, or what is of
    Python. True for `hasattr(self, "name")` where the constructor always stores it, and False where
    it hasn't on any path, and nothing else can have."""
    this, name = asked_attribute(frame, node) or (None, "")
    value = frame.look_up(this.id) if isinstance(this, ir.Name) else None
    if value is None:
        return None
    if frame.site and value.trait is None and value.kind in (Kind.TENSOR, Kind.MODULE):
        return _of_torch(value, name)
    if frame.site and value.trait is None and value.kind in _PYTHON:
        return hasattr(_PYTHON[value.kind], name)
    found = frame.object(value) if value.trait is Trait.SELF else None
    if found is None or not isinstance(found.source, ClassInfo):
        return None
    frame.asked.add(Aspect.MAKER)
    init = found.source.methods.get("__init__")
    if frame.outermost.function is not init:
        return True if init is not None and name in found.source.file.once(_stored, init) else None
    if name in found.entries:
        return None
    lineage = found.source.lineage()
    if any(each.open_base or name in each.env or name in each.methods for each in lineage):
        return None
    return False


def _stored(init: ir.Function) -> frozenset[str]:
    """The attributes that a constructor stores or registers whatever it is given."""
    this, found = first_parameter(init), set[str]()
    for statement in init.body:
        match statement:
            case ir.Assign(targets=targets, value=ir.Expr()):
                found.update(self_attribute(target, this) for target in targets)
            case ir.Evaluate(
                value=ir.Call(func=func, args=(ir.Argument(value=ir.Constant(value=str(name))), *_))
            ) if self_attribute(func, this) in _REGISTERS:
                found.add(name)
    return frozenset(found - {""})


_REGISTERS = ("register_buffer", "register_parameter", "register_module", "add_module")


def _of_torch(value: Value, name: str) -> bool | None:
    """Whether a tensor or a module has an attribute that one of them has and the other hasn't."""
    if value.kind is Kind.MODULE:
        return True if name in _OF_MODULES else None  # a class may have a `device` of its own
    if value.origin not in PROVED:
        return None
    return True if name in _OF_TENSORS else False if name in _OF_MODULES else None


_PYTHON: Mapping[Kind, type] = {
    Kind.LIST: list, Kind.TUPLE: tuple, Kind.SET: set, Kind.DICT: dict, Kind.STRING: str,
    Kind.NONE: type(None),
}  # fmt: skip
"""What is of no other type; a number may be one of numpy's."""
_OF_MODULES = ("parameters", "named_parameters", "buffers", "children", "modules", "state_dict")
_OF_TENSORS = ("device", "is_cuda", "cuda", "cpu", "to", "shape", "dtype", "size", "dim")


_PROXIES = ("torch.fx.Proxy", "torch.fx.proxy.Proxy")
_PROXY_TESTS = ("is_torch_fx_proxy", "is_fx_tracing", "is_fx_symbolic_tracing")


def asks_for_proxy(frame: Frame, node: ir.Expr) -> bool | None:
    """False for a condition that holds for the proxies of `torch.fx` alone, which stand for tensors
    while a graph is drawn: never where tensors are computed."""
    asked = asked_types(frame, node)
    if asked is not None:
        return False if dotted(frame, asked[1]) in _PROXIES else None
    match node:
        case ir.Call(func=ir.Name(id=name) | ir.Attribute(attr=name)):
            return False if name in _PROXY_TESTS else None
    return None
