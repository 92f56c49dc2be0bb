"""Conditions of which it is known whether they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from devlint.flow.conditions import implications
from devlint.flow.conditions.asked import is_past
from devlint.flow.conditions.of_types import (
    asks_for_proxy,
    has_attribute,
    is_exact_type,
    is_of_type,
)
from devlint.flow.conditions.same_place import answered
from devlint.flow.domain.keys import OF_PROCESSES, is_about_devices
from devlint.flow.domain.lattice import UNKNOWN, Guarded, Known
from devlint.flow.domain.traits import CHOICES, Trait
from devlint.flow.domain.values import NOTHING, PROVED, Kind, Value
from devlint.flow.frames.fields import NAMESPACES
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import names_assigned, statements_of
from devlint.model import ir
from devlint.model.trees import is_named


def settled(frame: Frame, node: ir.Expr, tested: Value = NOTHING) -> bool | None:
    """Whether a condition is known to hold or not to hold here. `tested` is its value, if that was
    asked for: a function may have been told of a place, or may have one answer only."""
    answers = tested.trait is Trait.ANSWER or isinstance(node, ir.Call)
    if answers and tested.kind is Kind.BOOL and isinstance(tested.data, bool):
        return tested.data
    match node:
        case ir.Constant(value=value):
            return bool(value)
        case ir.Unary(op="not", operand=operand):
            inner = settled(frame, operand)
            return None if inner is None else not inner
        case ir.Boolean(op=op, left=left, right=right):
            sides = (settled(frame, left), settled(frame, right))
            decides = op == "or"
            return decides if decides in sides else sides[0] if None not in sides else None
    for look in _LOOKS.get(type(node), ()):
        told = look(frame, node)
        if told is not None:
            return told
    key = implications.key_of(frame, node)
    if key is None or key[0] in OF_PROCESSES:  # whoever asks may start them next
        return None
    known = frame.state.known.get(key[0])
    return None if known is None or is_past(frame, node, key[0]) else known is key[1]


def undecided(frame: Frame, node: ir.Expr) -> ir.Expr:
    """What of a condition isn't known: `torch.cuda.is_available()` of `gpu and ...` where `gpu` is
    true."""
    if isinstance(node, ir.Boolean):
        neutral = node.op == "and"
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if settled(frame, side) is neutral:
                return undecided(frame, other)
    return node


def _given_flag(frame: Frame, node: ir.Name) -> bool | None:
    """Whether a parameter or a name of the running function counts as true here. What a call has
    passed does: an object, unless its class may say otherwise, and a container that isn't empty."""
    value = _own(frame, node.id)
    if value is None and _is_constant_of_file(frame, node.id):
        return _truth(frame.look_up(node.id))
    if value is not None and frame.site and value.kind is Kind.INSTANCE and frame.object(value):
        return _is_true_object(frame.class_of(value))
    found = frame.object(value) if value is not None and value.kind.is_container else None
    if found is not None and frame.site and found.items is not None and not found.unsure:
        return bool(found.items or found.entries)
    return _truth(value)


def _is_constant_of_file(frame: Frame, name: str) -> bool:
    """Whether the file sets a flag to `True` or `False` once, and nothing in the project sets it
    anew. One that speaks of devices is there to be changed by hand, for another machine."""
    file, project = frame.file, frame.world.project
    if project is None or name in file.rebound or any(name in each for each in frame.scopes):
        return False
    if name not in file.once(_flags, file) or is_about_devices(name):
        return False
    return not project.may_bind(file.path, name)


def _flags(file: File) -> frozenset[str]:
    """The names that a file binds once, to `True` or `False`."""
    bound = Counter(names_assigned(statements_of(file.body)))
    return frozenset(
        target.id
        for each in file.body
        if isinstance(each, ir.Assign) and isinstance(each.value, ir.Constant)
        for target in each.targets
        if isinstance(target, ir.Name) and bound[target.id] == 1
        if isinstance(each.value.value, bool)
    )


