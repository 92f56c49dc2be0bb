"""Whether a module has a `device` of its own, and what that says; and attributes about devices of
what has none: numbers, strings and truth values of Python."""

from __future__ import annotations

from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import AttributeRead
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.syntax.walk import descendants, mentions, nodes_of, self_attribute
from devlint.model import ir
from devlint.model.trees import called


def is_stateless(frame: Frame, base: Value) -> bool:
    """Whether it is a module that holds nothing."""
    found = frame.object(base) if base.kind is Kind.MODULE else None
    return found is not None and found.stateless


def is_unseen(frame: Frame, base: Value) -> bool:
    """Whether it is a module of a class that nobody has seen: its `device` may be a string."""
    found = frame.object(base)
    return base.kind is Kind.MODULE and (found is None or found.source is None)


def tells_own_place(frame: Frame, base: Value) -> bool:
    """Whether `module.device` is where its parameters are: so it is with every library's module
    that has it, and with a property of that name; what a class stores under it is a value."""
    found = frame.object(base)
    if found is None or not isinstance(found.source, ClassInfo):
        return found is None or "device" not in found.entries
    known = any(name.endswith(_WITH_DEVICE) for name in found.source.library_bases())
    stored = any("device" in each.attributes for each in found.source.lineage())
    return found.source.method("device") is not None or (known and not stored)


_WITH_DEVICE = ("LightningModule", "PreTrainedModel", "ModelMixin")


def may_define(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a module may have an attribute that plain modules lack. Unless proved: yes."""
    found = frame.object(base)
    if found is None or base.trait is Trait.SUPER or attr in found.entries:
        return True
    info = found.source
    if not isinstance(info, ClassInfo):
        return not _is_plain(frame, found.library_class)
    plain = all(_is_plain(frame, base) for base in info.library_bases())
    dynamic = info.defines("__getattr__") or info.defines("__getattribute__")
    inherited = base.trait is Trait.SELF and any(
        info in each.lineage() and each.defines(attr) for each in frame.file.classes.values()
    )
    if info.is_open or dynamic or not plain or inherited or info.defines(attr):
        return True
    unfinished = base.trait is Trait.SELF and _is_unfinished(frame, info)
    return unfinished or _is_given(frame.file, attr)


def _is_given(file: File, attr: str) -> bool:
    """Whether a file stores an attribute in an object from outside: `self.draft.device = device`,
    `model.device = device`; not what the methods of a class store in their own."""
    return any(
        isinstance(target, ir.Attribute)
        and target.attr == attr
        and not self_attribute(target, "self")
        for node in nodes_of(file.body)
        if isinstance(node, ir.Assign)
        for target in node.targets
    )


def _is_unfinished(frame: Frame, info: ClassInfo) -> bool:
    """Whether methods call others of the object that nothing defines: the classes of other files
    that build on this one bring them, and bring attributes as well."""
    called = {name for _, scan in info.scans() for name in scan.self_calls}
    return any(
        name != "forward"
        and not info.defines(name)
        and frame.world.table.get(f"torch.nn.Module.{name}") is None
        for name in called
    )


def _is_plain(frame: Frame, name: str) -> bool:
    """Whether a module of a library has none of the attributes about devices."""
    row = frame.world.table.get(name)
    plain = name.startswith(("torch.nn.", "torchvision.models."))
    return plain and row is not None and not row.has_device


def note_plain(frame: Frame, node: ir.Attribute, base: Value) -> None:
    """Note that the device of a number or a string is read. Which of the two an argument is, a call
    tells; whoever asks what it got takes either."""
    function = frame.function
    if not frame.is_heard or frame.world.trial is not None:
        return
    if function is None or not isinstance(node.value, ir.Name):
        return
    name = node.value.id
    given = frame.takes(name)
    if given and (frame.caller is None or _may_change_arguments(frame, function)):
        return
    if frame.file.scan(function).assigned[name] != (not given):
        return  # it is bound more than once
    if not _is_of_python(base) or _is_tested(function, name):
        return
    call = frame.site[-1] if given and frame.site else None
    operand = frame.operand(node.value, base)
    at = call if isinstance(call, ir.Call) else None
    frame.record(AttributeRead(node, frame.context(), operand, node.attr, defined=False, call=at))


def _is_of_python(value: Value) -> bool:
    """Whether it is one of Python's own for sure: arrays and numbers of numpy have a device."""
    if value.kind is Kind.NUMBER and value.trait is Trait.PYTHON_NUMBER:
        return True
    plain = value.kind in (Kind.NUMBER, Kind.STRING, Kind.BOOL) and value.trait is None
    return plain and isinstance(value.data, (int, float, str))


def _may_change_arguments(frame: Frame, function: ir.Function) -> bool:
    """Whether a decorator that isn't Python's or torch's may give the function something else."""
    names = (name_in(frame.file, called(each)) for each in function.decorators)
    return not all(name.startswith(("builtins.", "torch.")) for name in names)


def _is_tested(function: ir.Function, name: str) -> bool:
    """Whether a condition of a function has to do with a name."""
    for node in descendants(function):
        match node:
            case ir.If(test=test) | ir.While(test=test) | ir.Conditional(test=test):
                tested: ir.Node = test
            case ir.Boolean() | ir.Assert() | ir.Match() | ir.Try():
                tested = node
            case _:
                continue
        if mentions(tested, name):
            return True
    return False