def _is_true_object(info: ClassInfo | None) -> bool | None:
    if info is None or info.is_open or any(map(info.method, ("__bool__", "__len__"))):
        return None
    plain = all(name.startswith(("typing.", "abc.")) for name in info.library_bases())
    return True if plain else None


def _own(frame: Frame, name: str) -> Value | None:
    """What a parameter or a name of the running function, or of one around it, stands for. Names of
    the file are left open: they are there to be changed."""
    if frame.function is None or frame.is_rebound(name):
        return None
    return next((names[name] for names in frame.scopes if name in names), None)


def _kept_flag(frame: Frame, node: ir.Attribute) -> bool | None:
    """What a flag is that an object has kept: what it was told of a place, or what its constructor,
    which is running, has set a moment ago, or what an object that a call has led to was given once
    and for all."""
    kept = _kept(frame, node)
    if kept is not None and kept.kind is Kind.BOOL and isinstance(kept.data, bool):
        return kept.data
    this = frame.look_up(node.value.id) if isinstance(node.value, ir.Name) else None
    found = None if this is None else frame.object(this)
    if this is None or found is None or node.attr not in found.entries:
        return None
    value = found.entries[node.attr]
    is_made = this.trait is Trait.SELF and frame.name == "__init__"
    if is_made or value.trait is Trait.ANSWER:
        return _truth(value)
    told = _truth(value) if value.kind is Kind.BOOL else None
    return told if told is not None and _is_never_changed(frame, this, node.attr) else None


def _is_never_changed(frame: Frame, this: Value, name: str) -> bool:
    """Whether nobody but its constructor stores an attribute of the running method's object."""
    info, project = frame.class_of(this), frame.world.project
    if info is None or project is None or this.trait is not Trait.SELF:
        return False
    if info.is_open or name in frame.world.of_file.written or name in info.stored_later():
        return False
    return not project.may_give(info.file.path, info.node.name, name)


def _truth(value: Value | None) -> bool | None:
    """Whether a value counts as true, where that is known: a device always does, a string unless it
    is empty, None never."""
    if value is None:
        return None
    if value.kind in (Kind.BOOL, Kind.STRING) and isinstance(value.data, (bool, str)):
        return bool(value.data)
    if value.kind is Kind.NONE:
        return False
    names = value.kind is Kind.STRING and isinstance(value.device, (Known, Guarded))
    return True if names or value.kind is Kind.DEVICE else None


def _compared_constant(frame: Frame, node: ir.Compare) -> bool | None:
    """What comes of comparing a name of the running function that is None, a flag, or something
    that a call has passed with a constant: `layer == 0`, `flag == True`, `x is None`."""
    op, right = node.op, node.right
    value = _own(frame, node.left.id) if isinstance(node.left, ir.Name) else None
    if value is None or not isinstance(right, ir.Constant):
        return None
    other = right.value
    if op not in (("is", "is not") if other is None else ("==", "!=")):
        return None
    if value.kind is Kind.NONE:
        return (other is None) is (op in ("==", "is"))
    if other is None:
        return op == "is not" if frame.site and _is_something(value) else None
    flags = isinstance(value.data, bool) and isinstance(other, bool)
    return (value.data is other) is (op == "==") if flags else None


def _is_something(value: Value) -> bool:
    """Whether what a call has passed is there for sure: a tensor or its device, a device, a text or
    a number that is known, a function, an object that was made."""
    if value.kind in (Kind.TENSOR, Kind.PLACED):
        return value.origin in PROVED
    if value.kind is Kind.DEVICE:
        return value.trait is not Trait.ANNOTATED and value.device != UNKNOWN
    return value.data is not None and value.kind in _THERE


_THERE = (
    Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.FUNCTION, Kind.INSTANCE, Kind.MODULE,
)  # fmt: skip


def _compared_strings(frame: Frame, node: ir.Expr) -> bool | None:
    """What comes of comparing something that holds a known string with strings."""
    match node:
        case ir.Compare(op="==" | "!=" | "in" | "not in" as op, left=left, right=right):
            text = _held_text(frame, left)
            if text is None:
                return None
            if op in ("in", "not in"):
                texts = _held_texts(frame, right)
            else:
                texts = {right.value} if isinstance(right, ir.Constant) else None
            return None if texts is None else (text in texts) is (op in ("==", "in"))
    return None


def _held_texts(frame: Frame, node: ir.Expr) -> Collection[object] | None:
    """The strings that a tuple or its like holds, or the keys of a dict, where all are known."""
    if isinstance(node, ir.Display):
        constants = [each.value for each in node.items if isinstance(each, ir.Constant)]
        return constants if len(constants) == len(node.items) else None
    value = frame.ask(node) if is_named(node) else NOTHING
    found = frame.object(value) if value.kind.is_container and not value.trait else None
    if found is None or found.items is None or found.unsure:
        return None
    if value.kind is Kind.DICT:
        return found.entries if not found.items else None
    texts = [each.data for each in found.items if each.kind is Kind.STRING]
    return texts if len(texts) == len(found.items) and None not in texts else None


def _held_text(frame: Frame, node: ir.Expr) -> str | None:
    """The string that stands there, that a name holds, or an object that was given it once and for
    all."""
    value: Value | None = None
    if isinstance(node, ir.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ir.Name):
        value = frame.look_up(node.id)
    elif isinstance(node, ir.Attribute):
        value = _kept(frame, node)
    if value is None or value.kind is not Kind.STRING:
        return None
    return value.data if isinstance(value.data, str) else None


def _kept(frame: Frame, node: ir.Attribute) -> Value | None:
    """What an object that a call has led to has under a name that only constructors store: other
    methods may change the rest."""
    if not frame.site or not is_named(node.value):
        return None
    found = frame.object(frame.ask(node.value))
    if found is None or node.attr not in found.entries or node.attr in frame.world.of_file.written:
        return None
    if isinstance(found.source, ClassInfo):
        return None if node.attr in found.source.stored_later() else found.entries[node.attr]
    return found.entries[node.attr] if found.source in NAMESPACES else None


def _start_of_string(frame: Frame, node: ir.Expr) -> bool | None:
    """What `name.startswith("cuda")` gives for a name that holds a known string."""
    match node:
        case ir.Call(
            func=ir.Attribute(value=ir.Name() as name, attr="startswith" | "endswith" as attr),
            args=(ir.Argument(value=ir.Constant(value=str(part))),),
        ):
            text = _held_text(frame, name)
            if text is not None:
                return text.startswith(part) if attr == "startswith" else text.endswith(part)
    return None


def _device_as_string(frame: Frame, node: ir.Expr) -> bool | None:
    """What comes of comparing a tensor's device, or one that a call has passed, with a string: they
    differ."""
    match node:
        case ir.Compare(op="==" | "!=" as op, left=left, right=ir.Constant(str())):
            given = isinstance(left, ir.Name) and bool(frame.site)
            value = frame.ask(left) if given or isinstance(left, ir.Attribute) else NOTHING
            sure = value.trait not in CHOICES if given else value.trait is Trait.DEVICE_OF_TENSOR
            if value.kind is Kind.DEVICE and sure:
                return op == "!="
    return None


_LOOKS: Mapping[type, tuple[Callable[[Frame, Any], bool | None], ...]] = {
    ir.Name: (_given_flag,),
    ir.Attribute: (_kept_flag, answered),
    ir.Compare: (
        _compared_strings,
        _compared_constant,
        _device_as_string,
        is_exact_type,
        answered,
    ),
    ir.Call: (_start_of_string, asks_for_proxy, has_attribute, is_of_type),
}
"""What may tell of a condition, by its form."""
